"""The paper's way to a leaf: down the explored DAG by the policy's ratings, then a roll-out.

The rule of the descent is there in Python for any policy (:func:`descend`), and in compiled code for the
library's own: one walker for each way of rating. A walker goes on as long as arrays tell the ratings; then
Python takes a step, and the walker continues. Both break ties by the same random number
(:class:`TieBreaker`), so that the result does not depend on which of them takes a step.

A walker returns the nodes it came to, the index of the action to each, the next action if that leads out of
the DAG (else :data:`UNKNOWN`), and what is left of the random number: value and resolution.
"""

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from dagsearch._internal.compiled import compiled, inlined
from dagsearch._internal.ties import ENOUGH, TieBreaker, picked
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import DagSearchError, SearchExhausted
from dagsearch.problem import Action
from dagsearch.proposers.base import View
from dagsearch.proposers.expansions import AllChildren, Expansion, OneChild, Options, default_expansion
from dagsearch.proposers.remaining import Undecided
from dagsearch.proposers.rollouts import Rollout, Uniform
from dagsearch.results import Proposal
from dagsearch.space import Space
from dagsearch.space.walks import Walk as Way
from dagsearch.values.explored import Explored
from dagsearch.values.graph import GraphArrays, PackedGraph

if TYPE_CHECKING:
    from dagsearch.proposers.policies import CompiledPolicy, Policy

UNKNOWN: Final = -1
"""Instead of an action: a walker cannot tell the next one."""

Walk = tuple[IntArray, IntArray, int, float, float]
"""What a walker returns."""

LONGEST_WALK: Final = 64
"""Longest walk of a walker; Python calls it again where paths are longer."""
# Number of descents in one proposal after which it is looked up exactly which leaves are left below them,
# and after which any leaf that is left will do.
_PATIENCE, _MOST_DESCENTS = 8, 64


class Descent:
    """Proposes the leaf at the end of a descent from the root and a roll-out.

    Parameters
    ----------
    policy : Policy
        Where the descent goes.
    rollout : Rollout
        How the path is finished below the explored part; before the first reward, uniformly at random.
    expansion : Expansion, optional
        How the DAG grows; by default all children at once, or one by one where there are many.
    """

    def __init__(self, policy: "Policy", rollout: Rollout, expansion: Expansion | None = None) -> None:
        self.policy, self.rollout, self._expansion = policy, rollout, expansion

    @property
    def parts(self) -> "tuple[Policy, Rollout]":
        """The parts that may require something of the scores."""
        return self.policy, self.rollout

    @property
    def expansion(self) -> Expansion:
        """How the DAG grows."""
        assert self._expansion is not None, "a search chooses it when it is composed"
        return self._expansion

    def prepare(self, space: Space) -> None:
        """Choose how the DAG grows, unless that was given."""
        if self._expansion is None:
            self._expansion = default_expansion(space)

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """The leaf at the end of a descent and its roll-out; raises ``SearchExhausted`` if none is left."""
        values, explored, descents = view.values, view.explored, 0
        while True:
            path, actions = self._descend(view, rng)
            self.expansion.expand(explored, path[-1])
            end, descents = self._roll_out(view, path[-1], rng), descents + 1
            if end is None and descents > _PATIENCE:
                path, actions, end = self._look_for_leaf(view, path, actions, descents, rng)
            if end is not None:
                return explored.visited(path, actions, end)
            view.deadline.check()
            view.initial = False  # another roll-out from the root would not tell more
            values.outdated()  # the DAG has changed without a reward
            explored.changed("back up")

    def _descend(self, view: View, rng: np.random.Generator) -> tuple[list[int], list[Action]]:
        explored = view.explored
        if view.initial and not explored.graph.closed[explored.root]:
            return [explored.root], []
        if getattr(self.expansion, "looks_ahead", False) and self.expansion.expand(explored, explored.root):
            view.values.outdated()
            explored.changed("back up")
        if view.values.current().graph.closed[explored.root]:  # before any random number is drawn
            raise SearchExhausted("every leaf has been evaluated or asked for")
        return descend(explored, self.policy, self.expansion, rng)

    def _roll_out(self, view: View, node: int, rng: np.random.Generator) -> Way | None:
        """A leaf below the node, with the actions to it; ``None`` if only closed leaves were found."""
        state, end = view.explored.graph.states[node], None
        if view.posterior.informed:
            end = self.rollout.finish(view.explored, state, rng)
        return end if end is not None else Uniform().finish(view.explored, state, rng)

    def _look_for_leaf(
        self, view: View, path: list[int], actions: list[Action], descents: int, rng: np.random.Generator
    ) -> tuple[list[int], list[Action], Way | None]:
        """An open leaf below the end of a path or, if that takes too long, anywhere; with the path to there.

        Not in a game: its values follow from all positions, so these must be in the DAG.
        """
        explored = view.explored
        if explored.graph.adversarial:
            return path, actions, None
        if descents <= _MOST_DESCENTS:
            with suppress(Undecided):
                return path, actions, view.remaining.below(path)
        end = Uniform().finish(explored, explored.problem.root(), rng)
        return [explored.root], [], end or view.remaining.anywhere()

    def __repr__(self) -> str:
        return f"Descent({self.policy!r}, {self.rollout!r}, {self._expansion!r})"


