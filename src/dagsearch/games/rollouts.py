"""Random games to the end."""

import numpy as np

from dagsearch.problem import State
from dagsearch.proposers.rollouts import Rollout
from dagsearch.space.walks import Walk
from dagsearch.values.explored import Explored


class RandomGame(Rollout):
    """Plays uniformly at random to the end, once.

    Unlike ``Uniform``, it does not look for a leaf that has not been seen: the value of a position is the
    mean over random games, so repeated games count, too.
    """

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk:
        """The final position and the moves that lead there."""
        return explored.space.walk(state, rng)

    def __repr__(self) -> str:
        return "RandomGame()"
