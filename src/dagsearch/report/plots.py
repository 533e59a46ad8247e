"""A result as a figure of matplotlib: rewards with a forecast, what choices explain, two of them together."""

import importlib
from collections.abc import Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.forecasts import forecast, progress_of
from dagsearch.report.frames import ABSENT, columns_of
from dagsearch.results import Gaussian, Result
from dagsearch.storage.record import nothing_left

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Largest numbers of choices whose importance is drawn, and of values of a choice in the picture of two.
_CHOICES, _VALUES = 12, 25
# Smallest and largest number of evaluations, the latest ones, and of values that importance is computed from.
_FEWEST, _EVALUATIONS, _OPTIONS = 6, 1000, 500
# Number of points of the forecast.
_POINTS = 20
# Longest name of a choice, and of a value, in characters.
_LONGEST, _LONGEST_VALUE = 24, 14
# Height of a letter in points, at most, and of all labels of values one above another.
_LETTER, _LABELS = 10.0, 140.0


class Slice(NamedTuple):
    """The best reward with each combination of two choices."""

    names: tuple[str, str]
    """The choices: of the rows and of the columns."""
    values: tuple[list[Any], list[Any]]
    """Their values."""
    best: FloatArray
    """The best reward of an evaluated leaf with these values, NaN where there is none; of shape
    ``(values of the first, values of the second)``."""


def importances(result: Result) -> list[tuple[str, float]]:
    """How much of the reward each choice, item or position explains, the most important first.

    An additive model of the values predicts the reward; the importance of a choice is the standard deviation
    of its part of the prediction over the evaluated leaves, in units of the reward. The model is a ridge
    regression whose penalty minimises generalised cross-validation. With fewer than six evaluations, or where
    leaves or rewards do not differ, there are none.
    """
    rewards = np.array([one.reward for one in result.history[-_EVALUATIONS:]])
    can_stop = np.isfinite(rewards)  # at the end of a costly step
    rewards = rewards[can_stop]
    if len(rewards) < _FEWEST or rewards.std() == 0.0:
        return []
    rows = list(compress(columns_of(result, _EVALUATIONS), can_stop))
    options = [(name, value) for name in rows[0] for value in _varied([row[name] for row in rows])]
    options = options[:_OPTIONS]
    if not options:
        return []
    has = np.array([[row[name] == value for name, value in options] for row in rows], dtype=np.float64)
    centred = has - has.mean(axis=0)
    effects = _ridge(centred, rewards - rewards.mean())
    found = list[tuple[str, float]]()
    for name in dict.fromkeys(name for name, _ in options):
        own = [place for place, option in enumerate(options) if option[0] == name]
        found.append((name, float((centred[:, own] @ effects[own]).std())))
    return sorted(found, key=lambda one: -one[1])


def _varied(values: Sequence[Any]) -> list[Any]:
    """Values that some leaves have and others do not; of an item that is there or not, one is enough."""
    different = list(dict.fromkeys(values))
    if len(different) < 2:
        return []
    return [True] if set(map(type, different)) == {bool} else [one for one in different if one is not ABSENT]


def _ridge(inputs: FloatArray, targets: FloatArray) -> FloatArray:
    """Coefficients of a ridge regression, with the penalty of the best generalised cross-validation."""
    left, sizes, right = np.linalg.svd(inputs, full_matrices=False)
    along = left.T @ targets

    def loss(penalty: float) -> float:
        shrunk = sizes**2 / (sizes**2 + penalty)
        residual = targets - left @ (shrunk * along)
        return float(residual @ residual / (len(targets) - 1.0 - shrunk.sum()) ** 2)

    scale = float(sizes[0]) ** 2
    best = min((scale * 10.0**power for power in np.arange(-4.0, 2.1, 0.5)), key=loss)
    return np.asarray(right.T @ (sizes / (sizes**2 + best) * along))


