"""What each item or choice is worth, and pairs that are worth more or less together than one by one.

| symbol | meaning |
|---|---|
| x_j, p_j | whether a leaf has part j, and the share of the evaluated leaves that have it |
| c_j = x_j − p_j, z_ij = c_i c_j | regressors of a part and of a pair |
| w_j, u_ij | expected change of the reward when a leaf has part j, and what i and j add together |
| g(x) | everything else, with covariance exp(−d / ℓ): d is the number of parts that differ, ℓ its mean |

    y = m + Σ w_j c_j + Σ u_ij z_ij + g(x) + ε

An effect of an option is compared with the average over the options of its choice, and so is that of a pair:
with g options, only (1 − 1/g) of a coefficient is a difference from the average. In sets of one size an item
is compared with the average item, which it replaces.

All effects are small at first: w_j ~ N(0, a₁) and u_ij ~ N(0, a₂), with a₁, a₂, and the sizes of g and of the
noise ε at the maximum of their posterior. On top of that, any part and a few pairs may have large effects.

Pairs: a sum of single effects (Wang, Sarkar, Carbonetto and Stephens 2020; with small effects of all others,
Cui et al. 2023). Each single effect belongs to one pair of all, or to none. What speaks for a pair is weighed
against all other pairs at once. So one that was picked out of thousands must be that much clearer, and of two
pairs that were evaluated alike neither is shown. A pair is shown if it has an effect with probability 0.95.

Parts: the evidence about each part, whatever its prior, is weighed by a distribution of effects that is
learned from all parts: a mixture of none and of normal ones of several sizes (Stephens 2017). A part is shown
if its effect has the sign that is shown with probability 0.95.

An interval holds 90 % of the probability; what is left for no effect counts as outside.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import brentq, minimize
from scipy.special import logsumexp, ndtr, ndtri, softmax

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.report.parts import Part, Shown

# Smallest number of evaluations to compute effects from.
_FEWEST = 10
# Largest numbers of evaluations, spread evenly over the run, of parts, and of parts whose pairs are compared.
_EVALUATIONS, _PARTS, _PAIRED = 600, 300, 100
# Number of evaluations that the sizes of the components are learned from.
_LEARNED = 300
# Smallest number of leaves with both parts of a pair.
_BOTH = 5
# Probability of an effect, or of its sign, with which it is shown; and probability in an interval.
_SURE, _LEVEL = 0.95, 0.9
# Number of single effects of pairs, passes over them, and prior probability that each belongs to a pair.
_SINGLE, _PASSES, _ANY = 8, 12, 0.5
# Prior of the logarithms of the components' sizes, in units of the rewards' variance: mean and deviation.
_LOG_MEAN, _LOG_DEVIATION = -1.4, 2.0
# Variance of the mean reward, and least variance of the noise, in the same units.
_OFFSET, _LEAST = 10.0, 1e-6
# Deviations between a leaf and what the others predict that are too many, and passes that look for them.
_FAR, _ALONE = 3.0, 5
# Median of the square of a standard normal number.
_MEDIAN = 0.4549364231195728
# Prior number of parts without an effect, beside those that are looked at.
_NULL = 3.0


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


class Worth(NamedTuple):
    """What parts and pairs are worth."""

    effects: list[Effect]
    """Effects of parts that can be told from none, the best first."""
    pairs: list[Effect]
    """Effects of pairs that can be told from none, the clearest first."""
    order: list[Part]
    """All parts that were looked at, the best first."""


class _Design(NamedTuple):
    """Evaluations as numbers."""

    parts: list[Part]
    has: FloatArray
    """Which leaf has which part, shape ``(evaluations, parts)``."""
    centred: FloatArray
    """The same, with columns of mean 0."""
    choice: IntArray
    """Number of the choice that each part is an option of, shape ``(parts,)``; an item is one of its own."""
    difference: FloatArray
    """Share of each part's coefficient that is a difference from the average of its choice."""
    fixed: bool
    """Whether every leaf is a set of the same size: one item more is another one less."""
    rewards: FloatArray
    """With mean 0 and variance 1."""


class _Cloud(NamedTuple):
    """The distribution of rewards without large effects."""

    inverse: FloatArray
    """Inverse of the covariance, shape ``(evaluations, evaluations)``."""
    part: float
    """Variance of the coefficient of a part."""
    pair: float
    """Variance of the coefficient of a pair."""
    alone: FloatArray
    """Variance of what single leaves have of their own, shape ``(evaluations,)``."""


