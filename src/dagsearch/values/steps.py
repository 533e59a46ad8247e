"""The explored part of a problem with costly steps: what is known of every path, and where one can go on.

==========  ==============  ========================================================================
symbol      code            meaning
==========  ==============  ========================================================================
value(s)    graph.stop      what stopping at s is worth; −∞ if one cannot stop there
V(s)        graph.v_mean    value to go: max(value(s), max over steps s → t of gain + V(t))
R(s)        reach           largest known sum of gains from the root to s
—           slots           steps that can be taken: one per node and action
==========  ==============  ========================================================================

V(s) does not depend on the path to s, so that merging equal states is right. A step back to a state on a path
to it, or to itself, is remembered as taken and not linked: the linked part is a DAG.

Both are kept up to date with every step: V changes on the way up from the new edge as long as it improves, R
on the way down.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import is_finite
from dagsearch._internal.texts import shown
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import MAX, MOST_ACTIONS, Action, State, Step, StepProblem
from dagsearch.space import Space
from dagsearch.values.graph import Graph

UNTAKEN: Final = 0
PENDING: Final = 1
FAILED: Final = 2
SAME: Final = 3
BACK: Final = 4
KNOWN: Final = 5
NEW: Final = 6
"""What has become of a slot: not taken; asked for; failed; led to its own state, to one above it, to another
known one, or to a new one."""

ANOTHER: Final = 0
"""Number that stands for "another child" among the actions."""


class Arrival(NamedTuple):
    """Where a step has led, and what can be done there if that is not known yet."""

    step: Step
    """The step."""
    offered: Sequence[Action] = ()
    """The actions; one that stands for all that an iterator will name."""
    source: Iterator[Action] | None = None
    """The iterator."""
    priors: Sequence[float] = ()
    """Logarithms of the actions' prior probabilities."""
    costs: Sequence[float] = ()
    """Their costs."""
    features: Sequence[Any] = ()
    """Their features."""


class _Another:
    """An action that the iterator of a state's actions will name when it is taken."""

    def __repr__(self) -> str:
        return "another child"


