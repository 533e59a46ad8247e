"""Random games to the end."""

import numpy as np

from dagsearch.problem import Action, State
from dagsearch.proposers.rollouts import Rollout
from dagsearch.space.walks import walk_from
from dagsearch.values.explored import Explored


class RandomGame(Rollout):
    """Plays uniformly at random to the end, once.

    Unlike :class:`dagsearch.proposers.rollouts.Uniform`, it does not look for a leaf that has not been seen: the value
    of a position is the mean over random games, so repeated games count, too.
    """

    def finish(
        self, explored: Explored, state: State, rng: np.random.Generator
    ) -> tuple[State, list[Action]]:
        """The final position and the moves that lead there."""
        return walk_from(explored.capabilities, state, rng)

    def __repr__(self) -> str:
        return "RandomGame()"
