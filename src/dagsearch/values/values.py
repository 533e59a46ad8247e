"""The values v of the explored nodes, kept up to date with the scores."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.engine.learner import Learner
from dagsearch.posterior.units import Episode
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored
from dagsearch.values.refresh import Eager, Refresh


class Values:
    """Updates scores and values after a change, at the nodes that the refresh rule selects.

    Parameters
    ----------
    explored : Explored
        The explored DAG that holds the values.
    backup : Backup
        How values are computed from scores.
    refresh : Refresh
        Which nodes are updated; all, if the scores or the back-up cannot leave nodes out.
    learner : Learner
        Holds the rewards; only their number is used.
    """

    def __init__(self, explored: Explored, backup: Backup, refresh: Refresh, learner: Learner) -> None:
        self._explored, self._learner = explored, learner
        self._from_scratch = bool(getattr(backup, "from_scratch", False))  # a user's own may not have it
        leaves_out = self._from_scratch and explored.scores.is_joint
        self.backup, self.refresh = backup, refresh if leaves_out else Eager()
        self._remembered: tuple[FloatArray, FloatArray] | None = None
        self._deferred = False

    def update(self, episodes: Sequence[Episode] = (), paths: Iterable[Sequence[int]] = ()) -> None:
        """Update scores and values.

        Parameters
        ----------
        episodes : sequence of Episode
            Rewards learnt since the last update.
        paths : iterable of paths
            Paths of descents around which nodes have changed; by default those of the episodes.
        """
        explored = self._explored
        paths = paths or [episode.path for episode in episodes]
        nodes = self.refresh.nodes(explored, paths, len(self._learner.told))
        explored.scores.refresh(nodes)
        if self._deferred and nodes is None and not self.refresh.selective and self._from_scratch:
            return
        self.backup.back_up(explored, episodes, nodes)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """While entered, values are not updated if a later update computes all of them anyway."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False

    def remember(self) -> None:
        """Keep the current values for :meth:`restore`."""
        if not isinstance(self.refresh, Eager):
            graph = self._explored.graph
            nodes = slice(len(graph))
            self._remembered = graph.v_mean[nodes].copy(), graph.v_var[nodes].copy()

    def restore(self) -> None:
        """Restore the remembered values; scores must have been restored before."""
        if self._remembered is None or not self.refresh.selective:
            self.update()
            return
        mean, variance = self._remembered
        graph = self._explored.graph
        graph.v_mean[: mean.size], graph.v_var[: variance.size] = mean, variance
        since = np.arange(mean.size, len(graph))
        since = since[graph.level[since] >= 0]
        since = since[np.argsort(-graph.level[since], kind="stable")]
        self._explored.scores.refresh(since)
        self.backup.back_up(self._explored, [], since)