def descend(
    explored: Explored, policy: "Policy", expansion: Expansion, rng: np.random.Generator
) -> tuple[list[int], list[Action]]:
    """Nodes from the root to where the explored part ends, and the actions between them.

    Adds the node that the last action leads to, if the expansion adds children one by one. Raises
    :class:`SearchExhausted` if every leaf is closed.
    """
    graph = explored.graph
    walker = _walker(policy, expansion)
    tie_breaker = TieBreaker(rng)
    path, actions = [explored.root], list[Action]()
    while True:
        if walker is not None and _follow(walker, explored, expansion, path, actions, tie_breaker):
            return path, actions
        if graph.closed[path[-1]]:
            path.pop()
            if not path:
                raise SearchExhausted("every leaf has been evaluated or asked for")
            actions.pop()
        options = expansion.options(explored, path[-1])
        if options is None:
            return path, actions
        option = _choose(explored, policy, options, tie_breaker)
        if option is None:
            explored.close(path[-1])
            continue
        child, new = options.enter(option)
        path.append(child)
        actions.append(options.action(option))
        if new:
            return path, actions


def _walker(policy: "Policy", expansion: Expansion) -> "CompiledPolicy | None":
    """The policy, if compiled code may take its steps; ``None`` if Python must.

    Its class must define ``follow`` itself, as a subclass that inherits it may rate differently; and the
    expansion must be one whose options the walkers know.
    """
    known = (AllChildren.options, OneChild.options)
    if "follow" in vars(type(policy)) and getattr(type(expansion), "options", None) in known:
        return cast("CompiledPolicy", policy)
    return None


def _follow(
    walker: "CompiledPolicy",
    explored: Explored,
    expansion: Expansion,
    path: list[int],
    actions: list[Action],
    tie_breaker: TieBreaker,
) -> bool:
    """Extend the path as far as the walker can; whether the descent has ended."""
    problem = explored.problem
    one_by_one = isinstance(expansion, OneChild)
    next_number, moved = UNKNOWN, True
    while moved and next_number == UNKNOWN:
        nodes, numbers, next_number = walker.follow(explored, path[-1], tie_breaker, one_by_one)
        for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
            actions.append(problem.actions(explored.graph.states[path[-1]])[number])
            path.append(node)
        moved = nodes.size > 0
    if next_number == UNKNOWN:
        return False
    children = explored.children(path[-1])
    before = len(explored.graph)
    number = int(next_number)  # without compilation it is a NumPy integer, which a journal does not take
    path.append(explored.enter(path[-1], children, number))
    actions.append(children.actions[number])
    return path[-1] == before


def _choose(explored: Explored, policy: "Policy", options: Options, tie_breaker: TieBreaker) -> int | None:
    """The option the policy rates best, ties broken at random; ``None`` if all are closed."""
    eligible = np.flatnonzero(options.open)
    if eligible.size == 0:
        return None
    ratings = policy.rate(options)[eligible]
    best = eligible[ratings == ratings.max()]
    if best.size == 0:
        state = explored.graph.states[options.node]
        raise DagSearchError(f"{policy!r} rates an option at {state!r} as not a number")
    return int(best[tie_breaker.pick(best.size)])


@inlined
def compared(rating: float, option: int, best: float, tied: IntArray, ties: int) -> tuple[float, int]:
    """The best rating so far and the number of options ``tied`` for it, after a further option."""
    if rating > best:
        best, ties = rating, 0
    if rating == best:
        tied[ties] = option
        ties += 1
    return best, ties


@inlined
def children_by_action(graph: GraphArrays, node: int, actions: int) -> IntArray:
    """The child that each of the actions leads to, ``UNKNOWN`` if it is outside the DAG."""
    children = np.full(actions, UNKNOWN)
    for edge in range(graph.first[node], graph.first[node] + graph.count[node]):
        child = graph.edge_child[edge]
        children[graph.edge_action[edge]] = child if child >= 0 else ~child
    return children


@inlined
def number_of_actions(graph: GraphArrays, node: int) -> int:
    """How many actions a node has: its children, and second actions to the same ones."""
    actions: int = graph.branching[node]
    for edge in range(graph.first[node], graph.first[node] + graph.count[node]):
        actions += graph.edge_child[edge] < 0
    return actions


