"""The reward of the best leaf, and which leaf it is: joint samples of g over leaves.

If the problem has few states, all leaves are sampled, and the answer is exact under the model. Otherwise the
leaves are the evaluated ones, the most promising ones one decision away from the best of these, and greedy
completions. Other leaves are left out, so the best reward is then underestimated.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior import JointScores
from dagsearch.posterior.base import joint_draws
from dagsearch.problem import MAX, Action, Families, State
from dagsearch.proposers.neighbourhoods import parents, predicted
from dagsearch.proposers.rollouts import Greedy
from dagsearch.space.codes import Coding
from dagsearch.space.walks import shape_rng
from dagsearch.values.explored import Explored

# Maximum number of leaves one decision away from each good leaf, the most promising first.
_MOST_NEIGHBOURS = 128
# Maximum number of them that are compared.
_DRAWN = 1000
# Weights of the standard deviation for greedy completions from the root.
_BETAS = (0.0, 1.0, 2.0, 3.0)
# A sample of a leaf that is this close to the best sample counts as equal; in standard deviations of rewards.
_TIED = 5e-3


class Optimum(NamedTuple):
    """Joint samples of the leaves' g."""

    leaves: list[State]
    """All sampled leaves, the evaluated ones first."""
    samples: FloatArray
    """One row per leaf, shape ``(leaves, count)``."""

    @property
    def best(self) -> FloatArray:
        """The largest g in each sample, shape ``(count,)``."""
        return np.asarray(self.samples.max(axis=0))

    def probability(self, place: int, spread: float) -> float:
        """Share of the samples in which the leaf at ``place`` is the best.

        Samples of known rewards differ by rounding: a difference far below the ``spread`` of rewards, their
        standard deviation, does not count.
        """
        return float((self.samples[place] >= self.best - _TIED * spread).mean())

    @property
    def winners(self) -> IntArray:
        """Index of the leaf with the largest g in each sample, the first one of ties; shape ``(count,)``."""
        return np.asarray(self.samples.argmax(axis=0))


def sample_optimum(
    explored: Explored,
    evaluated: Sequence[int],
    good: Iterable[tuple[State, Sequence[Action]]],
    count: int,
    rng: np.random.Generator,
    most: int = 1000,
    models: Sequence[JointScores] = (),
) -> Optimum:
    """Joint samples in the model's units.

    ``good`` holds leaves and the actions that lead there, the best first. If there are too many leaves to
    sample all, about ``most`` are sampled in addition to the evaluated ones. The samples come from ``models``
    in equal parts, by default from the present one.
    """
    seen = {explored.key(explored.graph.states[node]) for node in evaluated}
    others = []
    for leaf in explored.few_leaves or _promising(explored, good, most):
        key = explored.key(leaf)
        if key not in seen:
            seen.add(key)
            others.append(leaf)
    drawn_from = models or [cast(JointScores, explored.scores)]
    counts = np.diff(np.linspace(0, count, len(drawn_from) + 1).astype(int)).tolist()
    samples = np.hstack(
        [
            joint_draws(*scores.joint(evaluated, others), part, rng)
            for scores, part in zip(drawn_from, counts, strict=True)
        ]
    )
    return Optimum([*(explored.graph.states[node] for node in evaluated), *others], samples)


def _promising(
    explored: Explored, good: Iterable[tuple[State, Sequence[Action]]], most: int
) -> Iterable[State]:
    """Leaves that may be the best: about ``most``, greedy completions first."""
    made = 0
    for beta in _BETAS:
        finished = Greedy(beta).finish(explored, explored.problem.root(), shape_rng())
        if finished is not None:
            made += 1
            yield finished[0]
    scores, problem = cast(JointScores, explored.scores), explored.problem
    if explored.coding is not None:
        yield from _promising_codes(explored, explored.coding, good, most - made, shape_rng())
        return
    for leaf, actions in good:
        above = [parent for parent, _ in parents(explored, problem.root(), leaf, actions)]
        if not above:
            continue
        families = Families(problem, above)
        ratings = scores.upper_confidence(families, [MAX] * len(above), _BETAS[-1])
        for place in np.argsort(-ratings, kind="stable")[:_MOST_NEIGHBOURS].tolist():
            state = families.reached(place)
            if len(problem.actions(state)) == 0:
                yield state
        made += min(ratings.size, _MOST_NEIGHBOURS)
        if made >= most:
            return


def _promising_codes(
    explored: Explored,
    coding: Coding,
    good: Iterable[tuple[State, Sequence[Action]]],
    most: int,
    rng: np.random.Generator,
) -> Iterable[State]:
    """The most promising leaves one change away from good ones, for states with codes."""
    made = 0
    for leaf, _ in good:
        around = coding.neighbours(coding.codes([leaf])[0], _DRAWN, rng)
        if len(around) == 0:
            continue
        closer, mean, variance = predicted(explored, coding, around, 2 * _MOST_NEIGHBOURS)
        rating = mean + _BETAS[-1] * np.sqrt(variance)
        for place in closer[np.argsort(-rating, kind="stable")[:_MOST_NEIGHBOURS]].tolist():
            yield coding.leaf_of(around[place])
        made += min(len(around), _MOST_NEIGHBOURS)
        if made >= most:
            return
