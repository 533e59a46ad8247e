"""Strings: NK landscapes, low autocorrelation, motifs, folding."""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.spaces import Places

_LABS = "00011100011111110001000110010001001010100100100101"
"""50 signs with the smallest energy, 153, which is proven (Packebusch and Mertens, 2016)."""


def landscape(number: int) -> Instance:
    """An NK landscape (Kauffman): 12 places, 4 letters; a place interacts with the next two."""
    tables = np.random.default_rng([number, 30]).random((12, 4, 4, 4))
    places = np.arange(12)

    def scores(points: IntArray) -> FloatArray:
        following, second = (np.roll(points, -shift, axis=1) for shift in (1, 2))
        return np.asarray(tables[places, points, following, second].mean(axis=1))

    return Instance(Places([4] * 12), scores)


def autocorrelation(number: int) -> Instance:
    """50 signs with low autocorrelation: Golay's merit factor. There is one instance."""
    return merit_factor(50)._replace(best=np.array([int(sign) for sign in _LABS]))


def merit_factor(length: int) -> Instance:
    """Signs with low autocorrelation: Golay's merit factor."""

    def scores(points: IntArray) -> FloatArray:
        signs = 2.0 * points - 1.0
        energy = np.zeros(len(points))
        for shift in range(1, length):
            energy += np.sum(signs[:, :-shift] * signs[:, shift:], axis=1) ** 2
        return np.asarray(length**2 / (2.0 * energy))

    return Instance(Places([2] * length), scores)


def motifs(number: int) -> Instance:
    """Three motifs of five letters with a gap, anywhere in a word of 20: mean squared share of matches.

    There is room for all three side by side, so the best word scores 1.
    """
    rng = np.random.default_rng([number, 32])
    letters = rng.integers(4, size=(3, 5))
    gaps = rng.multinomial(1, [1 / 4] * 4, size=3) + 1
    offsets = np.concatenate([np.zeros((3, 1), dtype=np.int64), np.cumsum(gaps, axis=1)], axis=1)
    best, start = np.zeros(20, dtype=np.int64), 0
    for motif, offset in zip(letters, offsets, strict=True):
        best[start + offset] = motif
        start += int(offset[-1]) + 1

    def scores(points: IntArray) -> FloatArray:
        found = np.zeros(len(points))
        for motif, offset in zip(letters, offsets, strict=True):
            places = np.arange(20 - offset[-1])[:, None] + offset
            fits = (points[:, places] == motif).mean(axis=2).max(axis=1)
            found += fits**2 / 3.0
        return found

    return Instance(Places([4] * 20), scores, best=best)


def folding(number: int) -> Instance:
    """A chain of 16 on the square lattice (HP model): its contacts, or its crossings, negative.

    The 14 letters are turns: left, straight, right. A contact is two hydrophobic links side by side that are
    not neighbours in the chain.
    """
    rng = np.random.default_rng([number, 33])
    hydrophobic = rng.permutation(np.arange(16) < 9)
    first, second = np.triu_indices(16, 2)
    sticky = hydrophobic[first] & hydrophobic[second]
    steps = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]], dtype=np.int8)

    def scores(points: IntArray) -> FloatArray:
        directions = np.cumsum(np.insert(points - 1, 0, 0, axis=1), axis=1) % 4
        places = np.insert(np.cumsum(steps[directions], axis=1, dtype=np.int8), 0, 0, axis=1)
        apart = np.abs(places[:, first] - places[:, second]).sum(axis=2, dtype=np.int8)
        crossings, contacts = np.sum(apart == 0, axis=1), np.sum((apart == 1) & sticky, axis=1)
        return np.asarray(np.where(crossings > 0, -crossings, contacts).astype(np.float64))

    return Instance(Places([3] * 14), scores)
