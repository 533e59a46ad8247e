"""The values v of the explored nodes, computed when they are read."""

from collections.abc import Sequence

from dagsearch.posterior.units import Episode
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored


class Values:
    """The explored DAG with the belief over v of every node.

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

    def complete(self) -> None:
        """Add the states of a small problem that no descent came to, so that its values are exact."""
        explored = self.explored
        # Of a game only MAX's turn at the root may be known so far.
        if not explored.space.has_players and explored.space.few_leaves and explored.complete():
            self.outdated()
            explored.changed("back up")

    def current(self) -> Explored:
        """The explored DAG with all scores and values up to date."""
        if self._stale:
            episodes, self._episodes = self._episodes, []
            self.explored.scores.refresh()
            self.backup.back_up(self.explored, episodes)
            self._stale = False
        return self.explored
