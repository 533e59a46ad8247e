"""Starting a journal, and resuming a search from one: its events are repeated, and nothing is decided again.

The state of a search follows from its events: which leaf was asked for, which reward was told, which
hyperparameters were learnt. So a replay needs no climbs and no evidence, and ends with exactly the numbers of
the search that wrote the journal. Only descents are made again, because they are what grows the DAG: proposal
number i draws the same random numbers, so it is the recorded one.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from os import PathLike
from typing import TYPE_CHECKING, Any

from dagsearch._internal.plain import from_json
from dagsearch._internal.threads import one_thread
from dagsearch.covariances import Covariance
from dagsearch.errors import CovarianceError, JournalError, SearchExhausted
from dagsearch.journal.encoding import StateCodec
from dagsearch.journal.fingerprint import check_same, settings_of
from dagsearch.journal.journal import Journal
from dagsearch.journal.lines import Event
from dagsearch.journal.recorder import JournalRecorder, StepRecorder
from dagsearch.problem import Action, Problem, State, Step, has_costly_steps
from dagsearch.recorder import Recorder
from dagsearch.results import Proposal
from dagsearch.run.steering import Steered
from dagsearch.space.walks import walked

if TYPE_CHECKING:
    from dagsearch.costly.step_search import StepSearch
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# A larger relative difference between beliefs is not a rounding error.
_ROUNDING = 1e-6
# After so many runs in a row that began with the same pending leaf and ended without a reward, it is named.
_RUNS_ENDED = 2


def start_journal(
    search: "Search", path: str | PathLike[str] | None, made_by: str, arguments: Mapping[str, Any]
) -> None:
    """Record a new search in a new journal; does nothing without a path.

    Parameters
    ----------
    search : Search
        The search whose events are recorded from now on.
    path : path, optional
        The file, which must not exist yet.
    made_by : str
        Name of the constructor that made the search.
    arguments : mapping
        Arguments of the constructor, without the problem, the seed and the journal.
    """
    if path is not None:
        with one_thread():
            settings = settings_of(search, made_by, arguments)
        journal = Journal.create(path, settings)
        search.record_with(_recorder(journal, search))


def _recorder(journal: Journal, search: "Search", events: Sequence[Event] = ()) -> JournalRecorder:
    kind = StepRecorder if has_costly_steps(search.problem) else JournalRecorder
    return kind(journal, search, events)


@one_thread()  # as in the run itself
def resume_search(
    kind: type["Search"], path: str | PathLike[str], problem: Problem, given: Mapping[str, Any]
) -> "Search":
    """The search that wrote a journal, as it was after the last event; it continues to write there."""
    journal, events = Journal.resume(path)
    try:
        search = recompose(kind, events[0].content, problem, given)
        check_same(events[0].content, search, path)
        replay = (StepReplay if has_costly_steps(problem) else Replay)(search, events[1:])
        replay.run()
        recorder = _recorder(journal, search, events)
        recorder.steering = replay.steering
        if replay.unrecorded is not None:
            # Now, because only the event after a reward says what was learnt from it.
            recorder.learnt(*replay.unrecorded)
    except BaseException:
        journal.close()
        raise
    search.data.offered.extend(search.pending)
    if replay.fruitless_runs >= _RUNS_ENDED:
        logger.warning(
            "the last %d runs ended without a reward while %r was evaluated; it is evaluated again. If it "
            "ends its process, run with n_jobs=1: then it ends a worker instead, and counts as failed",
            replay.fruitless_runs + 1,
            search.pending[0].leaf,
        )
    search.data.continue_clock()
    search.record_with(recorder)
    return search


def recompose(
    kind: type["Search"], settings: Mapping[str, Any], problem: Problem, given: Mapping[str, Any]
) -> "Search":
    """A new search with the composition that a journal's settings describe."""
    from dagsearch import __version__

    if settings["dagsearch"] != __version__:
        raise JournalError(
            f"the journal was written by dagsearch {settings['dagsearch']!r}, this is {__version__!r}: "
            "another version may decide differently. Install that version to continue"
        )
    makers: dict[str, Callable[..., Search]] = {kind.__name__: kind}
    if not has_costly_steps(problem):
        makers |= {"Search.paper": kind.paper, "Search.default": kind.default}
    known = settings["arguments"]
    missing = sorted(set(settings["given"]) - set(given))
    if missing:
        raise JournalError(
            f"the search was made with {', '.join(missing)}, which a journal cannot hold: pass the same "
            "to resume"
        )
    for name in sorted(set(known) & set(given)):
        if known[name] != json.loads(json.dumps(given[name], default=repr)):
            raise JournalError(
                f"the search was made with {name}={known[name]!r}, not {given[name]!r}: pass the same "
                "value to resume, or none"
            )
    arguments = {**known, **given, "seed": settings["seed"]}
    if settings["made_by"] not in makers:
        raise JournalError(f"the journal was written by {settings['made_by']!r}, which is unknown here")
    try:
        return makers[settings["made_by"]](problem, **arguments)
    except TypeError as error:
        raise JournalError(
            f"the search was made by {settings['made_by']}(...): pass the same arguments to resume ({error})"
        ) from error


