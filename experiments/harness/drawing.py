"""Colours, empty figures and curves for all experiments."""

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import TYPE_CHECKING

import numpy as np

from experiments.harness.runner import Curve, Row, curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Of methods in the order of a comparison, distinct for any colour vision (Okabe and Ito)."""


def figure(width: float = 7.0, height: float = 4.2) -> "Figure":
    """An empty figure; not pyplot's, so there is no display and no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_curves(axes: "Axes", methods: Mapping[str, tuple[str, Curve]], band: bool = True) -> None:
    """Mean over rounds against evaluations, with the standard deviation as a band."""
    for colour, (method, (setting, curve)) in zip(cycle(COLOURS), methods.items(), strict=False):
        label = f"{method} ({setting})" if setting else method
        # UCT and UCD often coincide: a dashed line lets the other be seen.
        line = "--" if method == "UCD" else "-"
        axes.plot(curve.steps, curve.mean, line, label=label, color=colour)
        if band:
            low, high = curve.mean - curve.deviation, curve.mean + curve.deviation
            axes.fill_between(curve.steps, low, high, color=colour, alpha=0.12, linewidth=0.0)
    axes.set_xlabel("evaluations")
    axes.set_xlim(0, max(float(np.max(curve.steps)) for _, curve in methods.values()))


def curves_figure(rows: Iterable[Row], ylabel: str, title: str, band: bool = False) -> "Figure":
    """All methods of an experiment that varies nothing else, in one picture."""
    drawn = figure()
    axes = drawn.subplots()
    draw_curves(axes, {method: ("", curve) for (method, _), curve in curves(rows).items()}, band)
    axes.set(ylabel=ylabel, title=title)
    axes.legend(fontsize="x-small", loc="lower right")
    return drawn
