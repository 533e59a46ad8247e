"""The state of a run: one fold of its events, shared by all readers.

``dagsearch show`` and ``resume``, the page, the report of a result and the feature selector all read a
:class:`Record`. It is folded from the events of a stored run, or from evaluations in this process.
"""

import math
import os
import platform
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from dagsearch._internal.checks import check, is_budget
from dagsearch._internal.plain import to_json
from dagsearch.errors import StorageError
from dagsearch.results import Gaussian, Result
from dagsearch.storage.database import Database, Event, Header
from dagsearch.storage.encoding import moves_to, note_to_json

ACTIONS = ("pause", "continue", "stop", "budget", "propose")
"""Requests that users can send to a run."""
# What the first note of a feature selection says.
_ABOUT = {"data", "features", "rows", "folds"}


class Observation(NamedTuple):
    """An evaluation that has ended with a reward.

    ``leaf`` is as it is stored, or ``None`` for a costly step. ``moves`` are the actions to it as text, if it
    does not show them itself. ``seconds`` count from the start of the search, and ``predicted`` is the belief
    over the leaf's g just before, in units of the reward. Large rewards are good.
    """

    leaf: Any
    moves: list[str] | None
    reward: float
    seconds: float
    predicted: Gaussian | None


class Waiting(NamedTuple):
    """A pending evaluation, asked for at ``since`` by a process; the rest as in :class:`Observation`."""

    leaf: Any
    moves: list[str] | None
    since: float
    by: str | None


class Failure(NamedTuple):
    """An evaluation that failed ``at`` some time in seconds since 1970; ``text`` says why.

    ``step`` is the number of rewards at that time, this one included if the failure counts as a reward.
    """

    leaf: Any
    moves: list[str] | None
    at: float | None
    text: str
    step: int


class Request(NamedTuple):
    """A user's request, one of :data:`ACTIONS`, made ``at`` some time in seconds since 1970.

    ``value`` is the budget, or the leaf to evaluate next as it is stored. ``answer`` is the outcome, ``None``
    if no process has carried it out yet.
    """

    at: float
    action: str
    value: Any
    answer: str | None
    refused: bool = False


class Steering:
    """The requests of users, folded from the events of a run."""

    paused = False
    """Whether the run is paused."""
    budget: int | None = None
    """Number of evaluations at which the run ends, from the last script or request."""
    last_run = last_stop = 0
    """Numbers of the last event with which a process began to run, and of the last that asks it to stop."""
    _script: int | None = None  # budget of a script, which sets it again when it is resumed

    def __init__(self) -> None:
        self.requests: dict[int, Request] = {}
        """Requests of users, by the number of their event."""

    @property
    def wanted(self) -> dict[int, Any]:
        """Leaves to evaluate next, as they are stored, by the number of the request."""
        return {number: one.value for number, one in self.requests.items() if one.answer is None}

    def steer(self, event: Event, spent: float) -> None:
        """Take an event; ``spent`` is the cost of the evaluations so far."""
        body, asked = event.body, self.requests.get(event.body.get("request", 0))
        if event.kind == "run":
            if body["budget"] != self._script:
                self.budget = self._script = body["budget"]
            self.last_run = event.number
        elif event.kind == "request":
            self._take(event, body["action"], body["value"], spent)
        elif event.kind in ("answer", "ask") and asked is not None:
            refused = body.get("refused")
            answer = "done" if refused is None else refused
            self.requests[body["request"]] = asked._replace(answer=answer, refused=refused is not None)

    def _take(self, event: Event, action: str, value: Any, spent: float) -> None:
        answer, refused = None if action == "propose" else "done", False
        if action in ("pause", "continue"):
            self.paused = action == "pause"
        elif action == "stop":
            self.last_stop = event.number
        elif action == "budget" and value < spent:
            answer, refused = f"{spent} evaluations are done already", True
        elif action == "budget":
            self.budget = value
        self.requests[event.number] = Request(event.time, action, value, answer, refused)


