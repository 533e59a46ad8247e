"""``python -m experiments benchmark long``: thousands of evaluations, on six problems too large to solve."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.methods import default_initial
from dagsearch.search import Search
from experiments.general.methods import METHODS as GENERAL
from experiments.general.methods import OURS, OWN_MS, Method, check_installed, counted, evaluated, peer
from experiments.general.problems import Instance
from experiments.general.problems.orders import round_trip
from experiments.general.spaces import Letters, Order, Space, Subset
from experiments.general.stated import stated
from experiments.harness.drawing import figure
from experiments.harness.evaluations import Evaluations
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Curve, Outcome, Row, curves, read_rows, recorded_steps, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "long"
BUDGET, SEEDS = 3000, 5
"""Number of evaluations of a run, and number of runs of every method on every problem, one instance each."""
MARKS = (500, 1000, 2000, 3000)
"""Numbers of evaluations in the table."""
_QUICK = 60


# Problems ----------------------------------------------------------------------------------------------


def landscape(number: int) -> Instance:
    """An NK landscape: 80 bits, each of which adds a random number for itself and four others."""
    rng, n, k = np.random.default_rng([number, 300]), 80, 4
    others = np.array([rng.choice(np.delete(np.arange(n), bit), k, replace=False) for bit in range(n)])
    read, added = np.column_stack([np.arange(n), others]), rng.random((n, 2 ** (k + 1)))
    weights = 2 ** np.arange(k + 1)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(added[np.arange(n), points[:, read] @ weights].mean(axis=1))

    return Instance(Letters(n, 2), scores)


def autocorrelation(number: int) -> Instance:
    """A sequence of 60 signs that is unlike itself shifted: its merit factor. There is one instance."""
    n = 60

    def scores(points: IntArray) -> FloatArray:
        signs = 2 * points - 1
        energy = sum(np.sum(signs[:, shift:] * signs[:, :-shift], axis=1) ** 2 for shift in range(1, n))
        return np.asarray(n * n / (2.0 * energy))

    return Instance(Letters(n, 2), scores)


def pairs(number: int) -> Instance:
    """One of 5 options for each of 40 places: a number for each, and one for 120 pairs of places."""
    rng, n, m = np.random.default_rng([number, 302]), 40, 5
    alone = rng.normal(size=(n, m))
    every = np.column_stack(np.triu_indices(n, 1))
    first, second = every[rng.choice(len(every), 3 * n, replace=False)].T
    together = rng.normal(size=(3 * n, m, m))

    def scores(points: IntArray) -> FloatArray:
        both = together[np.arange(3 * n), points[:, first], points[:, second]]
        return np.asarray(alone[np.arange(n), points].sum(axis=1) + both.sum(axis=1))

    return Instance(Letters(n, m), scores)


def assignment(number: int) -> Instance:
    """Quadratic assignment of 25 facilities to 25 places: flow times distance, negative."""
    rng, n = np.random.default_rng([number, 303]), 25
    places = rng.random((n, 2))
    distance = np.abs(places[:, None] - places).sum(axis=2)
    flow = np.triu(np.floor(10.0 ** rng.uniform(-1.0, 2.0, size=(n, n))), 1)
    flow = flow + flow.T

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(-np.sum(flow[points[:, :, None], points[:, None, :]] * distance, axis=(1, 2)) / 2.0)

    return Instance(Order(n), scores)


def tour(number: int) -> Instance:
    """A round trip through 40 random towns: its length, negative."""
    return round_trip(np.random.default_rng([number, 304]).random((40, 2)))


def sites(number: int) -> Instance:
    """15 of 200 sites for sensors: the mean distance of 1,000 places to the nearest one, negative.

    The places lie around six towns.
    """
    rng = np.random.default_rng([number, 305])
    towns, site = rng.random((6, 2)), rng.random((200, 2))
    place = towns[rng.integers(6, size=1000)] + 0.12 * rng.normal(size=(1000, 2))
    distance = np.linalg.norm(site[:, None] - place, axis=2)

    def scores(points: IntArray) -> FloatArray:
        return np.array([-distance[point == 1].min(axis=0).mean() for point in points])

    return Instance(Subset(200, 15), scores)


PROBLEMS: dict[str, Callable[[int], Instance]] = {
    one.__name__: one for one in (landscape, autocorrelation, pairs, assignment, tour, sites)
}
"""The instance with a number, by the problem's name."""


