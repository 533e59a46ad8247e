"""Read access to what a search is composed of and what it holds."""

import numpy as np

from dagsearch.engine.engine import Engine
from dagsearch.forecasts import Forecast, forecast, progress_of
from dagsearch.posterior.evidence import Evidence
from dagsearch.problem import Problem
from dagsearch.proposers import Refinement
from dagsearch.proposers.expansions import Expansion
from dagsearch.proposers.policies import Policy
from dagsearch.proposers.rollouts import Rollout
from dagsearch.results import Evaluation, Proposal
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored
from dagsearch.values.refresh import Refresh


class Composed:
    """What :class:`dagsearch.Search` shows of its engine."""

    engine: Engine

    @property
    def problem(self) -> Problem:
        """The problem that is searched; :meth:`dagsearch.Search.reroot` changes its root."""
        return self.engine.explored.problem

    @property
    def explored(self) -> Explored:
        """The explored DAG with the beliefs over its nodes."""
        return self.engine.explored

    @property
    def history(self) -> list[Evaluation]:
        """Every evaluation, in the order told."""
        return self.engine.history.evaluations

    @property
    def pending(self) -> tuple[Proposal, ...]:
        """Proposals that were asked for and not told yet, the oldest first."""
        return tuple(self.engine.pending.proposals)

    def forecast(self, n: int = 1) -> Forecast | None:
        """The best reward that is to be expected after ``n`` more evaluations, with a 90% interval.

        It follows from the record of the search alone: how often and by how much the best reward improved,
        and how well rewards were predicted. ``docs/watching.md`` says how often such intervals hold, for up
        to nine times as many evaluations as there were. With noisy rewards it is about the largest reward
        told, not about the mean of a leaf. ``None`` with fewer than five rewards, or if all are equal.

        Examples
        --------
        >>> import dagsearch as ds
        >>> search = ds.Search.default(ds.problems.Subsets(20, 4, reward=sum), seed=0)
        >>> best = search.run(15).best_reward
        >>> ahead = search.forecast(10)
        >>> best <= ahead.low <= ahead.mean <= ahead.high
        True
        """
        told = self.engine.history.evaluations
        progress = progress_of([one.reward for one in told], [one.predicted for one in told])
        return None if progress is None else forecast(progress, n)

    @property
    def rng(self) -> np.random.Generator:
        """Source of all randomness."""
        return self.engine.rng

    @property
    def policy(self) -> Policy:
        """Where descents go."""
        return self.engine.policy

    @property
    def expansion(self) -> Expansion:
        """How the DAG grows."""
        return self.engine.expansion

    @property
    def rollout(self) -> Rollout:
        """How paths are finished."""
        return self.engine.rollout

    @property
    def backup(self) -> Backup:
        """How values are computed from scores."""
        return self.engine.values.backup

    @property
    def refresh(self) -> Refresh:
        """Which nodes are updated after a reward."""
        return self.engine.values.refresh

    @property
    def refinements(self) -> tuple[Refinement, ...]:
        """What proposes leaves in turns with the descent."""
        return self.engine.schedule.refinements

    @property
    def evidence(self) -> Evidence | None:
        """What learns hyperparameters; ``None`` if they stay as given."""
        return self.engine.learner.evidence

    @property
    def repeats(self) -> bool:
        """Whether a leaf may be evaluated again."""
        return self.engine.repeats