def slice_of(result: Result, names: tuple[str, str]) -> Slice:
    """The best reward with each combination of two choices; of a choice with many values the best ones."""
    sign = -1.0 if result.minimized else 1.0
    rows = columns_of(result)
    rewards = [sign * one.reward for one in result.history]
    values = tuple(_best_values([row[name] for row in rows], rewards) for name in names)
    best = np.full((len(values[0]), len(values[1])), -np.inf)
    for row, reward in zip(rows, rewards, strict=True):
        first, second = row[names[0]], row[names[1]]
        if first in values[0] and second in values[1]:
            cell = values[0].index(first), values[1].index(second)
            best[cell] = max(best[cell], reward)
    best[np.isneginf(best)] = np.nan
    return Slice(names, (values[0], values[1]), sign * best)


def _best_values(values: Sequence[Any], rewards: Sequence[float]) -> list[Any]:
    """Different values, those of the best rewards, in their own order if they have one."""
    best = dict[Any, float]()
    for value, reward in zip(values, rewards, strict=True):
        if value is not ABSENT:
            best[value] = max(best.get(value, -np.inf), reward)
    kept = sorted(best, key=lambda value: -best[value])[:_VALUES]
    ordered, none = [value for value in kept if value is not None], [None] if None in kept else []
    try:
        return sorted(ordered) + none
    except TypeError:  # values of several kinds
        return sorted(ordered, key=str) + none


def _two_of(result: Result, found: Sequence[tuple[str, float]]) -> tuple[str, str]:
    """The most important choice, and the most important one that most leaves have together with it."""
    first, *others = [name for name, _ in found]
    with_first = [row for row in columns_of(result) if row[first] is not ABSENT]
    usual = (name for name in others if sum(row[name] is ABSENT for row in with_first) <= len(with_first) / 2)
    return first, next(usual, others[0])


def plotted(result: Result) -> "Figure":
    """A figure with what can be drawn of a result."""
    try:
        pyplot = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("Result.plot needs matplotlib: pip install 'dagsearch[plot]'") from error
    if not result.history:
        raise ValueError("nothing was evaluated: there is nothing to plot")
    found = importances(result)
    panels = 1 if not found else 2 if len(found) == 1 else 3
    figure, axes = pyplot.subplots(1, panels, figsize=(5.5 * panels, 4), layout="constrained", squeeze=False)
    drawn = list(axes[0])
    _draw_rewards(drawn[0], result)
    if panels > 1:
        _draw_importances(drawn[1], found[:_CHOICES])
    if panels > 2:
        shown = _draw_slice(drawn[2], slice_of(result, _two_of(result, found)))
        figure.colorbar(shown, ax=drawn[2], label="best reward")
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
        axes.fill_between(after, ends[0], ends[1], color="C0", alpha=0.2, linewidth=0, label="forecast, 90%")
        axes.plot(after, ends[2], "--", color="C0")
    title = "Best so far" if progress is None else "Best so far, and as many evaluations more"
    axes.set(xlabel="evaluation", ylabel="reward", title=title)
    axes.legend(loc="upper right" if result.minimized else "lower right")


def _turned(belief: Gaussian, sign: float) -> Gaussian:
    return Gaussian(sign * belief.mean, belief.variance)


def _draw_importances(axes: "Axes", found: Sequence[tuple[str, float]]) -> None:
    axes.barh([_short(name) for name, _ in found], [importance for _, importance in found], color="C0")
    axes.invert_yaxis()
    axes.set(xlabel="standard deviation of its effect on the reward", title="Importance of choices")


def _draw_slice(axes: "Axes", found: Slice) -> Any:
    shown = axes.imshow(found.best, aspect="auto")
    rows, columns = ([_short_value(str(value)) for value in values] for values in found.values)
    axes.set_yticks(range(len(rows)), rows, fontsize=min(_LETTER, _LABELS / len(rows)))
    rotation = 90 if max(map(len, columns)) > 3 or len(columns) > 12 else 0
    size = min(_LETTER, _LABELS / len(columns))
    axes.set_xticks(range(len(columns)), columns, rotation=rotation, fontsize=size)
    axes.set(ylabel=_short(found.names[0]), xlabel=_short(found.names[1]), title="Best reward of two choices")
    return shown


def _short_value(text: str) -> str:
    """A value by its beginning and its end: values of one choice often differ in one of them."""
    half = (_LONGEST_VALUE - 1) // 2
    return text if len(text) <= _LONGEST_VALUE else f"{text[:half]}…{text[-half:]}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
