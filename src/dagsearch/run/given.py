"""Known results, and leaves to evaluate first."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from dagsearch._internal.texts import described, shown
from dagsearch.errors import ProblemError
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Problem, State, StepProblem, has_costly_steps
from dagsearch.results import Evaluation, Proposal, Result
from dagsearch.space import Space

if TYPE_CHECKING:
    from dagsearch.search import Search

Known = Iterable[tuple[Any, float] | Evaluation] | Mapping[Any, float] | Result
"""Leaves with their rewards: pairs, a mapping, or another result."""


Given = tuple[list[tuple[State | Proposal, float]], list[State | Proposal]]
"""Leaves with their rewards, and leaves to evaluate first."""


def checked_given(problem: Problem | StepProblem, known: Known, start: Iterable[Any]) -> Given:
    """The arguments ``known`` and ``start`` as lists; raises if a leaf or reward is unusable."""
    told, first = pairs_of(known), _listed("start", start, "leaves")
    if has_costly_steps(problem) and (told or first):
        raise ValueError("known and start do not apply to costly steps: only the search takes steps")
    space = Space(cast(Problem, problem))
    named = [(f"known[{place}]", leaf) for place, (leaf, _) in enumerate(told)]
    for name, given in named + [(f"start[{place}]", leaf) for place, leaf in enumerate(first)]:
        try:
            leaf = given.leaf if isinstance(given, Proposal) else space.as_leaf(given)
            space.key(leaf)
            if len(space.problem.actions(leaf)) > 0:
                raise ProblemError("the problem has actions there")
        except Exception as error:  # the problem's own methods, of a leaf that it may not understand
            what = f"{shown(given)} is not a leaf of the problem ({described(error)})"
            raise ProblemError(f"{name}: {what}") from error
    return told, first


def give(search: "Search", given: Given) -> None:
    """Report known results to a search, and propose the first leaves.

    A continued run already has its known results. Leaves that are pending or have a reward are not evaluated
    first.
    """
    (told, first), space, key = given, search.space, search.space.key
    before = Counter((key(one.leaf), one.reward) for one in search.history if one.known and told)
    for one, reward in told:
        result = key(space.learn(one.leaf if isinstance(one, Proposal) else space.as_leaf(one))), reward
        if before[result] > 0:
            before[result] -= 1
        else:
            search.tell(one, reward, known=True)
    evaluated = {key(one.leaf) for one in search.history if first}
    for one in first:
        leaf, actions = (one.leaf, one.actions) if isinstance(one, Proposal) else (one, None)
        leaf = space.as_leaf(leaf if space.by_run is None else dict(leaf))
        # A leaf is closed, too, after a failure.
        if not (key(leaf) in evaluated or search.index.is_closed(leaf) or search.data.find(leaf) is not None):
            search.data.offered.append(search.propose(leaf, actions))


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
        pairs.append((pair[0], checked_reward(pair[1], pair[0])))
    return pairs


def _listed(name: str, given: Any, what: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a list of {what}, got {shown(given)}")
    return list(given)
