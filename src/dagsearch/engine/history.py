"""The rewards so far, in the user's units."""

import heapq
import time
from collections.abc import Hashable

import numpy as np

from dagsearch.engine.learner import Learner
from dagsearch.problem import Action, State
from dagsearch.proposers import Outcomes
from dagsearch.results import Evaluation
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import Gaussian

# Number of good evaluations that refinements may start from.
_GOOD = 6


class History:
    """Every evaluation in the order told, the best one, and the clock that gives their times."""

    def __init__(self, explored: Explored, learner: Learner) -> None:
        self._explored, self._learner = explored, learner
        self.evaluations: list[Evaluation] = []
        """All evaluations, in the order told."""
        self.best: Evaluation | None = None
        """The first evaluation with the largest reward."""
        self.stopped: str | None = None
        """Why the last run ended; ``None`` if there was no run."""
        self._started = time.perf_counter()

    def __len__(self) -> int:
        return len(self.evaluations)

    def record(
        self,
        leaf: State,
        actions: tuple[Action, ...] | None,
        reward: float,
        seconds: float,
        predicted: Gaussian | None = None,
    ) -> Evaluation:
        """Add an evaluation."""
        before = self.evaluations
        best = max(reward, before[-1].best_reward) if before else reward
        evaluation = Evaluation(len(before) + 1, leaf, actions, reward, best, seconds, predicted)
        if self.best is None or reward > self.best.reward:
            self.best = evaluation
        before.append(evaluation)
        return evaluation

    def incumbent(self) -> Evaluation | None:
        """The best evaluation: by reward, or by mean g where noise is learnt."""
        if self.best is None or not self._learner.learns_noise:
            return self.best
        nodes = [episode.leaf for episode in self._learner.told]
        self._explored.scores.refresh(nodes)
        return self.evaluations[int(np.argmax(self._explored.scores.moments()[0][nodes]))]

    def outcomes(self, best: Evaluation, margin: float) -> Outcomes:
        """What refinements start from: the best evaluation and others with large rewards, and all."""
        asked = [evaluation for evaluation in self.evaluations if evaluation.actions is not None]
        largest = heapq.nlargest(_GOOD, asked, key=lambda evaluation: evaluation.reward)
        key = self._explored.key
        by_leaf: dict[Hashable, Evaluation] = {}
        for evaluation in [best, *largest]:
            by_leaf.setdefault(key(evaluation.leaf), evaluation)
        return Outcomes(list(by_leaf.values()), asked, margin)

    @property
    def since_best(self) -> int:
        """Number of evaluations since the best one."""
        return 0 if self.best is None else len(self.evaluations) - self.best.step

    def clock(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self._started

    def continue_clock(self) -> None:
        """Continue the clock from the last evaluation, as if no time had passed since."""
        if self.evaluations:
            self._started = time.perf_counter() - self.evaluations[-1].seconds
