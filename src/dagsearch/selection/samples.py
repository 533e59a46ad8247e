"""Joint samples of the scores of subsets that may be the best.

If the problem has few states, all subsets are sampled, and the answer is exact under the model. Otherwise
they are the scored ones and the most promising ones one change away from the best of these.
"""

from collections.abc import Iterable
from typing import NamedTuple, cast

import numpy as np

from dagsearch._internal.threads import one_thread
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.base import JointScores
from dagsearch.problem import State
from dagsearch.search import Search
from dagsearch.space.moves import moves_in
from dagsearch.space.walks import shape_rng

# Maximum number of subsets one change away from each good one, the most promising first, and how many are
# compared to find these.
_MOST_NEIGHBOURS, _COMPARED = 128, 400
# Weight of the standard deviation in the rating of a subset that may be the best.
_BETA = 3.0
# Number of evaluations beyond which joint samples would cost too much.
_MOST_SAMPLED = 3000


class Samples(NamedTuple):
    """Joint samples of g, in units of the score."""

    leaves: list[State]
    """All sampled subsets, the scored ones first."""
    values: FloatArray
    """One row per subset, shape ``(leaves, count)``."""

    @property
    def best(self) -> FloatArray:
        """The largest g in each sample, shape ``(count,)``."""
        return np.asarray(self.values.max(axis=0))

    @property
    def winners(self) -> IntArray:
        """Index of the subset with the largest g in each sample, the first of ties; shape ``(count,)``."""
        return np.asarray(self.values.argmax(axis=0))


@one_thread()
def sample_leaves(search: Search, count: int, most: int, models: int = 1) -> Samples | None:
    """Joint samples of g of the subsets that may be best, in equal parts from each of the models.

    In a problem with many subsets, about ``most`` are sampled in addition to the scored ones. With several
    ``models``, samples come from models whose hyperparameters differ as far as the scores leave them open.
    ``None`` if no score is known yet, and beyond 3,000 evaluations.
    """
    posterior, index, rng = search.posterior, search.index, shape_rng()
    if not posterior.informed or len(search.history) > _MOST_SAMPLED:
        return None
    posterior.discard_fantasies()
    evaluated: list[int] = np.unique([episode.leaf for episode in posterior.told]).tolist()
    seen = {index.key(index.states[row]) for row in evaluated}
    others = []
    for leaf in search.space.few_leaves or _promising(search, most, rng):
        key = index.key(leaf)
        if key not in seen:
            seen.add(key)
            others.append(leaf)
    with search.deadline.until():  # a result is needed after the deadline, too
        drawn = posterior.plausible_models(models) if models > 1 else [cast(JointScores, posterior.scores)]
    counts = np.diff(np.linspace(0, count, len(drawn) + 1).astype(int)).tolist()
    samples = [
        _joint_draws(*scores.joint(evaluated, others), part, rng)
        for scores, part in zip(drawn, counts, strict=True)
    ]
    leaves = [*(index.states[row] for row in evaluated), *others]
    shift, scale = posterior.units
    return Samples(leaves, shift + scale * np.hstack(samples))


def _promising(search: Search, most: int, rng: np.random.Generator) -> Iterable[State]:
    """Subsets that may be the best: about ``most``, around the best scored ones."""
    moves, made = moves_in(search.space), 0
    for one in sorted(search.data.reached, key=lambda evaluation: -evaluation.reward):
        point = moves.points([(one.leaf, one.actions or ())])[0]
        around = moves.around(point, _COMPARED, rng)
        if len(around) == 0:
            continue
        leaves = [moves.leaf(other) for other in around]
        mean, variance = search.posterior.predict(leaves)
        rating = mean + _BETA * np.sqrt(variance)
        for place in np.argsort(-rating, kind="stable")[:_MOST_NEIGHBOURS].tolist():
            if moves.certain or moves.way(around[place]) is not None:
                yield leaves[place]
        made += min(len(around), _MOST_NEIGHBOURS)
        if made >= most:
            return


def _joint_draws(
    mean: FloatArray, covariance: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Samples of a Gaussian whose covariance may be singular, shape ``(variables, count)``."""
    jittered = covariance.copy()
    jittered[np.diag_indices(mean.size)] += 1e-10 * max(float(covariance.diagonal().max(initial=0.0)), 1e-300)
    try:
        spread = np.linalg.cholesky(jittered)
    except np.linalg.LinAlgError:  # slower, but rounding cannot make it fail
        values, vectors = np.linalg.eigh(covariance)
        spread = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + spread @ rng.standard_normal((mean.size, count)))
