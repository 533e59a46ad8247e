"""Searches that several tests compose: of every kind, with lazy beliefs, and of the paper's experiments."""

from collections.abc import Callable, Iterator

import numpy as np

import dagsearch as ds
from dagsearch.covariances import Overlap, SetKernel
from dagsearch.posterior import FunctionScores, scores_for
from dagsearch.proposers import Descent
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform
from dagsearch.values.backups import MomentMatching
from experiments.paper.methods import PIXELS, SYNTHETIC, TICTACTOE

_WEIGHTS = np.random.default_rng(0).normal(size=20)


def linear_subsets():
    """4 of 20 items; the reward is the sum of their weights."""
    return ds.problems.Subsets(20, 4, reward=lambda chosen: float(_WEIGHTS[sorted(chosen)].sum()))


SEARCHES: dict[str, Callable[[ds.problems.Subsets], ds.Search]] = {
    "default": lambda p: ds.Search.default(p, initial=6, seed=0),
    "noisy": lambda p: ds.Search.default(p, initial=6, noisy=True, seed=0),
    "paper": lambda p: ds.Search.paper(p, seed=0),
    "descents": lambda p: ds.Search(
        p,
        scores=FunctionScores(SetKernel().bind(p), 0.01),
        proposers=Descent(
            ds.policies.UpperConfidence(1.0), ds.rollouts.Greedy(1.0), ds.expansions.AllChildren()
        ),
        seed=0,
    ),
}


def methods_of_the_experiments() -> Iterator[tuple[str, Callable[[], ds.Search]]]:
    """Every method of the paper's experiments, each on a small problem."""
    for method, make in SYNTHETIC.items():
        yield f"synthetic: {method}", lambda make=make: make(ds.problems.Synthetic(seed=0), 0, 0.1)
    for method, make in TICTACTOE.items():
        yield f"tictactoe: {method}", lambda make=make: make(ds.problems.TicTacToe(), 0)
    for method, make in PIXELS.items():
        yield (
            f"subsets: {method}",
            lambda make=make: make(ds.problems.Subsets(60, 5, lambda s: 0.01 * (sum(s) % 17)), 0),
        )


def exhaustive(problem, expansion=None, **parts):
    """A search that sees every leaf once."""
    settings = {
        "scores": scores_for(Overlap.of(problem), 1e-12),
        "proposers": Descent(UpperConfidence(1.0), Uniform(), expansion or ds.expansions.AllChildren()),
        "backup": MomentMatching(),
        "repeats": False,
        "seed": 0,
    }
    return ds.Search(problem, **(settings | parts))
