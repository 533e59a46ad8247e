"""The rewards so far, in the user's units, and how well they were predicted."""

import time
from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagsearch.posterior.foresight import Foresight
from dagsearch.posterior.posterior import Posterior
from dagsearch.problem import Action, State
from dagsearch.results import Evaluation, Proposal
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import Gaussian

# Number of good leaves that proposers may start from.
_GOOD = 6


class Told(NamedTuple):
    """A reward that was told, after all checks."""

    leaf: State
    """The evaluated leaf."""
    node: int
    """Its node."""
    proposal: Proposal | None
    """The proposal that it was evaluated for; ``None`` if the leaf was told without one."""
    reward: float
    """The reward in the user's units."""
    noise: float | None
    """Noise variance of this reward; ``None`` if it was not told."""
    seconds: float
    """When it was told, in seconds from the start of the search."""


class Data:
    """Every evaluation in the order told, the best ones, and the clock that gives their times."""

    def __init__(self, explored: Explored, posterior: Posterior) -> None:
        self._explored, self._posterior = explored, posterior
        self.evaluations: list[Evaluation] = []
        """All evaluations, in the order told."""
        self.reached: list[Evaluation] = []
        """Those of leaves to which actions from the present root are known."""
        self.best: Evaluation | None = None
        """The first evaluation with the largest reward."""
        self.foresight = Foresight()
        """How well rewards were predicted before they were told."""
        self.stopped: str | None = None
        """Why the last run ended; ``None`` if there was no run."""
        self._largest: list[tuple[float, int, Evaluation]] = []  # of different leaves, the largest first
        self._incumbent: tuple[int, Evaluation] | None = None  # with the number of evaluations it is from
        self._moved = False  # whether the root has
        self._started = time.perf_counter()

    def __len__(self) -> int:
        return len(self.evaluations)

    def add(
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
        if actions is not None and (not self._moved or self._leads(actions, leaf)):
            self.reached.append(evaluation)
            self._rank(evaluation)
        return evaluation

    def _leads(self, actions: Sequence[Action], leaf: State) -> bool:
        """Whether actions lead to a leaf, though the root may have moved since; not asked in games."""
        if self._explored.space.has_players:
            return False
        reached = self._explored.space.replayed(actions)
        return reached is not None and self._explored.same(reached, leaf)

    def move_root(self) -> None:
        """The root has moved: proposers start from leaves below it, of which none is known yet."""
        self.reached, self._largest, self._moved = [], [], True

    def _rank(self, evaluation: Evaluation) -> None:
        """Keep an evaluation among those with the largest rewards, if it is one; the first of equal ones."""
        ranked = self._largest
        if len(ranked) == _GOOD and evaluation.reward <= -ranked[-1][0]:
            return
        same = self._explored.space.same
        again = next((one for one in ranked if same(one[2].leaf, evaluation.leaf)), None)
        if again is not None:
            if -again[0] >= evaluation.reward:
                return
            ranked.remove(again)
        insort(ranked, (-evaluation.reward, evaluation.step, evaluation))
        del ranked[_GOOD:]

    def incumbent(self) -> Evaluation | None:
        """The best evaluation: by reward, or by mean g where noise is learnt."""
        if self.best is None or not self._posterior.learns_noise:
            return self.best
        if self._incumbent is None or self._incumbent[0] != len(self.evaluations):
            mean, _ = self._posterior.moments([episode.leaf for episode in self._posterior.told])
            self._incumbent = len(self.evaluations), self.evaluations[int(np.argmax(mean))]
        return self._incumbent[1]

    def good(self) -> Sequence[Evaluation]:
        """The best evaluations of different leaves to which actions are known, the incumbent first."""
        ranked, best = [evaluation for _, _, evaluation in self._largest], self.incumbent()
        if best is None or best.actions is None or (ranked and ranked[0] is best):
            return ranked
        if self._moved and not any(one is best for one in self.reached):
            return ranked
        return [best, *(one for one in ranked if not self._explored.space.same(one.leaf, best.leaf))]

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
