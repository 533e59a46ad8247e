"""Noise of a cross-validated score, estimated from its folds."""

import numpy as np

from dagsearch._internal.typing import FloatArray

# Weight of the variance over all subsets against a subset's own, as a number of folds.
_SHARED_FOLDS = 4.0


class FoldNoise:
    """Variance of a mean score over folds, without the part that all subsets have in common.

    All subsets are scored on the same folds. If a fold is hard for all of them, that is not noise when they
    are compared; only a subset's deviation from the others on that fold is.
    """

    def __init__(self) -> None:
        self._scores: list[FloatArray] = []

    def add(self, scores: FloatArray) -> float | None:
        """Add the scores of a subset, and return the variance of their mean.

        Parameters
        ----------
        scores : ndarray of shape (n_folds,)
            Score on each fold.

        Returns
        -------
        float or None
            ``None`` if it cannot be estimated: with one fold, or if scores do not vary.
        """
        self._scores.append(np.asarray(scores, dtype=np.float64))
        table = np.array(self._scores)
        subsets, folds = table.shape
        if folds < 2:
            return None
        if subsets == 1:
            variance = float(table.var(ddof=1))
        else:
            rest = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
            free = (subsets - 1) * (folds - 1)
            shared = float((rest**2).sum()) / free
            own = float((rest[-1] ** 2).sum()) * subsets / free
            variance = (_SHARED_FOLDS * shared + (folds - 1) * own) / (_SHARED_FOLDS + folds - 1)
        size = float(np.abs(table).max())
        return variance / folds if variance > (1e-9 * size) ** 2 else None
