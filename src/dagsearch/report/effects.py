"""What each item or choice is worth: main effects by Bayesian linear regression, and pairs that interact.

y = mean + Σ w_j x_j + ε with independent w_j ~ N(0, τ² s²) and ε ~ N(0, σ² s²), where x_j says whether a leaf
has part j and s² is the variance of the rewards. The ratio σ²/τ² is chosen by the evidence. The columns of X
are centred, so an effect is the change of the expected reward when a part is added; within a choice the
effects are compared with the average over the options as they were evaluated.

Pairs of items or choices that are worth more, or less, together than one by one.

With the residuals r of the linear model and z = (x_i − p_i)(x_j − p_j), where p is the share of leaves with a
part, an interaction w has the posterior N(Σ z r / (Σ z² + 0.1), σ² / (Σ z² + 0.1)), σ² being the variance of
the residuals. Only pairs of parts with large effects or in good leaves are looked at, each on its own.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.journal.encoding import Part
from dagsearch.record import Told

# Largest number of parts that effects are computed for: those that were evaluated most often.
_MOST_PARTS = 300
# Smallest number of evaluations to compute effects from.
_FEWEST = 6
# Ratios of the variance of the noise to that of an effect.
_RATIOS = tuple(10.0 ** (power / 2.0) for power in range(-6, 7))
# Half the width of a central 90% interval, in deviations.
_NINETY = 1.6448536269514722
# Largest numbers of evaluations, the latest ones, and of parts that are looked at.
_EVALUATIONS, _PARTS = 2000, 20
# How many deviations from 0 an interaction must be: with 190 pairs, few searches show one by chance.
_SURE = 3.5


class Effect(NamedTuple):
    """What a part is worth, or two parts together."""

    parts: tuple[Part, ...]
    """The part, or the two parts."""
    effect: float
    """Expected change of the reward when a leaf has the part; of two, beyond the sum of their own effects."""
    low: float
    """Lower end of the central 90% interval."""
    high: float
    """Upper end."""
    leaves: int
    """Number of evaluated leaves that have the part, or both."""

    @property
    def part(self) -> Part:
        """The first part."""
        return self.parts[0]

    def __str__(self) -> str:
        return " and ".join(map(str, self.parts))


class _Fit(NamedTuple):
    """A fitted model."""

    evidence: float
    """Logarithm of the evidence, up to a constant."""
    factor: FloatArray
    """Cholesky factor of the effects' precision, in units of the noise."""
    mean: FloatArray
    """Means of the effects."""
    noise: float
    """Variance of the noise."""


