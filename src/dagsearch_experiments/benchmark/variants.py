"""The default search, and variants of it with one part changed."""

from collections.abc import Callable
from typing import Any

from dagsearch.covariances import Nearness, Overlap, SetKernel
from dagsearch.engine.compositions import default_parts
from dagsearch.problem import Problem
from dagsearch.problems import Subsets
from dagsearch.proposers import Regrow, Swaps
from dagsearch.proposers.policies import Thompson
from dagsearch.proposers.rollouts import Thompson as ThompsonRollout
from dagsearch.proposers.rollouts import Uniform
from dagsearch.search import Search
from dagsearch.values.backups import JointSamples
from dagsearch_experiments import mnist

OURS = "dagsearch"
Composed = Callable[[Any, int, int], Search]
"""``make(problem, seed, initial)``: a search that begins with ``initial`` uniform roll-outs."""


def changed(problem: Problem, seed: int, initial: int, **changes: Any) -> Search:
    """The default search with some of its parts changed."""
    covariance = changes.pop("covariance", None)
    parts = {**default_parts(problem, covariance, initial=initial), **changes}
    return Search(problem, **parts, seed=seed)


def sampled(problem: Problem, seed: int, initial: int, descend: bool) -> Search:
    """The default search with joint samples as its back-up and, on request, as its policy."""
    samples = JointSamples(128, seed)
    policy = {"policy": Thompson(samples)} if descend else {}
    return changed(problem, seed, initial, backup=samples, **policy)


def _nearness(problem: Subsets) -> Nearness:
    assert problem.positions is not None
    return Nearness(problem.positions)


ABLATIONS: dict[str, Composed] = {
    OURS: changed,
    "uniform roll-outs": lambda p, s, i: changed(p, s, i, rollout=Uniform()),
    "Thompson roll-outs": lambda p, s, i: changed(p, s, i, rollout=ThompsonRollout()),
    "no refinements": lambda p, s, i: changed(p, s, i, refinements=()),
    "swaps only": lambda p, s, i: changed(p, s, i, refinements=(Swaps(),)),
    "regrowing only": lambda p, s, i: changed(p, s, i, refinements=(Regrow(),)),
    "no evidence": lambda p, s, i: changed(p, s, i, evidence=None),
    "joint samples": lambda p, s, i: sampled(p, s, i, descend=False),
    "joint samples, Thompson descent": lambda p, s, i: sampled(p, s, i, descend=True),
}
"""For any problem."""
SET_ABLATIONS: dict[str, Composed] = {
    **ABLATIONS,
    "items all unlike": lambda p, s, i: changed(p, s, i, covariance=SetKernel()),
    "Matérn-5/2": lambda p, s, i: changed(p, s, i, covariance=SetKernel(_nearness(p), shape="matern-5/2")),
    "linear only": lambda p, s, i: changed(p, s, i, covariance=SetKernel(_nearness(p), nonlinear=0.0)),
    "overlap of partial sets": lambda p, s, i: changed(p, s, i, covariance=Overlap.of(p)),
    "paper's method": lambda p, s, i: mnist.METHODS["probabilistic DAG"](p, s),
}
"""For subsets of items that have positions."""