def worth_of(told: Sequence[Shown], most: int, most_pairs: int) -> Worth:
    """The effects that can be told from none.

    Parameters
    ----------
    told : sequence of Shown
        The evaluations.
    most, most_pairs : int
        Largest numbers of parts and of pairs.
    """
    if len(told) > _EVALUATIONS:
        told = [told[place] for place in np.linspace(0, len(told) - 1, _EVALUATIONS).astype(int)]
    rewards = np.array([one.reward for one in told])
    counts = Counter(part for one in told for part in set(one.parts))
    parts = [part for part, seen in counts.most_common() if seen < len(told)][:_PARTS]
    if len(told) < _FEWEST or not parts or not np.ptp(rewards) > 1e-12 * np.abs(rewards).max():
        return Worth([], [], [])
    unit = float(rewards.std())
    design = _design(told, parts, (rewards - rewards.mean()) / unit)
    cloud = _cloud(design)
    pairs, explained = _pairs(design, cloud)
    effects, order = _effects(design, cloud, explained)
    strongest = sorted(effects, key=lambda effect: -abs(effect.effect))[:most]
    return Worth(
        [_in_units(effect, unit) for effect in sorted(strongest, key=lambda effect: -effect.effect)],
        [_in_units(pair, unit) for pair in pairs[:most_pairs]],
        order,
    )


def _in_units(effect: Effect, unit: float) -> Effect:
    return effect._replace(effect=unit * effect.effect, low=unit * effect.low, high=unit * effect.high)


def _design(told: Sequence[Shown], parts: list[Part], rewards: FloatArray) -> _Design:
    column = {part: place for place, part in enumerate(parts)}
    has = np.zeros((len(told), len(parts)))
    for row, one in enumerate(told):
        has[row, [column[part] for part in one.parts if part in column]] = 1.0
    names = [part.place or f"\0{part.value}" for part in parts]
    number = {name: place for place, name in enumerate(dict.fromkeys(names))}
    choice = np.array([number[name] for name in names])
    options = np.bincount(choice)[choice]
    difference = np.where(options > 1, 1.0 - 1.0 / options, 1.0)
    fixed = not any(part.place for part in parts) and len({len(one.parts) for one in told}) == 1
    return _Design(parts, has, has - has.mean(axis=0), choice, difference, fixed, rewards)


def _cloud(design: _Design) -> _Cloud:
    """The covariance whose components have the most probable sizes."""
    c, has, n = design.centred, design.has, len(design.rewards)
    parts = c @ c.T
    pairs = parts**2
    for number in range(design.choice.max() + 1):  # two options of a choice are no pair
        options = c[:, design.choice == number]
        pairs -= (options @ options.T) ** 2
    pairs /= 2.0
    sizes = has.sum(axis=1)
    differ = np.maximum(sizes[:, None] + sizes - 2.0 * (has @ has.T), 0.0)
    rest = np.exp(-differ / max(float(differ.mean()), 1e-9))
    scales = [max(float(np.trace(one)) / n, 1e-12) for one in (parts, pairs, rest)]
    kernels = np.stack([parts / scales[0], pairs / scales[1], rest / scales[2], np.eye(n)])
    some = np.linspace(0, n - 1, min(n, _LEARNED)).astype(int)
    amounts = np.exp(_log_sizes(kernels[:, some[:, None], some], design.rewards[some]))
    inverse = cho_solve(_factor(kernels, amounts), np.eye(n))
    # A leaf far from what all others predict has something of its own, such as a rare pair: it gets a
    # variance that allows for that.
    alone = np.zeros(n)
    for _ in range(_ALONE):
        variance = 1.0 / np.diag(inverse)
        missed = (inverse @ design.rewards) * variance
        more = np.where(missed**2 > _FAR**2 * variance, missed**2, 0.0)
        if not more.any():
            break
        alone += more
        kernels[3] += np.diag(more / amounts[3])
        inverse = cho_solve(_factor(kernels, amounts), np.eye(n))
    return _Cloud(inverse, float(amounts[0]) / scales[0], float(amounts[1]) / scales[1], alone)


def _from_alone(cloud: _Cloud, regressors: FloatArray) -> FloatArray:
    """Variance of each effect from what leaves have of their own, which is a part of what they average."""
    squares = regressors**2
    return np.asarray(cloud.alone @ squares / np.maximum(squares.sum(axis=0), 1e-12) ** 2)


def _factor(kernels: FloatArray, amounts: FloatArray) -> tuple[FloatArray, bool]:
    total = np.tensordot(amounts, kernels, axes=1) + _OFFSET
    total[np.diag_indices_from(total)] += _LEAST
    factor, lower = cho_factor(total, lower=True)
    return factor, lower


