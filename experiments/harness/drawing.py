"""Colours, empty figures, panels and curves for all experiments."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.harness.curves import Curve, curves
from experiments.harness.runner import Row

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours of methods in the order of a comparison, distinct for any colour vision (Okabe and Ito)."""


def figure(width: float = 7.0, height: float = 4.2) -> Figure:
    """An empty figure; not pyplot's, so there is no display and no global state."""
    return Figure(figsize=(width, height), layout="constrained")


def panels(count: int, across: int, **shared: Any) -> tuple[Figure, list[Axes]]:
    """A figure with some panels, at most ``across`` side by side; they may share their axes."""
    across = min(across, count)
    down = -(-count // across)
    drawn = figure(12.0, 3.1 * down)
    places = drawn.subplots(down, across, squeeze=False, **shared).ravel().tolist()
    for unused in places[count:]:
        unused.remove()
    return drawn, places[:count]


def legend_below(drawn: Figure, places: Sequence[Axes]) -> None:
    """One legend for all panels."""
    handles, labels = places[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")


def draw_curves(axes: Axes, methods: Mapping[str, tuple[str, Curve]]) -> None:
    """Mean over rounds against evaluations, with the standard deviation as a band."""
    for colour, (method, (setting, curve)) in zip(cycle(COLOURS), methods.items(), strict=False):
        label = f"{method} ({setting})" if setting else method
        # UCT and UCD often coincide: a dashed line lets the other be seen.
        line = "--" if method == "UCD" else "-"
        axes.plot(curve.steps, curve.mean, line, label=label, color=colour)
        low, high = curve.mean - curve.deviation, curve.mean + curve.deviation
        axes.fill_between(curve.steps, low, high, color=colour, alpha=0.12, linewidth=0.0)
    axes.set_xlabel("evaluations")
    axes.set_xlim(0, max(float(np.max(curve.steps)) for _, curve in methods.values()))


def curves_figure(rows: Iterable[Row], ylabel: str, title: str) -> Figure:
    """All methods of an experiment without other variations, in one picture."""
    drawn = figure()
    axes = drawn.subplots()
    draw_curves(axes, {method: ("", curve) for (method, _), curve in curves(rows).items()})
    axes.set(ylabel=ylabel, title=title)
    axes.legend(fontsize="x-small", loc="lower right")
    return drawn
