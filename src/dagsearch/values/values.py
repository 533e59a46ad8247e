"""The values v of the explored nodes, computed when they are read."""

from collections.abc import Sequence

import numpy as np

from dagsearch.posterior.posterior import Posterior
from dagsearch.posterior.units import Episode
from dagsearch.problem import State
from dagsearch.results import Belief, Gaussian
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored


class Values:
    """The explored DAG with the belief over v of every node; only a search that descends has one.

    A change of the belief or of the DAG makes values stale; whoever reads them asks for :meth:`current` ones.

    Parameters
    ----------
    explored : Explored
        The explored DAG that holds the values.
    backup : Backup
        How values are computed from scores.
    """

    def __init__(self, explored: Explored, backup: Backup) -> None:
        self.explored, self.backup = explored, backup
        self._stale = True
        self._episodes: list[Episode] = []

    def outdated(self, episodes: Sequence[Episode] = ()) -> None:
        """The scores or the DAG have changed; ``episodes`` are the rewards learnt since the last time."""
        self._stale = True
        self._episodes += episodes

    def learnt(self, episodes: Sequence[Episode]) -> None:
        """The scores have learnt rewards.

        Scores are refreshed now rather than when they are read: reading values must not change the run.
        """
        self.explored.scores.refresh()
        self.outdated(episodes)

    def complete(self) -> None:
        """Add the states of a small problem that no descent came to, so that its values are exact."""
        explored = self.explored
        # Of a game only MAX's turn at the root may be known so far.
        if not explored.space.has_players and explored.space.few_leaves and explored.complete():
            self.outdated()

    def current(self) -> Explored:
        """The explored DAG with all scores and values up to date."""
        if self._stale:
            episodes, self._episodes = self._episodes, []
            self.explored.scores.refresh()
            self.backup.back_up(self.explored, episodes)
            self._stale = False
        return self.explored

    def belief(self, posterior: Posterior, state: State) -> Belief:
        """Belief over g and v of a state, in units of the reward; outside the DAG v is g + Δ."""
        explored = self.current()
        node = explored.find(state)
        if node >= 0:
            g, v, visits = explored.score(node), explored.value(node), int(explored.graph.visits[node])
        else:
            g, visits = Gaussian(*map(float, np.concatenate(posterior.predict([state])))), 0
            delta = explored.increments.at(explored.increments.depth - self._steps_left(state))
            v = Gaussian(g.mean + delta.mean, g.variance + delta.variance)
        return Belief(posterior.in_reward_units(g), posterior.in_reward_units(v), visits)

    def _steps_left(self, state: State) -> int:
        """Number of decisions to the leaf that first actions lead to, at most the problem's depth."""
        problem, depth = self.explored.problem, len(self.explored.space.levels)
        for steps in range(depth):
            actions = problem.actions(state)
            if len(actions) == 0:
                return steps
            state = problem.step(state, actions[0])
        return depth