def _log_sizes(kernels: FloatArray, rewards: FloatArray) -> FloatArray:
    """The most probable logarithms of the sizes of the components."""

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        amounts = np.exp(logs)
        factor = _factor(kernels, amounts)
        inverse = cho_solve(factor, np.eye(len(rewards)))
        weights = inverse @ rewards
        value = 0.5 * float(rewards @ weights) + float(np.log(np.diag(factor[0])).sum())
        slope = 0.5 * amounts * np.tensordot(kernels, inverse - np.outer(weights, weights), axes=2)
        away = (logs - _LOG_MEAN) / _LOG_DEVIATION
        return value + 0.5 * float(away @ away), slope + away / _LOG_DEVIATION

    start = np.full(len(kernels), _LOG_MEAN)
    bounds = [(-14.0, 5.0)] * len(kernels)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 40})
    return np.asarray(found.x)


# Pairs ----------------------------------------------------------------------------------------------


class _Compared(NamedTuple):
    """Pairs that are compared."""

    first: IntArray
    second: IntArray
    """Columns of both parts, shape ``(pairs,)``."""
    z: FloatArray
    """Regressors whose coefficients are effects, shape ``(evaluations, pairs)``."""
    whitened: FloatArray
    """The same times the inverse covariance."""
    precision: FloatArray
    """Precision of the estimate of each effect."""
    small: FloatArray
    """Variance of the small effect of each."""


def _pairs(design: _Design, cloud: _Cloud) -> tuple[list[Effect], FloatArray]:
    """The pairs that are shown, the clearest first, and what large effects of pairs add to the rewards."""
    compared = _compared(design, cloud)
    if compared is None:
        return [], np.zeros(len(design.rewards))
    z, whitened, precision = compared.z, compared.whitened, compared.precision
    variances = np.power(4.0, np.arange(-8.0, 3.0)) / float(np.median((z**2).mean(axis=0)))
    chances, means = np.zeros((_SINGLE, z.shape[1])), np.zeros((_SINGLE, z.shape[1]))
    slabs = np.zeros(_SINGLE)
    for _ in range(_PASSES):
        before = chances.copy()
        for single in range(_SINGLE):
            others = (chances * means).sum(axis=0) - chances[single] * means[single]
            estimate = (whitened.T @ (design.rewards - z @ others)) / precision
            chances[single], means[single], slabs[single] = _single(estimate, 1.0 / precision, variances)
        if np.abs(chances - before).max() < 1e-3:
            break
    has_effect, effect = 1.0 - np.prod(1.0 - chances, axis=0), (chances * means).sum(axis=0)
    found = []
    for pair in np.argsort(-has_effect, kind="stable")[: int((has_effect > _SURE).sum())].tolist():
        left = design.rewards - z @ effect + z[:, pair] * effect[pair]
        estimate, error = float(whitened[:, pair] @ left / precision[pair]), 1.0 / float(precision[pair])
        # The small effect of this pair, too, is a part of what is shown: so far it counted as an error.
        error = max(error - float(compared.small[pair]), 1e-9 * error)
        slab = float(slabs[np.argmax(chances[:, pair])] + compared.small[pair])
        mean, deviation = estimate * slab / (slab + error), (slab * error / (slab + error)) ** 0.5
        reach = float(ndtri(0.5 + min(_LEVEL / float(has_effect[pair]), 1.0) / 2.0)) * deviation
        i, j = int(compared.first[pair]), int(compared.second[pair])
        both = int(design.has[:, i] @ design.has[:, j])
        found.append(Effect((design.parts[i], design.parts[j]), mean, mean - reach, mean + reach, both))
    return found, z @ effect


def _compared(design: _Design, cloud: _Cloud) -> _Compared | None:
    """The pairs of the parts that the rewards say most about."""
    c = design.centred
    whitened = cloud.inverse @ c
    clear = np.abs(whitened.T @ design.rewards) / np.sqrt(np.einsum("ij,ij->j", c, whitened) + 1e-300)
    options = np.bincount(design.choice)[design.choice]
    earlier = [int((design.choice[:place] == choice).sum()) for place, choice in enumerate(design.choice)]
    # Of two options, what holds of one holds of the other, turned round.
    candidates = np.flatnonzero((options != 2) | (np.array(earlier) == 0))
    used = np.sort(candidates[np.argsort(-clear[candidates], kind="stable")[:_PAIRED]])
    both, choice = design.has[:, used].T @ design.has[:, used], design.choice[used]
    i, j = np.nonzero(np.triu(both >= _BOTH, 1) & (choice[:, None] != choice))
    first, second = used[i], used[j]
    share = design.difference[first] * design.difference[second]
    z = c[:, first] * c[:, second] / share
    whitened = cloud.inverse @ z
    precision = np.einsum("ij,ij->j", z, whitened)
    known = np.flatnonzero(precision > 1e-9 * precision.max(initial=1e-300))
    if not known.size:
        return None
    z, whitened, precision = z[:, known], whitened[:, known], precision[known]
    # Most pairs have no effect. If their estimates scatter more than they should, the errors are larger than
    # the model says (Devlin and Roeder 1999).
    scatter = float(np.median((whitened.T @ design.rewards) ** 2 / precision)) / _MEDIAN
    doubt = max(1.0, scatter) + precision * _from_alone(cloud, z)
    whitened, precision = whitened / doubt, precision / doubt
    return _Compared(first[known], second[known], z, whitened, precision, cloud.pair * share[known] ** 2)


