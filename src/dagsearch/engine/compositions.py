"""How a search is composed: its parts, their checks, and the compositions ``paper`` and ``default``."""

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Required, TypedDict, Unpack

import numpy as np

from dagsearch._internal.actions import check_actions, check_first_path
from dagsearch._internal.threads import one_thread
from dagsearch.covariances import Covariance, Views
from dagsearch.covariances.checks import as_covariance
from dagsearch.covariances.views import coding_for
from dagsearch.engine.defaults import (
    INITIAL,
    check_covariance_on,
    default_backup,
    default_covariance,
    default_expansion,
    default_increments,
    default_scale,
    natural_covariance,
    standardized,
)
from dagsearch.engine.engine import Engine
from dagsearch.engine.learner import Learner
from dagsearch.engine.schedule import Schedule
from dagsearch.posterior import MeanFunction, Scores, scores_for
from dagsearch.posterior.base import check_requirements
from dagsearch.posterior.evidence import Evidence
from dagsearch.problem import Capabilities, Problem, check_members
from dagsearch.proposers import Climb, Nearby, Refinement, Regrow, Swaps
from dagsearch.proposers.expansions import Expansion, OneChild
from dagsearch.proposers.policies import Policy, UpperConfidence
from dagsearch.proposers.rollouts import Greedy, Rollout, Uniform
from dagsearch.space.walks import shape_rng
from dagsearch.values.backups import Backup, MomentMatching
from dagsearch.values.explored import Explored
from dagsearch.values.increments import Increments
from dagsearch.values.refresh import Eager, Lazy, Refresh
from dagsearch.values.values import Values

# Initial noise variance of rewards without noise (a little is needed because of rounding) and of noisy
# rewards, in units of the rewards' variance.
_NO_NOISE, _SOME_NOISE = 1e-6, 0.1
# Number of climbs between two descents, where states have codes; and of swaps, where they have none.
_CLIMBS, _SWAPS = 15, 3
# Number of random starts of a climb if the covariance was given: it may be sure of what is not true.
_EXPLORERS = 3


class Parts(TypedDict, total=False):
    """The parts that a :class:`dagsearch.Search` is composed of."""

    scores: Required[Scores]
    """Belief over the generative scores. It must be new: the search changes it."""
    policy: Required[Policy]
    """Where descents go."""
    rollout: Required[Rollout]
    """How paths are finished below the explored part; before the first reward, uniformly at random."""
    backup: Required[Backup]
    """How values are computed from scores."""
    expansion: Expansion | None
    """How the DAG grows; by default all children at once, or one by one where there are many."""
    increments: Increments | None
    """Δ by level; by default computed from the problem and the covariance."""
    refinements: Sequence[Refinement]
    """They propose leaves near the best one, in turns with the descent; not in games with a MIN player."""
    local: Refinement | None
    """Proposes instead of the others where the improvements that the model predicts do not come; by default
    nothing does."""
    evidence: Evidence | None
    """Learns the covariance's hyperparameters; all rewards are then standardised again. By default the
    hyperparameters stay as given. With ``repeats`` the noise is learnt too, and the best leaf is the one with
    the best mean g instead of the largest reward."""
    refresh: Refresh | None
    """Which nodes are updated after a reward. By default all, and always all if the scores or the back-up
    cannot leave nodes out."""
    standardize: int
    """Number of initial roll-outs from the root. The mean and standard deviation of their rewards standardise
    all rewards. They count as evaluations, and the model learns from them. Until the last one is told,
    beliefs are those of the prior. 0, the default, uses rewards as they are."""
    repeats: bool
    """Whether a leaf may be evaluated again; true by default. If not, the search ends when every leaf has
    been evaluated."""


def compose(problem: Problem, rng: np.random.Generator, **parts: Unpack[Parts]) -> Engine:
    """The engine made of these parts; raises if they cannot work together."""
    check_members(problem)
    parts = _checked_names(parts)
    scores, policy, rollout, backup = parts["scores"], parts["policy"], parts["rollout"], parts["backup"]
    others = parts.get("evidence"), parts.get("local"), *parts.get("refinements", ())
    if scores.mean.size > 0:
        raise ValueError("scores must be fresh: these belong to another search; make new ones")
    check_requirements(scores, policy, rollout, backup, *others)
    _check_reads(policy, backup)
    with one_thread() if scores.covariance is not None else nullcontext():
        return _connect(problem, rng, parts)


