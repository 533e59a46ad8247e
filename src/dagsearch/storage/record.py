"""The state of a run: one fold of its events, shared by all readers.

``dagsearch show`` and ``resume``, the page, the report of a result and the feature selector all read a
:class:`Record`. It is folded from the events of a stored run, or from evaluations in this process.
"""

import math
import os
import platform
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast

from dagsearch._internal.checks import check, is_budget
from dagsearch._internal.plain import to_json
from dagsearch._internal.texts import described
from dagsearch.errors import StorageError
from dagsearch.results import Gaussian, Result
from dagsearch.storage.database import Database, Event, Header
from dagsearch.storage.events import moves_to, note_to_json

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


class Attempt(NamedTuple):
    """An evaluation without a reward: asked for, or failed, ``at`` a time in seconds since 1970.

    ``by`` is its process, and ``deaths`` counts the processes that have ended during it. For a failure,
    ``text`` is the reason, and ``step`` the number of rewards until then, its own included if it has one.
    """

    leaf: Any
    moves: list[str] | None
    at: float | None
    by: str | None = None
    text: str = ""
    step: int = 0
    deaths: int = 0


# What is pending if the log does not say.
_UNKNOWN = Attempt(None, None, None)


class Request(NamedTuple):
    """A user's request, one of :data:`ACTIONS`, made ``at`` some time in seconds since 1970.

    ``value`` is the budget, or the leaf to evaluate next as it is stored. ``answer`` is the outcome, ``None``
    if no process has carried it out yet.
    """

    at: float
    action: str
    value: Any
    answer: str | None


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
    worker = f"{platform.node()} {os.getpid()} page"
    return cast(int, database.append(run, worker, "request", body))  # it claims nothing


class Record:
    """The state of a run after some of its events; :meth:`add` takes the next ones."""

    problem, made_by, version = "search", "", ""
    minimized = game = steps = False
    """Whether small rewards are good, whether there are two players, and whether steps are costly."""
    begun: float | None = None
    """When the search began, in seconds since 1970."""
    last: float | None = None
    """When the last event happened."""
    events = 0
    """Number of events."""
    paused = False
    """Whether the run is paused."""
    budget: int | None = None
    """Number of evaluations at which the run ends, from the last script or request."""
    last_run = last_stop = 0
    """Numbers of the last event with which a process began to run, and of the last that asks it to stop."""
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
    _script: int | None = None  # budget of the last script, which does not undo a request by saying it again
    _noisy = False  # whether the best leaf is not the one with the largest reward

    def __init__(self, header: Header | None = None) -> None:
        self.told: list[Observation] = []
        self.pending: dict[int, Attempt] = {}
        """Evaluations that have not ended, by the number of the event that asked for them."""
        self.failures: list[Attempt] = []
        self.requests: dict[int, Request] = {}
        """Requests of users, by the number of their event."""
        if header is not None:
            leaves, self.begun, self.version = header.settings["leaves"], header.created, header.version
            self.problem, self.made_by = header.problem["type"], header.settings["made_by"]
            self.form, self.minimized, self.labels = leaves["form"], leaves["minimize"], leaves["labels"]
            self.game, self.steps = leaves["game"], leaves["steps"]

    @classmethod
    def of(cls, database: Database, header: Header) -> Self:
        """The state after all events of a run."""
        record = cls(header)
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
            record.known += one.known
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
    def wanted(self) -> dict[int, Any]:
        """Leaves to evaluate next, as they are stored, by the number of the request."""
        return {number: one.value for number, one in self.requests.items() if one.answer is None}

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
        """Take further events, in order; raises :class:`StorageError` at the first that is malformed."""
        for event in events:
            try:
                self._add(event)
            except Exception as error:
                what = f"event {event.number} ({event.kind})"
                raise StorageError(f"{what} is malformed: {described(error)}") from error

    def _add(self, event: Event) -> None:
        body, note, failure = event.body, event.note, event.note.get("failure")
        self._steer(event)
        match event.kind:
            case "ask":
                asked = Attempt(body.get("leaf"), body.get("moves"), event.time, event.worker)
                self.pending[event.number] = asked
                self.settled = False
                self.recommend(body.get("best"))
                if (value := body.get("value")) is not None:
                    self.value = Gaussian(*value)
            case "take" if body["ask"] in self.pending:
                asked = self.pending[body["ask"]]
                asked = asked._replace(at=event.time, by=event.worker, deaths=asked.deaths + 1)
                self.pending[body["ask"]] = asked
            case "tell":
                asked = self.pending.pop(body["ask"], _UNKNOWN)
                leaf, reward = body["leaf"], body["reward"]
                if reward is None and self.steps:
                    self.without_reward += 1
                else:
                    moves = asked.moves if asked.leaf == leaf else None
                    predicted = None if body["predicted"] is None else Gaussian(*body["predicted"])
                    self.add_told(Observation(leaf, moves, reward, body["seconds"], predicted))
                    self.known += body.get("known", False)
                    if failure:  # one with a reward
                        step = len(self.told)
                        self.failures.append(Attempt(leaf, moves, event.time, None, str(failure), step))
            case "forget":
                asked = self.pending.pop(body["ask"], _UNKNOWN)
                if failure:
                    step = max(1, len(self.told))
                    self.failures.append(asked._replace(at=event.time, text=str(failure), step=step))
                    self.lost += 1
            case "untell":
                kept = [one for one in self.told if one.leaf != body["leaf"]]
                self.told, self.best, self.best_reward = [], None, None
                for one in kept:
                    self.add_told(one)
            case "settle":
                self.settled = True
            case "run":
                self.stopped, self.settled, self.last_run = None, False, event.number
                if body["budget"] != self._script:
                    self.budget = self._script = body["budget"]
            case "end":
                self.stopped = str(body["stopped"])
                self.recommend(body.get("best"))
        if not self.about and note.keys() >= _ABOUT:
            self.about, self.labels, self.largest = note, note["features"], note.get("largest", math.inf)
        self.last = event.time
        self.events += 1

    def _steer(self, event: Event) -> None:
        """Take a request of a user, or its answer."""
        body = event.body
        match event.kind:
            case "request":
                action, value = body["action"], body["value"]
                answer = None if action == "propose" else "done"
                if action in ("pause", "continue"):
                    self.paused = action == "pause"
                elif action == "stop":
                    self.last_stop = event.number
                elif action == "budget" and value < self.spent:
                    answer = f"refused: {self.spent} evaluations are done already"
                elif action == "budget":
                    self.budget = value
                self.requests[event.number] = Request(event.time, action, value, answer)
            case "answer" | "ask" if (asked := self.requests.get(body.get("request", 0))) is not None:
                answer = f"refused: {body['refused']}" if event.kind == "answer" else "done"
                self.requests[body["request"]] = asked._replace(answer=answer)
