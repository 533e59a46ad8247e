"""What the user gives a search before it asks: results that are known, and leaves to evaluate first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from dagsearch._internal.texts import shown
from dagsearch.errors import DagSearchError, ProblemError
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Problem, State, StepProblem, has_costly_steps
from dagsearch.results import Evaluation, Proposal, Result
from dagsearch.space import Space

if TYPE_CHECKING:
    from dagsearch.search import Search

Known = Iterable[tuple[Any, float] | Evaluation] | Mapping[Any, float] | Result
"""Leaves with their rewards: pairs, a mapping, or another result."""


Given = tuple[list[tuple[State | Proposal, float]], list[Proposal]]
"""Leaves with their rewards, and leaves to evaluate first."""


def checked_given(problem: Problem | StepProblem, known: Known, start: Iterable[Any]) -> Given:
    """What these arguments of :func:`dagsearch.search` mean; raises if a leaf or reward is unusable."""
    pairs, listed = pairs_of(known), _listed("start", start)
    if has_costly_steps(problem) and (pairs or listed):
        raise ValueError("known and start do not apply to costly steps: only the search takes steps")
    space = Space(cast(Problem, problem))
    told, first = list[tuple[State | Proposal, float]](), list[Proposal]()
    for place, (given, reward) in enumerate(pairs):
        with _named(f"known[{place}]", given):
            told.append((_checked_leaf(space, given), reward))
    for place, given in enumerate(listed):
        with _named(f"start[{place}]", given):
            leaf = _checked_leaf(space, given)
            proposal = leaf if isinstance(leaf, Proposal) else Proposal(leaf, tuple(space.actions_to(leaf)))
            reached = space.replayed(proposal.actions)
            if reached is None or not space.same(reached, proposal.leaf):
                raise ProblemError(f"the problem's actions do not lead to {proposal.leaf!r}")
            first.append(proposal)
    return told, first


def give(search: "Search", given: Given) -> None:
    """Tell a search known results, and let it ask for other leaves first.

    A run that is continued has what was told before. A leaf of which a reward is known, or that is pending,
    need not be evaluated first.
    """
    told, first = given
    key = search.space.key
    before = Counter((key(one.leaf), one.reward) for one in search.history if one.known and told)
    for leaf, reward in told:
        result = key(search.space.learn(leaf.leaf if isinstance(leaf, Proposal) else leaf)), reward
        if before[result] > 0:
            before[result] -= 1
        else:
            search.tell(leaf, reward, known=True)
    evaluated = {key(one.leaf) for one in search.history if first}
    for proposal in first:
        leaf = proposal.leaf if search.space.by_run is None else search.space.as_leaf(dict(proposal.leaf))
        if key(leaf) in evaluated or search.index.is_closed(leaf):  # as it is after a failure
            continue
        if search.data.find(leaf) is None:
            search.data.offered.append(search.propose(leaf, proposal.actions))


def pairs_of(known: Known) -> list[tuple[Any, float]]:
    """Leaves as they were given, and rewards that can be told."""
    if isinstance(known, Result):
        known = known.history
    listed = _listed("known", list(known.items()) if isinstance(known, Mapping) else known)
    pairs = list[tuple[Any, float]]()
    for place, one in enumerate(listed):
        name = f"known[{place}]"
        pair = (one.leaf, one.reward) if isinstance(one, Evaluation) else one
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"{name} must be a pair of a leaf and its reward, got {shown(one)}")
        leaf, reward = pair
        with _named(name):
            pairs.append((leaf, checked_reward(reward, leaf)))
    return pairs


def _listed(name: str, given: Any) -> list[Any]:
    if not isinstance(given, str):
        try:
            return list(given)
        except TypeError:
            pass
    what = "pairs of a leaf and its reward" if name == "known" else "leaves"
    raise ValueError(f"{name} must be a list of {what}, got {shown(given)}")


@contextmanager
def _named(name: str, given: Any = None) -> Iterator[None]:
    """Let an error say which of the given leaves it is about."""
    try:
        yield
    except (DagSearchError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    except Exception as error:  # the problem's own methods, of a leaf that it may not understand
        what = f"{shown(given)} is not a leaf of the problem ({type(error).__name__}: {error})"
        raise ProblemError(f"{name}: {what}") from error


def _checked_leaf(space: Space, given: Any) -> State | Proposal:
    """The leaf, or the proposal as it is, if the problem has such a leaf."""
    leaf = given.leaf if isinstance(given, Proposal) else space.as_leaf(given)
    space.key(leaf)
    if len(space.problem.actions(leaf)) > 0:
        raise ProblemError(f"{leaf!r} is not a leaf: the problem has actions there")
    return given if isinstance(given, Proposal) else leaf
