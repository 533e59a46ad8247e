"""A result as a figure of matplotlib: rewards with a forecast, and what each item or choice is worth."""

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dagsearch.forecasts import forecast, progress_of
from dagsearch.report.effects import Effect, effects_of
from dagsearch.report.parts import Shown, parts_of
from dagsearch.report.view import is_noisy
from dagsearch.results import Gaussian, Result
from dagsearch.storage.record import Record, nothing_left

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest number of effects that are drawn, of points of the forecast, and of characters of a name.
_EFFECTS, _POINTS, _LONGEST = 12, 20, 24


def plotted(result: Result) -> "Figure":
    """A figure with what can be drawn of a result."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Result.plot needs matplotlib: pip install 'dagsearch[plot]'") from error
    if not result.history:
        raise ValueError("nothing was evaluated: there is nothing to plot")
    record = Record.of_result(result)
    told = [Shown(parts_of(one, record), *one[2:]) for one in record.told]
    effects = [] if result.game else effects_of(told, is_noisy(record))
    panels = 2 if effects else 1
    figure, axes = pyplot.subplots(1, panels, figsize=(5.5 * panels, 4), layout="constrained", squeeze=False)
    _draw_rewards(axes[0, 0], result)
    if effects:
        _draw_effects(axes[0, 1], effects[:_EFFECTS], -1.0 if result.minimized else 1.0)
    if "inline" in pyplot.get_backend():  # a notebook shows what is returned, and pyplot's figures once more
        pyplot.close(figure)
    return figure  # type: ignore[no-any-return]


def _draw_rewards(axes: "Axes", result: Result) -> None:
    sign, told = -1.0 if result.minimized else 1.0, result.history
    axes.plot([one.step for one in told], [one.reward for one in told], ".", color="0.6", label="reward")
    best = [one.best_reward for one in told]
    axes.step([one.step for one in told], best, where="post", color="C0", label="best so far")
    beliefs = [None if one.predicted is None else _turned(one.predicted, sign) for one in told]
    progress = None
    if not (result.game or result.steps or nothing_left(result)):  # what is left was not measured for steps
        progress = progress_of([sign * one.reward for one in told], beliefs)
    if progress is not None:
        steps = np.unique(np.linspace(1, max(2, len(told)), _POINTS).astype(int)).tolist()
        ahead = [forecast(progress, n) for n in steps]
        after = [len(told), *(len(told) + n for n in steps)]
        ends = [[best[-1], *(sign * getattr(one, name) for one in ahead)] for name in ("low", "high", "mean")]
        axes.fill_between(after, ends[0], ends[1], color="C0", alpha=0.2, linewidth=0, label="forecast, 90 %")
        axes.plot(after, ends[2], "--", color="C0")
    title = "Best so far" if progress is None else "Best so far, and as many evaluations more"
    axes.set(xlabel="evaluation", ylabel="reward", title=title)
    axes.legend(loc="upper right" if result.minimized else "lower right")


def _turned(belief: Gaussian, sign: float) -> Gaussian:
    return Gaussian(sign * belief.mean, belief.variance)


def _draw_effects(axes: "Axes", effects: Sequence[Effect], sign: float) -> None:
    places = range(len(effects))
    found = [effect.importance for effect in effects]
    axes.barh(places, [sign * one.worth for one in found], color="C0", alpha=0.6)
    axes.hlines(places, [sign * one.low for one in found], [sign * one.high for one in found], color="0.2")
    axes.set_yticks(places, [_short(str(effect.part)) for effect in effects])
    axes.invert_yaxis()
    axes.set(xlabel="best reward with it less the best without it, 90 % interval", title="Importance")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
