"""Methods of other packages for choosing k of n, which the benchmark of selectors compares with.

Every peer evaluates the same function, ``problem.reward``, and only distinct subsets count. Peers do not
know what is allowed: they choose ``problem.depth`` of the problem's items, which are numbered from 0 here.
"""

from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SequentialFeatureSelector

from dagsearch._internal.typing import IntArray
from dagsearch.problems import Subsets
from dagsearch.problems.subsets import Subset
from experiments.harness import peers
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.peers import import_peer


class Trial(NamedTuple):
    """One evaluation of a subset that was not evaluated before."""

    subset: Subset
    """The subset that was evaluated."""
    reward: float
    """Its reward."""
    complete: bool
    """Whether the subset has all k choices; greedy selection evaluates smaller ones, too."""
    seconds: float
    """The method's own time since the previous evaluation, without the time of rewards."""


Peer = Callable[[Subsets, int, int], list[Trial]]
"""``peer(problem, budget, seed)`` returns at most ``budget`` trials, fewer if it proposes nothing new."""


class Choosing(Evaluations):
    """Evaluates subsets, which are given by the numbers of their choices."""

    def __init__(self, problem: Subsets, budget: int, patience: int = 10_000) -> None:
        self._problem = problem
        self._choices = problem.actions(problem.root())
        self.n, self.k = len(self._choices), problem.depth
        super().__init__(
            lambda numbers: float(problem.reward(self._subset(numbers))),
            budget,
            patience,
            key=lambda numbers: frozenset(map(int, numbers)),
        )

    def _subset(self, numbers: Iterable[int]) -> Subset:
        subset = self._problem.root()
        for number in sorted(numbers):
            subset = self._problem.step(subset, self._choices[number])
        assert isinstance(subset, Set)
        return subset

    @property
    def trials(self) -> list[Trial]:
        """All evaluations."""
        done = zip(self.points, self.rewards, self.own_seconds, strict=True)
        return [Trial(self._subset(one), reward, len(one) == self.k, own) for one, reward, own in done]

    def random(self, rng: np.random.Generator) -> IntArray:
        """Numbers of a complete subset, all equally likely."""
        return rng.choice(self.n, self.k, replace=False)


def _trials(problem: Subsets, budget: int, method: Callable[[Choosing], Any]) -> list[Trial]:
    """What a method evaluates until it is done or its budget is spent."""
    evaluate = Choosing(problem, budget)
    with suppress(BudgetSpent):
        method(evaluate)
    return evaluate.trials


def random_subsets(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Distinct subsets, all equally likely."""
    rng = np.random.default_rng(seed)
    return _trials(
        problem, budget, lambda evaluate: peers.random_search(evaluate, lambda: evaluate.random(rng))
    )


# Greedy selection --------------------------------------------------------------------------------------


class _NothingToFit(BaseEstimator):  # type: ignore[misc]
    """An estimator for selectors that want one; training is part of the reward."""

    def fit(self, features: IntArray, labels: IntArray) -> "_NothingToFit":
        """Nothing."""
        return self


def _selected(problem: Subsets, budget: int, selector: Callable[..., Any], **settings: Any) -> list[Trial]:
    """What a sequential selector evaluates.

    Selectors hand the columns they have chosen to the scorer. The only row of these data numbers them.
    ``problem.reward`` must accept smaller subsets: only the last round evaluates complete ones.
    """

    def method(evaluate: Choosing) -> None:
        made = selector(
            _NothingToFit(), scoring=lambda estimator, features, labels: evaluate(features[0]), **settings
        )
        made.fit(np.arange(evaluate.n)[None], np.zeros(1, dtype=np.int64))

    return _trials(problem, budget, method)


def floating_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Add the best choice until there are k, and take choices back as long as that helps (mlxtend's SFFS)."""
    selector = import_peer("mlxtend.feature_selection").SequentialFeatureSelector
    settings = {"k_features": problem.depth, "floating": True, "cv": 0, "clone_estimator": False}
    return _selected(problem, budget, selector, **settings)


def sklearn_forward_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Add the best choice until there are k (scikit-learn's SequentialFeatureSelector)."""
    settings = {"n_features_to_select": problem.depth, "cv": [([0], [0])]}
    return _selected(problem, budget, SequentialFeatureSelector, **settings)
