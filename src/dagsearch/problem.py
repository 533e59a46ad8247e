"""The decision problem, which a user implements.

Four methods are enough. Optional members are looked up by name (see :class:`Problem` and
:class:`dagsearch.space.Space`), so a problem needs no base class and no import from here.
"""

import inspect
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError

State = Any
Action = Any

MAX: Final = 1
"""The player who wants large rewards; the only one, unless a problem defines ``player``."""
MIN: Final = -1
"""The player who wants small rewards."""

# A longer path counts as a cycle.
LONGEST_PATH: Final = 10_000
MOST_ACTIONS: Final = 50_000
"""Largest number of actions at a state; all of them are rated."""


@runtime_checkable
class Problem(Protocol):
    """A decision problem: which sequence of actions leads to the leaf with the best reward?

    Optional members, used where they exist:

    ``key(state) -> Hashable``
        Identifies a state, if the state itself does not. States with equal keys are merged; they must offer
        the same actions, which lead to equal keys.
    ``player(state) -> MAX | MIN``
        Whose turn it is. Without it, every decision maximises.
    ``allowed(leaf) -> bool``
        Whether a leaf may be evaluated. Random leaves are drawn until one is allowed.
    ``items(state) -> Iterable[Hashable]``
        The items of a state, for :class:`dagsearch.covariances.Overlap`.
    ``added_items(state, actions) -> Sequence[Collection[Hashable]]``
        The items that each action adds to ``items(state)``, if actions only add items. The search then rates
        all children at once without creating their states. It cannot see which children outside the DAG are
        leaves or were reached by another path, so either all children of a state must be leaves, or none.
    ``branching: Sequence[float]``
        Number of actions at each level, to the deepest leaf; for the increments Δ. By default it is estimated
        from random paths, without evaluations.
    ``coding: Coding | None``
        States as arrays of category codes, see :class:`dagsearch.problem.Coding`.
    ``random_leaf(state, rng) -> tuple[State, list[Action]]``
        A leaf reached by uniformly random actions from ``state``, and these actions; define it if that is
        faster than step by step.
    ``leaf(given) -> State``
        The leaf that a user's dictionary, list, set or state stands for; raises :class:`ProblemError` if
        there is none. For ``tell``, ``known`` and ``start``.
    ``path_to(leaf) -> Sequence[Action]``
        Actions from the root to a leaf.
    ``encode(state)`` and ``decode(encoded)``
        Convert a state to types that JSON has, and back, for storage. States made of numbers, text, tuples
        and frozensets need neither.
    ``identity() -> str``
        Distinguishes the problem from others with the same states, for example by a digest of its data, so
        that a stored run of another problem is refused.
    ``covariance: dagsearch.covariances.Covariance``
        The covariance to use unless another one is given.

    ``coding`` and ``random_leaf`` are ignored if a subclass overrides ``actions`` or ``step`` without them.
    """

    def root(self) -> State:
        """The initial state: hashable and immutable, like every state."""

    def actions(self, state: State) -> Sequence[Action]:
        """The possible decisions at ``state``, always in the same order; empty at a leaf."""

    def step(self, state: State, action: Action) -> State:
        """The state that ``action`` leads to. Equal states are merged."""

    def reward(self, leaf: State) -> float:
        """The reward of ``leaf``: the expensive call. ``MAX`` wants large rewards."""


@dataclass(frozen=True)
class Step:
    """The outcome of a costly step, returned by ``expand`` of a :class:`StepProblem`."""

    state: State
    """The new state: hashable and immutable. Equal states are merged."""
    gain: float = 0.0
    """The reward on the way there, which adds up along a path."""
    value: float | None = None
    """Value of stopping here, in addition to the gains so far; ``None`` if a path cannot end here."""
    actions: "Sequence[Action] | Iterator[Action] | None" = None
    """The next actions; ``None`` to use the problem's ``actions(state)``."""


class Edge(NamedTuple):
    """A step: with costly steps, a search evaluates steps instead of leaves."""

    state: State
    """Where the step begins."""
    action: Action
    """The action taken there."""


@runtime_checkable
class StepProblem(Protocol):
    """A problem where computing the next state is expensive, and every state may have a value.

    The search looks for the path with the largest sum of its gains and the value of its last state. Cycles
    are allowed. Steps with equal actions are similar, and more so if their states are close. Optional
    members, used where they exist:

    ``actions(state) -> Sequence[Action] | Iterator[Action]``
        The actions at a state: cheap to list, always in the same order, and empty where paths end. Needed for
        the root, unless ``root`` returns a :class:`Step`, and wherever a step does not list them. An iterator
        may be endless; drawing its next action is then one of the possible steps.
    ``prior(state) -> Sequence[float]``
        The probability that each action is good, in the order of the actions; for an iterator, one number.
    ``cost(state, action) -> float``
        Cost of the step, in units of the budget; 1 by default.
    ``key``, ``encode``, ``decode``, ``identity``
        As in :class:`Problem`.
    """

    def root(self) -> "State | Step":
        """The initial state, or a :class:`Step` if a path may end there or to list its actions."""

    def expand(self, state: State, action: Action) -> Step:
        """Take a step: the expensive call."""


def has_costly_steps(problem: Any) -> bool:
    """Whether a problem has ``expand`` in place of ``step`` and ``reward``."""
    return callable(getattr(problem, "expand", None)) and not isinstance(problem, type)


