"""How far a cross-validated score may be off, from its folds."""

import numpy as np

from dagsearch._internal.typing import FloatArray

# A subset's own few folds count as many folds' worth against those of all subsets together.
_SHARED_FOLDS = 4.0


class FoldNoise:
    """Variance of the mean over folds, after the difficulty of the folds themselves.

    All subsets are scored on the same folds, so that a hard fold is hard for all: only what a subset does
    differently from the others counts as noise when subsets are compared.
    """

    def __init__(self) -> None:
        self._scores: list[FloatArray] = []

    def add(self, scores: FloatArray) -> float | None:
        """Note the scores of a further subset; variance of their mean, ``None`` if they cannot tell."""
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
