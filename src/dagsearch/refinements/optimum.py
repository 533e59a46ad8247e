"""What the best leaf earns, and whether it has been found: joint samples of g over leaves.

If the problem has few states the leaves are all there are, and the answer is exact under the model. Else they
are the evaluated ones and those that matter next: the most promising one decision away from the best ones,
and greedy completions. Leaves unlike any of these are left out, so that the best reward is then understated.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch._internal.walks import shape_rng
from dagsearch.explored import Explored
from dagsearch.neighbourhoods import parents
from dagsearch.problem import MAX, Action, Families, State
from dagsearch.rollouts import Greedy
from dagsearch.scores import JointScores
from dagsearch.scores.base import joint_draws

# Of the leaves one decision away from a good one, so many of the most promising ones.
_MOST_NEIGHBOURS = 128
# Where greedy completions from the root start to differ.
_BETAS = (0.0, 1.0, 2.0, 3.0)


class Optimum(NamedTuple):
    """Joint samples of what leaves earn."""

    leaves: list[State]
    """All that were looked at, the evaluated ones first."""
    samples: FloatArray
    """One row per leaf, shape ``(leaves, count)``."""

    @property
    def best(self) -> FloatArray:
        """The largest of all leaves, shape ``(count,)``."""
        return np.asarray(self.samples.max(axis=0))

    @property
    def winners(self) -> IntArray:
        """Which of the leaves it is, shape ``(count,)``; the first of those that are tied."""
        return np.asarray(self.samples.argmax(axis=0))


def sample_optimum(
    explored: Explored,
    evaluated: Sequence[int],
    good: Iterable[tuple[State, Sequence[Action]]],
    count: int,
    rng: np.random.Generator,
    most: int = 1000,
) -> Optimum:
    """Samples in the model's units; ``good`` leaves come with the actions that lead there, the best first.

    Where not all leaves can be looked at, ``most`` are looked at beside the evaluated ones.
    """
    scores = cast(JointScores, explored.scores)
    seen = {explored.key(explored.graph.states[node]) for node in evaluated}
    others = []
    for leaf in explored.few_leaves or _promising(explored, good, most):
        key = explored.key(leaf)
        if key not in seen:
            seen.add(key)
            others.append(leaf)
    samples = joint_draws(*scores.joint(evaluated, others), count, rng)
    return Optimum([*(explored.graph.states[node] for node in evaluated), *others], samples)


def _promising(
    explored: Explored, good: Iterable[tuple[State, Sequence[Action]]], most: int
) -> Iterable[State]:
    """Leaves that may well be the best, at most so many."""
    made = 0
    for beta in _BETAS:
        finished = Greedy(beta).finish(explored, explored.problem.root(), shape_rng())
        if finished is not None:
            made += 1
            yield finished[0]
    scores, problem = cast(JointScores, explored.scores), explored.problem
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
