"""The tables and the picture of ``docs/results.md``, and the sentence of the front page."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch._internal.typing import FloatArray
from experiments.general.measures import ALL, ORDERED, Measures
from experiments.general.methods import EVERY, OURS
from experiments.general.problems import TASKS
from experiments.harness.drawing import figure, legend_below, panels
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS = (25, 50, 100)
"""Numbers of evaluations in the tables, before the end of the budget."""
STYLES: dict[str, dict[str, Any]] = {
    name: {"color": colour, "linestyle": line, "linewidth": 2.6 if name == OURS else 1.4}
    for name, colour, line in (
        (OURS, "#D55E00", "-"),
        ("GP (BoTorch)", "#0072B2", "-"),
        ("GP (Optuna)", "#999999", "-"),
        (f"restarted every {EVERY}", "#0072B2", "-"),
        ("hill climbing", "#009E73", "--"),
        ("genetic", "#CC79A7", "-."),
        ("annealing", "#56B4E9", "--"),
        ("TPE (Optuna)", "#E69F00", "--"),
        ("paper's method", "#56B4E9", ":"),
        ("random", "#000000", ":"),
    )
}
"""Colour and line of each method, distinct for any colour vision (Okabe and Ito)."""


def tables(found: Measures) -> dict[str, str]:
    """The tables of the page, by name."""
    everything, methods = found.groups.get(ALL, found.problems), found.methods
    ranks, partly, time = [], [], []
    for group, names in found.groups.items():
        by_method = found.ranks(names)
        cells = {method: (mean.value, mean.shown(1)) for method, mean in by_method.items()}
        ranks.append([f"{group} ({len(names)})", *_best_bold(cells)])
    budget = [
        [f"at {step}" if step else "at the end", *_regrets(found, everything, methods, step)]
        for step in (*MARKS, None)
    ]
    for name in found.partly:
        ran = found.ran_on(name)
        shown = dict(zip(ran, _regrets(found, [name], ran), strict=True))
        own = f"{found.own_ms(OURS, name).mean():.1f}" if OURS in ran else "–"
        partly.append([f"`{name}`", TASKS[name].what, *(shown.get(m, "–") for m in methods), own])
    for method in methods:
        times = {name: found.own_ms(method, name) for name in found.problems}
        slowest = max(times, key=lambda name: float(times[name].mean()))
        mean = np.concatenate(list(times.values())).mean()
        time.append([method, f"{mean:.2f}", f"{times[slowest].mean():.2f} (`{slowest}`)"])
    return {
        "ranks": table(["mean rank at the end", *methods], ranks),
        "budget": table(["mean regret, all problems", *methods], budget),
        "partly": table(["regret at the end", "choices", *methods, f"own ms of {OURS}"], partly),
        "time": table(["own milliseconds per evaluation", "mean of all runs", "slowest problem"], time),
    }


def _regrets(
    found: Measures, problems: Sequence[str], methods: Sequence[str], step: int | None = None
) -> list[str]:
    values = {method: float(found.regret(method, problems, step).mean()) for method in methods}
    return _best_bold({method: (value, f"{value:.3f}") for method, value in values.items()})


def _best_bold(cells: Mapping[str, tuple[float, str]]) -> list[str]:
    """The texts of all methods; those with the smallest value are bold."""
    least = min(round(value, 6) for value, _ in cells.values())
    return [f"**{text}**" if round(value, 6) == least else text for value, text in cells.values()]


def summary(found: Measures) -> str:
    """The most important tables, for a terminal."""
    made = tables(found)
    parts = [aligned(made[name]) for name in ("ranks", "budget", "time")]
    if found.partly:
        parts.append(f"Not run by all methods: {', '.join(found.partly)}")
    return "\n\n".join(parts)


# The picture -------------------------------------------------------------------------------------------


def figures(rows: Iterable[Row]) -> dict[str, "Figure"]:
    """The pictures of the page and of the front page."""
    found = Measures(rows)
    return {"general": draw(found), "front": draw_front(found)}


def draw(found: Measures) -> "Figure":
    """Mean regret against the share of the budget, kind by kind, for all, and for what is relabelled."""
    groups = {group: problems for group, problems in found.groups.items() if group != ORDERED}
    drawn, places = panels(len(groups), min(5, (len(groups) + 1) // 2), sharex=True, sharey=True)
    for place, (group, problems) in zip(places, groups.items(), strict=True):
        _draw_group(place, found, group, problems)
    legend_below(drawn, places)
    drawn.supylabel("normalised regret: 0 is the optimum, 1 a random point", fontsize="medium")
    return drawn


def front(found: Measures) -> str:
    """The sentence of the front page."""
    problems = found.groups[ALL]
    shares, ours = _mean_curve(found, OURS, problems)
    first, *others = (
        (peer, f"{100 * shares[np.argmax(ours <= _mean_curve(found, peer, problems)[1][-1])]:.0f} %")
        for peer in _FRONT[1:4]
    )
    own, its = (np.mean([found.own_ms(one, name).mean() for name in problems]) for one in (OURS, first[0]))
    return (
        f"**dagsearch matches the final result of BoTorch's Gaussian process with {first[1]} of the "
        f"evaluations, at 1/{its / own:.0f} of its computing time per evaluation**. It matches "
        f"{' and '.join(f'{peer} with {share}' for peer, share in others)} of the evaluations "
        f"({len(problems)} problems, 8 runs each)."
    )


_FRONT = (OURS, "GP (BoTorch)", "hill climbing", "TPE (Optuna)", "random")


def draw_front(found: Measures) -> "Figure":
    """Mean score of all problems against the share of the budget, for the front page."""
    drawn = figure(7.6, 3.6)
    axes = drawn.subplots()
    problems = found.groups[ALL]
    methods = [method for method in _FRONT if method in found.methods]
    for method in methods:
        shares, regret = _mean_curve(found, method, problems)
        axes.plot(100 * shares, 1.0 - regret, **STYLES[method])
        axes.annotate(
            method,
            (100, 1.0 - regret[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            color=STYLES[method]["color"],
            fontweight="bold" if method == OURS else "normal",
        )
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.annotate("optimum", (5, 1.0), xytext=(4, -11), textcoords="offset points", color="grey")
    axes.set(xlim=(5, 100), ylim=(0.3, 1.02), xlabel="% of the evaluations")
    axes.set_ylabel("best so far\n(0: a random point, 1: the optimum)")
    axes.set_title(f"{len(problems)} problems of every kind of choice, 8 runs each", fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25, linewidth=0.6)
    return drawn


def _mean_curve(found: Measures, method: str, problems: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Shares of the budget, and the mean regret of some problems at each."""
    shares = np.linspace(0.05, 1.0, 39)
    values = []
    for problem in problems:
        curve = found.curves[method, problem]
        steps = np.maximum(1, np.floor(shares * curve.steps[-1] + 1e-9)).astype(np.int64)
        values.append(curve.mean[[curve.at(step) for step in steps]])
    return shares, np.mean(values, axis=0)


def _draw_group(axes: "Axes", found: Measures, group: str, problems: Sequence[str]) -> None:
    for method in found.methods:
        shares, regret = _mean_curve(found, method, problems)
        axes.plot(100 * shares, regret, label=method, **STYLES[method])
    axes.set_title(f"{group} ({len(problems)})", fontsize="medium")
    axes.set(yscale="log", xlim=(5, 100), ylim=(0.01, 1.2))
    axes.set_xlabel("% of the budget", fontsize="small")
    axes.label_outer()
    axes.set_yticks([0.01, 0.1, 1.0], ["0.01", "0.1", "1"])
    axes.grid(alpha=0.25, linewidth=0.6)
