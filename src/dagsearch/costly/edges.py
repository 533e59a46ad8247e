"""The explored part of a problem with costly steps: known states and all edges that leave them.

An edge is a state and an action. It is stored once, before it is taken and after.

==========  ==============  ========================================================================
symbol      code            meaning
==========  ==============  ========================================================================
value(s)    stop            value of stopping at s; −∞ if a path cannot end there
V(s)        best_below      value to go: max(value(s), max over taken edges s → t of gain + V(t))
R(s)        reach           largest known sum of gains from the root to s
==========  ==============  ========================================================================

V(s) does not depend on the path to s, so equal states can be merged. A step back to its own state, or to one
on a path to it, is recorded but not linked: the linked edges form a DAG. Every new edge updates both values:
V upwards while it improves, R downwards.
"""

from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import is_finite
from dagsearch._internal.texts import shown
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.posterior.units import LARGEST_REWARD
from dagsearch.problem import MOST_ACTIONS, Action, State, Step, StepProblem
from dagsearch.space import Space

UNTAKEN: Final = 0
PENDING: Final = 1
EXHAUSTED: Final = 2
FAILED: Final = 3
BACK: Final = 4
KNOWN: Final = 5
NEW: Final = 6
"""The status of an edge: not taken; asked for; its iterator has ended; failed; led to its own state or one
above it, to another known one, or to a new one."""

DRAWN: Final = 1 << 40
"""Numbers from here on are actions that an iterator has yielded, which belong to one edge each."""

_NODES = ("stop", "best_below", "reach", "parent", "depth", "by")
_EDGES = ("node", "kind", "became", "child", "log_prior", "cost", "gain")
_NUMBERS = {"stop", "best_below", "reach", "log_prior", "cost", "gain"}  # the others are whole


class Another:
    """Placeholder for the next action of an iterator."""


class Arrival(NamedTuple):
    """The result of a step, with the available actions if the state is new."""

    step: Step
    """The step."""
    offered: Sequence[tuple[Action, float, float]] = ()
    """The actions with their log priors and costs; :class:`Another` for those of an iterator."""
    source: Iterator[Action] | None = None
    """The iterator."""


