"""Carries out what the user asks a running search to do."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from dagsearch.errors import DagSearchError, JournalError, ProblemError
from dagsearch.results import Proposal
from dagsearch.run.steered import Request

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)


class Steerable(Protocol):
    """What a request can change in a run."""

    def end(self, reason: str) -> None:
        """Start no further evaluation."""

    def set_total(self, total: int) -> int:
        """Change the number of rewards at which the run ends; returns the number so far."""

    def put_first(self, proposal: Proposal) -> None:
        """Evaluate a pending proposal before the search is asked for others."""

    def count_told(self) -> None:
        """Count a reward that was told without an evaluation."""

    def abandon(self, proposal: Proposal) -> None:
        """Wait no longer for an evaluation."""


class Steering:
    """Takes the requests to a search.

    Parameters
    ----------
    search : Search
        The search.
    run : Steerable
        Its run.
    """

    def __init__(self, search: "Search", run: Steerable) -> None:
        self._search, self._run = search, run
        self._act: dict[str, Callable[[Request], None]] = {
            "pause": self._pause,
            "continue": self._pause,
            "stop": self._stop,
            "budget": self._budget,
            "forget": self._forget,
            "propose": self._propose,
            "tell": self._tell,
        }

    @property
    def paused(self) -> bool:
        """Whether no evaluation may be started."""
        return self._search.steered.paused

    def take(self) -> None:
        """Carry out the requests that have come since the last call; each becomes an event of the journal."""
        for request in self._search.recorder.requests():
            try:
                if request.error is not None:
                    raise ValueError(request.error)
                self._act[request.action](request)
            except JournalError:
                raise
            except (DagSearchError, ValueError, TypeError, LookupError) as error:
                logger.warning("the request to %s was refused: %s", request.action, error)
                self._record(request, request.value, str(error))

    def _record(self, request: Request, value: Any = None, refused: str | None = None) -> None:
        self._search.recorder.steered(request.action, value, request.name, refused)
        if refused is None:
            self._search.steered.take(request.action, value)

    def _pause(self, request: Request) -> None:
        self._record(request)
        logger.warning("the search was asked to %s", request.action)

    def _stop(self, request: Request) -> None:
        self._record(request)
        self._run.end("steered")

    def _budget(self, request: Request) -> None:
        before = self._run.set_total(request.value)
        self._record(request, {"now": request.value, "instead": before})

    def _forget(self, request: Request) -> None:
        search = self._search
        index = search.outstanding.find(request.leaf)
        if index is None:
            raise ValueError("the leaf is not pending: it was told or forgotten already")
        proposal = search.pending[index]
        note = {**request.note, "failure": "forgotten at the user's request"}
        search.forget(proposal, again=False, note=note)
        self._run.abandon(proposal)

    def _checked(self, request: Request) -> list[Any]:
        """Actions to the leaf of a request, which must be a leaf that is neither known nor pending."""
        search = self._search
        actions, key = search.space.actions_to(request.leaf), search.space.key
        state = search.problem.root()
        for action in actions:
            if action not in list(search.problem.actions(state)):
                raise ProblemError(f"{action!r} is not an action at {state!r}")
            state = search.problem.step(state, action)
        if key(state) != key(request.leaf) or len(search.problem.actions(state)) > 0:
            raise ProblemError(f"{request.leaf!r} is not a leaf of the problem")
        if search.outstanding.find(request.leaf) is not None:
            raise ValueError("the leaf is being evaluated: forget that evaluation first")
        node = search.explored.find(request.leaf)
        if not search.repeats and node >= 0 and search.explored.graph.closed[node]:
            raise ValueError("the leaf was evaluated already, or failed")
        return actions

    def _propose(self, request: Request) -> None:
        actions = self._checked(request)
        self._run.put_first(self._search.propose(request.leaf, actions, request.note))

    def _tell(self, request: Request) -> None:
        actions = self._checked(request)
        told = Proposal(request.leaf, tuple(actions))
        self._search.tell(told, request.value["reward"], note=request.note)
        self._run.count_told()
