"""Writes the events of a search to its journal."""

import math
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dagsearch._internal.deadline import OutOfTime
from dagsearch._internal.plain import to_json
from dagsearch._internal.texts import shown
from dagsearch.covariances import Covariance
from dagsearch.errors import CovarianceError, JournalError, ProblemError, SearchExhausted
from dagsearch.journal.encoding import StateCodec, moves_to, note_to_json
from dagsearch.journal.journal import Journal
from dagsearch.journal.lines import Event
from dagsearch.journal.requests import Requests
from dagsearch.problem import Action, State, Step
from dagsearch.recorder import Recorder
from dagsearch.results import Evaluation, Proposal, StepProposal
from dagsearch.run.steering import Request, Steered
from dagsearch.space.walks import numbered

if TYPE_CHECKING:
    from dagsearch.costly.step_search import StepSearch
    from dagsearch.search import Search


class JournalRecorder(Recorder):
    """Commits every event.

    Parameters
    ----------
    journal : Journal
        Where to write.
    search : Search
        The search whose events are recorded.
    events : iterable of Event
        What the journal holds already.
    """

    keeps_pending = True

    def __init__(self, journal: Journal, search: "Search", events: Iterable[Event] = ()) -> None:
        self.journal, self.path, self._search = journal, journal.path, search
        self._requests = Requests(journal.path, search.problem, events)
        self._codec = StateCodec(search.problem)
        self.steering = Steered()

    @property
    def broken(self) -> bool:  # type: ignore[override]
        """Whether an event could not be recorded, so that the search must not continue."""
        return self.journal.broken

    def _append(self, kind: str, **content: Any) -> None:
        self.journal.append(kind, content)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """While entered, the search changes in a way that is recorded completely or not at all.

        If Ctrl-C or an error in the user's problem interrupts it, search and file differ, and only the file
        is correct. A covariance that refuses a reward is not such an error: a replay refuses it, too. If the
        time of a run is over, what has changed in the DAG is recorded with the next event.
        """
        try:
            yield
        except (CovarianceError, SearchExhausted, OutOfTime, JournalError):
            raise
        except BaseException as error:
            self.journal.abandon(error)
            raise

    def asked(self, proposal: Proposal) -> None:
        """Record the leaf that was chosen, and how the choice changed the search."""
        search, leaf = self._search, self._codec.encode(proposal.leaf)
        self._append(
            "ask",
            leaf=leaf,
            moves=moves_to(leaf, proposal.actions),
            value=self._value(),
            actions=numbered(search.problem, proposal.actions),
            turn=list(search.portfolio.state),
        )

    def _value(self) -> list[float] | None:
        """Mean and variance of the root's v in units of the reward; only a game's page needs it."""
        explored, posterior = self._search.explored, self._search.posterior
        if explored is None or not explored.graph.adversarial or not posterior.informed:
            return None
        return list(map(float, posterior.in_reward_units(explored.value(explored.root))))

    def proposed(self, leaf: State, actions: Sequence[Action], note: Any) -> None:
        """Record a proposal of the user."""
        self._append(
            "propose",
            leaf=self._codec.encode(leaf),
            actions=numbered(self._search.problem, actions),
            note=note_to_json(note),
        )

    def told(
        self, evaluation: Evaluation, proposal: Proposal | None, pending: int | None, outcome: Any, note: Any
    ) -> None:
        """Record a reward, with the belief over its leaf just before."""
        index, row, actions = self._search.index, evaluation.row, None
        leaf, expected = index.states[row], index.score(row)
        predicted = self._search.posterior.of_reward(row, outcome)
        if proposal is not None:
            is_pending = pending is not None and proposal is self._search.pending[pending]
            actions = [] if is_pending else numbered(self._search.problem, proposal.actions)
        self._append(
            "tell",
            leaf=self._codec.encode(leaf),
            actions=actions,
            pending=pending,
            reward=evaluation.reward,
            noise=outcome,
            seconds=evaluation.seconds,
            predicted=None if predicted is None else list(map(float, predicted)),
            expected=[float(number) if math.isfinite(number) else 0.0 for number in expected],
            note=note_to_json(note),
            **({"known": True} if evaluation.known else {}),
        )

    def forgotten(self, index: int, again: bool, note: Any, leaf: State = None) -> None:
        """Record that a pending proposal is taken back, and which leaf has failed if it is another one."""
        failed = None if leaf is None else self._codec.encode(leaf)
        self._append("forget", pending=index, again=again, failed=failed, note=note_to_json(note))

    def untold(self, leaf: State, again: bool, note: Any) -> None:
        """Record that every reward of a leaf is taken back."""
        self._append("untell", leaf=self._codec.encode(leaf), again=again, note=note_to_json(note))

    def settled(self, exhausted: bool) -> None:
        """Record that rewards are no longer held back, and whether an ask has found no leaf."""
        self._append("settle", exhausted=exhausted)

    def running(self, budget: int, rules: Mapping[str, Any], steer: bool) -> None:
        """Record when a run ends, who runs it, and whether it takes requests."""
        if steer:
            self._requests.open()  # so that whoever reads of the run finds the file
        by = f"{platform.node()}, process {os.getpid()}"
        self._append("run", budget=budget, stop=dict(rules), by=by, steer=steer)

    def requests(self) -> Sequence[Request]:
        """What the user asks the search to do, from a file beside the journal."""
        return self._requests.read()

    def steered(self, action: str, value: Any, request: str, refused: str | None) -> None:
        """Record that a request was taken."""
        self._append("steer", request=request, action=action, value=note_to_json(value), refused=refused)

    def noted(self, note: Any) -> None:
        """Record a note of the user."""
        self._append("note", note=note_to_json(note))

    def learnt(self, covariance: Covariance, noise: float) -> None:
        """Record hyperparameters."""
        values = [parameter.value for parameter in covariance.hyperparameters]
        self.journal.append("learn", {"values": values, "noise": noise})

    def close(self) -> None:
        """Release the file: another search may resume it."""
        self._requests.close()
        self.journal.close()


