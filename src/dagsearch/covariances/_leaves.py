"""Inner products of complete states straight from their codes, compiled: no features are made.

Each function counts, for every pair of rows of codes, what the two have in common. The innermost loops run
over the second rows, whose codes are transposed, so that they are vectorised.
"""

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray


@compiled
def common_places(
    a: IntArray, b: IntArray, trend: FloatArray, falloff: FloatArray, pair_trend: float, pair_falloff: float
) -> tuple[FloatArray, FloatArray]:
    """Sums over places with equal categories, and over neighbouring places that are both equal.

    ``trend`` and ``falloff`` are the weights of the two sums by place, ``pair_trend`` and ``pair_falloff``
    those of a pair of neighbours.
    """
    first, second = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
    others = np.ascontiguousarray(b.T)
    before, equal = np.zeros(len(b)), np.zeros(len(b))
    for i in range(len(a)):
        one, other = first[i], second[i]
        before[:] = 0.0
        for place in range(a.shape[1]):
            code, theirs = a[i, place], others[place]
            for j in range(len(b)):
                equal[j] = 1.0 if theirs[j] == code else 0.0
                both = equal[j] * before[j]
                one[j] += trend[place] * equal[j] + pair_trend * both
                other[j] += falloff[place] * equal[j] + pair_falloff * both
            before[:] = equal
    return first, second


@compiled
def common_orders(a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Numbers of equal positions, of equal successors, and of equal neighbours.

    Successors include the start and the end, neighbours the last and the first.
    """
    n, count = a.shape[1], len(b)
    same, follow, beside = np.zeros((len(a), count)), np.zeros((len(a), count)), np.zeros((len(a), count))
    rank = np.empty((n, count), dtype=np.int64)
    for j in range(count):
        for place in range(n):
            rank[b[j, place], j] = place
    for i in range(len(a)):
        for place in range(n):
            own = rank[a[i, place]]
            last = place + 1 == n
            after = rank[a[i, 0 if last else place + 1]]
            for j in range(count):
                step = after[j] - own[j]
                next_to = step == 1
                same[i, j] += own[j] == place
                beside[i, j] += next_to or step == -1 or step == n - 1 or step == 1 - n
                if not last:
                    follow[i, j] += next_to
        first, final = rank[a[i, 0]], rank[a[i, n - 1]]
        for j in range(count):
            follow[i, j] += first[j] == 0
            follow[i, j] += final[j] == n - 1
    return same, follow, beside
