"""The numbered states of a search: their keys, and which of them are closed."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.deadline import Deadline
from dagsearch.errors import ProblemError
from dagsearch.posterior.base import Scores
from dagsearch.posterior.units import Episode
from dagsearch.problem import Problem, State
from dagsearch.results import Gaussian
from dagsearch.space import Space


class Numbered:
    """States by number."""

    def __init__(self) -> None:
        self.states: list[State] = []
        """All states, in the order of their numbers."""
        self.closed = np.zeros(64, dtype=np.bool_)
        """Whether nothing is left to evaluate at a state or below it; with spare room."""
        self._rows: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.states)

    def find(self, key: Hashable) -> int:
        """Number of the state with this key, or −1."""
        return self._rows.get(key, -1)

    def add(self, key: Hashable, state: State, *about: Any) -> int:
        """Number a new state."""
        row = self._rows[key] = len(self.states)
        self.states.append(state)
        self.closed = grown(self.closed, row + 1)
        return row


class Index:
    """The numbered states, and the score model, which uses the same numbers.

    Only proposed and evaluated leaves are numbered, unless descents explore the DAG above them
    (:class:`dagsearch.values.explored.Explored`).
    """

    def __init__(self, problem: Problem | Space, scores: Scores, table: Numbered | None = None) -> None:
        self.space = Space.of(problem)
        self.scores = scores
        self.table = Numbered() if table is None else table
        self.problem, self.states = self.space.problem, self.table.states
        self.deadline = Deadline()
        """When the current run must end."""
        self.key = self.space.key
        """What identifies a state."""
        self.reopenings = 0
        """How often leaves were reopened."""

    def find(self, state: State) -> int:
        """The state's number, or −1."""
        return self.table.find(self.key(state))

    def node(self, state: State) -> int:
        """The state's number; a new one if it has none."""
        return self.nodes([state])[0]

    def nodes(self, states: Sequence[State]) -> list[int]:
        """The states' numbers; new ones for states without a number."""
        find, keys = self.table.find, list(map(self.key, states))
        fresh = {key: state for key, state in zip(keys, states, strict=True) if find(key) < 0}
        if fresh:
            self._number(fresh)
        return list(map(find, keys))

    def _number(self, fresh: Mapping[Hashable, State]) -> None:
        # The user's problem and covariance may fail, so they are called before the table grows.
        about = list(map(self._about, fresh.values()))
        self.scores.track(list(fresh.values()))
        for (key, state), more in zip(fresh.items(), about, strict=True):
            row = self.table.add(key, state, *more)
            self.table.closed[row] = not self.space.allows(state)

    def _about(self, state: State) -> tuple[Any, ...]:
        """Further arguments of the table's ``add``."""
        return ()

    def leaf(self, state: State) -> int:
        """The number of a leaf, a new one if it has none; raises if the state is not a leaf."""
        row = self.find(state)
        if row < 0:
            state = self.space.as_leaf(state)
        if not (len(self.problem.actions(state)) == 0 if row < 0 else self.is_leaf(row)):
            raise ProblemError(
                f"{state!r} is not a leaf: the problem has actions there. Only a complete sequence of "
                "decisions has a reward"
            )
        return row if row >= 0 else self.node(state)

    def is_leaf(self, row: int) -> bool:
        """Whether a numbered state is a leaf."""
        return True

    def is_closed(self, state: State) -> bool:
        """Whether the state is known to have no leaf left to evaluate, neither itself nor below it."""
        row = self.find(state)
        return bool(self.table.closed[row]) if row >= 0 else not self.space.allows(state)

    def reopen(self, leaves: Sequence[int]) -> None:
        """Let leaves be evaluated again."""
        self.reopenings += 1
        self.table.closed[leaves] = False

    def learnt(self, episodes: Sequence[Episode]) -> None:
        """The scores have learnt rewards."""

    def outdated(self) -> None:
        """The scores or the explored DAG have changed."""

    def leave(self, path: Sequence[int]) -> None:
        """Uncount a descent whose leaf is not evaluated."""

    def score(self, row: int) -> Gaussian:
        """Belief over the g of a numbered state."""
        self.scores.refresh([row])
        mean, variance = self.scores.moments()
        return Gaussian(float(mean[row]), float(variance[row]))

    def replace_scores(self, scores: Scores) -> None:
        """Replace the model by another one of the same states."""
        self.scores = scores
