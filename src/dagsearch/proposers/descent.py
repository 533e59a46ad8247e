"""The paper's way to a leaf: down the explored DAG by the policy's ratings, then a roll-out."""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.errors import DagSearchError, SearchExhausted
from dagsearch.problem import Action
from dagsearch.proposers.base import View
from dagsearch.proposers.expansions import Expansion
from dagsearch.proposers.policies import Policy
from dagsearch.proposers.rollouts import Rollout, Uniform
from dagsearch.results import Proposal
from dagsearch.values.explored import Explored

# Number of descents in one proposal after which any remaining leaf will do.
_PATIENCE = 8
# Ratings that differ by less than this share are equal: rounding errors must not choose.
_ROUNDING = 1e-9


class Descent(Configured):
    """Proposes the leaf at the end of a descent from the root and a roll-out.

    Parameters
    ----------
    policy : Policy
        Where the descent goes.
    rollout : Rollout
        How the path is completed below the explored part; before the first reward, uniformly at random.
    expansion : Expansion
        How the DAG grows: all children of a node at once, or one by one where there are many.
    """

    def __init__(self, policy: Policy, rollout: Rollout, expansion: Expansion) -> None:
        self.policy, self.rollout, self.expansion = policy, rollout, expansion

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """The leaf at the end of a descent and its roll-out; raises ``SearchExhausted`` if none is left."""
        explored, descents = view.explored, 0
        while True:
            if view.initial and not explored.graph.closed[explored.root]:
                path, actions = [explored.root], list[Action]()
            else:
                ahead = getattr(self.expansion, "looks_ahead", False)
                if ahead and self.expansion.expand(explored, explored.root):
                    explored.outdated()
                path, actions = descend(explored.current(), self.policy, self.expansion, rng)
            self.expansion.expand(explored, path[-1])
            end, descents, state = None, descents + 1, explored.graph.states[path[-1]]
            if view.posterior.informed:
                end = self.rollout.finish(explored, state, rng)
            if end is None:
                end = Uniform().finish(explored, state, rng)
            # Not in a game: its values follow from all positions, so these must be in the DAG.
            if end is None and descents > _PATIENCE and not explored.graph.adversarial:
                path, actions = [explored.root], []
                end = Uniform().finish(explored, explored.problem.root(), rng) or view.remaining.anywhere()
            if end is not None:
                return explored.visited(path, actions, end)
            explored.deadline.check()
            view.initial = False  # another roll-out from the root would add nothing
            explored.outdated()  # the DAG has changed without a reward


def descend(
    explored: Explored, policy: Policy, expansion: Expansion, rng: np.random.Generator
) -> tuple[list[int], list[Action]]:
    """Nodes from the root to where the explored part ends, and the actions between them.

    Adds the node that the last action leads to, if the expansion adds children one by one. Raises
    :class:`SearchExhausted` if every leaf is closed.
    """
    path, actions = [explored.root], list[Action]()
    while True:
        if explored.graph.closed[path[-1]]:
            path.pop()
            if not path:
                raise SearchExhausted("every leaf has been evaluated or asked for")
            actions.pop()
        options = expansion.options(explored, path[-1])
        if options is None:
            return path, actions
        option = _best_open(policy.rate(options), explored.graph.closed, options.children, rng.random())
        if option < 0 and not options.closed.all():
            state = explored.graph.states[path[-1]]
            raise DagSearchError(f"{policy!r} rates an option at {state!r} as not a number")
        if option < 0:
            explored.graph.closed[path[-1]] = True
            continue
        child, new = options.enter(option)
        path.append(child)
        actions.append(options.action(option))
        if new:
            return path, actions


def follow(explored: Explored, expansion: Expansion, actions: Sequence[Action]) -> list[int]:
    """Add the nodes along ``actions`` to the DAG; returns them, from the root on."""
    path = [explored.root]
    for action in actions:
        expansion.expand(explored, path[-1])
        options = expansion.options(explored, path[-1])
        assert options is not None, "a leaf has no actions"
        offered = [options.action(option) for option in range(options.actions.size)]
        path.append(options.enter(offered.index(action))[0])
    return path


@compiled
def _best_open(ratings: FloatArray, closed: BoolArray, children: IntArray, drawn: float) -> int:
    """An open option with the best rating, or −1; ``drawn``, between 0 and 1, breaks ties."""
    tied, ties, top = np.empty(ratings.size, np.int64), 0, -math.inf
    for option in range(ratings.size):
        if not closed[children[option]]:
            top = max(top, ratings[option])
    enough = top - _ROUNDING * abs(top) if math.isfinite(top) else top
    for option in range(ratings.size):
        if ratings[option] >= enough and not closed[children[option]]:
            tied[ties] = option
            ties += 1
    return tied[int(drawn * ties)] if ties > 0 else -1