class Replay(Recorder):
    """Repeats the events of a journal in a new search.

    Parameters
    ----------
    search : Search
        New search with the composition of the recorded one, without a journal.
    events : sequence of Event
        Events of the journal, without the settings.
    """

    def __init__(self, search: "Search", events: Sequence[Event]) -> None:
        self._search, self._events = search, events
        self.steering = Steered()
        self._codec = StateCodec(search.problem)
        self._largest_difference = 0.0  # relative, between beliefs and the recorded ones
        self._differs = False  # whether a descent, made again, came to another leaf
        self._first: Proposal | None = None  # the oldest pending one when the last run began
        self.fruitless_runs = 0
        """Number of runs in a row that began with the same pending leaf and ended without any reward."""
        self.unrecorded: tuple[Covariance, float] | None = None
        """Hyperparameters that the replay itself has learnt, because the process ended before it had."""

    def learnt(self, covariance: Covariance, noise: float) -> None:
        """Hyperparameters have been learnt after a reward that is the last event."""
        self.unrecorded = covariance, noise

    def run(self) -> None:
        """Repeat all events."""
        followers = (*self._events, None)[1:]
        for event, follower in zip(self._events, followers, strict=True):
            if follower is None and event.kind == "tell":
                self._watch_learning()
            self._repeat_or_explain(event, follower)
        if self._differs:
            logger.warning(
                "a descent that was made again came to another leaf than the recorded one: this machine or "
                "version decides differently. The recorded leaves are taken, and the search continues"
            )
        if self._largest_difference > 0.0:
            logger.warning(
                "beliefs differ from the recorded ones by %.1g of their size: this machine computes "
                "differently from the one that wrote the journal. The search continues, but may "
                "decide differently",
                self._largest_difference,
            )

    def _watch_learning(self) -> None:
        """The last reward may make the replay itself learn hyperparameters."""
        self._search.posterior.recorder = self

    def _repeat_or_explain(self, event: Event, follower: Event | None) -> None:
        try:
            self._repeat(event, follower)
        except JournalError:
            raise
        except Exception as error:
            raise JournalError(
                f"event {event.number} ({event.kind}) cannot be repeated ({type(error).__name__}: "
                f"{error}); the journal belongs to another problem, or to another version of it"
            ) from error

    def _repeat(self, event: Event, follower: Event | None) -> None:
        search, content = self._search, event.content
        if event.kind == "ask":
            self._ask(content)
        elif event.kind == "propose":
            search.propose(*self._walked(content))
        elif event.kind == "tell":
            search.without_fantasies()
            self._tell(content, self._learnt_after(follower))
        elif event.kind == "forget":
            failed = None if content.get("failed") is None else self._codec.decode(content["failed"])
            search.forget(self._pending(content["pending"]), again=content["again"], leaf=failed)
        elif event.kind == "untell":
            search.forget(self._codec.decode(content["leaf"]), again=content["again"])
        elif event.kind == "steer" and content["refused"] is None:
            self.steering.take(content["action"], content["value"], search.data.known)
        elif event.kind == "run":
            self.steering.begin(content.get("steer") is True)
        elif event.kind == "settle":
            self._settle(exhausted=content.get("exhausted") is True)
        elif event.kind not in ("learn", "note", "steer"):
            raise JournalError(f"event {event.number} has an unknown kind, {event.kind!r}")
        self._count_runs(event.kind)

    def _pending(self, place: int) -> Proposal:
        """The pending proposal that an event names by its place."""
        if not 0 <= place < len(self._search.pending):
            raise LookupError(f"of {len(self._search.pending)} pending proposals it names number {place}")
        return self._search.pending[place]

    def _count_runs(self, kind: str) -> None:
        if kind == "run":
            first = next(iter(self._search.pending), None)
            again = first is not None and first is self._first
            self.fruitless_runs = self.fruitless_runs + 1 if again else int(first is not None)
            self._first = first
        elif kind != "ask":
            self._first, self.fruitless_runs = None, 0

    def _walked(self, content: Mapping[str, Any]) -> tuple[State, tuple[Action, ...]]:
        """The leaf of an event, and the actions to it."""
        if self._search.space.by_run is None:
            return walked(self._search.problem, content["actions"])
        leaf = self._codec.decode(content["leaf"])
        return leaf, tuple(self._search.space.actions_to(leaf))

    def _ask(self, content: Mapping[str, Any]) -> None:
        """Make the recorded leaf pending; a descent is made again, for what it adds to the DAG."""
        search, (leaf, actions) = self._search, self._walked(content)
        if search.explored is not None:
            with suppress(SearchExhausted):
                proposal = search.ask()
                if search.space.same(proposal.leaf, leaf):
                    return
                search.data.pending.pop()
            self._differs = True
        else:
            search.asked += 1
        turn, initial = content["turn"]
        search.portfolio.state = turn, initial
        search.add_pending(Proposal(leaf, actions))

    def _settle(self, exhausted: bool) -> None:
        """Learn what was held back; an ask that found no leaf is made again where it has changed the DAG."""
        if not exhausted or self._search.explored is None:
            return self._search.settle()
        with suppress(SearchExhausted):
            self._search.ask()
            self._search.data.pending.pop()
            self._differs = True
        return None

    def _tell(self, content: Mapping[str, Any], learnt: Mapping[str, Any] | None) -> None:
        search = self._search
        leaf = self._codec.decode(content["leaf"])
        evaluated: Proposal | State = leaf
        if content["pending"] is not None and content["actions"] == []:
            evaluated = self._pending(content["pending"])
        elif content["actions"] is not None:
            evaluated = Proposal(*self._walked(content))
        if isinstance(evaluated, Proposal):
            search.space.remember(evaluated.actions)
        row = search.index.leaf(search.space.learn(leaf))
        self._compare(content["expected"], search.index.score(row))
        with suppress(CovarianceError):  # this reward was refused in the recorded run, too
            search.tell(
                evaluated,
                content["reward"],
                content["noise"],
                leaf=leaf,
                known=content.get("known") is True,
                replayed=(content["seconds"], learnt),
            )

    def _compare(self, recorded: Sequence[float], now: Sequence[float]) -> None:
        """Check that beliefs before a reward are the recorded ones, up to rounding on another machine."""
        size = abs(recorded[0]) + math.sqrt(recorded[1]) + 1e-9
        difference = abs(recorded[0] - now[0]) / size
        difference = max(difference, abs(recorded[1] - now[1]) / (recorded[1] + 1e-6))
        if difference > _ROUNDING:
            raise JournalError(
                f"replayed beliefs differ from the recorded ones ({list(now)} instead of {list(recorded)}): "
                "the journal belongs to another problem, covariance or version"
            )
        self._largest_difference = max(self._largest_difference, difference)

    def _learnt_after(self, follower: Event | None) -> Mapping[str, Any] | None:
        """The hyperparameters that were learnt after a reward.

        ``None`` if the replay must learn itself when it is time: the process may have ended just before that,
        and a resumed search learns without an event.
        """
        return follower.content if follower is not None and follower.kind == "learn" else None


