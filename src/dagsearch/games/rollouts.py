"""Random games to the end."""

from typing import cast

import numpy as np

from dagsearch.explored import Explored
from dagsearch.problems.openspiel import OpenSpielGame, Position


class RandomGame:
    """Plays uniformly at random to the end, once.

    Unlike :class:`dagsearch.rollouts.Uniform` it does not look for an end that has not been seen: the mean
    over random games is what is wanted, so every one counts.
    """

    def finish(
        self, explored: Explored, state: Position, rng: np.random.Generator
    ) -> tuple[Position, list[int]]:
        """The final position and the moves that lead there."""
        live, actions = state.state.clone(), []
        while legal := live.legal_actions():
            actions.append(legal[int(rng.random() * len(legal))])
            live.apply_action(actions[-1])
        problem = cast(OpenSpielGame, explored.problem)
        return problem.as_position(Position(state.game, live)), actions

    def __repr__(self) -> str:
        return "RandomGame()"