@compiled
def follow_values(node: int, value: float, resolution: float, beta: float, arrays: PackedGraph) -> Walk:
    """Walk by ``sign · μ + β sqrt(log(n) σ²)`` of v, where all options are in the DAG."""
    graph = GraphArrays(*arrays)
    path, actions = np.empty(LONGEST_WALK, dtype=np.int64), np.empty(LONGEST_WALK, dtype=np.int64)
    length = 0
    while length < path.size and graph.count[node] > 0 and not graph.closed[node]:
        first, count, sign = graph.first[node], graph.count[node], graph.sign[node]
        width = beta * math.sqrt(math.log(graph.visits[node] + 1))
        tied = np.empty(count, dtype=np.int64)
        best, ties, options = -math.inf, 0, 0
        for edge in range(first, first + count):
            child = graph.edge_child[edge]
            if child < 0:  # a second action to the same child is not another option
                continue
            options += 1
            if graph.closed[child]:
                continue
            rating = sign * graph.v_mean[child] + width * math.sqrt(graph.v_var[child])
            best, ties = compared(rating, edge, best, tied, ties)
        if ties == 0 or options < graph.branching[node] or resolution < ties * ENOUGH:
            break
        option, value, resolution = picked(value, resolution, ties)
        chosen = tied[option]
        node = graph.edge_child[chosen]
        path[length], actions[length] = node, graph.edge_action[chosen]
        length += 1
    return path[:length], actions[:length], UNKNOWN, value, resolution


@compiled
def step_by_values(
    node: int,
    value: float,
    resolution: float,
    beta: float,
    arrays: PackedGraph,
    mean: FloatArray,
    variance: FloatArray,
) -> Walk:
    """One step by the same rule, with ``mean`` and ``variance`` of children outside the DAG, by action."""
    graph = GraphArrays(*arrays)
    sign, width = graph.sign[node], beta * math.sqrt(math.log(graph.visits[node] + 1))
    children = children_by_action(graph, node, mean.size)
    tied, best, ties = np.empty(mean.size, dtype=np.int64), -math.inf, 0
    for action in range(mean.size):
        child = children[action]
        if child < 0:
            rating = sign * mean[action] + width * math.sqrt(variance[action])
        elif not graph.closed[child]:
            rating = sign * graph.v_mean[child] + width * math.sqrt(graph.v_var[child])
        else:
            continue
        best, ties = compared(rating, action, best, tied, ties)
    if ties == 0 or resolution < ties * ENOUGH:
        return tied[:0], tied[:0], UNKNOWN, value, resolution
    option, value, resolution = picked(value, resolution, ties)
    chosen = tied[option : option + 1]
    if children[chosen[0]] < 0:
        return tied[:0], tied[:0], chosen[0], value, resolution
    return children[chosen], chosen, UNKNOWN, value, resolution


@compiled
def follow_bounds(
    node: int,
    value: float,
    resolution: float,
    one_by_one: bool,
    c: float,
    arrays: PackedGraph,
    rewards: FloatArray,
    mean: FloatArray,
) -> Walk:
    """Walk by ``sign · μ + c sqrt(ln(n) / n_i)``, for numbers of ``rewards`` and their ``mean`` by node.

    The bound is infinite where there is no reward, and without the bonus at a leaf.
    """
    graph = GraphArrays(*arrays)
    path, actions = np.empty(LONGEST_WALK, dtype=np.int64), np.empty(LONGEST_WALK, dtype=np.int64)
    length = 0
    while length < path.size and not graph.closed[node]:
        first, count, sign = graph.first[node], graph.count[node], graph.sign[node]
        visits = math.log(max(1.0, rewards[node]))
        tied = np.empty(count, dtype=np.int64)
        best, ties, options = -math.inf, 0, 0
        for edge in range(first, first + count):
            child = graph.edge_child[edge]
            if child < 0:  # a second action to the same child is not another option
                continue
            options += 1
            if graph.closed[child]:
                continue
            if rewards[child] == 0.0:
                bound = math.inf
            else:
                bound = sign * mean[child]
                if not graph.terminal[child]:
                    bound += c * math.sqrt(visits / rewards[child])
            best, ties = compared(bound, edge, best, tied, ties)
        missing = graph.branching[node] - options
        if missing > 0 and not one_by_one:
            break
        if missing > 0 and best < math.inf:  # options that are not in the DAG have no reward either
            ties = 0
        equal = ties + missing
        if equal == 0 or resolution < equal * ENOUGH:
            break
        chosen, value, resolution = picked(value, resolution, equal)
        if chosen >= ties:
            known = graph.edge_action[first : first + count]
            number = _nth_missing(chosen - ties, known, known.size + missing)
            return path[:length], actions[:length], number, value, resolution
        node = graph.edge_child[tied[chosen]]
        path[length], actions[length] = node, graph.edge_action[tied[chosen]]
        length += 1
    return path[:length], actions[:length], UNKNOWN, value, resolution


@compiled
def _nth_missing(n: int, known: IntArray, actions: int) -> int:
    """The ``n``-th, counted from 0, of the numbers below ``actions`` that are not ``known``."""
    is_known = np.zeros(actions, dtype=np.bool_)
    for action in known:
        is_known[action] = True
    for action in range(actions):
        n -= not is_known[action]
        if n < 0:
            return action
    return UNKNOWN
