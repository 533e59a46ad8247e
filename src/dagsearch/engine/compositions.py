"""What a search uses unless told otherwise, read off the problem."""

from typing import Any

from dagsearch._internal.walks import random_leaves, random_walk, shape_rng
from dagsearch.backups import Backup, MomentMatching
from dagsearch.covariances import Covariance, FeatureMap, Nearness, Overlap, SetKernel, check_covariance
from dagsearch.covariances.checks import as_covariance
from dagsearch.expansions import AllChildren, Expansion, OneChild
from dagsearch.increments import Increments
from dagsearch.learning.evidence import Evidence
from dagsearch.learning.refresh import Lazy
from dagsearch.policies import UpperConfidence
from dagsearch.problem import KeyFunction, Problem, check_members
from dagsearch.refinements import Regrow, Swaps
from dagsearch.rollouts import Greedy
from dagsearch.scores import scores_for

# Nodes with more children than this add them one at a time.
_MANY_CHILDREN = 40
# Rewards without noise still need a little, for rounding; in units of their variance.
_NO_NOISE, _SOME_NOISE = 1e-6, 0.1
# Random walks that tell a problem's depth.
_WALKS = 64


def default_covariance(problem: Problem) -> Covariance:
    """The covariance that a problem declares, else the overlap of its states' items."""
    declared = getattr(problem, "covariance", None)
    return Overlap.of(problem) if declared is None else as_covariance(declared)


def natural_covariance(problem: Problem) -> Covariance:
    """What :func:`dagsearch.search` uses: inclusion probabilities where a problem has them."""
    if getattr(problem, "covariance", None) is not None or not hasattr(problem, "inclusion"):
        return default_covariance(problem)
    positions = getattr(problem, "positions", None)
    return SetKernel(None if positions is None else Nearness(positions))


def default_parts(
    problem: Problem, covariance: Covariance | None = None, noisy: bool = False, initial: int = 20
) -> dict[str, Any]:
    """The parts of :meth:`dagsearch.Search.default`, by the names of the constructor's arguments."""
    check_members(problem)
    given = natural_covariance(problem) if covariance is None else as_covariance(covariance)
    # Leaves of a game are no sample of what matters in it, and mislead the evidence.
    adversarial = hasattr(problem, "player")
    noise = _SOME_NOISE if noisy or adversarial else _NO_NOISE
    return {
        "scores": scores_for(standardized(given.bind(problem), problem), noise),
        "policy": UpperConfidence(0.5),
        "rollout": Greedy(1.0),
        "backup": MomentMatching(),
        "expansion": OneChild(),
        "refinements": () if adversarial else (Regrow(), Swaps()),
        "evidence": None if adversarial else Evidence(),
        "refresh": Lazy(),
        "standardize": initial,
        "repeats": noisy,
    }


def default_scale(problem: Problem) -> float | None:
    """The paper's c = 1/depth, for the overlap; a declared covariance has its scale already."""
    if getattr(problem, "covariance", None) is not None:
        return None
    declared = getattr(problem, "depth", None)
    if declared is None:
        rng = shape_rng()
        declared = max(len(random_walk(problem, problem.root(), rng)[1]) for _ in range(_WALKS))
    return 1.0 / max(1, int(declared))


def default_increments(problem: Problem, covariance: Covariance | None) -> Increments:
    """Those of the problem under its covariance; none without a covariance."""
    if covariance is None:
        return Increments([], 0.0)
    return Increments.of(problem, covariance, shape_rng())


def default_expansion(increments: Increments) -> Expansion:
    """One child at a time where there are many."""
    many = max(increments.branching, default=1) > _MANY_CHILDREN
    return OneChild() if many else AllChildren()


def default_backup(expansion: Expansion) -> Backup:
    """Moment matching, with a standard normal prior only where all children enter the DAG at once.

    Elsewhere it would make visited nodes look worse than the siblings that are not in the DAG.
    """
    return MomentMatching(prior=(0.0, 1.0) if isinstance(expansion, AllChildren) else None)


def standardized(covariance: Covariance, problem: Problem) -> Covariance:
    """The covariance, scaled so that the scores of random leaves vary with unit variance."""
    matrix = covariance(random_leaves(problem))
    count = len(matrix)
    within, across = matrix.trace() / count, (matrix.sum() - matrix.trace()) / (count * (count - 1))
    spread = float(within - across)
    return 1.0 / spread * covariance if spread > 0.0 else covariance


def check_covariance_on(problem: Problem, covariance: Covariance) -> None:
    """Find a bad covariance before any reward is paid for; feature maps are good by construction."""
    if not isinstance(covariance, FeatureMap):
        key = KeyFunction(problem)
        states = {key(state): state for state in [problem.root(), *random_leaves(problem)]}
        check_covariance(covariance, list(states.values()))
