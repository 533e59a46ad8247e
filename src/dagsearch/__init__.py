"""Find the best sequence of discrete choices when evaluating one outcome is expensive.

>>> import dagsearch as ds
>>> problem = ds.problems.Subsets(n=12, k=3, reward=lambda chosen: -abs(sum(chosen) - 20))
>>> ds.search(problem, budget=60, seed=0).best_reward
0.0
"""

import importlib as _importlib
from collections.abc import Callable as _Callable
from operator import attrgetter as _attrgetter
from typing import TYPE_CHECKING, Any

from dagsearch import baselines, covariances, errors, games, posterior, problems, proposers, testing
from dagsearch._internal.wiring import wiring as _wiring
from dagsearch.baselines.tree import as_tree
from dagsearch.costly.step_search import StepSearch
from dagsearch.errors import (
    CovarianceError,
    DagSearchError,
    EvaluationError,
    ProblemError,
    RewardError,
    SearchExhausted,
    SearchInterrupted,
    StorageError,
)
from dagsearch.forecasts import Forecast
from dagsearch.functions import maximize, minimize, search
from dagsearch.posterior import evidence
from dagsearch.problem import MAX, MIN, Problem, Step, StepProblem
from dagsearch.proposers import expansions, policies, rollouts
from dagsearch.results import Belief, Evaluation, Gaussian, Line, Proposal, Result
from dagsearch.run.pools import PoolError
from dagsearch.run.runner import Stop
from dagsearch.run.runner import steps as _steps
from dagsearch.search import Search
from dagsearch.storage.log import attach as _attach
from dagsearch.storage.log import resume as _resume
from dagsearch.values import backups, gaussians, proofs
from dagsearch.values.increments import Increments

if TYPE_CHECKING:
    from dagsearch.games import players


def _late(module: str, name: str) -> _Callable[..., Any]:
    """A function whose module is imported at its first call."""
    return lambda *arguments: _attrgetter(name)(_importlib.import_module(module))(*arguments)


_wiring.steps, _wiring.attach, _wiring.resume = _steps, _attach, _resume
_wiring.report = _late("dagsearch.report.report", "Report.of_result")
_wiring.plot = _late("dagsearch.report.plots", "plotted")
_wiring.rows = _late("dagsearch.report.frames", "rows_of")
_wiring.frame = _late("dagsearch.report.frames", "frame_of")

__version__ = "2.0.0"

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
    "Step",
    "StepProblem",
    "StepSearch",
    "Stop",
    "StorageError",
    "as_tree",
    "backups",
    "baselines",
    "covariances",
    "errors",
    "evidence",
    "expansions",
    "games",
    "gaussians",
    "maximize",
    "minimize",
    "players",
    "policies",
    "posterior",
    "problems",
    "proofs",
    "proposers",
    "rollouts",
    "search",
    "testing",
]


def __getattr__(name: str) -> Any:
    """Players, imported only when needed because they require OpenSpiel."""
    if name == "players":
        return _importlib.import_module("dagsearch.games.players")
    raise AttributeError(f"module 'dagsearch' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names; modules are imported under their own."""
    return sorted([*__all__, "__version__"])
