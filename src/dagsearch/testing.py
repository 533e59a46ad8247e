"""Checks of a problem before it is searched."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from dagsearch.costly.edges import EXHAUSTED, Another, Edges
from dagsearch.costly.edges import checked_step as checked_costly_step
from dagsearch.covariances import Overlap
from dagsearch.errors import CovarianceError, ProblemError
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Problem, State, check_members, has_costly_steps
from dagsearch.space import Space
from dagsearch.space.check import checked_walks, in_another_order

# Number of children of a state that are checked.
_CHILDREN_COMPARED = 8


def check_problem(
    problem: Problem,
    *,
    walks: int = 50,
    longest: int = 1_000,
    rewards: int = 1,
    seed: int | np.random.Generator | None = 0,
) -> None:
    """Walk random paths of a problem and report in plain words what would break a search.

    It finds missing methods; states that are unhashable, compare by identity or change; actions or
    steps that change from call to call; cycles and endless paths; players other than MAX and MIN, and
    players that change; leaves without a finite reward; random leaves that their actions do not reach; and,
    where ``added_items`` is declared, states with both leaves and other states as children.

    If steps are costly, it takes ``rewards`` random steps in sequence and checks every state that it reaches.

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

    Raises
    ------
    ProblemError or RewardError
        With the first mistake. Errors raised by the problem's own methods are not caught.

    Warns
    -----
    UserWarning
        If leaves, such as single numbers, have no parts that a covariance could compare.

    Examples
    --------
    >>> from dagsearch.problems import TicTacToe
    >>> check_problem(TicTacToe())
    """
    check_members(problem, costly=has_costly_steps(problem))
    rng = np.random.default_rng(seed)
    if has_costly_steps(problem):
        return _take_steps(problem, rewards, rng)
    space = Space(problem)
    paths = checked_walks(space, walks, longest, rng)
    if any(len(problem.actions(path[-1])) > 0 for path in paths):
        raise ProblemError(f"no leaf within {longest} decisions of the root; every path must end")
    _check_random_leaves(space, rng, paths)
    _check_added_items(space, rng, paths)
    for leaf in [path[-1] for path in paths if space.allows(path[-1])][:rewards]:
        checked_reward(problem.reward(leaf), leaf)
    if space.covariance is None and space.coding is None:
        try:
            Overlap.of(problem).represent(space.random_leaves[:1])
        except CovarianceError as error:
            warnings.warn(str(error), stacklevel=2)
    return None


def _check_random_leaves(space: Space, rng: np.random.Generator, paths: Sequence[Sequence[State]]) -> None:
    """Check that ``random_leaf`` returns a leaf and actions that lead to it."""
    problem: Any = space.problem
    for path in paths if space.random_leaf is not None else ():
        state = path[int(rng.integers(max(len(path) - 1, 1)))]
        found = problem.random_leaf(state, rng)
        leaf, actions = found if isinstance(found, tuple) and len(found) == 2 else (found, ())
        for action in actions:
            if action not in problem.actions(state):
                raise ProblemError(f"random_leaf takes the action {action!r}, impossible at {state!r}")
            state = problem.step(state, action)
        if not space.same(state, leaf) or len(problem.actions(leaf)) > 0:
            raise ProblemError(
                f"random_leaf gives the leaf {leaf!r}, but its actions {actions!r} lead to {state!r}"
            )


def _check_added_items(space: Space, rng: np.random.Generator, paths: Sequence[Sequence[State]]) -> None:
    """Check that steps add the items that ``added_items`` declares, and that all lead to leaves, or none."""
    problem: Any = space.problem
    if space.added_items is None or space.items is None:
        return
    for state in (state for path in paths for state in path[:-1]):
        actions = problem.actions(state)
        drawn = [actions[place] for place in rng.permutation(len(actions))[:_CHILDREN_COMPARED]]
        children = [problem.step(state, action) for action in drawn]
        promised = problem.added_items(state, drawn)
        for action, child, added in zip(drawn, children, promised, strict=True):
            expected, found = {*problem.items(state), *added}, set(problem.items(child))
            if expected != found:
                raise ProblemError(
                    f"added_items({state!r}, [{action!r}]) promises the items {expected!r}, but the child "
                    f"{child!r} has {found!r}"
                )
        leaves = [len(problem.actions(child)) == 0 for child in children]
        if len(set(leaves)) > 1:
            raise ProblemError(
                f"some leaves: the child {children[leaves.index(True)]!r} of {state!r} is a leaf, its "
                f"sibling {children[leaves.index(False)]!r} is not; added_items requires that all children "
                "of a state are leaves, or none: leave added_items out"
            )


def _take_steps(problem: Any, count: int, rng: np.random.Generator) -> None:
    """Take ``count`` costly steps at random."""
    edges = Edges(problem)
    while count > 0 and (found := np.flatnonzero(edges.open)).size > 0:
        edge = int(found[rng.integers(found.size)])
        state, action = edges.states[int(edges.node[edge])], edges.action(edge)
        if action is Another:
            edges.became[edge] = EXHAUSTED
            continue
        edges.ask(edge, action)
        count -= 1
        before = repr(state)
        step = checked_costly_step(problem.expand(state, action), f"expand({state!r}, {action!r})")
        if repr(state) != before:
            raise ProblemError(f"mutable: expand changed the state {before} in place to {state!r}")
        if type(key := edges.space.key(step.state)).__eq__ is object.__eq__:
            raise ProblemError(
                f"{type(key).__name__} compares by identity; define __eq__ and __hash__, or key(state)"
            )
        edges.take(edge, edges.describe(step))
        if step.actions is None:
            first, second = problem.actions(step.state), problem.actions(step.state)
            # An iterator may be endless.
            if hasattr(first, "__len__") and list(map(repr, first)) != list(map(repr, second)):
                raise ProblemError(in_another_order(step.state, first, second))