def send_request(database: Database, run: str, action: Any, value: Any = None) -> int:
    """Ask the processes of a run to do something; returns the number of the event.

    ``"budget"`` takes the total number of evaluations, and ``"propose"`` a leaf as it is stored, to be
    evaluated next. The processes refuse a budget below what was evaluated, and a leaf that the problem does
    not have.
    """
    check(action in ACTIONS, "action", f"one of {', '.join(ACTIONS)}", action)
    whole = "a positive whole number of evaluations (below 2**63)"
    check(action != "budget" or is_budget(value), "the budget", whole, value)
    check(action != "propose" or value is not None, "value", "a leaf", value)
    body = {"action": action, "value": value if action in ("budget", "propose") else None}
    number = database.append(run, f"{platform.node()} {os.getpid()} page", "request", body)
    assert number is not None, "a request claims nothing"
    return number


class Record(Steering):
    """The state of a search after some of its events; :meth:`add` takes the next ones."""

    problem, made_by, version = "search", "", ""
    minimized = game = steps = False
    """Whether small rewards are good, whether there are two players, and whether steps are costly."""
    begun: float | None = None
    """When the search began, in seconds since 1970."""
    last: float | None = None
    """When the last event happened."""
    events = 0
    """Number of events."""
    without_reward = lost = known = 0
    """Number of costly steps to states without a value, of failed evaluations without a reward, and of
    rewards that were given as known, which the budget does not count."""
    best: int | None = None
    """Place of the recommended leaf in :attr:`told`: the first with the largest reward or, if rewards are
    noisy, with the best mean. ``None`` before the first reward."""
    best_reward: float | None = None
    """Its reward, or the mean of its rewards."""
    stopped: str | None = None
    """Why the last run ended; ``None`` if it has not."""
    settled = False
    """Whether no further reward is expected, as when every leaf has been evaluated."""
    form: str | None = None
    """What leaves are: ``"set"``, ``"sequence"`` or ``"choices"``; ``None`` if that is unknown."""
    labels: list[str] | None = None
    """Text for each number in a leaf; ``None`` if leaves are as they are."""
    largest = math.inf
    """The largest possible reward."""
    value: Gaussian | None = None
    """Belief over the value of a game."""
    about: Mapping[str, Any] = MappingProxyType({})
    """The first note of a feature selection, which says whose scores these are; empty in other searches."""
    _noisy = False  # whether the best leaf is not the one with the largest reward

    def __init__(self) -> None:
        super().__init__()
        self.told: list[Observation] = []
        self.pending: dict[int, Waiting] = {}
        """Evaluations that have not ended, by the number of the event that asked for them."""
        self.failures: list[Failure] = []

    @classmethod
    def of(cls, database: Database, header: Header) -> Self:
        """The state after all events of a run."""
        record = cls()
        record.begin(header)
        record.add(database.events(header.name))
        return record

    @classmethod
    def of_result(cls, result: Result) -> "Record":
        """The record of a result: its evaluations, without pending or failed ones."""
        record = cls()
        record.minimized, record.game, record.steps = result.minimized, result.game, result.steps
        record.settled = result.stopped == "exhausted" or result.probability_best == 1.0
        record.value = result.value
        sign = -1.0 if result.minimized else 1.0
        for one in result.history:
            if one.reward == -math.inf:  # a step to a state without a value
                record.without_reward += 1
                continue
            leaf, predicted = None, one.predicted
            if not record.steps:  # which are known by the way to them
                try:
                    leaf = to_json(one.leaf)
                except TypeError:
                    leaf = note_to_json(one.leaf)
            if predicted is not None:
                predicted = Gaussian(sign * predicted.mean, predicted.variance)
            moves = moves_to(leaf, one.actions or ())
            record.add_told(Observation(leaf, moves, sign * one.reward, one.seconds, predicted))
        return record

    @property
    def selection(self) -> bool:
        """Whether features are selected."""
        return bool(self.about)

    @property
    def request(self) -> Mapping[str, Any]:
        """The options of ``dagsearch select``; empty if another program began the run."""
        asked = self.about.get("select")
        return asked if isinstance(asked, Mapping) else {}

    @property
    def stopping(self) -> bool:
        """Whether the run ends once the running evaluations have ended."""
        return self.last_stop > self.last_run

    @property
    def evaluations(self) -> int:
        """Number of evaluations that have ended and not failed."""
        return len(self.told) + self.without_reward

    @property
    def spent(self) -> int:
        """Number of completed evaluations, failed ones included, without known rewards."""
        return self.evaluations + self.lost - self.known

    def add_told(self, told: Observation) -> None:
        """Take a reward."""
        if self.best is None or (not self._noisy and told.reward > self.told[self.best].reward):
            self.best, self.best_reward = len(self.told), told.reward
        self.told.append(told)

    def recommend(self, best: Any) -> None:
        """Take the number of the recommended evaluation, from 1, and the mean of its leaf's rewards."""
        if best is not None:
            self._noisy = True
            self.best, self.best_reward = best[0] - 1, best[1]

    def add(self, events: Iterable[Event]) -> None:
        """Take further events, in order.

        Raises
        ------
        StorageError
            If an event is malformed.
        """
        for event in events:
            try:
                self._add(event)
            except Exception as error:
                raise StorageError(
                    f"event {event.number} ({event.kind}) is malformed ({type(error).__name__}: {error})"
                ) from error

    def _add(self, event: Event) -> None:
        self.steer(event, self.spent)
        take: Callable[[Event], None] | None = getattr(self, f"_on_{event.kind}", None)
        if take is not None:
            take(event)
        if not self.about and (note := event.note).keys() >= _ABOUT:
            self.about, self.labels, self.largest = note, note["features"], note.get("largest", math.inf)
        self.last = event.time
        self.events += 1

    def begin(self, header: Header) -> None:
        """Take the header of a run."""
        leaves, self.begun, self.version = header.settings["leaves"], header.created, header.version
        self.problem, self.made_by = header.problem["type"], header.settings["made_by"]
        self.form, self.minimized, self.labels = leaves["form"], leaves["minimize"], leaves["labels"]
        self.game, self.steps = leaves["game"], leaves["steps"]

    def _on_ask(self, event: Event) -> None:
        leaf, moves = event.body.get("leaf"), event.body.get("moves")
        self.pending[event.number] = Waiting(leaf, moves, event.time, event.worker)
        self.settled = False
        self.recommend(event.body.get("best"))
        if (value := event.body.get("value")) is not None:
            self.value = Gaussian(*value)

    def _on_take(self, event: Event) -> None:
        if (asked := self.pending.get(event.body["ask"])) is not None:
            self.pending[event.body["ask"]] = asked._replace(since=event.time, by=event.worker)

    def _on_tell(self, event: Event) -> None:
        body = event.body
        asked = self.pending.pop(body["ask"], None)
        if body["reward"] is None and self.steps:
            self.without_reward += 1
            return
        leaf, moves = body["leaf"], asked.moves if asked is not None and asked.leaf == body["leaf"] else None
        if event.note.get("failure"):  # a failure with a reward
            text = str(event.note["failure"])
            self.failures.append(Failure(leaf, moves, event.time, text, len(self.told) + 1))
        self.known += body.get("known", False)
        predicted = None if body["predicted"] is None else Gaussian(*body["predicted"])
        self.add_told(Observation(leaf, moves, body["reward"], body["seconds"], predicted))

    def _on_forget(self, event: Event) -> None:
        dropped = self.pending.pop(event.body["ask"], None)
        if failure := event.note.get("failure"):
            leaf, moves = (None, None) if dropped is None else dropped[:2]
            self.failures.append(Failure(leaf, moves, event.time, str(failure), max(1, len(self.told))))
            self.lost += 1

    def _on_untell(self, event: Event) -> None:
        kept = [one for one in self.told if one.leaf != event.body["leaf"]]
        self.told, self.best, self.best_reward = [], None, None
        for one in kept:
            self.add_told(one)

    def _on_settle(self, event: Event) -> None:
        self.settled = True

    def _on_run(self, event: Event) -> None:
        self.stopped, self.settled = None, False

    def _on_end(self, event: Event) -> None:
        self.stopped = str(event.body["stopped"])
        self.recommend(event.body.get("best"))
