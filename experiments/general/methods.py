"""The methods that are compared, in one table."""

import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.methods import default_initial
from dagsearch.problem import Problem
from dagsearch.search import Search
from experiments.general import peers
from experiments.general.peers import Peer, Run, as_peer, with_noise
from experiments.general.problems import TASKS, Instance, Scores
from experiments.general.process import gaussian_process
from experiments.general.stated import stated

OURS = "dagsearch"
INITIAL = 20
"""Number of random leaves that standardise the rewards of the paper's method, as in its section 4.3."""


class Method(NamedTuple):
    """A method of the comparison."""

    run: Peer
    """Runs it on an instance."""
    needs: Sequence[str] = ()
    """Packages that it needs."""


class _Timed:
    """Scores that add up the time they take."""

    def __init__(self, scores: Scores) -> None:
        self._scores, self.seconds = scores, 0.0

    def __call__(self, points: IntArray) -> FloatArray:
        began = time.process_time()
        found = self._scores(points)
        self.seconds += time.process_time() - began
        return found


def _searched(
    instance: Instance, seed: int, budget: int, begin: Callable[[Problem], Search], descends: bool = False
) -> Run:
    timed = _Timed(with_noise(instance, seed))
    problem, truth = stated(instance._replace(scores=timed), descends), stated(instance, descends)
    scores, seconds = [], 0.0
    began = time.process_time()
    search = begin(problem)
    for evaluation in search.steps(budget):
        if instance.noise == 0.0:
            scores.append(evaluation.best_reward)
            continue
        seconds += time.process_time() - began
        best = search.incumbent()
        assert best is not None
        scores.append(truth.reward(best.leaf))
        began = time.process_time()
    seconds += time.process_time() - began - timed.seconds
    return Run(np.array(scores), seconds)


def ours(instance: Instance, budget: int, seed: int) -> Run:
    """:func:`dagsearch.search`, without any setting; it is told whether scores are noisy."""
    noisy, initial = instance.noise > 0.0, default_initial(budget)
    return _searched(
        instance,
        seed,
        budget,
        lambda problem: Search.default(problem, initial=initial, noisy=noisy, seed=seed),
    )


def paper(instance: Instance, budget: int, seed: int) -> Run:
    """The method of the paper; it may evaluate a point again."""
    initial = min(INITIAL, budget // 4)
    return _searched(
        instance,
        seed,
        budget,
        lambda problem: Search.paper(problem, standardize=initial, seed=seed),
        descends=True,
    )


METHODS: dict[str, Method] = {
    OURS: Method(ours),
    "GP (BoTorch)": Method(as_peer(gaussian_process), ("botorch", "gpytorch", "torch")),
    "hill climbing": Method(as_peer(peers.hill_climbing)),
    "genetic": Method(as_peer(peers.genetic_algorithm)),
    "TPE (Optuna)": Method(as_peer(peers.optuna_tpe), ("optuna",)),
    "paper's method": Method(paper),
    "random": Method(as_peer(peers.random_search)),
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


@cache
def warm_up(method: str, name: str) -> None:
    """Run a method once on a problem: imports and compiling do not count as its time."""
    METHODS[method].run(TASKS[name].make(0), 30, 0)
