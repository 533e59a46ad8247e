"""The problem, examined once: its optional members, random walks, places and options, paths to a leaf."""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import MAX, MIN, Action, Coding, Layout, Problem, State, is_current
from dagsearch.space.moves import CodeMoves, Moves, PathMoves
from dagsearch.space.paths import PathCodes, paths_are_states, tuple_coding
from dagsearch.space.walks import Path, Walk, random_path, shape_rng, step_by_step

# Number of random walks. If paths are long, there are fewer walks, with about this number of states in total:
# levels then resemble each other.
_WALKS, _FEWEST_WALKS, _MOST_STATES = 64, 8, 8192
# All leaves are enumerated as codes if there are at most this many.
_FEW_LEAVES = 5000
# Number of random leaves tried until one is allowed: from the root, and below other states.
_MOST_TRIES, _TRIES = 10_000, 100


class Level(NamedTuple):
    """Averages over the states at one level."""

    branching: float
    """Mean number of actions."""
    player: float
    """Mean player: positive if mostly MAX decides."""


class Space:
    """A problem and everything that can be learnt about it without evaluations.

    Everything is computed once, when first needed. The first attributes are the problem's optional members,
    each ``None`` if missing; :class:`dagsearch.Problem` documents them.
    """

    allowed: Callable[[State], object] | None
    items: Callable[[State], Iterable[Hashable]] | None
    added_items: Callable[[State, Sequence[Action]], Sequence[Collection[Hashable]]] | None
    branching: Sequence[float] | None
    random_leaf: Callable[[State, np.random.Generator], Walk] | None
    leaf: Callable[[Any], State] | None
    path_to: Callable[[State], Sequence[Action]] | None
    encode: Callable[[State], Any] | None
    decode: Callable[[Any], State] | None
    identity: Callable[[], str] | None
    covariance: Any

    def __init__(self, problem: Problem) -> None:
        unlearnt = getattr(problem, "unlearnt", None)
        self.by_run: Any = None if unlearnt is None else unlearnt()
        """The problem, if leaves are known only after their evaluation; each space learns anew."""
        self.problem: Problem = problem if self.by_run is None else self.by_run
        self.decided: PathCodes | None = None
        """The decisions behind the states, if nothing else provides codes."""
        self._key, self._player = getattr(problem, "key", None), getattr(problem, "player", None)
        self.has_players = self._player is not None
        """Whether the problem has a ``player`` method, so that MIN may decide somewhere."""

    @classmethod
    def of(cls, problem: "Problem | Space") -> "Space":
        """The space of a problem; a space is returned unchanged."""
        return problem if isinstance(problem, Space) else cls(problem)

    def __getattr__(self, name: str) -> Any:
        """An optional member of the problem, looked up when first needed and cached."""
        if name not in Space.__annotations__:
            raise AttributeError(name)
        # Shortcuts for ``actions`` and ``step`` are ignored if a subclass overrides only these two.
        current = name != "random_leaf" or is_current(self.problem, name)
        found = self.__dict__[name] = getattr(self.problem, name, None) if current else None
        return found

    def __reduce__(self) -> tuple[type["Space"], tuple[Problem]]:
        return Space, (self.problem,)

    def key(self, state: State) -> Hashable:
        """The key of a state: the problem's ``key``, or the state itself."""
        identity: Hashable = state if self._key is None else self._key(state)
        try:
            hash(identity)
        except TypeError as error:
            what = "state" if self._key is None else "key of state"
            raise ProblemError(
                f"the {what} {state!r} is not hashable ({error}); "
                "use tuples or frozensets, or define key(state) on the problem"
            ) from error
        return identity

    def as_leaf(self, given: Any) -> State:
        """The leaf that a dictionary, list, set or state stands for, according to the problem."""
        leaf = given if self.leaf is None else self.leaf(given)
        if not self.allows(leaf):
            raise ProblemError(f"{leaf!r} is not allowed: the problem's allowed returns false for it")
        return leaf

    def allows(self, state: State) -> bool:
        """False for leaves that are not allowed; true for all other states."""
        return self.allowed is None or len(self.problem.actions(state)) > 0 or bool(self.allowed(state))

    def player(self, state: State) -> int:
        """Who decides at a state, ``MAX`` or ``MIN``: the problem's ``player``, or always ``MAX``."""
        if self._player is None:
            return MAX
        whose = self._player(state)
        if whose != MAX and whose != MIN:
            raise ProblemError(
                f"player({state!r}) returned {whose!r}; it must return dagsearch.MAX or dagsearch.MIN"
            )
        return int(whose)

    def same(self, one: State, other: State) -> bool:
        """Whether two states are one node."""
        return self.key(one) == self.key(other)

    # Walks ---------------------------------------------------------------------------------------------

    def walk(self, state: State, rng: np.random.Generator) -> Walk:
        """A leaf below a state, reached by uniformly random actions, and these actions.

        Walks are tried until a leaf is allowed. From the root, too many failures raise an error; from other
        states, which may lead to no allowed leaf, a leaf that is not allowed is returned after some tries.
        """
        one_walk = self.random_leaf or partial(step_by_step, self.problem)
        for tried in range(_MOST_TRIES + 1):
            found = one_walk(state, rng)
            if self.allows(found[0]) or (tried == _TRIES and not self.same(state, self.problem.root())):
                return found
        raise ProblemError(
            f"allowed is false for more than {_MOST_TRIES:,} random leaves in a row, such as {found[0]!r}: "
            "leaves are found by trying, so write your own problem, a class whose actions(state) offer "
            "only decisions that can be completed"
        )

    @cached_property
    def paths(self) -> list[Path]:
        """Random walks from the root, with all options offered on them; the same for every seed."""
        rng, root, found, states = shape_rng(), self.problem.root(), list[Path](), 0
        while len(found) < _FEWEST_WALKS or (len(found) < _WALKS and states < _MOST_STATES):
            found.append(random_path(self.problem, root, rng))
            states += len(found[-1].states)
        return found

    @cached_property
    def random_leaves(self) -> list[State]:
        """Leaves of random walks from the root, the same for every seed."""
        if self.by_run is not None:
            return list(self.by_run.samples())
        if self.random_leaf is None and self.allowed is None and not self.has_players:
            return [path.states[-1] for path in self.paths]
        # Random games are cheap, and earlier measurements of games used these.
        rng, root = shape_rng(), self.problem.root()
        return [self.walk(root, rng)[0] for _ in range(_WALKS)]

    @cached_property
    def levels(self) -> list[Level]:
        """Branching and player by level: as declared, or as found on the random walks."""
        found: list[list[tuple[int, int]]] = []
        for path in self.paths:
            for level, (state, offered) in enumerate(zip(path.states, path.offered, strict=False)):
                if level == len(found):
                    found.append([])
                found[level].append((len(offered), self.player(state)))
        means = [Level(*np.mean(seen, axis=0).tolist()) for seen in found]
        if self.branching is None:
            return means
        means += means[-1:] * len(self.branching)  # also for levels that no walk has reached
        declared = zip(self.branching, means, strict=False)
        return [level._replace(branching=branching) for branching, level in declared]

    # Leaves --------------------------------------------------------------------------------------------

    @cached_property
    def coding(self) -> Coding | None:
        """Places and options of the states, declared by the problem or found on its walks; else ``None``."""
        problem: Any = self.problem
        declared = getattr(problem, "coding", None) if is_current(problem, "coding") else None
        if declared is not None or hasattr(problem, "coding") or self.has_players or self.items is not None:
            return declared  # the problem declares its states itself
        with suppress(TypeError, ValueError):  # decisions that cannot be hashed or compared
            if (found := tuple_coding(self.paths)) is not None:
                return found
            leaf = self.paths[0].states[-1]
            if not isinstance(leaf, (set, frozenset)) and paths_are_states(
                self.problem, self.key, self.paths
            ):
                self.decided = PathCodes(self.problem, self.key)
                for path in self.paths:
                    self.decided.learn(path.actions)
                return self.decided.coding()
        return None

    @cached_property
    def moves(self) -> Moves:
        """Changes of codes if states have codes, else changes of decisions."""
        return PathMoves(self) if self.coding is None else CodeMoves(self, self.coding)

    def learn(self, leaf: State, failed: bool = False) -> State:
        """The leaf as known after its evaluation; places and options may have grown."""
        if self.by_run is None:
            return leaf
        return self.by_run.learn(leaf, failed)

    def failed(self, error: BaseException) -> State | None:
        """The leaf at which an evaluation has failed, if it is not the proposal's."""
        leaf = getattr(error, "asked", None)
        if self.by_run is None or leaf is None:
            return None
        leaf = self.by_run.learn(leaf, failed=True)
        return leaf if len(self.problem.actions(leaf)) == 0 else None  # else it failed before a leaf

    def grow(self) -> bool:
        """Examine places and options again; returns whether there are more of them."""
        if self.by_run is None or self.coding is getattr(self.problem, "coding", None):
            return False
        for name in ("coding", "moves", "few_codes", "random_leaves"):
            self.__dict__.pop(name, None)
        return True

    def remember(self, actions: Sequence[Action]) -> None:
        """Remember the actions to a leaf if its state does not show them."""
        if self.decided is not None:
            self.decided.learn(actions)

    @cached_property
    def few_codes(self) -> IntArray | None:
        """Codes of all leaves; ``None`` if there are too many or if they are unknown."""
        coding = self.coding
        rows = None if coding is None or not coding.complete else _few_rows(coding.layout)
        if coding is None or rows is None or self.allowed is None:
            return rows
        return rows[[self.allows(coding.leaf_of(row)) for row in rows]]

    @property
    def is_of_one_size(self) -> bool:
        """Whether all leaves are sets of one size."""
        layout = None if self.coding is None else self.coding.layout
        return layout is not None and layout.kind == "set" and len(layout.sizes) == 1

    # Ways ------------------------------------------------------------------------------------------------

    def replayed(self, actions: Sequence[Action]) -> State | None:
        """The leaf that actions lead to from the root; ``None`` if one is not offered or the end is no leaf.

        Every proposed leaf is replayed here, so only the problem decides what is a leaf.
        """
        problem, state = self.problem, self.problem.root()
        for action in actions:
            # ``in`` would compare an array of actions elementwise.
            if self.by_run is None and action not in list(problem.actions(state)):
                return None
            state = problem.step(state, action)
        return state if len(problem.actions(state)) == 0 and self.allows(state) else None

    def leads(self, actions: Sequence[Action], leaf: State) -> bool:
        """Whether actions lead from the root to a leaf."""
        reached = self.replayed(actions)
        return reached is not None and self.same(reached, leaf)

    def actions_to(self, leaf: State) -> list[Action]:
        """Actions from the root to a leaf, from the problem's ``path_to`` or from its codes."""
        if self.path_to is not None:
            return list(self.path_to(leaf))
        if self.coding is not None:
            with suppress(ProblemError, TypeError):  # the walks may not have found everything
                actions = list(self.coding.path_to(leaf))
                if self.leads(actions, leaf):
                    return actions
        raise ProblemError(
            f"the path to {leaf!r} is unknown: define path_to(leaf) on {type(self.problem).__name__}, or "
            "pass Proposal(leaf, actions)"
        )


def _few_rows(layout: Layout) -> IntArray | None:
    """All rows of codes that a layout of places or sets admits; ``None`` if there are too many."""
    categories = layout.categories.tolist()
    if layout.kind == "places":
        few = math.prod(categories) <= _FEW_LEAVES
        return np.indices(categories).reshape(len(categories), -1).T if few else None
    if sum(math.comb(len(categories), size) for size in layout.sizes) > _FEW_LEAVES:
        return None
    chosen = [some for size in layout.sizes for some in combinations(range(len(categories)), size)]
    rows = np.zeros((len(chosen), len(categories)), dtype=np.int64)
    for row, some in zip(rows, chosen, strict=True):
        row[list(some)] = 1
    return rows