# Methods -----------------------------------------------------------------------------------------------

EVERY = 500
"""Number of evaluations after which a restarted search begins again."""
TPE, TPE_BUDGET = "TPE (Optuna)", 1000
"""It takes minutes for a thousand evaluations, and more than proportionally longer for more."""


def restarted(evaluate: Evaluations, instance: Instance, seed: int) -> None:
    """:func:`dagsearch.search` again and again, each time for 500 evaluations and without what it knows."""
    for number in range(-(-evaluate.budget // EVERY)):
        problem = stated(counted(instance, evaluate))
        Search.default(problem, initial=default_initial(EVERY), seed=1000 * seed + number).run(EVERY)


def annealing(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Simulated annealing: random changes, at a temperature that falls by a factor of 1,000.

    It begins at the standard deviation of 20 random points.
    """
    rng = np.random.default_rng(seed)
    points = space.sample(20, rng)
    scores = [evaluate(point) for point in points]
    point, score, first = points[int(np.argmax(scores))], max(scores), float(np.std(scores))
    while True:
        other = rng.choice(space.neighbours(point, rng))
        found = evaluate(other)
        temperature = first * 1e-3 ** (len(evaluate.rewards) / evaluate.budget)
        if found >= score or rng.random() < np.exp((found - score) / temperature):
            point, score = other, found


METHODS: dict[str, Method] = {
    OURS: GENERAL[OURS],
    f"restarted every {EVERY}": Method(restarted, repeats=True),
    "annealing": peer(annealing),
    **{name: GENERAL[name] for name in ("genetic", "hill climbing", TPE)},
}
"""Every method by its name in tables and on the command line."""
_STYLES = {
    OURS: ("#D55E00", "-"),
    f"restarted every {EVERY}": ("#0072B2", "-"),
    "annealing": ("#56B4E9", "--"),
    "genetic": ("#CC79A7", "-."),
    "hill climbing": ("#009E73", "--"),
    TPE: ("#E69F00", ":"),
}


# The experiment ----------------------------------------------------------------------------------------


def run(
    *,
    methods: Sequence[str] = (),
    problems: Sequence[str] = (),
    seeds: int | None = None,
    jobs: int = 1,
    quick: bool = False,
    keep: Path | None = None,
    progress: bool = True,
) -> Outcome:
    """Run the methods on the problems; all of them by default.

    Parameters
    ----------
    methods, problems : sequence of str
        Which; all by default.
    seeds : int, optional
        Number of runs of every method on every problem.
    jobs : int
        Number of processes; results do not depend on it.
    quick : bool
        Whether one run of 60 evaluations is enough, by default of two problems.
    keep : path, optional
        A folder with results. Methods that are not run now are taken from there.
    progress : bool
        Whether to show a bar.
    """
    for unknown in {*methods} - {*METHODS} | {*problems} - {*PROBLEMS}:
        raise ValueError(f"there is no {unknown!r}; there are {', '.join((*METHODS, *PROBLEMS))}")
    methods, problems = methods or list(METHODS), problems or list(PROBLEMS)[: 2 if quick else None]
    check_installed([name for name in methods if name in GENERAL])
    count = seeds or (1 if quick else SEEDS)
    slowest_first = sorted(methods, key=[TPE, *METHODS].index)
    budgets = {
        name: min(TPE_BUDGET if name == TPE else BUDGET, _QUICK if quick else BUDGET) for name in methods
    }
    tasks = [
        (name, problem, seed, budgets[name])
        for name in slowest_first
        for seed in range(count)
        for problem in problems
    ]
    rows, kept = run_rounds(one_run, tasks, jobs, progress), dict[str, Any]()
    if keep is not None:
        before = json.loads((keep / f"{NAME}.json").read_text())
        kept = {"kept_from": {name: before[name] for name in ("commit", "versions", "seeds", "methods")}}
        rows += [row for row in read_rows(keep / f"{NAME}.csv.gz") if row.method not in methods]
    rows.sort(
        key=lambda row: (list(PROBLEMS).index(row.setting.partition(",")[0]), [*METHODS].index(row.method))
    )
    about: dict[str, Any] = {
        "seeds": count,
        "methods": list(methods),
        "problems": list(problems),
        "evaluations": budgets,
    }
    about |= kept
    return Outcome(NAME, rows, about, {NAME: draw(rows)})


def one_run(method: str, problem: str, seed: int, budget: int) -> list[Row]:
    """The best score so far at some steps, and own time."""
    with threadpool_limits(limits=1):
        evaluated(METHODS[method], PROBLEMS[problem](seed), 30, seed)  # imports and compiling do not count
        evaluate = evaluated(METHODS[method], PROBLEMS[problem](seed), budget, seed)
    best = np.maximum.accumulate(evaluate.rewards)
    best = np.append(best, np.repeat(best[-1], budget - len(best)))
    steps = sorted({*recorded_steps(budget, 1.05), *(mark for mark in MARKS if mark <= budget)})
    rows = [Row(method, problem, seed, step, float(best[step - 1])) for step in steps]
    return [
        *rows,
        Row(method, f"{problem}, {OWN_MS}", seed, budget, 1e3 * evaluate.own_seconds / len(evaluate.rewards)),
    ]


def tables(rows: Iterable[Row]) -> dict[str, str]:
    """The table of the page, by name."""
    found = curves(rows)
    return {"long": _table(found)}


def _table(found: dict[tuple[str, str], Curve]) -> str:
    lines = []
    for problem in PROBLEMS:
        last = {method: curve for (method, name), curve in found.items() if name == problem}
        most = max((curve.mean[-1] for curve in last.values() if curve.steps[-1] == BUDGET), default=np.inf)
        for method, curve in last.items():
            reached = [f"{curve.mean[curve.at(m)]:.5g}" if m <= curve.steps[-1] else "–" for m in MARKS]
            if curve.steps[-1] == BUDGET:
                reached[-1] += f" ± {curve.error[-1]:.2g}"
                reached[-1] = f"**{reached[-1]}**" if curve.mean[-1] == most else reached[-1]
            ms = f"{found[method, f'{problem}, {OWN_MS}'].mean[-1]:.1f}"
            lines.append([f"`{problem}`", method, *reached, ms])
    return table(["problem", "method", *map(str, MARKS), "own ms"], lines)


def summary(outcome: Outcome) -> str:
    """The table for a terminal."""
    return aligned(tables(outcome.rows)["long"])


def draw(rows: Iterable[Row]) -> "Figure":
    """Mean of the best so far against evaluations, problem by problem."""
    found, drawn = curves(rows), figure(12.0, 6.4)
    shown = [problem for problem in PROBLEMS if any(name == problem for _, name in found)]
    places = drawn.subplots(2, 3, squeeze=False).ravel()
    for axes, problem in zip(places, shown, strict=False):
        for (method, name), curve in found.items():
            if name == problem:
                colour, line = _STYLES[method]
                width = 2.6 if method == OURS else 1.4
                axes.plot(curve.steps, curve.mean, line, color=colour, linewidth=width, label=method)
        ours = found.get((OURS, problem))
        if ours is not None:  # what comes before is too low to show the rest
            axes.set_ylim(bottom=float(ours.mean[ours.at(50)]))
        axes.set(title=problem, xlabel="evaluations")
        axes.grid(alpha=0.25, linewidth=0.6)
    for axes in places[len(shown) :]:
        axes.remove()
    handles, labels = places[0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    drawn.supylabel("best so far, mean of all runs", fontsize="medium")
    return drawn
