"""The kinds of search that are attacked, each made with a journal or without."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dagsearch.games import OpenSpielGame
from dagsearch.problem import Action, Problem, State
from dagsearch.problems import Subsets, TicTacToe
from dagsearch.search import Search
from dagsearch.space import Space
from dagsearch.values.backups import MomentMatching
from dagsearch.values.proofs import WithProofs

_WEIGHTS = np.random.default_rng(0).normal(size=12)


def _value(leaf: frozenset[int]) -> float:
    return float(_WEIGHTS[sorted(leaf)].sum()) + 0.1 * (min(leaf) % 3)


def _many() -> Problem:
    return Subsets(12, 3, reward=_value)


def _few() -> Problem:
    """10 leaves, so that a search soon has none left."""
    return Subsets(5, 2, reward=_value)


def _openspiel() -> Problem:
    return OpenSpielGame("tic_tac_toe")


def _proofs(problem: Problem) -> dict[str, Any]:
    return {"backup": WithProofs(MomentMatching(prior=(0.0, 1.0)), -1.0, 1.0)}


class Kind(NamedTuple):
    """A kind of search."""

    problem: Callable[[], Problem]
    """Makes the problem."""
    make: Callable[..., Search]
    """Makes the search; called with the problem, the seed, the journal and the parts."""
    parts: Callable[[Any], dict[str, Any]] = lambda problem: {}
    """Arguments that a journal cannot hold; they must be given again to resume."""
    needs: str = "dagsearch"
    """Module that must be installed."""

    def begin(self, seed: int, journal: Path | None = None) -> Search:
        """A new search."""
        problem = self.problem()
        return self.make(problem, seed=seed, journal=journal, **self.parts(problem))

    def resume(self, journal: Path) -> Search:
        """The search that wrote a journal."""
        problem = self.problem()
        return Search.resume(journal, problem, **self.parts(problem))

    def random_leaf(self, number: int) -> tuple[State, list[Action]]:
        """A leaf, and the actions that lead to it."""
        problem = self.problem()
        return Space(problem).walk(problem.root(), np.random.default_rng(number))


def _default(*args: Any, **more: Any) -> Search:
    return Search.default(*args, initial=4, **more)


def _noisy(*args: Any, **more: Any) -> Search:
    return Search.default(*args, initial=4, noisy=True, **more)


def _standardized(*args: Any, **more: Any) -> Search:
    return Search.paper(*args, standardize=5, **more)


KINDS: dict[str, Kind] = {
    "default": Kind(_many, _default),
    "default, 10 leaves": Kind(_few, _default),
    "noisy": Kind(_many, _noisy),
    "noisy, 10 leaves": Kind(_few, _noisy),
    "paper": Kind(_many, Search.paper),
    "paper, standardised": Kind(_few, _standardized),
    "game": Kind(TicTacToe, _default),
    "game, with proofs": Kind(TicTacToe, Search.paper, _proofs),
    "game of OpenSpiel": Kind(_openspiel, Search.paper, _proofs, "pyspiel"),
}
"""Every kind, by name."""
