"""Checks of a user's problem before it is searched."""

import warnings
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch.costly.edges import Edges
from dagsearch.costly.edges import checked_step as checked_costly_step
from dagsearch.errors import ProblemError, RewardError
from dagsearch.methods import likeness
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Action, Problem, State, check_members, has_costly_steps
from dagsearch.space import Space
from dagsearch.space.check import checked_actions, checked_step, in_another_order

_FINDINGS_SHOWN = 20
# Number of children of a state that are compared with each other.
_CHILDREN_COMPARED = 8
# Types of states without parts.
_SINGLE = (int, float, complex, type(None))


def check_problem(
    problem: Problem,
    *,
    walks: int = 50,
    longest: int = 1_000,
    rewards: int = 1,
    seed: int | np.random.Generator | None = 0,
) -> str:
    """Walk random paths of a problem and report in plain words everything that would break a search.

    It finds missing methods; states that are unhashable, compare by identity or look mutable; actions or
    steps that change from call to call; cycles and paths without an end; players other than MAX and MIN, and
    players that change; leaves without a finite reward; numbers of actions that differ from the declared
    ``branching``; random leaves that their actions do not lead to; and, where ``added_items`` is declared,
    states with both leaves and other states as children.

    Of a problem with costly steps it takes ``rewards`` steps, one after the other at random, and checks what
    the problem says about every state.

    Parameters
    ----------
    problem : Problem
        The problem to check.
    walks : int
        Number of random paths.
    longest : int
        Paths with more decisions than this are reported as endless.
    rewards : int
        Number of leaves to evaluate, or of costly steps to take; they may be expensive.
    seed : int, numpy Generator or None
        Source of the random paths.

    Returns
    -------
    str
        Which states a search will take to be alike, and what would help.

    Raises
    ------
    ProblemError
        With one line per finding.

    Warns
    -----
    UserWarning
        If leaves are single numbers or ``None``, which no covariance can compare.

    Examples
    --------
    >>> from dagsearch.problems import TicTacToe
    >>> check_problem(TicTacToe())
    'States are compared by how many items they share; nothing is learnt about pairs of items.'
    """
    check_members(problem, costly=has_costly_steps(problem))
    rng = np.random.default_rng(seed)
    if has_costly_steps(problem):
        _report(problem, _step_findings(problem, rewards, rng))
        return _likeness_of_steps(problem)
    _report(problem, _Walker(problem, longest, rewards, rng).walk(walks))
    space = Space(problem)
    _warn_if_incomparable(space)
    return likeness(space)


def _report(problem: Any, findings: Sequence[str]) -> None:
    """Raise an error with all findings, if there are any."""
    if findings:
        shown = "\n".join(f"- {finding}" for finding in findings[:_FINDINGS_SHOWN])
        more = len(findings) - _FINDINGS_SHOWN
        shown += f"\n- and {more} more" if more > 0 else ""
        raise ProblemError(f"{type(problem).__name__} cannot be searched; correct this first:\n{shown}")


def _step_findings(problem: Any, count: int, rng: np.random.Generator) -> list[str]:
    """What is wrong with a problem whose steps are costly, as far as ``count`` random steps show it."""
    findings: dict[str, None] = {}
    try:
        edges = Edges(problem)
        while count > 0 and (found := np.flatnonzero(edges.open)).size > 0:
            edge = int(found[rng.integers(found.size)])
            if not edges.draw(edge):
                continue
            count -= 1
            state, action = edges.states[int(edges.node[edge])], edges.actions[edge]
            before = repr(state)
            step = checked_costly_step(problem.expand(state, action), state, action)
            if repr(state) != before:
                findings[f"mutable: expand changed the state {before} in place to {state!r}"] = None
            if type(key := edges.space.key(step.state)).__eq__ is object.__eq__:
                kind = type(key).__name__
                findings[f"{kind} compares by identity; define __eq__ and __hash__, or key(state)"] = None
            edges.take(edge, edges.describe(step))
            if step.actions is None:
                findings |= dict.fromkeys(_changing_actions(problem, step.state))
    except ProblemError as error:
        findings[str(error)] = None
    except Exception as error:
        findings[f"a method raised an error ({type(error).__name__}: {error})"] = None
    return list(findings)


