"""Find the best sequence of discrete choices when evaluating one outcome is expensive.

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
    gaussians,
    policies,
    problems,
    refinements,
    rollouts,
    scores,
    testing,
)
from dagsearch._internal.moved import MODULES, keep_old_paths
from dagsearch.durable.journal import backup_journal
from dagsearch.errors import (
    CovarianceError,
    DagSearchError,
    EvaluationError,
    JournalError,
    ProblemError,
    RewardError,
    SearchExhausted,
    SearchInterrupted,
)
from dagsearch.execution.pools import PoolError
from dagsearch.execution.stopping import Stop
from dagsearch.forecasts import Forecast
from dagsearch.functions import maximize, minimize
from dagsearch.gaussians import Gaussian
from dagsearch.increments import Increments
from dagsearch.learning import evidence, refresh
from dagsearch.problem import MAX, MIN, Problem
from dagsearch.problems import as_tree
from dagsearch.refinements import proofs
from dagsearch.results import Belief, Evaluation, Line, Proposal, Result
from dagsearch.search import Search

if TYPE_CHECKING:
    from dagsearch.games import players
    from dagsearch.search import search

__version__ = "0.1.0"

__all__ = [
    "MAX",
    "MIN",
    "Belief",
    "CovarianceError",
    "DagSearchError",
    "Evaluation",
    "EvaluationError",
    "Forecast",
    "Gaussian",
    "Increments",
    "JournalError",
    "Line",
    "PoolError",
    "Problem",
    "ProblemError",
    "Proposal",
    "Result",
    "RewardError",
    "Search",
    "SearchExhausted",
    "SearchInterrupted",
    "Stop",
    "as_tree",
    "backup_journal",
    "backups",
    "baselines",
    "covariances",
    "errors",
    "evidence",
    "expansions",
    "gaussians",
    "maximize",
    "minimize",
    "players",
    "policies",
    "problems",
    "proofs",
    "refinements",
    "refresh",
    "rollouts",
    "scores",
    "search",
    "testing",
]

keep_old_paths()


def __getattr__(name: str) -> Any:
    """Players, imported only when needed because they require OpenSpiel, and modules that have moved."""
    if name == "players":
        return importlib.import_module("dagsearch.games.players")
    old = f"{__name__}.{name}"
    if old in MODULES:
        return importlib.import_module(old)
    raise AttributeError(f"module 'dagsearch' has no attribute {name!r}")