def _connect(problem: Problem, rng: np.random.Generator, parts: Parts) -> Engine:
    scores, backup, refinements = parts["scores"], parts["backup"], tuple(parts.get("refinements", ()))
    if scores.covariance is not None:
        check_covariance_on(problem, scores.covariance)
    increments = parts.get("increments")
    if increments is None:
        increments = default_increments(problem, scores.covariance)
    explored = Explored(problem, scores, increments)
    standardize, repeats = parts.get("standardize", 0), parts.get("repeats", True)
    learner = Learner(explored, parts.get("evidence"), standardize, repeats)
    values = Values(explored, backup, parts.get("refresh") or Eager(), learner)
    engine = Engine(
        explored,
        parts["policy"],
        parts.get("expansion") or default_expansion(increments),
        parts["rollout"],
        learner,
        values,
        Schedule(refinements, parts.get("local"), standardize),
        repeats,
        rng,
    )
    values.update()
    return engine


def _check_reads(policy: Policy, backup: Backup) -> None:
    """Refuse a policy that reads the results of another back-up, which this search would never update."""
    reads = getattr(policy, "reads", None)  # a user's own policy may not have it
    if reads is not None and reads is not backup:
        raise ValueError(
            f"{policy!r} reads {reads!r}, but the back-up of the search is {backup!r}: "
            "give the same object to both"
        )


def _checked_names(parts: Parts) -> Parts:
    given: dict[str, Any] = dict(parts)
    missing = sorted(Parts.__required_keys__ - given.keys())
    if missing:
        raise TypeError(f"a search needs {', '.join(f'{name}=' for name in missing)}")
    unknown = sorted(given.keys() - Parts.__annotations__.keys())
    if unknown:
        raise TypeError(
            f"a search has no part {unknown[0]!r}; its parts are {', '.join(Parts.__annotations__)}"
        )
    return given  # type: ignore[return-value]


@one_thread()
def default_parts(
    problem: Problem, covariance: Covariance | None = None, noisy: bool = False, initial: int = INITIAL
) -> Parts:
    """The parts of :meth:`dagsearch.Search.default`."""
    check_first_path(problem)
    check_actions(problem)
    given = natural_covariance(problem) if covariance is None else as_covariance(covariance).bind(problem)
    # Random leaves of a game do not represent the positions that matter, and mislead the evidence.
    adversarial = Capabilities(problem).has_players
    noise = _SOME_NOISE if noisy or adversarial else _NO_NOISE
    bound = standardized(given, problem)
    return {
        "scores": scores_for(bound, noise),
        "policy": UpperConfidence(0.5),
        "rollout": Greedy(1.0),
        "backup": MomentMatching(),
        "expansion": OneChild(),
        "refinements": () if adversarial else _refinements(problem, bound),
        "local": None if adversarial else Nearby(),
        "evidence": None if adversarial else Evidence(),
        "refresh": Lazy(),
        "standardize": initial,
        "repeats": noisy,
    }


def _refinements(problem: Problem, covariance: Covariance) -> Sequence[Refinement]:
    """Local search over codes where states have them, else over decisions."""
    if coding_for(problem, covariance) is None:
        return Regrow(), *(Swaps(),) * _SWAPS
    explorers = 1 if isinstance(covariance, Views) else _EXPLORERS
    return (Climb(explorers=explorers),) * _CLIMBS


@one_thread()
def paper_parts(
    problem: Problem,
    c: float | None = None,
    noise: float = 1e-4,
    beta: float = 1.0,
    covariance: Covariance | None = None,
    mean: MeanFunction = 0.0,
    increment_prior: Sequence[float] | None = None,
    backup: Backup | None = None,
    expansion: Expansion | None = None,
    standardize: int = 0,
) -> Parts:
    """The parts of :meth:`dagsearch.Search.paper`."""
    check_first_path(problem)
    if covariance is None:
        covariance = default_covariance(problem)
        c = default_scale(problem) if c is None else c
    covariance = as_covariance(covariance)
    scaled = covariance if c is None else c * covariance
    increments = Increments.of(problem, scaled, shape_rng(), increment_prior)
    expansion = expansion or default_expansion(increments)
    return {
        "scores": scores_for(scaled, noise, mean),
        "policy": UpperConfidence(beta),
        "rollout": Uniform(),
        "backup": backup or default_backup(expansion),
        "expansion": expansion,
        "increments": increments,
        "standardize": standardize,
    }
