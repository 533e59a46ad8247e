"""The methods that are compared, in one table, and a run of one of them."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from dagsearch._internal.typing import FloatArray
from dagsearch.methods import default_initial
from dagsearch.search import Search
from experiments.general import peers
from experiments.general.optima import scale_of
from experiments.general.problems import TASKS, Instance
from experiments.general.process import gaussian_process
from experiments.general.spaces import Space
from experiments.general.stated import stated
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.runner import Row, recorded_steps

OURS = "dagsearch"
INITIAL = 20
"""Number of random leaves that standardise the rewards of the paper's method, as in its section 4.3."""
MARKS = (25, 50, 100)
"""Numbers of evaluations in the tables, before the end of the budget."""
OWN_MS = "own ms"
"""What is measured besides regret, as it follows the problem's name in the file."""


class Method(NamedTuple):
    """A method of the comparison."""

    run: Callable[[Evaluations, Instance, int], None]
    """``run(evaluate, instance, seed)`` evaluates points, which are rows of whole numbers."""
    needs: Sequence[str] = ()
    """Packages that it needs."""
    repeats: bool = False
    """Whether it may pay for a point again."""


def peer(run: Callable[[Evaluations, Space, int], None], *needs: str) -> Method:
    """A method that knows the space only."""
    return Method(lambda evaluate, instance, seed: run(evaluate, instance.space, seed), needs)


def counted(instance: Instance, evaluate: Evaluations) -> Instance:
    """The instance with scores that are counted as evaluations."""
    return instance._replace(scores=lambda points: np.array([evaluate(point) for point in points]))


def ours(evaluate: Evaluations, instance: Instance, seed: int) -> None:
    """:func:`dagsearch.search`, without any setting; it is told whether scores are noisy."""
    problem, initial = stated(counted(instance, evaluate)), default_initial(evaluate.budget)
    search = Search.default(problem, initial=initial, noisy=evaluate.noisy, seed=seed)
    _recommending(search, evaluate)


def paper(evaluate: Evaluations, instance: Instance, seed: int) -> None:
    """The method of the paper; it may evaluate a point again."""
    initial = min(INITIAL, evaluate.budget // 4)
    problem = stated(counted(instance, evaluate), descends=True)
    _recommending(Search.paper(problem, standardize=initial, seed=seed), evaluate)


def _recommending(search: Search, evaluate: Evaluations) -> None:
    """Run a search; where scores are noisy it says after each evaluation which point is best."""
    first: dict[object, int] = {}
    for number, evaluation in enumerate(search.steps(evaluate.budget)):
        first.setdefault(evaluation.leaf, number)
        if evaluate.noisy:
            best = search.incumbent()
            assert best is not None
            evaluate.recommended[number + 1] = evaluate.points[first[best.leaf]]


METHODS: dict[str, Method] = {
    OURS: Method(ours, repeats=True),
    "GP (BoTorch)": peer(gaussian_process, "botorch", "gpytorch", "torch"),
    "hill climbing": peer(peers.hill_climbing),
    "genetic": peer(peers.genetic_algorithm),
    "TPE (Optuna)": peer(peers.optuna_tpe, "optuna"),
    "paper's method": Method(paper, repeats=True),
    "random": peer(peers.random_search),
}
"""Every method by its name in tables and on the command line."""


def check_installed(names: Sequence[str]) -> None:
    """Raise unless the packages of these methods are there; a method is never left out silently."""
    for name in names:
        missing = [package for package in METHODS[name].needs if find_spec(package) is None]
        if missing:
            others = " ".join(f"'{other}'" for other in METHODS if not METHODS[other].needs)
            raise ModuleNotFoundError(
                f"{name} needs {', '.join(missing)}: pip install '.[benchmark]', or name the methods "
                f"to compare: --methods {others}"
            )


def evaluated(method: Method, instance: Instance, budget: int, seed: int) -> Evaluations:
    """What a method evaluates on an instance; packages must have been imported by an earlier run."""
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
    """True scores of what a method recommends; if it says nothing, of the point with the best reading."""
    best = np.maximum.accumulate(evaluate.rewards)
    if not evaluate.noisy:
        return best
    first = (evaluate.rewards.index(reading) for reading in best)
    points = [
        evaluate.recommended.get(number, evaluate.points[which]) for number, which in enumerate(first, 1)
    ]
    return instance.scores(np.array(points))


@cache
def _warm_up(method: str, name: str) -> None:
    """Run a method once on a problem: imports and compiling do not count as its time."""
    evaluated(METHODS[method], TASKS[name].make(0), 30, 0)


def one_run(method: str, name: str, number: int, budget: int) -> list[Row]:
    """Normalised regret at some steps, and own time, as rows of the file.

    A run that ends early, because it proposes nothing new, keeps its regret.
    """
    task = TASKS[name]
    instance = task.instance(number)
    with threadpool_limits(limits=1):
        _warm_up(method, name)
        evaluate = evaluated(METHODS[method], instance, budget, number)
    scores = recommended(instance, evaluate)
    best = np.append(scores, np.repeat(scores[-1], budget - len(scores)))
    regret = np.round(scale_of(task, number).regret(best), 9) + 0.0  # 0, not -0, where only rounding differs
    steps = sorted({*recorded_steps(budget, 1.12), *(mark for mark in MARKS if mark <= budget)})
    own = Row(method, f"{name}, {OWN_MS}", number, budget, 1e3 * evaluate.own_seconds / len(scores))
    return [*(Row(method, name, number, step, float(regret[step - 1])) for step in steps), own]