class Steps:
    """Known states, taken steps and the frontier of those that can be taken.

    Parameters
    ----------
    problem : StepProblem or Space
        The problem.
    """

    def __init__(self, problem: "StepProblem | Space") -> None:
        self.space = Space.of(problem)  # type: ignore[arg-type]
        self.problem: Any = self.space.problem
        self.graph = Graph()
        self.reach = np.zeros(64)
        """R of every node."""
        self.parent = np.zeros(64, dtype=np.int64)
        """The node from which each node was first reached; −1 of the root."""
        self.by = np.zeros(64, dtype=np.int64)
        """The slot by which the best known path comes to each node; −1 of the root."""
        self.slots = 0
        """Number of slots."""
        self.slot_node = np.zeros(64, dtype=np.int64)
        self.slot_action = np.zeros(64, dtype=np.int64)
        """Number of each slot's action; equal actions have one number in the whole problem."""
        self.slot_became = np.zeros(64, dtype=np.int64)
        """What has become of each slot: :data:`UNTAKEN` and so on."""
        self.slot_prior = np.zeros(64)
        """Logarithm of the probability that ``prior`` gives; 0 without it."""
        self.slot_cost = np.zeros(64)
        self.slot_features: list[FloatArray | None] = []
        """Features of each slot; ``None`` if the problem has none, or the action is not known yet."""
        self.slot_gain = np.zeros(64)
        self.slot_child = np.zeros(64, dtype=np.int64)
        """Where each taken slot has led; −1 if it is not known."""
        self._actions: list[Action] = []
        self._numbers: dict[Any, int] = {_Another: ANOTHER}
        self._parents: list[list[int]] = []  # of every node, the slots that lead there
        self._sources: dict[int, Iterator[Action]] = {}  # of nodes whose actions come one by one
        root = self.problem.root()
        self._add(self.describe(root if isinstance(root, Step) else Step(root)), -1)
        self.graph.set_root(0)

    # Nodes and slots -----------------------------------------------------------------------------------

    def describe(self, step: Step) -> "Arrival":
        """What can be done where a step has led; raises if the problem says it wrongly. Nothing changes."""
        if self.find(step.state) >= 0:
            return Arrival(step)
        actions = self._actions_of(step)
        source = None if hasattr(actions, "__len__") else iter(actions)
        offered = [_Another] if source is not None else list(actions)
        if len(offered) > MOST_ACTIONS:
            raise ProblemError(
                f"{shown(step.state)} has {len(offered):,} actions, more than the {MOST_ACTIONS:,} that a "
                "search rates: let actions(state) return an iterator, which names them one by one"
            )
        return Arrival(step, offered, source, *self._described(step.state, offered, source is not None))

    def _add(self, arrival: "Arrival", parent: int) -> int:
        """A new node with its slots."""
        step = arrival.step
        node = self.graph.add(self.space.key(step.state), step.state, MAX, len(arrival.offered))
        for name in ("reach", "parent", "by"):
            setattr(self, name, grown(getattr(self, name), node + 1))
        self.graph.stop[node] = self.graph.v_mean[node] = -np.inf if step.value is None else step.value
        self.parent[node], self.by[node] = parent, -1
        self.reach[node] = -np.inf if parent >= 0 else 0.0
        self._parents.append([])
        if arrival.source is not None:
            self._sources[node] = arrival.source
        for slot in zip(arrival.offered, arrival.priors, arrival.costs, arrival.features, strict=True):
            self._add_slot(node, *slot)
        return node

    def _actions_of(self, step: Step) -> Any:
        """What can be done at a state: as its step says, else as the problem does."""
        found, said = step.actions, f"the step to {shown(step.state)} has the actions"
        if found is None:
            member = getattr(self.problem, "actions", None)
            if member is None:
                raise ProblemError(
                    f"{type(self.problem).__name__} does not say what can be done at {shown(step.state)}: "
                    "define actions(state), or return Step(..., actions=...)"
                )
            found, said = member(step.state), f"actions({shown(step.state)}) returned"
        if isinstance(found, (str, bytes)) or not hasattr(found, "__iter__"):
            raise ProblemError(f"{said} {shown(found)}, which is not a sequence or iterator of actions")
        return found

    def _described(
        self, state: State, offered: Sequence[Action], endless: bool
    ) -> tuple[Sequence[float], Sequence[float], Sequence[Any]]:
        """Logarithm of the prior, cost and features of the actions at a state."""
        count = len(offered)
        priors, costs = np.zeros(count), np.ones(count)
        features: list[Any] = [None] * count
        if (prior := getattr(self.problem, "prior", None)) is not None and count > 0:
            given = np.asarray(prior(state), dtype=np.float64).reshape(-1)
            if given.shape != (count,) or not np.all(given >= 0.0) or not np.all(np.isfinite(given)):
                raise ProblemError(
                    f"prior({state!r}) must return {count} probabilities, one per action, got {shown(given)}"
                )
            priors = np.log(np.maximum(given, 1e-30))
        if (cost := getattr(self.problem, "cost", None)) is not None and not endless:
            costs = np.array([checked_cost(cost(state, action), state, action) for action in offered])
        if (own := getattr(self.problem, "features", None)) is not None and not endless:
            features = [checked_features(own(state, action), state, action) for action in offered]
            sizes = {len(one) for one in (*features, *self.slot_features[:1]) if one is not None}
            if len(sizes) > 1:
                raise ProblemError(
                    f"features({shown(state)}, action) returned arrays of different lengths, {sorted(sizes)}"
                )
        return priors.tolist(), costs.tolist(), features

    def _add_slot(self, node: int, action: Action, prior: float, cost: float, features: Any) -> None:
        slot = self.slots
        if slot == self.slot_node.size:
            for name in (
                "slot_node",
                "slot_action",
                "slot_became",
                "slot_prior",
                "slot_cost",
                "slot_gain",
                "slot_child",
            ):
                setattr(self, name, grown(getattr(self, name), slot + 1))
        try:
            number = self._numbers.setdefault(action, len(self._numbers))
        except TypeError:  # not hashable: nothing is known of it but its text
            number = self._numbers.setdefault(repr(action), len(self._numbers))
        self.slot_node[slot], self.slot_action[slot], self.slot_became[slot] = node, number, UNTAKEN
        self.slot_prior[slot], self.slot_cost[slot], self.slot_child[slot] = prior, cost, -1
        self._actions.append(action)
        self.slot_features.append(features)
        self.slots += 1

    @property
    def kinds(self) -> int:
        """Number of different actions."""
        return len(self._numbers)

    def find(self, state: State) -> int:
        """The state's node, or −1."""
        return self.graph.find(self.space.key(state))

    def slots_of(self, node: int) -> IntArray:
        """All slots of a node."""
        return np.flatnonzero(self.slot_node[: self.slots] == node)

    def action(self, slot: int) -> Action:
        """The action of a slot that was drawn."""
        return self._actions[slot]

    @property
    def open(self) -> BoolArray:
        """Which slots can be taken."""
        found: BoolArray = self.slot_became[: self.slots] == UNTAKEN
        return found

    @property
    def has_prior(self) -> bool:
        """Whether the problem says which actions are probably good."""
        return bool(np.any(self.slot_prior[: self.slots]))

    @property
    def ends_tell(self) -> bool:
        """Whether some known path is worth more or less than its gains."""
        stop = self.graph.stop[: len(self.graph)]
        return bool(np.any(np.isfinite(stop) & (stop != 0.0)))

    # Taking steps ------------------------------------------------------------------------------------------

    def draw(self, slot: int) -> bool:
        """Make a slot pending; false, and it is closed, if it is "another child" and there is none."""
        node = int(self.slot_node[slot])
        if self._actions[slot] is _Another:
            try:
                action = next(self._sources[node])
            except StopIteration:
                self.slot_became[slot] = FAILED
                return False
            self._actions[slot] = action
            if (cost := getattr(self.problem, "cost", None)) is not None:
                self.slot_cost[slot] = checked_cost(
                    cost(self.graph.states[node], action), self.graph.states[node], action
                )
            self._add_slot(node, _Another, float(self.slot_prior[slot]), float(self.slot_cost[slot]), None)
        self.slot_became[slot] = PENDING
        return True

    def reopen(self, slot: int) -> None:
        """Let a slot be taken again."""
        self.slot_became[slot] = UNTAKEN

    def fail(self, slot: int) -> None:
        """Never take a slot again: its step has failed."""
        self.slot_became[slot] = FAILED

    def take(self, slot: int, arrival: "Arrival") -> int:
        """Learn where a step has led; returns its node."""
        graph, node, step = self.graph, int(self.slot_node[slot]), arrival.step
        child = self.find(step.state)
        became = KNOWN
        if child < 0:
            child, became = self._add(arrival, node), NEW
        elif child == node:
            became = SAME
        elif step.value is not None and step.value > graph.stop[child]:
            graph.stop[child] = step.value
            self._raise_value(child, step.value)
        self.slot_gain[slot], self.slot_child[slot] = step.gain, child
        if became != SAME and not graph.link_step(node, child, slot, step.gain):
            became = BACK
        self.slot_became[slot] = became
        if became in (KNOWN, NEW):
            self._parents[child].append(slot)
            self._lower_reach(slot, child)
            self._raise_value(node, step.gain + float(graph.v_mean[child]))
        return child

    def _raise_value(self, node: int, value: float) -> None:
        """V of a node and of those above it, after a larger value was found there."""
        rising = [(node, value)]
        while rising:
            node, value = rising.pop()
            if value > self.graph.v_mean[node]:
                self.graph.v_mean[node] = value
                rising += [
                    (int(self.slot_node[slot]), float(self.slot_gain[slot]) + value)
                    for slot in self._parents[node]
                ]

    def _lower_reach(self, slot: int, child: int) -> None:
        """R of a node and of those below it, after a better way to it was found."""
        reached = [(slot, child)]
        while reached:
            slot, child = reached.pop()
            total = float(self.reach[self.slot_node[slot]] + self.slot_gain[slot])
            if total > self.reach[child]:
                self.reach[child], self.by[child] = total, slot
                edges = self.graph.edges(child)
                reached += zip(
                    self.graph.edge_action[edges].tolist(), self.graph.edge_child[edges].tolist(), strict=True
                )

    # Paths ------------------------------------------------------------------------------------------------

    def _slots_to(self, node: int) -> list[int]:
        """Slots along the best known path from the root to a node."""
        found = []
        while (slot := int(self.by[node])) >= 0:
            found.append(slot)
            node = int(self.slot_node[slot])
        return found[::-1]

    def way_to(self, node: int) -> tuple[Action, ...]:
        """Actions along the best known path from the root to a node."""
        return tuple([self._actions[slot] for slot in self._slots_to(node)])

    def nodes_to(self, node: int) -> list[int]:
        """Nodes along that path, with both ends."""
        return [*(int(self.slot_node[slot]) for slot in self._slots_to(node)), node]

    def is_above(self, one: int, node: int) -> bool:
        """Whether a node is another one or on a way to it."""
        waiting, seen = [node], {node}
        while waiting:
            if (node := waiting.pop()) == one:
                return True
            for slot in self._parents[node]:
                before = int(self.slot_node[slot])
                if before not in seen and self.graph.level[before] >= self.graph.level[one]:
                    seen.add(before)
                    waiting.append(before)
        return False

    def best_slot(self, node: int) -> int:
        """The taken slot of a node on its best known path; −1 if it is best to stop there."""
        edges, v = self.graph.edges(node), self.graph.v_mean
        worth = self.graph.edge_gain[edges] + v[self.graph.edge_child[edges]]
        if worth.size == 0 or worth.max() <= self.graph.stop[node] or not np.isfinite(worth.max()):
            return -1
        return int(self.graph.edge_action[edges][np.argmax(worth)])

    @property
    def best(self) -> float:
        """The largest sum of gains and value of stopping that is known; −∞ if one cannot stop anywhere."""
        return float(self.graph.v_mean[0])

    def best_node(self) -> int:
        """The node where the best known path ends; −1 if one cannot stop anywhere."""
        nodes = len(self.graph)
        totals = self.reach[:nodes] + self.graph.stop[:nodes]
        node = int(np.argmax(totals))
        return node if np.isfinite(totals[node]) else -1