def _single(
    estimate: FloatArray, error: FloatArray, variances: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Probability that one effect belongs to each pair, its mean if it does, and its most likely variance."""
    total = error[:, None] + variances
    logs = 0.5 * (np.log(error[:, None] / total) + (estimate**2 / error)[:, None] * variances / total)
    evidence = logsumexp(logs, axis=0) - np.log(len(estimate))
    best = int(np.argmax(evidence))
    all_logs = np.logaddexp(np.log(1.0 - _ANY), np.log(_ANY) + evidence[best])
    chance = np.exp(logs[:, best] - np.log(len(estimate)) + np.log(_ANY) - all_logs)
    return chance, estimate * variances[best] / total[:, best], float(variances[best])


# Parts ----------------------------------------------------------------------------------------------


def _effects(design: _Design, cloud: _Cloud, explained: FloatArray) -> tuple[list[Effect], list[Part]]:
    """The parts that are shown, and all parts by their effects."""
    c = design.centred
    choice = np.zeros_like(design.choice) if design.fixed else design.choice
    same = (choice[:, None] == choice).astype(float)
    others = same.sum(axis=1)
    contrast = np.eye(len(choice)) - np.where(others > 1, 1.0, 0.0)[:, None] * same / others[:, None]
    prior = cloud.part * np.einsum("ij,ij->i", contrast, contrast)
    mean = cloud.part * (contrast @ (c.T @ (cloud.inverse @ (design.rewards - explained))))
    turned = cloud.part * (c @ contrast.T)
    variance = prior - np.einsum("ij,ij->j", turned, cloud.inverse @ turned)
    # What the rewards say, whatever the prior: a normal likelihood of each effect.
    known = np.flatnonzero(variance < (1.0 - 1e-9) * prior)
    variance = np.maximum(variance[known], 1e-9 * prior[known])
    error = 1.0 / (1.0 / variance - 1.0 / prior[known])
    estimate = error * mean[known] / variance
    error = error + (contrast[known] ** 2) @ _from_alone(cloud, c)
    if not known.size:
        return [], []
    weights, variances = _distribution(estimate, error)
    beliefs = [
        _belief(*one, weights, variances) for one in zip(estimate.tolist(), error.tolist(), strict=True)
    ]
    order = [
        design.parts[known[place]] for place in np.argsort([-one.mean for one in beliefs], kind="stable")
    ]
    return [
        Effect((design.parts[place],), one.mean, one.low, one.high, int(design.has[:, place].sum()))
        for place, one in zip(known.tolist(), beliefs, strict=True)
        if one.sign > _SURE
    ], order


def _distribution(estimate: FloatArray, error: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights and variances of the mixture of none and of normal effects that the estimates come from."""
    least, most = float(error.min()) / 100.0, 4.0 * float(np.maximum(estimate**2 - error, error).max())
    count = int(np.ceil(np.log2(most / least))) + 1
    variances = np.concatenate([[0.0], np.geomspace(least, most, count)])
    total = error[:, None] + variances
    logs = -0.5 * (np.log(total) + estimate[:, None] ** 2 / total)
    prior = np.where(variances > 0.0, 0.0, _NULL - 1.0)
    weights = np.full(len(variances), 1.0 / len(variances))
    for _ in range(300):
        before = weights
        weights = softmax(logs + np.log(weights + 1e-300), axis=1).sum(axis=0) + prior
        weights /= weights.sum()
        if np.abs(weights - before).max() < 1e-4:
            break
    return weights, variances


class _Belief(NamedTuple):
    """What is believed about an effect."""

    mean: float
    sign: float
    """Probability that it has the sign of the mean."""
    low: float
    high: float


def _belief(estimate: float, error: float, weights: FloatArray, variances: FloatArray) -> _Belief:
    total = error + variances
    share = softmax(np.log(weights + 1e-300) - 0.5 * (np.log(total) + estimate**2 / total))
    means = estimate * variances / total
    deviations = np.sqrt(np.maximum(error * variances / total, 1e-18 * error))
    mean = float(share @ means)
    reach = abs(estimate) + 10.0 * error**0.5

    def above(value: float, tail: float) -> float:
        return float(share @ ndtr((value - means) / deviations)) - tail

    tails = (1.0 - _LEVEL) / 2.0, (1.0 + _LEVEL) / 2.0
    low, high = (float(brentq(above, -reach, reach, args=(tail,))) for tail in tails)
    sign = float(share[1:] @ ndtr(np.sign(estimate) * means[1:] / deviations[1:]))
    return _Belief(mean, sign, low, high)
