"""Find the best sequence of discrete choices when looking at one outcome is expensive.

>>> import dagsearch as ds
>>> problem = ds.problems.Subsets(n=12, k=3, reward=lambda chosen: -abs(sum(chosen) - 20))
>>> ds.search(problem, budget=60, seed=0).best_reward
0.0
"""

import importlib
from typing import TYPE_CHECKING, Any

from dagsearch import (
    backups,
    baselines,
    covariances,
    errors,
    expansions,
    freshness,
    gaussians,
    policies,
    problems,
    proofs,
    rollouts,
    scores,
    testing,
)
from dagsearch.errors import (
    CovarianceError,
    DagSearchError,
    EvaluationError,
    ProblemError,
    RewardError,
    SearchExhausted,
    SearchInterrupted,
)
from dagsearch.gaussians import Gaussian
from dagsearch.increments import Increments
from dagsearch.problem import MAX, MIN, Problem
from dagsearch.problems import as_tree
from dagsearch.results import Belief, Evaluation, Line, Proposal, Result
from dagsearch.search import Search, search

if TYPE_CHECKING:
    from dagsearch import players

__version__ = "0.1.0"

__all__ = [
    "MAX",
    "MIN",
    "Belief",
    "CovarianceError",
    "DagSearchError",
    "Evaluation",
    "EvaluationError",
    "Gaussian",
    "Increments",
    "Line",
    "Problem",
    "ProblemError",
    "Proposal",
    "Result",
    "RewardError",
    "Search",
    "SearchExhausted",
    "SearchInterrupted",
    "as_tree",
    "backups",
    "baselines",
    "covariances",
    "errors",
    "expansions",
    "freshness",
    "gaussians",
    "players",
    "policies",
    "problems",
    "proofs",
    "rollouts",
    "scores",
    "search",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Players are bots of OpenSpiel, which not everybody has."""
    if name == "players":
        return importlib.import_module("dagsearch.players")
    raise AttributeError(f"module 'dagsearch' has no attribute {name!r}")
