"""What a search uses by default, derived from the problem."""

from dagsearch.covariances import (
    Covariance,
    FeatureMap,
    Nearness,
    Overlap,
    SetKernel,
    Views,
    check_covariance,
)
from dagsearch.covariances.checks import as_covariance
from dagsearch.problem import Capabilities, Problem
from dagsearch.proposers.expansions import AllChildren, Expansion, OneChild
from dagsearch.space.codes import coding_of
from dagsearch.space.walks import random_leaves, random_walk, shape_rng
from dagsearch.values.backups import Backup, MomentMatching
from dagsearch.values.increments import Increments

# Number of children beyond which a node adds them one at a time.
_MANY_CHILDREN = 40
INITIAL = 10
"""Largest number of random leaves to begin with."""
# Number of random walks that estimate a problem's depth.
_WALKS = 64


def default_covariance(problem: Problem) -> Covariance:
    """The covariance that a problem declares, else the overlap of its states' items."""
    declared = Capabilities(problem).covariance
    return Overlap.of(problem) if declared is None else as_covariance(declared)


def natural_covariance(problem: Problem) -> Covariance:
    """The covariance of :func:`dagsearch.search`, bound to the problem.

    ``Views`` if its states have codes, a ``SetKernel`` if it has ``inclusion``. Otherwise, or if the problem
    declares a covariance, :func:`default_covariance`.
    """
    capabilities = Capabilities(problem)
    coding = None if capabilities.covariance is not None else coding_of(problem)
    if coding is not None:
        return Views().with_coding(coding, random_leaves(problem))
    if capabilities.covariance is not None or capabilities.inclusion is None:
        return default_covariance(problem).bind(problem)
    positions = capabilities.positions
    return SetKernel(None if positions is None else Nearness(positions)).bind(problem)


def default_initial(budget: int) -> int:
    """Number of random leaves to begin with: a fifth of the budget, but not too many."""
    return min(budget, INITIAL, max(2, budget // 5))


def default_scale(problem: Problem) -> float | None:
    """The paper's c = 1/depth for the overlap; a declared covariance has its own scale."""
    capabilities = Capabilities(problem)
    if capabilities.covariance is not None:
        return None
    declared = capabilities.depth
    if declared is None:
        rng = shape_rng()
        declared = max(len(random_walk(problem, problem.root(), rng)[1]) for _ in range(_WALKS))
    return 1.0 / max(1, int(declared))


def default_increments(problem: Problem, covariance: Covariance | None) -> Increments:
    """The problem's increments under a covariance; without a covariance all are zero."""
    if covariance is None:
        return Increments([], 0.0)
    return Increments.of(problem, covariance, shape_rng())


def default_expansion(increments: Increments) -> Expansion:
    """One child at a time if nodes have many children, otherwise all at once."""
    many = max(increments.branching, default=1) > _MANY_CHILDREN
    return OneChild() if many else AllChildren()


def default_backup(expansion: Expansion) -> Backup:
    """Moment matching, with a standard normal prior only if all children enter the DAG at once.

    If children enter one at a time, the prior would make visited nodes look worse than siblings outside the
    DAG.
    """
    return MomentMatching(prior=(0.0, 1.0) if isinstance(expansion, AllChildren) else None)


def standardized(covariance: Covariance, problem: Problem) -> Covariance:
    """The covariance, scaled so that the scores of random leaves have unit variance."""
    matrix = covariance(random_leaves(problem))
    count = len(matrix)
    within, across = matrix.trace() / count, (matrix.sum() - matrix.trace()) / (count * (count - 1))
    spread = float(within - across)
    return 1.0 / spread * covariance if spread > 0.0 else covariance


def check_covariance_on(problem: Problem, covariance: Covariance) -> None:
    """Refuse a bad covariance before any reward is paid for; feature maps are valid by construction."""
    if not isinstance(covariance, FeatureMap):
        key = Capabilities(problem).key
        states = {key(state): state for state in [problem.root(), *random_leaves(problem)]}
        check_covariance(covariance, list(states.values()))
