"""Methods of other packages for choosing k of n, which the benchmark of selectors compares with.

Points are arrays of the numbers that are chosen; only distinct subsets count.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SequentialFeatureSelector

from dagsearch._internal.typing import IntArray
from experiments.harness import peers
from experiments.harness.evaluations import Evaluations

Peer = Callable[[Evaluations, int, int, int], None]
"""``peer(evaluate, n, k, seed)`` evaluates subsets of k, greedy selection also smaller ones."""


def random_subsets(evaluate: Evaluations, n: int, k: int, seed: int) -> None:
    """Distinct subsets, all equally likely."""
    rng = np.random.default_rng(seed)
    peers.random_search(evaluate, lambda: rng.choice(n, k, replace=False))


class _NothingToFit(BaseEstimator):  # type: ignore[misc]
    """An estimator for selectors that want one; training is part of the reward."""

    def fit(self, features: IntArray, labels: IntArray) -> "_NothingToFit":
        """Nothing."""
        return self


def _selected(evaluate: Evaluations, n: int, selector: Callable[..., Any], **settings: Any) -> None:
    """What a sequential selector evaluates.

    Selectors hand the columns they have chosen to the scorer. The only row of these data numbers them.
    """
    made = selector(
        _NothingToFit(), scoring=lambda estimator, features, labels: evaluate(features[0]), **settings
    )
    made.fit(np.arange(n)[None], np.zeros(1, dtype=np.int64))


def floating_selection(evaluate: Evaluations, n: int, k: int, seed: int) -> None:
    """Add the best choice until there are k, and take choices back as long as that helps (mlxtend's SFFS)."""
    selector = peers.import_peer("mlxtend.feature_selection").SequentialFeatureSelector
    _selected(evaluate, n, selector, k_features=k, floating=True, cv=0, clone_estimator=False)


def sklearn_forward_selection(evaluate: Evaluations, n: int, k: int, seed: int) -> None:
    """Add the best choice until there are k (scikit-learn's SequentialFeatureSelector)."""
    _selected(evaluate, n, SequentialFeatureSelector, n_features_to_select=k, cv=[([0], [0])])