class Edges:
    """Known states and their edges, both taken and open.

    Arrays have spare room after :attr:`nodes` and :attr:`count`.
    """

    stop: FloatArray
    best_below: FloatArray
    reach: FloatArray
    parent: IntArray
    """The node before each node on the first known path to it; −1 for the root."""
    depth: IntArray
    """Number of steps on that path."""
    by: IntArray
    """The last edge of the best known path to each node; −1 for the root."""
    node: IntArray
    """The node where each edge begins."""
    kind: IntArray
    """Twice the number of each edge's action, plus one if the first path to the node includes the action."""
    became: IntArray
    child: IntArray
    """The node where each taken edge has led; −1 if unknown."""
    log_prior: FloatArray
    cost: FloatArray
    gain: FloatArray

    def __init__(self, problem: "StepProblem | Space") -> None:
        self.space = Space.of(problem)  # type: ignore[arg-type]
        self.problem: Any = self.space.problem
        self.states: list[State] = []
        self.actions: list[Action] = []
        """The action of every edge."""
        self.leaving: list[list[int]] = []
        """The edges that begin at each node."""
        self.at: dict[tuple[int, int], int] = {}
        """Edges by node and :meth:`number`."""
        self.nodes = self.count = 0
        for name in _NODES + _EDGES:
            setattr(self, name, np.zeros(64, dtype=float if name in _NUMBERS else int))
        self._ids: dict[Hashable, int] = {}
        self._numbers: dict[Hashable, int] = {}  # of actions
        self._used: list[frozenset[int]] = []  # numbers of the actions on the first path to each node
        self._into: list[list[int]] = []  # linked edges that lead to each node
        self._sources: dict[int, Iterator[Action]] = {}  # of nodes with iterators
        self._named: dict[int, list[Action]] = {}  # what they yielded last
        self._asked: dict[int, list[Action]] = {}  # asked for already; skipped when yielded
        root = self.problem.root()
        self._add(self.describe(checked_step(root if isinstance(root, Step) else Step(root), "root()")), -1)

    # Nodes and edges -----------------------------------------------------------------------------------

    def describe(self, step: Step) -> Arrival:
        """The actions after a step; raises if the problem's answer is invalid."""
        if self.find(step.state) >= 0:
            return Arrival(step)
        found = self._actions_of(step)
        source = None if hasattr(found, "__len__") else iter(found)
        actions = list(found) if source is None else [Another]
        if len(actions) > MOST_ACTIONS:
            raise ProblemError(
                f"{shown(step.state)} has {len(actions):,} actions, more than the {MOST_ACTIONS:,} that a "
                "search rates: let actions(state) return an iterator, which yields them one by one"
            )
        state, count = step.state, len(actions)
        priors = np.ones(count)
        if (prior := getattr(self.problem, "prior", None)) is not None and count > 0:
            priors = np.asarray(prior(state), dtype=np.float64).reshape(-1)
            if priors.shape != (count,) or not np.all(priors >= 0.0) or not np.all(np.isfinite(priors)):
                raise ProblemError(
                    f"prior({state!r}) must return {count} probabilities, one per action, got {shown(priors)}"
                )
        costs = [1.0 if action is Another else self.cost_of(state, action) for action in actions]
        log_priors = np.log(np.maximum(priors, 1e-30)).tolist()
        return Arrival(step, list(zip(actions, log_priors, costs, strict=True)), source)

    def cost_of(self, state: State, action: Action) -> float:
        """The cost of a step; raises :class:`ProblemError` unless it is a positive number."""
        member = getattr(self.problem, "cost", None)
        cost = 1.0 if member is None else member(state, action)
        if not is_finite(cost) or cost <= 0.0:
            raise ProblemError(
                f"cost({shown(state)}, {shown(action)}) returned {shown(cost)}: it must be a positive number"
            )
        return float(cost)

    def _actions_of(self, step: Step) -> Any:
        """The actions at a state, from its step if that has any, else from the problem."""
        found, said = step.actions, f"the step to {shown(step.state)} has the actions"
        if found is None:
            member = getattr(self.problem, "actions", None)
            if member is None:
                raise ProblemError(
                    f"{type(self.problem).__name__} defines no actions at {shown(step.state)}: "
                    "define actions(state), or return Step(..., actions=...)"
                )
            found, said = member(step.state), f"actions({shown(step.state)}) returned"
        if isinstance(found, (str, bytes)) or not hasattr(found, "__iter__"):
            raise ProblemError(f"{said} {shown(found)}, which is not a sequence or iterator of actions")
        return found

    def _add(self, arrival: Arrival, by: int) -> int:
        """A new node with its edges; ``by`` is the edge that has led there, −1 for the root."""
        step, node = arrival.step, self.nodes
        for name in _NODES:
            setattr(self, name, grown(getattr(self, name), node + 1))
        self._ids[self.space.key(step.state)] = node
        self.states.append(step.state)
        self.stop[node] = self.best_below[node] = -np.inf if step.value is None else step.value
        self._into.append([])
        self.nodes += 1
        self.leaving.append([])
        self.parent[node], self.by[node], used = -1, by, frozenset[int]()
        if by >= 0:
            parent = self.parent[node] = int(self.node[by])
            self.reach[node], self.depth[node] = -np.inf, self.depth[parent] + 1
            used = self._used[parent] | {int(self.kind[by]) // 2}
        self._used.append(used)
        if arrival.source is not None:
            self._sources[node] = arrival.source
        for offered in arrival.offered:
            self._add_edge(node, *offered)
        return node

    def _add_edge(self, node: int, action: Action, log_prior: float, cost: float) -> None:
        edge = self.count
        if edge == self.node.size:
            for name in _EDGES:
                setattr(self, name, grown(getattr(self, name), edge + 1))
        try:
            number = self._numbers.setdefault(action, len(self._numbers))
        except TypeError:  # not hashable: only its text is known
            number = self._numbers.setdefault(repr(action), len(self._numbers))
        kind = 2 * number + (number in self._used[node])
        self.node[edge], self.kind[edge], self.child[edge] = node, kind, -1
        self.log_prior[edge], self.cost[edge] = log_prior, cost
        self.leaving[node].append(edge)
        self.at[node, number] = edge
        self.actions.append(action)
        self.count += 1

    @property
    def kinds(self) -> int:
        """Upper limit of the edges' kinds."""
        return 2 * len(self._numbers)

    def find(self, state: State) -> int:
        """The state's node, or −1."""
        return self._ids.get(self.space.key(state), -1)

    @property
    def open(self) -> BoolArray:
        """Which edges can be taken, shape ``(count,)``."""
        return np.asarray(self.became[: self.count] == UNTAKEN)

    # Taking steps ------------------------------------------------------------------------------------------

    def action(self, edge: int) -> Action:
        """The action of an edge, perhaps the next one of an iterator; :class:`Another` if that has ended."""
        if not self.is_unnamed(edge):
            return self.actions[edge]
        node = int(self.node[edge])
        named, asked = self._named.setdefault(node, []), self._asked.setdefault(node, [])
        if not named:
            named.extend(islice(self._sources[node], 1))
        while named and named[0] in asked:
            asked.remove(named.pop())
            named.extend(islice(self._sources[node], 1))
        return named[0] if named else Another

    def ask(self, edge: int, action: Action) -> None:
        """Make an edge pending; ``action`` is its own, or yielded by an iterator here or elsewhere."""
        if self.is_unnamed(edge):
            node = int(self.node[edge])
            self._asked.setdefault(node, []).append(action)
            self.actions[edge], self.cost[edge] = action, self.cost_of(self.states[node], action)
            self.at[node, DRAWN + edge] = edge
            self._add_edge(node, Another, float(self.log_prior[edge]), float(self.cost[edge]))
        self.became[edge] = PENDING

    def number(self, edge: int) -> int:
        """The number of an edge's action; from :data:`DRAWN` on for actions of iterators."""
        number = int(self.kind[edge]) // 2
        return DRAWN + edge if number == self.another and not self.is_unnamed(edge) else number

    @property
    def another(self) -> int:
        """The number that all actions of iterators share; −1 without iterators."""
        return self._numbers.get(Another, -1)

    def is_unnamed(self, edge: int) -> bool:
        """Whether the edge's action is still to come from an iterator."""
        return self.actions[edge] is Another

    def take(self, edge: int, arrival: Arrival) -> int:
        """Record where a step has led; returns that node."""
        node, step = int(self.node[edge]), arrival.step
        child, became = self.find(step.state), KNOWN
        if child < 0:
            child, became = self._add(arrival, edge), NEW
        elif self.is_above(child, node):
            became = BACK
        if step.value is not None and step.value > self.stop[child]:
            self.stop[child] = step.value
            self._raise_value(child, step.value)
        self.gain[edge], self.child[edge], self.became[edge] = step.gain, child, became
        if became in (KNOWN, NEW):
            self._into[child].append(edge)
            self._raise_reach(edge)
            self._raise_value(node, step.gain + float(self.best_below[child]))
        return child

    def _raise_value(self, node: int, value: float) -> None:
        rising = [(node, value)]
        while rising:
            node, value = rising.pop()
            if value > self.best_below[node]:
                self.best_below[node] = value
                rising += [
                    (int(self.node[edge]), float(self.gain[edge]) + value) for edge in self._into[node]
                ]

    def _raise_reach(self, edge: int) -> None:
        waiting = [edge]
        while waiting:
            edge = waiting.pop()
            child, total = int(self.child[edge]), float(self.reach[self.node[edge]] + self.gain[edge])
            if total > self.reach[child]:
                self.reach[child], self.by[child] = total, edge
                waiting += [edge for edge in self.leaving[child] if self.became[edge] >= KNOWN]

    # Paths ------------------------------------------------------------------------------------------------

    def path_to(self, node: int) -> list[int]:
        """Edges along the best known path from the root to a node."""
        found = []
        while (edge := int(self.by[node])) >= 0:
            found.append(edge)
            node = int(self.node[edge])
        return found[::-1]

    def actions_to(self, node: int) -> tuple[Action, ...]:
        """Actions along that path."""
        return tuple([self.actions[edge] for edge in self.path_to(node)])

    def is_above(self, one: int, node: int) -> bool:
        """Whether ``one`` is ``node`` or on a path to it."""
        waiting, seen = [node], {node}
        while waiting:
            if (node := waiting.pop()) == one:
                return True
            before = {int(self.node[edge]) for edge in self._into[node]} - seen
            seen |= before
            waiting += before
        return False

    @property
    def best(self) -> float:
        """The largest known sum of gains and value of stopping; −∞ if no path can end yet."""
        return float(self.best_below[0])

    def standings(self) -> FloatArray:
        """Earnings of the best known path to each node, with the value of stopping there if there is one."""
        stop = self.stop[: self.nodes]
        return np.asarray(self.reach[: self.nodes] + np.where(np.isfinite(stop), stop, 0.0))


# Checks of what a problem returns ---------------------------------------------------------------------


def checked_step(found: Any, where: str) -> Step:
    """The step that ``where`` returned; raises :class:`ProblemError` if it is not valid."""
    if not isinstance(found, Step):
        raise ProblemError(f"{where} returned {shown(found)}: return ds.Step(state, gain, value, actions)")
    for name, number in (("gain", found.gain), ("value", 0.0 if found.value is None else found.value)):
        if not is_finite(number) or abs(number) > LARGEST_REWARD:
            raise ProblemError(
                f"{where} returned the {name} {shown(number)}: it must be a finite number of size "
                f"{LARGEST_REWARD:g} or less{', or None if a path cannot end there' * (name == 'value')}"
            )
    try:
        hash(found.state)
    except TypeError as error:
        raise ProblemError(
            f"{where} returned the state {shown(found.state)}, which is not hashable ({error}): use tuples, "
            "frozensets or frozen dataclasses"
        ) from error
    value = None if found.value is None else float(found.value)
    return Step(found.state, float(found.gain), value, found.actions)