def _changing_actions(problem: Any, state: State) -> list[str]:
    """Whether the actions of a state differ from call to call."""
    first, second = problem.actions(state), problem.actions(state)
    if not hasattr(first, "__len__") or list(map(repr, first)) == list(map(repr, second)):
        return []  # the same, or an iterator, which may be endless
    return [in_another_order(state, first, second)]


def _likeness_of_steps(problem: Any) -> str:
    found = "Steps with equal actions are alike, the more so the closer their states are"
    extra = [name for name in ("prior", "features") if hasattr(problem, name)]
    return f"{found}; {' and '.join(extra)} of the problem add to that." if extra else f"{found}."


def _warn_if_incomparable(space: Space) -> None:
    """Warn if leaves are single values without parts, of which no covariance can tell which are alike."""
    told = space.covariance, space.items, space.coding
    leaves = space.random_leaves
    if any(one is not None for one in told) or not all(isinstance(leaf, _SINGLE) for leaf in leaves):
        return
    warnings.warn(
        f"the leaves of {type(space.problem).__name__}, such as {leaves[0]!r}, have no parts by which they "
        "could be alike, so that a search learns nothing from one about another: let states be tuples of "
        "decisions, or give the problem items(state) or covariance",
        stacklevel=3,
    )


class _Stop(Exception):
    """The current walk cannot continue."""


