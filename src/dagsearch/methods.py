"""The default method and the paper's, as the parts of a search, and checks that parts fit together."""

from collections.abc import Mapping, Sequence
from typing import Any

from dagsearch._internal.checks import check, is_count
from dagsearch.covariances import Covariance, Nearness, Overlap, SetKernel, Views, check_covariance
from dagsearch.covariances.base import as_covariance
from dagsearch.errors import ProblemError
from dagsearch.posterior import scores_for
from dagsearch.posterior.base import Scores, check_requirements
from dagsearch.posterior.evidence import Evidence
from dagsearch.problem import Problem, check_members
from dagsearch.proposers.climb import Climb
from dagsearch.proposers.descent import Descent
from dagsearch.proposers.expansions import AllChildren, Expansion, OneChild, default_expansion
from dagsearch.proposers.nearby import Nearby
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.portfolio import Portfolio
from dagsearch.proposers.rollouts import Greedy, Uniform
from dagsearch.space import Space
from dagsearch.space.check import check_paths
from dagsearch.values.backups import Backup, MomentMatching
from dagsearch.values.increments import Increments

INITIAL = 10
"""Largest number of random leaves to begin with."""
# Initial noise variance of rewards without noise (not 0, because of rounding) and of noisy rewards, in units
# of the rewards' variance.
_NO_NOISE, _SOME_NOISE = 1e-6, 0.1
# Number of climbs between two descents if states have no codes.
_CLIMBS = 3
# Number of random starts of a climb if the covariance was given.
_EXPLORERS = 3


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "synthetic": {"noise": 1e-4, "beta": 0.01},
    "tictactoe": {"c": 0.5, "noise": 0.1, "beta": 1.0},
    "mnist": {"c": 0.1, "noise": 1e-4, "beta": 0.5, "standardize": 20},
}
"""The settings of the paper's experiments."""


def default_initial(budget: int) -> int:
    """Number of random leaves to begin with: a fifth of the budget, but not too many."""
    return min(budget, INITIAL, max(2, budget // 5))


def default_parts(
    problem: Problem | Space,
    covariance: Covariance | None = None,
    noisy: bool = False,
    initial: int = INITIAL,
) -> dict[str, Any]:
    """The arguments of :class:`dagsearch.Search` in :meth:`dagsearch.Search.default`."""
    check(is_count(initial), "initial", "a whole number of at least 0", initial)
    space = Space.of(problem)
    check_paths(space)
    given = natural_covariance(space) if covariance is None else as_covariance(covariance).bind(space)
    # Random leaves of a game are not representative, and mislead the evidence.
    adversarial = space.has_players
    noise = _SOME_NOISE if noisy or adversarial else _NO_NOISE
    bound = standardized(given, space)
    # A user's covariance may be overconfident.
    climb = Climb(explorers=1 if covariance is None else _EXPLORERS)
    descent = Descent(UpperConfidence(0.5), Greedy(1.0), OneChild())
    if adversarial:
        portfolio = Portfolio([descent], initial=initial)
    elif space.coding is not None:
        portfolio = Portfolio([climb], Nearby(), initial)
    else:
        portfolio = Portfolio([descent, *[climb] * _CLIMBS], Nearby(), initial)
    return {
        "scores": scores_for(bound, noise, options=_options(space)),
        "proposers": portfolio,
        "evidence": None if adversarial else Evidence(),
        "standardize": initial,
        "repeats": noisy,
    }


def paper_parts(
    problem: Problem | Space,
    c: float | None = None,
    noise: float = 1e-4,
    beta: float = 1.0,
    covariance: Covariance | None = None,
    mean: float = 0.0,
    step_variance: float | Sequence[float] | None = None,
    increment_prior: Sequence[float] | None = None,
    backup: Backup | None = None,
    expansion: Expansion | None = None,
    standardize: int = 0,
) -> dict[str, Any]:
    """The arguments of :class:`dagsearch.Search` in :meth:`dagsearch.Search.paper`."""
    space = Space.of(problem)
    check_paths(space)
    if covariance is None:
        covariance = space.covariance
    if covariance is None:
        covariance = Overlap.of(space.problem)
        c = 1.0 / max(1, len(space.levels)) if c is None else c  # a declared covariance has its own scale
    covariance = as_covariance(covariance)
    scaled = covariance if c is None else c * covariance
    expansion = expansion or default_expansion(space)
    return {
        "scores": scores_for(scaled, noise, mean, _options(space)),
        "proposers": Descent(UpperConfidence(beta), Uniform(), expansion),
        "backup": backup or MomentMatching((0.0, 1.0) if isinstance(expansion, AllChildren) else None),
        "increments": Increments.of(space, scaled, increment_prior, step_variance),
        "standardize": standardize,
    }


def _options(space: Space) -> int:
    return len(space.problem.actions(space.problem.root()))


# Covariances -----------------------------------------------------------------------------------------


def natural_covariance(space: Space) -> Covariance:
    """The covariance of :func:`dagsearch.search`, which documents it, bound to the problem."""
    if space.covariance is not None:
        return as_covariance(space.covariance).bind(space)
    if space.coding is None:
        return Overlap.of(space.problem).bind(space)
    if not space.is_of_one_size:
        return Views().bind(space)
    positions = space.coding.layout.positions
    return SetKernel(None if positions is None else Nearness(positions)).bind(space)


def standardized(covariance: Covariance, space: Space) -> Covariance:
    """The covariance, scaled so that the scores of random leaves have unit variance."""
    matrix = covariance(space.random_leaves)
    count = len(matrix)
    if count < 2:
        return covariance
    within, across = matrix.trace() / count, (matrix.sum() - matrix.trace()) / (count * (count - 1))
    spread = float(within - across)
    # If all leaves are alike, only rounding errors remain.
    return 1.0 / spread * covariance if spread > 1e-9 * abs(within) else covariance


# Checks ------------------------------------------------------------------------------------------------


def check_parts(
    space: Space,
    scores: Scores,
    portfolio: Portfolio,
    backup: Backup | None,
    increments: Increments | None,
    evidence: Evidence | None,
) -> None:
    """Raise unless these parts fit together."""
    check_members(space.problem)
    if scores.mean.size > 0:
        raise ValueError("scores must be new: these belong to another search")
    check_requirements(scores, *portfolio.parts, backup, evidence)
    if portfolio.descent is None:
        if backup is not None or increments is not None:
            raise ValueError(
                "backup and increments are parts of a descent, and none of the proposers descends"
            )
    elif space.by_run is not None:
        raise ProblemError(
            f"a descent needs to know the choices in advance, but {type(space.problem).__name__} shows them "
            "only when it is run: declare them with problems.Choices, or use Search.default"
        )
    # Overlaps are valid by construction. Others are checked before the first evaluation.
    if scores.covariance is not None and not isinstance(scores.covariance, Overlap):
        states = {space.key(state): state for state in (space.problem.root(), *space.random_leaves)}
        check_covariance(scores.covariance, list(states.values()))
