"""The reward of the best leaf, and which leaf it is: joint samples of g over leaves.

If the problem has few states, all leaves are sampled, and the answer is exact under the model. Otherwise the
leaves are the evaluated ones and the most promising ones one change away from the best of these. Other leaves
are left out, so the best reward is then underestimated.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from dagsearch._internal import special
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.base import JointScores, Scores, joint_draws
from dagsearch.problem import State
from dagsearch.space.moves import moves_in
from dagsearch.space.walks import shape_rng

if TYPE_CHECKING:
    from dagsearch.search import Search

# Maximum number of leaves one change away from each good leaf, the most promising first, and how many are
# compared to find these.
_MOST_NEIGHBOURS, _COMPARED = 128, 400
# Weight of the standard deviation in the rating of a leaf that may be the best.
_BETA = 3.0
# A sample of a leaf that is this close to the best sample counts as equal; in standard deviations of rewards.
_TIED = 5e-3
# Standard deviation of the logarithm of the factor by which predicted standard deviations may be wrong.
_UNSURE = 0.5
# Intercept and weights of `Signs` in the log odds of being the best: a logistic regression over problems
# whose optimum is known, by `python -m experiments truth fit`.
_ODDS = (-2.35, 0.25, 0.49, 2.63)


class Optimum(NamedTuple):
    """Joint samples of the leaves' g."""

    leaves: list[State]
    """All sampled leaves, the evaluated ones first."""
    mean: FloatArray
    """Mean of every leaf in the model that each sample is from, shape ``(leaves, count)``."""
    samples: FloatArray
    """One row per leaf, shape ``(leaves, count)``."""

    @property
    def best(self) -> FloatArray:
        """The largest g in each sample, shape ``(count,)``."""
        return np.asarray(self.samples.max(axis=0))

    def widened(self, scale: float) -> "Optimum":
        """The samples if the model's scale is unsure.

        The differences of a sample from the mean are multiplied by a log-normal factor around ``scale``, the
        size of earlier errors in predicted standard deviations.
        """
        count = self.samples.shape[1]
        factor = scale * np.exp(_UNSURE * special.ndtri((np.arange(count) + 0.5) / count))
        return self._replace(samples=self.mean + factor * (self.samples - self.mean))

    def probability(self, place: int, spread: float) -> float:
        """Share of the samples in which the leaf at ``place`` is the best, never quite 0 or 1.

        Samples of known rewards differ by rounding: a difference far below the ``spread`` of rewards, their
        standard deviation, does not count.
        """
        best = (self.samples[place] >= self.best - _TIED * spread).sum()
        return float((best + 0.5) / (self.samples.shape[1] + 1))

    @property
    def winners(self) -> IntArray:
        """Index of the leaf with the largest g in each sample, the first one of ties; shape ``(count,)``."""
        return np.asarray(self.samples.argmax(axis=0))


class Signs(NamedTuple):
    """What says whether the best leaf so far is the best of all."""

    model: float
    """Probability by joint samples, between 0 and 1."""
    patience: float
    """Number of evaluations since the best one, per unit of the logarithm of the number of leaves."""
    skill: float
    """Share of the variance of recent rewards that was predicted, between 0 and 1."""

    @property
    def features(self) -> FloatArray:
        """The numbers that the log odds are linear in, the intercept's 1 first."""
        return np.array([1.0, special.logit(self.model), np.log(self.patience), self.skill])

    @property
    def probability(self) -> float:
        """Probability that no leaf is better: right on average over the problems that it was fitted on."""
        return float(special.expit(np.dot(_ODDS, self.features)))

    @property
    def cautious(self) -> float:
        """The smaller of this probability and the model's own."""
        return min(self.probability, self.model)


def sample_optimum(search: "Search", models: Sequence[Scores], count: int, most: int) -> Optimum:
    """Joint samples in the model's units, in equal parts from each of the models.

    If there are too many leaves to sample all, about ``most`` are sampled in addition to the evaluated ones.
    """
    explored, rng = search.explored, shape_rng()
    evaluated: list[int] = np.unique([episode.leaf for episode in search.posterior.told]).tolist()
    seen = {explored.key(explored.graph.states[node]) for node in evaluated}
    others = []
    for leaf in search.space.few_leaves or _promising(search, most, rng):
        key = explored.key(leaf)
        if key not in seen:
            seen.add(key)
            others.append(leaf)
    counts = np.diff(np.linspace(0, count, len(models) + 1).astype(int)).tolist()
    means, samples = [], []
    for scores, part in zip(models, counts, strict=True):
        mean, covariance = cast(JointScores, scores).joint(evaluated, others)
        means.append(np.tile(mean[:, None], part))
        samples.append(joint_draws(mean, covariance, part, rng))
    leaves = [*(explored.graph.states[node] for node in evaluated), *others]
    return Optimum(leaves, np.hstack(means), np.hstack(samples))


def _promising(search: "Search", most: int, rng: np.random.Generator) -> Iterable[State]:
    """Leaves that may be the best: about ``most``, around the best evaluated ones."""
    moves, made = moves_in(search.space), 0
    for one in sorted(search.data.reached, key=lambda evaluation: -evaluation.reward):
        point = moves.points([(one.leaf, one.actions or ())])[0]
        around = moves.around(point, _COMPARED, rng)
        if len(around) == 0:
            continue
        leaves = [moves.likely_leaf(other) for other in around]  # thousands
        mean, variance = search.posterior.predict(leaves)
        rating = mean + _BETA * np.sqrt(variance)
        for place in np.argsort(-rating, kind="stable")[:_MOST_NEIGHBOURS].tolist():
            if moves.certain or moves.way(around[place]) is not None:
                yield leaves[place]
        made += min(len(around), _MOST_NEIGHBOURS)
        if made >= most:
            return
