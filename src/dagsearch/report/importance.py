"""Importance of each part of a leaf: the best value with it minus the best value without it.

A part is an item of a set, an option of a choice, or anything else that a leaf has or lacks. The value of a
leaf is a Gaussian process over its parts,

    y = m + Σ_j w_j c_j + f(x) + h(x) + ε,

| symbol | meaning |
|---|---|
| c_j | whether the leaf has part j, minus the share of the evaluated leaves that have it |
| w_j | effects of parts, independent and normal |
| f(x) | smooth function with covariance exp(−d / ℓ): d is the number of parts that differ, ℓ its mean |
| h(x) | independent value of each leaf |
| ε | noise of the reward |

The sizes of w, f and h maximise their posterior. Joint samples of the values of evaluated and predicted
leaves give the best value with and without each part, sample by sample.

If there are scores on cross-validation folds, the noise is learnt from them. It has the same three
components, because a part's effect differs on other rows, and all leaves that have it change together.
Independent noise would average out over many leaves, and near-ties would look certain. Samples contain the
noise of a new split, so they show which parts that split would choose; every part has a small cost, because
the selector chooses the smallest of equal subsets. Without folds the noise is independent, with the variance
of repeated evaluations.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from dagsearch._internal.threads import one_thread
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.report.leaves import Element, Shown

# Numbers of joint samples, of evaluations used, of evaluations for hyperparameters, and of predicted leaves.
_SAMPLES, _EVALUATIONS, _LEARNT, _PREDICTED = 400, 400, 150, 800
# Prior of the logarithms of the components' sizes, in units of the rewards' variance: mean and deviation.
_LOG_MEAN, _LOG_DEVIATION = -1.4, 2.0
# Variance of the mean reward, and smallest variance of h, in the same units.
_OFFSET, _LEAST = 10.0, 1e-6
_TAILS = (0.05, 0.95)
# Cost of each part, in deviations of a new split's noise: the smallest of nearly equal subsets is chosen.
_COST = 0.1


class Importance(NamedTuple):
    """Importance of a part. All numbers are NaN if no leaf has the part, or none lacks it."""

    worth: float
    """The best value with the part minus the best value without it, averaged over the samples."""
    low: float
    """Lower end of its central 90 % interval."""
    high: float
    """Upper end."""
    probability: float
    """Share of the samples in which it is positive; ties count one half."""


@one_thread
def importances(
    has: BoolArray, rewards: FloatArray, neighbours: BoolArray | None = None, folds: FloatArray | None = None
) -> list[Importance]:
    """The importance of every part.

    Parameters
    ----------
    has : ndarray of shape (evaluations, parts)
        Which evaluated leaf has which part.
    rewards : ndarray of shape (evaluations,)
        Their rewards; large ones are good.
    neighbours : ndarray of shape (leaves, parts), default=None
        Unevaluated leaves that may be the best, such as leaves a few swaps from the best fifteen. Some of the
        most promising and some others are predicted, and for each part the most promising one with and
        without it.
    folds : ndarray of shape (evaluations, folds), default=None
        Scores on cross-validation folds, whose means are the rewards of distinct leaves. The noise is learnt
        from them.

    Returns
    -------
    list of Importance
        One per part. If all rewards are equal, every worth is 0 and every probability one half.
    """
    unit = float(rewards.std())
    if unit <= 1e-12 * np.abs(rewards).max():
        return [_importance(np.zeros((len(has), 1)), column, 0.0) for column in has.T]
    y, noise = (rewards - rewards.mean()) / unit, np.zeros(len(rewards))
    if folds is None:
        has, y, noise = _by_leaf(has, y)
    kept = _kept(has, y, _EVALUATIONS)
    has = has[kept]
    process = _Process(has, y[kept], noise[kept], None if folds is None else folds[kept] / unit)
    others = np.zeros((0, has.shape[1]), dtype=bool) if neighbours is None else neighbours
    others = others[_kept(others, process.means(others), _PREDICTED)]
    leaves = np.vstack([has, others])
    values = process.samples(others, np.random.default_rng(0))
    if folds is not None:
        values -= _COST * process.split_deviation() * leaves.sum(axis=1, keepdims=True)
    return [_importance(values, column, unit) for column in leaves.T]


def _importance(values: FloatArray, part: BoolArray, unit: float) -> Importance:
    if part.all() or not part.any():
        return Importance(*[float("nan")] * 4)
    difference = values[part].max(axis=0) - values[~part].max(axis=0)
    low, high = np.quantile(difference, _TAILS)
    probability = (difference > 0.0).mean() + (difference == 0.0).mean() / 2.0
    worth, low, high = (unit * float(number) for number in (difference.mean(), low, high))
    return Importance(worth, low, high, float(probability))


def _by_leaf(has: BoolArray, y: FloatArray) -> tuple[BoolArray, FloatArray, FloatArray]:
    """One row per distinct leaf: the mean of its rewards, and the variance of that mean."""
    leaves, where, counts = np.unique(has, axis=0, return_inverse=True, return_counts=True)
    where = where.ravel()
    mean = np.bincount(where, y) / counts
    scatter = float(((y - mean[where]) ** 2).sum()) / max(len(y) - len(leaves), 1)
    return leaves, mean, scatter / counts


def _kept(has: BoolArray, values: FloatArray, most: int) -> IntArray:
    """The leaves to use: the best, others evenly spaced, and the best with and without each part."""
    if len(has) <= most:
        return np.arange(len(has))
    order = np.argsort(-values, kind="stable")
    ranked = has[order]
    best = order[np.concatenate([ranked.argmax(axis=0), (~ranked).argmax(axis=0)])]
    spaced = np.linspace(0, len(has) - 1, most // 2).astype(np.int64)
    return np.unique(np.concatenate([order[: most // 2], spaced, best]))


class _Process:
    """The Gaussian process of the module's docstring, conditioned on rewards with mean 0 and variance 1."""

    def __init__(self, has: BoolArray, y: FloatArray, noise: FloatArray, folds: FloatArray | None) -> None:
        self._has, self._y = has.astype(np.float64), y
        self._share = self._has.mean(axis=0)
        differ = self._distances(self._has, self._has)
        self._length = max(float(differ.mean()), 1e-9)
        self._scales = np.ones(2)
        kernels = self._kernels(self._has, self._has)
        self._scales = np.maximum(np.trace(kernels, axis1=1, axis2=2) / len(y), 1e-12)
        kernels = np.concatenate([kernels / self._scales[:, None, None], np.eye(len(y))[None]])
        some = np.linspace(0, len(y) - 1, min(len(y), _LEARNT)).astype(np.int64)
        learnt = kernels[:, some[:, None], some]
        self._split = np.zeros(3) if folds is None else _split_sizes(learnt, folds[some])
        known = np.diag(noise) if folds is None else np.tensordot(self._split, kernels, axes=1)
        self._sizes = _sizes(learnt, y[some, None], known[some[:, None], some])
        self._joint = np.tensordot(self._sizes, kernels, axes=1) + _OFFSET
        self._joint[np.diag_indices_from(self._joint)] += _LEAST
        self._factor, _ = cho_factor(self._joint + known, lower=True)
        self._weights = cho_solve((self._factor, True), y)

    @staticmethod
    def _distances(rows: FloatArray, others: FloatArray) -> FloatArray:
        """Number of parts that differ."""
        return np.asarray(
            np.maximum(rows.sum(axis=1)[:, None] + others.sum(axis=1) - 2.0 * rows @ others.T, 0.0)
        )

    def _kernels(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        """Covariances of the effects of parts and of the smooth function."""
        parts = (rows - self._share) @ (others - self._share).T
        rest = np.exp(-self._distances(rows, others) / self._length)
        return np.stack([parts, rest]) / self._scales[:, None, None]

    def _between(self, rows: FloatArray, others: FloatArray) -> FloatArray:
        return np.asarray(np.tensordot(self._sizes[:2], self._kernels(rows, others), axes=1) + _OFFSET)

    def _of_another_split(self, rows: FloatArray) -> FloatArray:
        """Covariance of the noise of another split."""
        shared = np.tensordot(self._split[:2], self._kernels(rows, rows), axes=1)
        return np.asarray(shared + self._split[2] * np.eye(len(rows)))

    def split_deviation(self) -> float:
        """Standard deviation of the noise of another split, over the evaluated leaves."""
        return float(np.sqrt(np.trace(self._of_another_split(self._has)) / len(self._y)))

    def means(self, leaves: BoolArray) -> FloatArray:
        """Expected values of unevaluated leaves."""
        return np.asarray(self._between(leaves.astype(np.float64), self._has) @ self._weights)

    def samples(self, leaves: BoolArray, rng: np.random.Generator) -> FloatArray:
        """Joint samples of the values of the evaluated leaves and of others, one column per sample.

        Noise learnt from folds is drawn anew.
        """
        rows = leaves.astype(np.float64)
        across = self._between(rows, self._has)
        own = self._between(rows, rows)
        own[np.diag_indices_from(own)] += self._sizes[2] + _LEAST
        prior = np.block([[self._joint, across.T], [across, own]])
        known = np.vstack([self._joint, across])
        reduced = solve_triangular(self._factor, known.T, lower=True, check_finite=False)
        covariance = prior - reduced.T @ reduced
        if self._split.any():
            covariance += self._of_another_split(np.vstack([self._has, rows]))
        covariance[np.diag_indices_from(covariance)] += 1e-9
        draws = rng.standard_normal((len(prior), _SAMPLES))
        try:
            spread = np.linalg.cholesky(covariance)
        except np.linalg.LinAlgError:  # slower, but rounding cannot make it fail
            values, vectors = np.linalg.eigh(covariance)
            spread = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray((known @ self._weights)[:, None] + spread @ draws)


def _split_sizes(kernels: FloatArray, folds: FloatArray) -> FloatArray:
    """Sizes of the noise's components in a mean over folds, from the scores on the folds.

    Training sets of folds overlap, which adds to the variance of the mean (Nadeau and Bengio, 2003).
    """
    count = folds.shape[1]
    rest = folds - folds.mean(axis=1, keepdims=True)
    unit = float(rest.std())
    if count < 2 or unit < 1e-9:
        return np.zeros(len(kernels))
    # Orthonormal contrasts turn deviations from the mean into independent columns, one less than folds.
    contrasts = np.linalg.svd(np.eye(count) - 1.0 / count)[0][:, : count - 1]
    learnt = _sizes(kernels, rest @ contrasts / unit, np.zeros(kernels.shape[1:]))
    return np.asarray(learnt * unit**2 * (1.0 / count + 1.0 / (count - 1)))


def _sizes(kernels: FloatArray, y: FloatArray, noise: FloatArray) -> FloatArray:
    """The most probable sizes of the components, given their covariances and the noise.

    Columns of ``y`` are independent.
    """
    floor = noise + _LEAST * np.eye(len(y)) + _OFFSET

    def loss(logs: FloatArray) -> tuple[float, FloatArray]:
        """Negative log posterior of the sizes' logarithms, and its gradient."""
        sizes, deviation = np.exp(logs), (logs - _LOG_MEAN) / _LOG_DEVIATION
        factor = cho_factor(np.tensordot(sizes, kernels, axes=1) + floor, lower=True)
        weights, inverse = cho_solve(factor, y), cho_solve(factor, np.eye(len(y)))
        columns, logarithm = y.shape[1], np.log(np.diag(factor[0])).sum()
        value = 0.5 * np.vdot(y, weights) + columns * logarithm + 0.5 * deviation @ deviation
        slope = np.tensordot(kernels, columns * inverse - weights @ weights.T, axes=2)
        return float(value), 0.5 * sizes * slope + deviation / _LOG_DEVIATION

    found = minimize(
        loss,
        np.full(len(kernels), _LOG_MEAN),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-16.0, 6.0)] * len(kernels),
    )
    return np.asarray(np.exp(found.x))