class Effects:
    """Sums over evaluations from which effects follow; :meth:`add` takes further evaluations."""

    def __init__(self) -> None:
        self._column: dict[Part, int] = {}
        self._gram = np.zeros((0, 0))
        self._with_reward = np.zeros(0)
        self._count, self._total, self._squares = 0, 0.0, 0.0
        self._shift = 0.0  # the first reward: sums of squares lose less to rounding

    def add(self, parts: Sequence[Part], reward: float) -> None:
        """Take an evaluation."""
        if self._count == 0:
            self._shift = reward
        reward -= self._shift
        columns = [self._column_of(part) for part in dict.fromkeys(parts)]
        known = np.array([column for column in columns if column >= 0], dtype=np.int64)
        self._gram[np.ix_(known, known)] += 1.0
        self._with_reward[known] += reward
        self._count, self._total = self._count + 1, self._total + reward
        self._squares += reward * reward

    def _column_of(self, part: Part) -> int:
        column = self._column.get(part)
        if column is None:
            column = len(self._column)
            if column >= 4 * _MOST_PARTS:  # in huge spaces, what comes late was evaluated least
                return -1
            self._column[part] = column
            if column >= len(self._gram):
                grown = np.zeros((max(16, 2 * column),) * 2)
                grown[: len(self._gram), : len(self._gram)] = self._gram
                self._with_reward = np.append(self._with_reward, np.zeros(len(grown) - len(self._gram)))
                self._gram = grown
        return column

    def largest(self, most: int) -> list[Effect]:
        """The ``most`` largest effects by size, the best first; none with too few evaluations."""
        if self._count < _FEWEST or not self._column:
            return []
        counts = np.diag(self._gram)[: len(self._column)]
        varied = np.flatnonzero((counts > 0) & (counts < self._count))
        used = varied[np.argsort(-counts[varied], kind="stable")[:_MOST_PARTS]]
        if not used.size:
            return []
        mean, deviation = self._posterior(used)
        parts = list(self._column)
        strongest = np.argsort(-np.abs(mean), kind="stable")[:most]
        chosen = sorted(strongest.tolist(), key=lambda place: -mean[place])
        return [
            Effect(
                (parts[used[place]],),
                float(mean[place]),
                float(mean[place] - _NINETY * deviation[place]),
                float(mean[place] + _NINETY * deviation[place]),
                int(counts[used[place]]),
            )
            for place in chosen
        ]

    def _posterior(self, used: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of the effects of some columns, with the ratio of best evidence."""
        n, share = self._count, np.diag(self._gram)[used] / self._count
        gram = self._gram[np.ix_(used, used)] - n * np.outer(share, share)
        against = self._with_reward[used] - self._total * share
        spread = max(self._squares - self._total**2 / n, 1e-300)
        fits = [self._fitted(gram, against, spread, ratio) for ratio in _RATIOS]
        best = max(fits, key=lambda fit: fit.evidence)
        inverse = cho_solve((best.factor, True), np.eye(len(used)))
        return best.mean, np.sqrt(best.noise * np.diag(inverse))

    def _fitted(self, gram: FloatArray, against: FloatArray, spread: float, ratio: float) -> _Fit:
        """The model with a ratio of variances, with the variance of the noise at its maximum."""
        n, size = self._count - 1, len(gram)
        factor, _ = cho_factor(gram + ratio * np.eye(size), lower=True)
        mean = cho_solve((factor, True), against)
        noise = max((spread - float(against @ mean)) / n, 1e-12 * spread / n)
        determinant = 2.0 * float(np.log(np.diag(factor)).sum()) - size * np.log(ratio)
        return _Fit(-0.5 * (n * float(np.log(noise)) + determinant), factor, mean, noise)


def pairs_of(told: Sequence[Told], effects: Sequence[Effect], most: int) -> list[Effect]:
    """The ``most`` clearest interactions; none that may well be chance.

    Parameters
    ----------
    told : sequence of Told
        The evaluations.
    effects : sequence of Effect
        Main effects; parts without one count as worth nothing.
    most : int
        Number of pairs.
    """
    told = told[-_EVALUATIONS:]
    ranked = sorted(effects, key=lambda effect: -abs(effect.effect))
    column = {effect.part: place for place, effect in enumerate(ranked)}
    if len(told) < 10 or len(column) < 2:
        return []
    has = np.zeros((len(told), len(column)))
    for row, one in enumerate(told):
        has[row, [column[part] for part in one.parts if part in column]] = 1.0
    centred = has - has.mean(axis=0)
    rewards = np.array([one.reward for one in told])
    residual = rewards - rewards.mean() - centred @ np.array([effect.effect for effect in ranked])
    variance = float(residual.var())
    found = []
    for i, j in combinations(range(min(_PARTS, len(ranked))), 2):
        both = int(has[:, i] @ has[:, j])
        # Options of one choice exclude each other.
        if both < 3 or (ranked[i].part.place and ranked[i].part.place == ranked[j].part.place):
            continue
        z = centred[:, i] * centred[:, j]
        precision = float(z @ z) + 0.1
        mean, deviation = float(z @ residual) / precision, (variance / precision) ** 0.5
        if abs(mean) > _SURE * deviation > 0.0:
            ends = mean - _NINETY * deviation, mean + _NINETY * deviation
            found.append((abs(mean) / deviation, Effect((ranked[i].part, ranked[j].part), mean, *ends, both)))
    found.sort(key=lambda scored: -scored[0])
    return [pair for _, pair in found[:most]]