class StepReplay(Replay):
    """Repeats the events of a search with costly steps; no step is taken again."""

    _search: "StepSearch"  # type: ignore[assignment]

    def _watch_learning(self) -> None:
        """Nothing: what is learnt follows from the steps."""

    def _repeat(self, event: Event, follower: Event | None) -> None:
        search, content = self._search, event.content
        if event.kind == "ask":
            drawn = [from_json(action) for action in content["drawn"]]
            search.repeat_ask(content["edge"], bool(content["turn"][0]), drawn, content["exhausted"])
        if event.kind == "tell":
            self._tell(content, None)
        elif event.kind == "forget":
            search.forget(self._pending(content["pending"]), again=content["again"])
        elif event.kind == "steer" and content["refused"] is None:
            self.steering.take(content["action"], content["value"], known=0)
        elif event.kind == "run":
            self.steering.begin(content.get("steer") is True)
        elif event.kind not in ("ask", "note", "steer"):
            raise JournalError(f"event {event.number} has an unknown kind, {event.kind!r}")
        self._count_runs(event.kind)

    def _tell(self, content: Mapping[str, Any], learnt: Mapping[str, Any] | None) -> None:
        state, gain, value, actions = content["step"]
        said = None if actions is None else [from_json(action) for action in actions]
        proposal = self._pending(content["pending"])
        self._compare(content["expected"], self._search.model.predict(content["edge"]))
        step = Step(self._codec.decode(state), gain, value, said)
        self._search.take(proposal, step, content["seconds"])
