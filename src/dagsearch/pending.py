"""Leaves that were asked for and whose rewards have not been told yet."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

from dagsearch.errors import ProblemError
from dagsearch.posterior.base import JointScores
from dagsearch.posterior.posterior import Posterior
from dagsearch.problem import State
from dagsearch.results import Proposal
from dagsearch.values.values import Values

# Number of pending leaves by which those that have fantasies change, so that it rarely happens.
_BLOCK = 64


class Outstanding:
    """Pending proposals, and those of them that are given out again."""

    def __init__(self) -> None:
        self.proposals: list[Proposal] = []
        """Pending proposals, the oldest first."""
        self.offered: list[Proposal] = []
        """Proposals to give out again before new ones; some may no longer be pending."""

    def offer(self, proposals: Sequence[Proposal]) -> None:
        """Let pending proposals be given out again before new ones: their evaluations were cut off."""
        self.offered.extend(proposals)

    def withdraw(self, proposals: Sequence[Proposal]) -> None:
        """Offer proposals no longer: their evaluations begin otherwise."""
        withdrawn = {id(proposal) for proposal in proposals}
        self.offered = [offered for offered in self.offered if id(offered) not in withdrawn]

    def next_offered(self) -> Proposal | None:
        """The next proposal that is offered again and still pending."""
        while self.offered:
            offered = self.offered.pop(0)
            if any(offered is proposal for proposal in self.proposals):
                return offered
        return None


class Pending(Outstanding):
    """Pending proposals, and the fantasies that stand for their rewards in the model.

    A pending leaf counts as observed for the variance of the belief but not for its mean, so that the next
    proposals lie elsewhere.

    Parameters
    ----------
    posterior, values
        Parts of the search.
    repeats : bool
        Whether a leaf may be asked for again.
    """

    def __init__(self, posterior: Posterior, values: Values, repeats: bool) -> None:
        super().__init__()
        self._posterior, self._values = posterior, values
        self._explored, self._repeats = values.explored, repeats
        self._keys: Counter[Hashable] = Counter()  # of their leaves
        self._fantasies = 0
        self._first_fantasy = 0  # index of its proposal

    def add(self, proposal: Proposal) -> Proposal:
        """Make a proposal pending."""
        self._explored.space.remember(proposal.actions)
        node = self._explored.node(proposal.leaf)
        if not self._repeats:  # no leaf is asked for twice, even if its reward comes late or never
            self._explored.graph.closed[node] = True
        self.proposals.append(proposal)
        self._keys[self._explored.key(proposal.leaf)] += 1
        return proposal

    def find(self, leaf: State, proposal: Proposal | None = None) -> int | None:
        """Index of this proposal object, else of the oldest one for its leaf; ``None`` if there is none."""
        key = self._explored.key(leaf)
        if key not in self._keys:
            return None
        for index, other in enumerate(self.proposals):
            if other is proposal:
                return index
        return next(i for i, other in enumerate(self.proposals) if self._explored.key(other.leaf) == key)

    def way_to(self, leaf: State) -> Proposal:
        """The proposal of a leaf that somebody names; raises unless it exists and may be evaluated now."""
        explored = self._explored
        proposal, node = Proposal(leaf, tuple(explored.space.actions_to(leaf))), explored.find(leaf)
        if not explored.describes(proposal) or len(explored.problem.actions(leaf)) > 0:
            raise ProblemError(f"{leaf!r} is not a leaf of the problem")
        if self.find(leaf) is not None:
            raise ValueError("the leaf is being evaluated: forget that evaluation first")
        if not self._repeats and node >= 0 and explored.graph.closed[node]:
            raise ValueError("the leaf was evaluated already, or failed")
        return proposal

    def _pop(self, index: int) -> Proposal:
        proposal = self.proposals.pop(index)
        key = self._explored.key(proposal.leaf)
        self._keys[key] -= 1
        if self._keys[key] == 0:
            del self._keys[key]
        return proposal

    def drop(self, leaf: State, proposal: Proposal | None) -> None:
        """Remove the proposal that :meth:`find` finds, if any."""
        found = self.find(leaf, proposal)
        if found is not None:
            self._pop(found)

    def forget(self, index: int, again: bool) -> None:
        """Remove a proposal as if it had not been asked for; ``again`` lets its leaf be asked for again."""
        proposal = self._pop(index)
        self._explored.graph.visits[list(proposal.path)] -= 1
        if again and not self._repeats:
            self._explored.reopen([self._explored.find(proposal.leaf)])

    # Fantasies ----------------------------------------------------------------------------------------

    def fantasise(self) -> None:
        """Let the model count pending leaves as observed, for variances but not for means.

        Of many pending leaves, only the last 64 to 127 are counted, because the cost of an ask after a tell
        grows with their number. Which ones must depend on nothing but the pending leaves.
        """
        posterior, first = self._posterior, max(0, len(self.proposals) // _BLOCK - 1) * _BLOCK
        if posterior.standardizer.waiting or not posterior.scores.is_joint:
            return
        scores, wanted = cast(JointScores, posterior.scores), self.proposals[first:]
        if first != self._first_fantasy or (scores.rounds_together and len(wanted) > self._fantasies):
            self.discard_fantasies()
            self._first_fantasy = first
        fresh = wanted[self._fantasies :]
        if fresh:
            nodes = self._explored.nodes([proposal.leaf for proposal in fresh])
            self._fantasies += len(fresh)
            scores.fantasise(nodes)
            self._values.outdated()

    def discard_fantasies(self) -> None:
        """Restore the belief without fantasies."""
        if self._fantasies > 0:
            cast(JointScores, self._posterior.scores).discard()
            self._fantasies = 0
            self._values.outdated()

    @contextmanager
    def avoided(self) -> Iterator[list[int]]:
        """While entered, pending leaves are closed, even if leaves may repeat; yields their nodes."""
        pending = self._explored.nodes([proposal.leaf for proposal in self.proposals])
        self._explored.graph.closed[pending] = True
        try:
            yield pending
        finally:
            self._explored.reopen(pending)
