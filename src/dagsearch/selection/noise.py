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
        self._count, self._size = 0, 0.0
        # Of the scores without each subset's mean: mean by fold, and squared deviations from it (Welford).
        self._mean: FloatArray | float = 0.0
        self._squares = 0.0

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
        scores = np.asarray(scores, dtype=np.float64)
        folds = len(scores)
        if folds < 2:
            return None
        centred = scores - scores.mean()
        self._count += 1
        self._size = max(self._size, float(np.abs(scores).max()))
        before = centred - self._mean
        self._mean = self._mean + before / self._count
        rest = centred - self._mean
        self._squares += float(before @ rest)
        if self._count == 1:
            variance = float(scores.var(ddof=1))
        else:
            free = (self._count - 1) * (folds - 1)
            own = float(rest @ rest) * self._count / free
            shared = self._squares / free
            variance = (_SHARED_FOLDS * shared + (folds - 1) * own) / (_SHARED_FOLDS + folds - 1)
        return variance / folds if variance > (1e-9 * self._size) ** 2 else None
