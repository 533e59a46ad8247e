"""Codes for the states of a problem that declares none, found on random walks.

States may be the tuples of decisions so far. The walks may not have seen all of them, so codes only suggest
leaves; the problem decides whether they exist (:meth:`Space.replayed`).

Other states do not show the decisions behind them; their codes come from the paths that lead there. A
question is identified by its options: equal options are the same question, numbered if they are offered
repeatedly on one path. So a network has a first, a second and a third type of layer, and a pipeline has the
settings of its model, regardless of where on the path they are chosen.
"""

from array import array
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Coding, Layout, Problem, State
from dagsearch.space.chosen import Chosen, Options
from dagsearch.space.moves import others
from dagsearch.space.named import COMPLETIONS, Answer, NamedCodes, Seen
from dagsearch.space.numbers import numbers_of, numbers_of_places
from dagsearch.space.walks import Path

# Largest total number of options, numbers excluded, and the number of options per place that always counts
# as few.
_MOST_NAMES, _FEW = 2000, 8
# Number of paths on which exchanging two decisions is tried, and of those on which each option is.
_TRIED, _COMPARED = 16, 4
# Number of states whose decisions are remembered, and of states whose options are.
_REMEMBERED, _WALKED = 100_000, 50_000


def tuple_coding(paths: Sequence[Path]) -> Coding | None:
    """The codes of a problem whose states are tuples of decisions, all paths of one length; else ``None``."""
    leaves, length = [path.states[-1] for path in paths], len(paths[0].actions)
    are_paths = [type(leaf) is tuple and leaf == tuple(path.actions) for leaf, path in zip(leaves, paths)]  # noqa: B905
    if length < 2 or not all(are_paths) or {len(leaf) for leaf in leaves} != {length}:
        return None
    options: list[dict[Action, int]] = [{} for _ in range(length)]
    always_same = all_others = True
    for path in paths:
        for place, (known, offered) in enumerate(zip(options, path.offered, strict=True)):
            always_same = always_same and (not known or tuple(known) == tuple(offered))
            left = options[0].keys() - set(path.actions[:place])
            all_others = all_others and (place == 0 or set(offered) == left)
            for option in offered:
                known.setdefault(option, len(known))
    names = sum(len(known) for known in options if numbers_of(list(known)) is None)
    if names > max(_MOST_NAMES, _FEW * length):
        return None
    first, is_order = options[0], False
    if not always_same and all(set(leaf) <= first.keys() and len(set(leaf)) == length for leaf in leaves):
        options, is_order = [first] * length, True
    decisions = [list(known) for known in options]

    def codes(states: Sequence[State]) -> IntArray:
        rows = np.full((len(states), length), -1, dtype=np.int64)
        for row, state in zip(rows, states, strict=True):
            row[: len(state)] = [known.get(part, -1) for known, part in zip(options, state)]  # noqa: B905
        return rows

    def leaf_of(codes: IntArray) -> State:
        # A list first: a generator is half as fast.
        return tuple([known[code] for known, code in zip(decisions, codes.tolist(), strict=True)])

    kind, numbers = ("order", ()) if is_order else ("places", numbers_of_places(decisions))
    layout = Layout(kind, np.array([len(known) for known in options]), numbers, options=decisions)
    certain = all_others if is_order else always_same
    return Coding(layout, codes, leaf_of, list, certain=certain, complete=always_same)


class _Node:
    """A state on a way: the decision that leads there, what is asked there, and codes of all decisions."""

    __slots__ = ("name", "next", "options", "row", "state", "value")

    def __init__(self, value: Hashable, state: State, name: str, options: Options, row: "array[int]") -> None:
        self.value, self.state, self.name, self.options, self.row = value, state, name, options, row
        self.next: dict[Hashable, _Node] = {} if options else _NONE


_NONE: Final[dict[Any, Any]] = {}


def _chosen(way: Sequence[_Node]) -> Chosen:
    named = {node.name: after.value for node, after in pairwise(way)}
    return Chosen.among(tuple([node.options for node in way[:-1]]), named)


