"""Inner products of complete states straight from their codes, compiled: no features are made.

Each function counts, for every pair of rows of codes, what the two have in common. Rows that follow each
other mostly differ at few places, and only these are compared. The innermost loops run over the second rows,
whose codes are transposed, so that they are vectorised.
"""

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray

# Number of rows after which sums are made afresh, so that rounding errors do not add up.
_AFRESH = 64


@compiled
def common_places(
    a: IntArray, b: IntArray, trend: FloatArray, falloff: FloatArray, pair_trend: float, pair_falloff: float
) -> tuple[FloatArray, FloatArray]:
    """Sums over places with equal categories, and over neighbouring places that are both equal.

    ``trend`` and ``falloff`` are the weights of the two sums by place, ``pair_trend`` and ``pair_falloff``
    those of a pair of neighbours.
    """
    places, count = a.shape[1], len(b)
    first, second = np.zeros((len(a), count)), np.zeros((len(a), count))
    others = np.ascontiguousarray(b.T)
    pairs = pair_trend != 0.0 or pair_falloff != 0.0
    for i in range(len(a)):
        one, other = first[i], second[i]
        changed = places
        if i % _AFRESH > 0:
            changed = 0
            for place in range(places):
                changed += a[i, place] != a[i - 1, place]
        afresh = 3 * changed >= places
        if not afresh:
            one[:], other[:] = first[i - 1], second[i - 1]
        for place in range(places):
            code = a[i, place]
            before = -1 if afresh else a[i - 1, place]
            if code != before:
                theirs, more, near = others[place], trend[place], falloff[place]
                for j in range(count):
                    change = np.float64(theirs[j] == code) - np.float64(theirs[j] == before)
                    one[j] += more * change
                    other[j] += near * change
            if pairs and place > 0:
                left = a[i, place - 1]
                left_before = -1 if afresh else a[i - 1, place - 1]
                if code != before or left != left_before:
                    theirs, theirs_left = others[place], others[place - 1]
                    for j in range(count):
                        change = np.float64((theirs[j] == code) & (theirs_left[j] == left))
                        change -= np.float64((theirs[j] == before) & (theirs_left[j] == left_before))
                        one[j] += pair_trend * change
                        other[j] += pair_falloff * change
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
