"""A result as a figure of matplotlib: rewards with a forecast, and importances of items and choices."""

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dagsearch.report.report import Report
from dagsearch.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest numbers of effects, and of characters in a name.
_EFFECTS, _LONGEST = 12, 24


def plotted(result: Result) -> "Figure":
    """A figure of a result."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Result.plot needs matplotlib: pip install 'dagsearch[plot]'") from error
    if not result.history:
        raise ValueError("nothing was evaluated: there is nothing to plot")
    (view,) = Report.of_result(result).to_dict()
    panels = 2 if view["effects"] else 1
    figure, (axes,) = pyplot.subplots(
        1, panels, figsize=(5.5 * panels, 4), layout="constrained", squeeze=False
    )
    _draw_rewards(axes[0], view)
    if view["effects"]:
        _draw_effects(axes[1], view["effects"][:_EFFECTS])
    if "inline" in pyplot.get_backend():  # a notebook shows the returned figure, and pyplot's again
        pyplot.close(figure)
    return figure  # type: ignore[no-any-return]


def _draw_rewards(axes: "Axes", view: Mapping[str, Any]) -> None:
    told, ahead = view["history"], view["forecast"]
    steps, so_far = [one["step"] for one in told], view["words"]["so far"]
    axes.plot(steps, [one["reward"] for one in told], ".", color="0.6", label=view["words"]["reward"])
    axes.step(steps, [one["best"] for one in told], where="post", color="C0", label=so_far)
    if ahead:
        after, low, high, mean = ([one[name] for one in ahead] for name in ("step", "low", "high", "mean"))
        axes.fill_between(after, low, high, color="C0", alpha=0.2, linewidth=0, label="forecast, 90 %")
        axes.plot(after, mean, "--", color="C0")
    title = so_far.capitalize() + (", and as many evaluations more" if ahead else "")
    axes.set(xlabel="evaluation", ylabel=view["words"]["reward"], title=title)
    axes.legend(loc="upper right" if view["minimized"] else "lower right")


def _draw_effects(axes: "Axes", effects: list[dict[str, Any]]) -> None:
    places = range(len(effects))
    worth, low, high = ([one[name] for one in effects] for name in ("worth", "low", "high"))
    axes.barh(places, worth, color="C0", alpha=0.6)
    axes.hlines(places, low, high, color="0.2")
    axes.set_yticks(places, [one["label"][:_LONGEST] for one in effects])
    axes.invert_yaxis()
    axes.set(xlabel="best reward with it minus best without it, 90 % interval", title="Importance")