class StepRecorder(JournalRecorder):
    """Commits the events of a search with costly steps: which steps were asked for, and where they led.

    What an iterator of actions named for a proposal belongs to its event: a resumed search does not ask for
    it again.
    """

    _search: "StepSearch"  # type: ignore[assignment]

    def asked(self, proposal: Proposal) -> None:
        """Record the step that was chosen."""
        assert isinstance(proposal, StepProposal)
        self._append(
            "ask",
            leaf=None,
            moves=moves_to(None, proposal.actions),
            actions=[],
            turn=[int(proposal.begins)],
            edge=proposal.number,
            drawn=_encoded([proposal.action], proposal.state, "iterator") if proposal.drawn else [],
            exhausted=list(proposal.exhausted),
        )

    def told(
        self, evaluation: Evaluation, proposal: Proposal | None, pending: int | None, outcome: Any, note: Any
    ) -> None:
        """Record where a step has led."""
        assert isinstance(proposal, StepProposal)
        step: Step = outcome
        said = None if step.actions is None else _encoded(step.actions, step.state, "step")
        self._append(
            "tell",
            leaf=None,
            moves=moves_to(None, proposal.actions),
            actions=None,
            pending=pending,
            edge=proposal.number,
            step=[self._codec.encode(step.state), step.gain, step.value, said],
            reward=evaluation.reward if math.isfinite(evaluation.reward) else None,
            noise=None,
            seconds=evaluation.seconds,
            predicted=None,
            expected=list(self._search.model.predict(proposal.number)),
            note=note_to_json(note),
        )


def _encoded(actions: Any, state: State, named_by: str) -> list[Any]:
    """Actions that a step or an iterator has named at a state, as JSON."""
    try:
        if not hasattr(actions, "__len__"):
            raise TypeError("they are an iterator")
        return [to_json(action) for action in actions]
    except TypeError as error:
        instead = {
            "step": "let actions(state) of the problem say them",
            "iterator": "let it name numbers, text, tuples or frozensets, and make the rest in expand",
        }
        raise ProblemError(
            f"what the {named_by} names as actions of {shown(state)} cannot be kept in a journal ({error}): "
            f"{instead[named_by]}"
        ) from error