class _Walker:
    """Walks random paths and records each kind of finding once."""

    def __init__(self, problem: Any, longest: int, rewards: int, rng: np.random.Generator) -> None:
        self._space = Space(problem)
        self._problem: Any = self._space.problem
        self._longest, self._rewards, self._rng = longest, rewards, rng
        self._findings: dict[Hashable, str] = {}
        self._seen: dict[Hashable, tuple[list[str], int]] = {}
        self._widths: dict[int, list[int]] = {}
        self._leaf_depths: set[int] = set()

    def walk(self, walks: int) -> list[str]:
        for _ in range(walks):
            with suppress(_Stop):
                self._one_walk()
            if "endless" in self._findings:  # such a walk is slow: one is enough
                break
        self._check_branching()
        return list(self._findings.values())

    def _note(self, kind: Hashable, finding: str) -> None:
        self._findings.setdefault(kind, finding)

    def _call(self, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
        """What a method returns; an exception is recorded as a finding and ends the walk."""
        try:
            return method(*arguments)
        except ProblemError as error:
            self._note(name, str(error))
        except Exception as error:
            given = ", ".join(repr(one) for one in arguments if not isinstance(one, Space))
            self._note(name, f"{name}({given}) raised {type(error).__name__}: {error}")
        raise _Stop

    def _one_walk(self) -> None:
        state = self._call("root", self._problem.root)
        path: dict[Hashable, State] = {}
        while True:
            key = self._key(state)
            if key in path:
                self._note("cycle", f"cycle: a path leads from the state {state!r} back to it")
                return
            path[key] = state
            actions = list(self._call("actions", checked_actions, self._space, state))
            self._check_equal(state, key, actions)
            level = len(path) - 1
            if len(actions) == 0:
                break
            self._widths.setdefault(level, []).append(len(actions))
            if level >= self._longest:
                found = f"no leaf within {self._longest} decisions of the root; every path must end"
                self._note("endless", found)
                return
            if self._space.added_items is not None and self._space.items is not None:
                self._call("added_items", self._check_added_items, state, actions)
            action = actions[int(self._rng.integers(len(actions)))]
            state = self._call("step", checked_step, self._space, state, action)
        self._leaf_depths.add(level)
        if self._space.random_leaf is not None:
            passed = list(path.values())[int(self._rng.integers(max(level, 1)))]
            self._call("random_leaf", self._check_random_leaf, passed)
        if self._rewards > 0 and self._space.allows(state):
            self._rewards -= 1
            reward = self._call("reward", self._problem.reward, state)
            try:
                checked_reward(reward, state)
            except RewardError:
                self._note("reward", f"no reward: reward({state!r}) returned {reward!r}, not a finite number")

    def _key(self, state: State) -> Hashable:
        key: Any = self._call("key", self._space.key, state)
        # Its hash depends on attributes that can be assigned to.
        if is_dataclass(key) and not type(key).__dataclass_params__.frozen:  # type: ignore[union-attr]
            self._note(
                ("mutable", type(key)),
                f"mutable: {key!r} is of type {type(key).__name__}, whose hash depends on attributes that "
                "can be changed; freeze the dataclass",
            )
        return key  # type: ignore[no-any-return]

    def _check_equal(self, state: State, key: Hashable, actions: Sequence[Action]) -> None:
        """Check that equal states offer the same actions to the same player."""
        seen = [repr(action) for action in actions], self._call("player", self._space.player, state)
        if (known := self._seen.setdefault(key, seen)) != seen:
            self._note(
                "equal states",
                f"inconsistent actions or player: {state!r} first had {known!r}, later {seen!r}; equal "
                "states must offer the same actions to the same player",
            )

    def _check_random_leaf(self, state: State) -> None:
        """Check that ``random_leaf`` of a state returns a leaf and actions that lead to it."""
        problem = self._problem
        found = problem.random_leaf(state, self._rng)
        try:
            leaf, actions = found
            actions = list(actions)
        except (TypeError, ValueError):
            raise ProblemError(
                f"random_leaf({state!r}) returned {found!r}, not a leaf and a list of actions"
            ) from None
        for action in actions:
            if action not in problem.actions(state):
                raise ProblemError(f"random_leaf takes the action {action!r}, not possible at {state!r}")
            state = problem.step(state, action)
        if not self._space.same(state, leaf) or len(problem.actions(leaf)) > 0:
            raise ProblemError(
                f"random_leaf gives the leaf {leaf!r}, but its actions {actions!r} lead to {state!r}"
            )

    def _check_branching(self) -> None:
        """Compare the declared branching with the mean of each level: exactly where all states agree.

        Where they do not, both may be estimates; two standard errors of each are allowed for.
        """
        if self._space.branching is None:
            return
        if not isinstance(self._space.branching, Sequence):
            wanted = "a list with the number of actions at each level"
            self._note("branching", f"branching must be {wanted}, got {self._space.branching!r}")
            return
        levels, deepest = len(self._space.branching), max(self._leaf_depths, default=0)
        if deepest > levels or (len(self._leaf_depths) == 1 and deepest < levels):
            found = f"leaves were found {deepest} decisions deep"
            self._note("depth", f"branching has {levels} levels, but {found}")
        both = zip(self._space.branching, self._widths.values(), strict=False)
        for level, (declared, widths) in enumerate(both):
            mean, error = float(np.mean(widths)), float(np.std(widths)) / len(widths) ** 0.5
            slack = 0.0 if error == 0.0 else 1.0 + mean / 4.0 + 4.0 * error
            if not is_finite(declared) or not abs(declared - mean) <= slack:
                self._note(
                    ("branching", level),
                    f"branching[{level}] says {declared!r}, but the states found at that level have "
                    f"{mean:.3g} actions on average",
                )

    def _check_added_items(self, state: State, actions: Sequence[Action]) -> None:
        """Check that steps add the items that ``added_items`` declares; all lead to leaves, or none."""
        problem = self._problem
        drawn = [actions[place] for place in self._rng.permutation(len(actions))[:_CHILDREN_COMPARED]]
        children = [problem.step(state, action) for action in drawn]
        promised = problem.added_items(state, drawn)
        for action, child, added in zip(drawn, children, promised, strict=True):
            expected, found = {*problem.items(state), *added}, set(problem.items(child))
            if expected != found:
                self._note(
                    "added_items",
                    f"added_items({state!r}, [{action!r}]) promises the items {expected!r}, but the child "
                    f"{child!r} has {found!r}",
                )
        leaves = [len(problem.actions(child)) == 0 for child in children]
        if len(set(leaves)) > 1:
            self._note(
                "some leaves",
                f"some leaves: the child {children[leaves.index(True)]!r} of {state!r} is a leaf, its "
                f"sibling {children[leaves.index(False)]!r} is not; a problem with added_items must have "
                "children that are all leaves, or none: leave added_items out",
            )