def is_minimized(problem: Any) -> bool:
    """Whether rewards are negated results, as :func:`dagsearch.minimize` makes them."""
    return getattr(problem, "minimize", False) is True


class Layout(NamedTuple):
    """The meaning of the codes of a problem's states: one category per place."""

    kind: str
    """``"places"`` if every place has its own categories, ``"set"`` if a place is an item that is chosen (1)
    or not (0), ``"order"`` if the codes of a leaf are different items in their order."""
    categories: IntArray
    """Number of categories of each place, shape ``(places,)``. If a place does not exist in some leaves, its
    last category is "absent". In an order every place has as many categories as there are items."""
    numbers: "Sequence[FloatArray | None]" = ()
    """Numeric values of each place's categories: ``nan`` for a category that is not a number, ``None`` for a
    place without numbers; empty if no place has any."""
    sizes: range = range(0)
    """Possible sizes of a set."""
    positions: FloatArray | None = None
    """Position of each item of a set, shape ``(places, dimensions)``; nearby items are similar."""
    options: Sequence[Sequence[Hashable]] = ()
    """Options of each place, without "absent": places with the same options are compared with each other. By
    default all places have the same options."""


class Coding(NamedTuple):
    """Encodes the states of a problem as arrays, so that thousands are compared or changed at once."""

    layout: Layout
    """The places and their categories."""
    codes: Callable[[Sequence[State]], IntArray]
    """Category of each place of the states, −1 if undecided; shape ``(states, places)``."""
    leaf_of: Callable[[IntArray], State]
    """The leaf with a row of codes."""
    path_to: Callable[[State], Sequence[Action]]
    """Actions that lead from the root to a leaf."""
    neighbours: Callable[[IntArray, int, np.random.Generator], IntArray] | None = None
    """Codes one change away from a leaf, at most this number of rows; by default the layout's changes."""
    certain: bool = True
    """Whether every row of codes is known to be a leaf."""
    complete: bool = False
    """Whether all rows that the layout admits are leaves: sets of its sizes, or all combinations."""

    def inclusion(self, states: Sequence[State]) -> FloatArray:
        """Probability that random play's leaf contains each item, one row per state of a set."""
        codes = self.codes(states)
        chosen, is_open = codes == 1, codes < 0
        left = np.mean(self.layout.sizes) - chosen.sum(axis=1)
        share = (left / np.maximum(is_open.sum(axis=1), 1)).clip(0.0, 1.0)
        # The order in memory is the order in which products of rows are summed.
        return np.asfortranarray(np.where(is_open, share[:, None], chosen))


class Children:
    """The children of a state, one per action; their states are created only when needed."""

    def __init__(self, problem: Problem, parent: State, actions: Sequence[Action]) -> None:
        self.problem, self.parent, self.actions = problem, parent, actions
        self.added: tuple[Any, Any] | None = None
        """A covariance, and the features that the children add under it."""

    @cached_property
    def states(self) -> list[State]:
        """One state per action."""
        return [self.problem.step(self.parent, action) for action in self.actions]


def is_current(problem: Any, name: str) -> bool:
    """Whether the member ``name`` is defined at or below the class that defines ``actions`` and ``step``."""
    if name in getattr(problem, "__dict__", ()):
        return True
    kind: Any = type(problem)
    owner = next((one for one in kind.__mro__ if name in vars(one)), None)
    for member in ("actions", "step"):
        known = getattr(owner, member, None)
        is_abstract = getattr(known, "__isabstractmethod__", False)  # implementing it is not replacing it
        if known not in (None, getattr(kind, member)) and not is_abstract:
            return False
    return owner is not None


def check_members(problem: Any, costly: bool = False) -> None:
    """Raise :class:`ProblemError` unless the problem has the four methods or, if ``costly``, ``expand``."""
    if isinstance(problem, type):
        raise ProblemError(f"pass a problem, not its class: {problem.__name__}(...)")
    needed: dict[str, tuple[str, ...]] = {"root": (), "actions": ("state",)}
    if costly and has_costly_steps(problem):
        needed = {"root": (), "expand": ("state", "action")}
    elif has_costly_steps(problem):
        raise ProblemError(f"{type(problem).__name__} has costly steps: use ds.search or ds.StepSearch")
    else:
        needed |= {"step": ("state", "action"), "reward": ("leaf",)}
    if callable(problem) and not any(hasattr(problem, name) for name in needed):
        raise ProblemError(
            "a function is not a problem: if it makes choices, use ds.maximize(function, budget) or "
            "ds.minimize(function, budget)"
        )
    missing = [name for name in needed if not callable(getattr(problem, name, None))]
    if missing:
        raise ProblemError(
            f"{type(problem).__name__} has no method {', no method '.join(missing)}; a problem needs "
            "root(), actions(state), step(state, action) and reward(leaf), or, if steps are expensive, "
            "root(), actions(state) and expand(state, action)"
        )
    for name, given in needed.items():
        if not takes(method := getattr(problem, name), len(given)):
            written = inspect.signature(getattr(method, "__func__", method))
            raise ProblemError(
                f"{type(problem).__name__}.{name} must take {' and '.join(given) or 'nothing'}: "
                f"define it as {name}({', '.join(('self', *given))}), not {name}{written}"
            )


def takes(method: Any, count: int) -> bool:
    """Whether a method can be called with this number of arguments; true if its signature is unknown."""
    try:
        inspect.signature(method).bind(*range(count))
    except TypeError:
        return False
    except ValueError:  # a method without a signature
        pass
    return True
