"""Known results, and leaves to evaluate first."""

from collections import Counter
from collections.abc import Iterable, Mapping
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
    """The parsed arguments ``known`` and ``start``; raises if a leaf or reward is unusable."""
    pairs, listed = pairs_of(known), _listed("start", start, "leaves")
    if has_costly_steps(problem) and (pairs or listed):
        raise ValueError("known and start do not apply to costly steps: only the search takes steps")
    space = Space(cast(Problem, problem))
    told = [(_checked(space, f"known[{place}]", leaf), reward) for place, (leaf, reward) in enumerate(pairs)]
    first = [_checked(space, f"start[{place}]", leaf, way=True) for place, leaf in enumerate(listed)]
    return told, first


def _checked(space: Space, name: str, given: Any, way: bool = False) -> Any:
    """The leaf, or the proposal as it is; with its ``way``, as a proposal. Errors begin with its name."""
    try:
        leaf = given.leaf if isinstance(given, Proposal) else space.as_leaf(given)
        space.key(leaf)
        if len(space.problem.actions(leaf)) > 0:
            raise ProblemError(f"{leaf!r} is not a leaf: the problem has actions there")
        if not way:
            return given if isinstance(given, Proposal) else leaf
        found = given if isinstance(given, Proposal) else Proposal(leaf, tuple(space.actions_to(leaf)))
        if not space.leads(found.actions, leaf):
            raise ProblemError(f"the problem's actions do not lead to {leaf!r}")
        return found
    except (DagSearchError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    except Exception as error:  # the problem's own methods, of a leaf that it may not understand
        what = f"{shown(given)} is not a leaf of the problem ({type(error).__name__}: {error})"
        raise ProblemError(f"{name}: {what}") from error


def give(search: "Search", given: Given) -> None:
    """Report known results to a search, and propose the first leaves.

    A continued run already has its known results. Leaves that are pending or have a reward are not evaluated
    first.
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
        # A leaf is closed, too, after a failure.
        if not (key(leaf) in evaluated or search.index.is_closed(leaf) or search.data.find(leaf) is not None):
            search.data.offered.append(search.propose(leaf, proposal.actions))


def pairs_of(known: Known) -> list[tuple[Any, float]]:
    """Leaves as they were given, and valid rewards."""
    if isinstance(known, Result):
        known = known.history
    known = list(known.items()) if isinstance(known, Mapping) else known
    pairs = list[tuple[Any, float]]()
    for place, one in enumerate(_listed("known", known, "pairs of a leaf and its reward")):
        pair = (one.leaf, one.reward) if isinstance(one, Evaluation) else one
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"known[{place}] must be a pair of a leaf and its reward, got {shown(one)}")
        try:
            pairs.append((pair[0], checked_reward(pair[1], pair[0])))
        except (DagSearchError, ValueError) as error:
            raise type(error)(f"known[{place}]: {error}") from error
    return pairs


def _listed(name: str, given: Any, what: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a list of {what}, got {shown(given)}")
    return list(given)