# Importances in a search ---------------------------------------------------------------------------


# Smallest number of evaluations for importances; largest number of parts.
_FEWEST, _PARTS = 10, 200
# Number of the best leaves whose neighbours are predicted, and largest number of neighbours.
_LEADERS, _NEIGHBOURS = 15, 2000


Effect: TypeAlias = tuple[Element, Importance, int]
"""A part, its importance, and the number of evaluated leaves that have it."""


def effects_of(told: Sequence[Shown]) -> list[Effect]:
    """The effects of all parts that some leaves have and others lack, largest first."""
    counts = Counter(part for one in told for part in dict.fromkeys(one.elements))
    parts = [part for part, seen in counts.most_common() if seen < len(told)][:_PARTS]
    if len(told) < _FEWEST or not parts:
        return []
    rewards = np.array([one.reward for one in told])
    leaders = [told[place] for place in np.argsort(-rewards, kind="stable")[:_LEADERS]]
    fixed = len({len(one.elements) for one in told}) == 1
    others = [leaf for one in leaders for leaf in _neighbours(one.elements, parts, fixed)][:_NEIGHBOURS]
    found = importances(_has([one.elements for one in told], parts), rewards, _has(others, parts))
    effects = [(part, one, counts[part]) for part, one in zip(parts, found, strict=True)]
    return sorted(effects, key=lambda effect: (-effect[1].worth, -effect[1].probability))


def _has(leaves: Sequence[Iterable[Element]], parts: Sequence[Element]) -> BoolArray:
    column = {part: place for place, part in enumerate(parts)}
    has = np.zeros((len(leaves), len(parts)), dtype=bool)
    for row, leaf in enumerate(leaves):
        has[row, [column[part] for part in leaf if part in column]] = True
    return has


def _neighbours(leaf: Collection[Element], parts: Sequence[Element], fixed: bool) -> Iterator[set[Element]]:
    """Leaves with one other option, orders with two places exchanged, or sets with one other item."""
    own, at = set(leaf), {part.place: part for part in leaf}
    values = {part.value: part for part in leaf}
    is_order = fixed and len(values) == len(leaf) and all(part.value in values for part in parts)
    for part in parts:
        if part in own or (part.place and part.place not in at):
            continue
        if not part.place:  # an item of a set
            yield from ([own - {old} | {part} for old in leaf] if fixed else [own | {part}])
        elif is_order:
            old, source = at[part.place], values[part.value]
            yield own - {old, source} | {part, Element(source.place, old.value)}
        else:
            yield own - {at[part.place]} | {part}
    if not fixed and "" in at:
        yield from (own - {old} for old in leaf)