# Checks ------------------------------------------------------------------------------------------------


def checked_step(found: Any, state: State, action: Action) -> Step:
    """What ``expand`` returned; raises :class:`ProblemError` unless it is a valid :class:`Step`."""
    where = f"expand({shown(state)}, {shown(action)})"
    if not isinstance(found, Step):
        raise ProblemError(f"{where} returned {shown(found)}: return ds.Step(state, gain, value, actions)")
    if not is_finite(found.gain):
        raise ProblemError(f"{where} returned the gain {shown(found.gain)}: it must be a finite number")
    if found.value is not None and not is_finite(found.value):
        raise ProblemError(
            f"{where} returned the value {shown(found.value)}: it must be a finite number, or None if one "
            "cannot stop there"
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


def checked_cost(cost: Any, state: State, action: Action) -> float:
    """The cost of a step; raises :class:`ProblemError` unless it is a positive number."""
    if not is_finite(cost) or cost <= 0.0:
        raise ProblemError(
            f"cost({shown(state)}, {shown(action)}) returned {shown(cost)}: it must be a positive number"
        )
    return float(cost)


def checked_features(features: Any, state: State, action: Action) -> FloatArray:
    """The features of a step; raises :class:`ProblemError` unless they are finite numbers."""
    found = np.asarray(features, dtype=np.float64).reshape(-1)
    if not np.all(np.isfinite(found)):
        raise ProblemError(
            f"features({shown(state)}, {shown(action)}) returned {shown(features)}: they must be "
            "finite numbers"
        )
    return found
