"""A benchmark: methods on problems, each run with several seeds."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from dagsearch._internal.typing import FloatArray
from experiments.general.optima import scales
from experiments.general.problems import TASKS, Instance, Task
from experiments.general.spaces import Space
from experiments.harness.curves import changes
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, Row, kept, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = "share of one point"
"""Share of the evaluations of the most frequently evaluated point, if scores are noisy."""
_QUICK_BUDGET = 30
_WARM: set[tuple[str, str]] = set()


class Method(NamedTuple):
    """A method of the comparison."""

    run: Callable[[Evaluations, Instance, int], None]
    """``run(evaluate, instance, seed)`` evaluates points, which are rows of whole numbers."""
    needs: Sequence[str] = ()
    """Packages that it needs."""
    repeats: bool = False
    """Whether it may evaluate a point again."""
    most: int = 10**9
    """Largest number of evaluations, if more would take too long."""


def peer(run: Callable[[Evaluations, Space, int], None], *needs: str, most: int = 10**9) -> Method:
    """A method that knows only the space."""
    return Method(lambda evaluate, instance, seed: run(evaluate, instance.space, seed), needs, most=most)


class Suite(NamedTuple):
    """Methods, problems, and the number of runs of each method on each problem."""

    name: str
    """Names the files."""
    methods: Mapping[str, Method]
    tasks: Mapping[str, Task]
    seeds: int
    """Number of runs; they take the instances in turn."""
    draw: Callable[[Sequence[Row]], Mapping[str, "Figure"]] = lambda rows: {}
    """Figures by file name."""

    def run(
        self,
        *,
        methods: Sequence[str] = (),
        problems: Sequence[str] = (),
        seeds: int | None = None,
        jobs: int = 1,
        quick: bool = False,
        keep: Path | None = None,
    ) -> Outcome:
        """Run the benchmark at full size, or ``quick``: one run of 30 evaluations on a few problems.

        By default all methods and problems run; others than the named ones come from the results in ``keep``.
        """
        chosen = _chosen("method", methods, self.methods)
        names = _chosen("problem", problems, self.tasks)
        names = names[:2] if quick and not problems else names
        for package in (package for method in chosen for package in self.methods[method].needs):
            import_peer(package)  # now, before hours of other methods
        numbers = range(seeds or (1 if quick else self.seeds))
        slowest_first = sorted(chosen, key=lambda method: not self.methods[method].needs)
        tasks = [
            (method, self.methods[method], self.tasks[name], number, quick)
            for method in slowest_first
            for name in names
            for number in numbers
        ]
        rows = run_rounds(one_run, tasks, jobs)
        about = {"seeds": len(numbers), "methods": chosen, "problems": names}
        if keep is not None:
            again = {(method, problem) for method in chosen for problem in names}
            known = {(method, problem) for method in self.methods for problem in self.tasks} - again
            earlier, source = kept(keep, self.name, lambda row: (row.method, row.problem) in known)
            rows, about = rows + earlier, about | source
        rows.sort(key=lambda row: (list(self.tasks).index(row.problem), [*self.methods].index(row.method)))
        return Outcome(self.name, rows, about, self.draw(rows))


def _chosen(what: str, names: Sequence[str], known: Iterable[str]) -> list[str]:
    """The names in the order of the table; all by default."""
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    return [name for name in known if not names or name in names]


# A run -------------------------------------------------------------------------------------------------


def one_run(name: str, method: Method, task: Task, number: int, quick: bool) -> list[Row]:
    """Regret or the best score of a run wherever it changes, and its own time."""
    budget = min(task.budget, method.most, _QUICK_BUDGET if quick else task.budget)
    instance = task.instance(number)
    with threadpool_limits(limits=1):
        if (name, task.name) not in _WARM:  # imports and compiling do not count
            evaluated(method, task.make(0), _QUICK_BUDGET, 0)
            _WARM.add((name, task.name))
        evaluate = evaluated(method, instance, budget, number)
    reached = recommended(instance, evaluate)
    if task.scaled:
        scale = scales()[task.original, number % TASKS[task.original].instances]
        reached = np.round(scale.regret(reached), 9) + 0.0  # 0, not -0
    rows = changes(reached, name, task.name, number, evaluate, budget)
    if instance.noise > 0.0:
        most = float(np.unique(np.array(evaluate.points), axis=0, return_counts=True)[1].max())
        rows.append(Row(name, f"{task.name}, {SHARE}", number, budget, most / len(evaluate.points)))
    return rows


def evaluated(method: Method, instance: Instance, budget: int, seed: int) -> Evaluations:
    """The evaluations of a method on an instance."""
    read, repeats = instance.read(seed), method.repeats
    evaluate = Evaluations(
        lambda point: read(point[None])[0],
        budget,
        key=lambda point: object() if repeats else point.tobytes(),
        noisy=instance.noise > 0.0,
    )
    with suppress(BudgetSpent):
        method.run(evaluate, instance, seed)
    return evaluate


def recommended(instance: Instance, evaluate: Evaluations) -> FloatArray:
    """True scores of a method's recommendations, by default of the point with the best reading."""
    best = np.maximum.accumulate(evaluate.rewards)
    if not evaluate.noisy:
        return best
    first = (evaluate.rewards.index(reading) for reading in best)
    points = [
        evaluate.recommended.get(number, evaluate.points[which]) for number, which in enumerate(first, 1)
    ]
    return instance.scores(np.array(points))