class PathCodes:
    """The states of a problem with hashable actions as the decisions on the paths to them."""

    def __init__(self, problem: Problem, key: Any) -> None:
        self._problem, self._key = problem, key
        self._names: dict[tuple[int, int], str] = {}
        self._options: dict[Options, Options] = {}  # each once, so that they are compared quickly
        self._begin(Seen().codes)
        self._ways: dict[Hashable, Chosen] = {}
        self._seen = Seen()
        self._complete = self._seen.look_around(lambda answer: _chosen(self._walked(answer)))

    def coding(self) -> Coding | None:
        """The states' codes; ``None`` if there are too many options to know them all."""
        codes = self._seen.codes
        numbers = codes.layout.numbers or [None] * len(codes.layout.categories)
        sizes = [size for size, known in zip(codes.layout.categories, numbers, strict=True) if known is None]
        if not self._complete or sum(sizes) > _MOST_NAMES:
            return None
        self._begin(codes)
        self._kinds = {name: self._kinds_of(name) for name in self._seen.values}
        self._free = {name for name, kinds in self._kinds.items() if len(set(kinds.values())) == 1}
        found = self._seen.coding(
            lambda codes: self._remember(self._walked(self._seen.codes.answer(codes))),
            self._path_to,
            lambda state: self._way(state) is not None and len(self._problem.actions(state)) == 0,
            lambda state: self._way(state) or Chosen(),  # the decisions as far as they are known
        )
        return found._replace(neighbours=self._neighbours)

    def _kinds_of(self, name: str) -> dict[Hashable, str]:
        """For each option of a question, what some leaves with it are asked; equal for those of one kind."""
        leaves, found = [leaf for leaf in self._seen.leaves if name in leaf][:_COMPARED], {}
        for value in self._seen.values[name]:
            ways = [self._walked(lambda _, options: options[0], {**leaf, name: value}) for leaf in leaves]
            found[value] = str([[node.name for node in way] for way in ways])
        return found

    def learn(self, actions: Sequence[Action]) -> None:
        """Remember the states that these actions pass, if they lead to a leaf."""
        given = iter(actions)
        with suppress(ProblemError, ValueError, TypeError, LookupError):  # the root may have moved since
            self._remember(self._walked(lambda name, options: next(given, options[0])))

    def _begin(self, named: NamedCodes) -> None:
        """Forget which states the decisions lead to."""
        self._named, self._nodes = named, 0
        self._root = self._node([], None)

    def _walked(
        self, answer: Answer, wanted: Mapping[str, Hashable] = _NONE, begun: Sequence[_Node] = ()
    ) -> list[_Node]:
        """A way to a leaf, from the root or from where one was begun; answers where nothing is wanted."""
        if not begun and (self._nodes > _WALKED or self._problem.root() != self._root.state):
            self._begin(self._named)
        way = list(begun) or [self._root]
        while options := (node := way[-1]).options:
            after = node.next.get(value := wanted.get(node.name, options))  # the options are none of them
            if after is None and value in options:
                after = node.next[value] = self._node(way, value)
            elif after is None:  # where answers lead is hardly ever wanted again
                value = answer(node.name, options)
                after = node.next.get(value) or self._node(way, value)
            way.append(after)
        return way

    def _node(self, way: Sequence[_Node], value: Hashable) -> _Node:
        """The state after a decision at the end of a way, where one comes for the first time; or the root."""
        if not way:
            state, row = self._problem.root(), array("q", self._named.row({}, complete=True))
        elif value not in (last := way[-1]).options:
            raise ProblemError(f"{value!r} is not offered at {last.state!r}")
        else:
            state = self._problem.step(last.state, value)
            row = self._named.extended(last.row, last.name, value)
        options, name = tuple(self._problem.actions(state)), ""
        if options:
            options = self._options.setdefault(options, options)
            which = id(options), [one.options for one in way].count(options)
            name = self._names.setdefault(which, f"question {len(self._names)}")
        self._nodes += 1
        return _Node(value, state, name, options, row)

    def _remember(self, way: Sequence[_Node]) -> State:
        """Remember which decisions lead to the states of a way; returns its leaf."""
        if len(self._ways) > _REMEMBERED:
            self._ways.clear()
        for number, node in enumerate(way[1:], 2):
            self._ways.setdefault(self._key(node.state), _chosen(way[:number]))
        return way[-1].state

    def _way(self, state: State) -> Chosen | None:
        """The decisions that lead to a state; for a tuple these may be its elements."""
        key = self._key(state)
        if key not in self._ways and type(state) is tuple:
            self.learn(state)
        return self._ways.get(key)

    def _path_to(self, leaf: State) -> list[Action]:
        chosen = self._way(leaf)
        if chosen is None:
            raise ProblemError(f"the path to {leaf!r} is not known")
        return list(chosen.values())

    def _neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of leaves with one decision changed, each once.

        Later decisions stay the same where they are still offered. The others are drawn, in several ways.
        Between options of one kind all stay the same, so that the problem need not be asked.
        """
        named, found, drawn = self._named, list["array[int]"](), dict[str, Options]()
        way = self._walked(named.answer(codes), named.wanted(codes))
        own = dict(_chosen(way))
        level = {name: place for place, name in enumerate(own, 1)}

        def draw(name: str, options: Options) -> Hashable:
            drawn[name] = options
            return options[int(rng.random() * len(options))]

        for name, value in named.changed(codes, named.changes.around(codes, count, rng)):
            if name not in own:  # these codes do not ask for it
                continue
            kinds, row = self._kinds[name], named.extended(way[-1].row, name, value)
            alike = kinds[own[name]] == kinds[value]
            drawn.clear()
            for _ in range(COMPLETIONS):
                for one, options in drawn.items() if alike else ():
                    row = named.extended(row, one, draw(one, options))
                if not alike:
                    row = self._walked(draw, {**own, name: value}, way[: level[name]])[-1].row
                found.append(row)
                if not drawn:
                    break
                alike = drawn.keys() <= self._free
        return others(np.frombuffer(b"".join(found), dtype=np.int64).reshape(-1, len(codes)), codes)


def paths_are_states(problem: Problem, key: Any, paths: Sequence[Path]) -> bool:
    """Whether different decisions lead to different states on the paths.

    They do not if two decisions can be exchanged, so that their order does not matter, or if two paths meet.
    """
    ways = {key(path.states[-1]): tuple(path.actions) for path in paths}
    if any(ways[key(path.states[-1])] != tuple(path.actions) for path in paths):
        return False
    for path in paths[:_TRIED]:
        for place in range(len(path.actions) - 1):
            first, second = path.actions[place : place + 2]
            if first == second or second not in path.offered[place]:
                continue
            between = problem.step(path.states[place], second)
            if first in tuple(problem.actions(between)) and key(problem.step(between, first)) == key(
                path.states[place + 2]
            ):
                return False
    return True
