"""Tables and pictures of the docs and the sentence of the front page, from the rows of the benchmark."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from dagsearch._internal.typing import FloatArray
from experiments.general.methods import EVERY, METHODS, OURS
from experiments.general.problems import KINDS, TASKS
from experiments.harness.curves import OWN_MS, Mean, curves
from experiments.harness.drawing import figure, legend_below, panels
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Row

if TYPE_CHECKING:
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
ALL, ORDERED, RELABELLED = "all", "with relabelled versions", "these, relabelled"


class Measures:
    """The data of tables and pictures.

    Parameters
    ----------
    rows : iterable of Row
        Rows of the CSV file.

    Attributes
    ----------
    methods : list of str
        The methods that ran.
    problems : list of str
        The problems on which all of them ran; only these are shown.
    partly : list of str
        The problems on which only some of them ran.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.curves = curves(rows)
        """Regret and own time of all runs, by method and setting."""
        run = {method for method, _ in self.curves}
        self.methods = [name for name in METHODS if name in run]
        ran_by = {name: self.ran_on(name) for name in TASKS}
        self.problems = [name for name, ran in ran_by.items() if ran == self.methods]
        self.partly = [name for name, ran in ran_by.items() if ran and ran != self.methods]
        for name in self.problems:
            forms = {(len(c.values), c.steps[-1]) for m in self.methods for c in [self.curves[m, name]]}
            if len(forms) > 1:
                raise ValueError(f"{name}: methods have different runs or budgets; run them again together")

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Problems by kind, all together, those with relabelled versions, and the relabelled versions."""
        original = [name for name in self.problems if TASKS[name].relabels is None]
        found = {kind: [name for name in original if TASKS[name].kind == kind] for kind in KINDS}
        relabelled = [name for name in self.problems if TASKS[name].relabels is not None]
        found[ALL] = original
        found[ORDERED] = [TASKS[name].original for name in relabelled]
        found[RELABELLED] = relabelled
        return {group: names for group, names in found.items() if names}

    def regret(self, method: str, problems: Sequence[str], step: int | None = None) -> FloatArray:
        """Regret of all runs on some problems after ``step`` evaluations, or at the end."""
        found = [self.curves[method, problem] for problem in problems]
        return np.concatenate([curve.after(step or int(curve.steps[-1])) for curve in found])

    def ranks(self, problems: Sequence[str]) -> dict[str, Mean]:
        """Rank of every method at the end, 1 is best; ties share their ranks.

        Runs on one problem are not independent, so the error is computed over problems, or over runs if there
        is only one problem.
        """
        regrets = np.array([[self.regret(m, [name]) for name in problems] for m in self.methods])
        ranks = rankdata(np.round(regrets, 6), axis=0)
        units = ranks.mean(axis=2) if len(problems) > 1 else ranks[:, 0]
        return {method: Mean.of(row) for method, row in zip(self.methods, units, strict=True)}

    def ran_on(self, problem: str) -> list[str]:
        """The methods that ran on a problem."""
        return [method for method in self.methods if (method, problem) in self.curves]

    def own_ms(self, method: str, problem: str) -> FloatArray:
        """Own milliseconds per evaluation of all runs."""
        return self.curves[method, f"{problem}, {OWN_MS}"].values[:, -1]


# Tables ------------------------------------------------------------------------------------------------


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
        times = {name: found.own_ms(method, name) for name in everything}
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
    """The texts of all methods, the smallest value in bold."""
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
    """Mean regret against the share of the budget, by kind, for all, and for relabelled problems."""
    groups = {group: problems for group, problems in found.groups.items() if group != ORDERED}
    across = min(5, (len(groups) + 1) // 2)
    drawn, places = panels(len(groups), across, sharex=True, sharey=True)
    for place, (axes, (group, problems)) in enumerate(zip(places, groups.items(), strict=True)):
        for method in found.methods:
            shares, regret = _mean_curve(found, method, problems)
            axes.plot(100 * shares, regret, label=method, **STYLES[method])
        name = "relabelled" if group == RELABELLED else group
        axes.set_title(f"{name} ({len(problems)})", fontsize="medium")
        axes.set(yscale="log", xlim=(5, 100), ylim=(0.01, 1.2))
        if place + across >= len(groups):  # no panel below has the labels of its axis
            axes.set_xlabel("% of the budget", fontsize="small")
            axes.tick_params(labelbottom=True)
        axes.set_yticks([0.01, 0.1, 1.0], ["0.01", "0.1", "1"])
        axes.grid(alpha=0.25, linewidth=0.6)
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
