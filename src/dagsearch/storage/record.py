"""What has happened in a search: one fold of its events, which every reader of a run shares.

``dagsearch show`` and ``resume``, the page, the report of a result and the feature selector all read a
:class:`Record`. It is folded from the events of a stored run, or from evaluations in this process.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from dagsearch._internal.checks import is_budget, is_finite
from dagsearch._internal.plain import to_json
from dagsearch._internal.texts import shown
from dagsearch._internal.typing import FloatArray
from dagsearch.errors import StorageError
from dagsearch.posterior.units import LARGEST_REWARD
from dagsearch.results import Evaluation, Gaussian, Result
from dagsearch.storage.database import Database, Event, Header
from dagsearch.storage.encoding import Part, leaf_text, moved_parts, moves_to, note_to_json, parts_of

# Size of the largest mean of a belief: squares of larger ones would overflow.
_LARGEST = 1e150
# Longest value of a request that is listed, in characters.
_LONGEST = 200


class Told(NamedTuple):
    """An evaluation that has ended with a reward."""

    parts: list[Part]
    """What the leaf consists of."""
    leaf: Any
    """The leaf as it is stored."""
    reward: float
    """The reward; large is good."""
    seconds: float
    """When it was told, in seconds from the start of the search."""
    predicted: Gaussian | None
    """Belief over the leaf's g just before, in units of the reward."""


class Waiting(NamedTuple):
    """An evaluation that has not ended."""

    parts: list[Part]
    """What the leaf consists of; empty if the run does not say."""
    leaf: Any
    """The leaf as it is stored."""
    since: float
    """When it was asked for, in seconds since 1970."""
    by: str | None
    """The process that asked for it."""


class Failure(NamedTuple):
    """An evaluation that has ended without a reward of its own."""

    parts: list[Part]
    """What the leaf consists of."""
    at: float | None
    """When it failed, in seconds since 1970."""
    text: str
    """Why."""
    step: int
    """Number of rewards that were told then, this one included if it was told as one."""


class Request(NamedTuple):
    """What a user has asked a run to do, and what became of it."""

    at: float
    """When it was asked for, in seconds since 1970."""
    what: str
    """What was asked for."""
    answer: str | None
    """What became of it; ``None`` if no process has carried it out yet."""
    refused: bool = False
    """Whether it was refused."""


class Scored(NamedTuple):
    """The result of scoring a subset of features."""

    columns: tuple[int, ...]
    """Column numbers of the features, ascending."""
    scores: FloatArray
    """Score on each fold, shape ``(n_folds,)``; NaN if scoring failed."""
    seconds: float
    """Time that fitting and scoring took."""
    failure: str | None
    """Why there is no score; ``None`` if there is one."""

    @property
    def mean(self) -> float:
        """The subset's score: the mean over the folds."""
        return float(np.mean(self.scores))

    def note(self, seconds: float) -> dict[str, Any]:
        """The note of the subset's reward, told ``seconds`` after the start; :meth:`Record.note` reads it."""
        return {
            "columns": self.columns,
            "scores": None if self.failure else self.scores.tolist(),
            "score_time": self.seconds,
            "failure": self.failure,
            "seconds": seconds,
        }


class Entry(NamedTuple):
    """A subset that was scored, or whose scoring failed."""

    scored: Scored
    """The subset and its scores."""
    best: float | None
    """Best score so far, including this one; ``None`` if there is no score yet."""
    seconds: float
    """When the subset was recorded, in seconds since the start of the selection."""


class Record:
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
    """Number of costly steps to states where one cannot stop, of evaluations that failed and were not told as
    a reward, and of rewards that were given as known, which the budget does not count."""
    best: int | None = None
    """Place of the recommended leaf in :attr:`told`: the first with the largest reward or, if rewards are
    noisy, with the best mean. ``None`` before the first reward."""
    best_reward: float | None = None
    """Its reward, or the mean of its rewards."""
    budget: int | None = None
    """Number of evaluations at which the run ends; ``None`` if no run has begun."""
    stopped: str | None = None
    """Why the last run ended; ``None`` if it has not."""
    run_began: float | None = None
    paused = stopping = settled = False
    """Whether no evaluation is started; whether the run ends once the running ones have ended; whether no
    further reward is expected, as when every leaf has been evaluated."""
    labels: list[str] | None = None
    """Text for each number in a leaf; ``None`` if leaves are as they are."""
    largest = math.inf
    """The largest reward that there can be."""
    selection = False
    """Whether features are selected."""
    request: Mapping[str, Any] | None = None
    """What ``dagsearch select`` was asked for; ``None`` if another program began the run."""
    digest: str | None = None
    """Identifies what the scores of a selection depend on."""
    rows = folds = 0
    """Number of rows of the data, and of folds that every subset is scored on."""
    _form: str | None = None  # of leaves
    _noisy = False  # whether the best leaf is not the one with the largest reward
    _script: int | None = None  # the budget that a script has given

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.pending: dict[int, Waiting] = {}
        """Evaluations that have not ended, by the number of the event that asked for them."""
        self.failures: list[Failure] = []
        self.requests: dict[int, Request] = {}
        """Requests of users, by the number of their event."""
        self.rules: dict[str, float] = {}
        """Other rules for stopping, by name."""
        self.values: list[tuple[int, Gaussian]] = []
        """Beliefs over the value of a game, each with the number of rewards then."""
        self._known: dict[Part, Part] = {}
        self.entries: list[Entry] = []
        """The scored and the failed subsets of a selection, in order."""
        self.beliefs: list[tuple[int, Gaussian]] = []
        """Beliefs about the best possible score, each with the number of entries then."""
        self.nested: dict[int, tuple[float | None, int]] = {}
        """Score of a selection that was repeated inside the folds and its fits, by subsets in each fold."""

    @classmethod
    def of(cls, database: Database, header: Header) -> "Record":
        """The state after all events of a run."""
        record = cls()
        record.begin(header)
        record.add(database.events(header.name))
        return record

    @classmethod
    def of_result(cls, result: Result) -> "Record":
        """What a result tells: its evaluations, without what was pending or failed."""
        record = cls()
        record.minimized, record.game, record.steps = result.minimized, result.game, result.steps
        record.settled = nothing_left(result)
        if result.game and result.value is not None:
            record.values.append((len(result.history), result.value))
        record.add_evaluations(result.history, -1.0 if result.minimized else 1.0)
        return record

    @classmethod
    def of_scores(cls, report: Mapping[str, Any]) -> "Record":
        """What a selection's ``result.json`` tells: scores and failures."""
        record, result = cls(), report["result"]
        record.selection, record.settled = True, result["stopped"] == "exhausted"
        if result["bounds"][1] is not None:
            record.largest = result["bounds"][1]
        for entry in report["history"]:
            parts = [Part("", name) for name in entry["features"]]
            if entry["score"] is None:
                record.failures.append(Failure(parts, None, str(entry.get("failure")), entry["step"]))
                continue
            predicted = entry.get("predicted")
            belief = None if predicted is None else Gaussian(predicted[0], predicted[1] ** 2)
            record.add_told(Told(parts, entry["features"], entry["score"], entry["seconds"], belief))
        return record

    def add_evaluations(self, evaluations: Iterable[Evaluation], sign: float = 1.0) -> None:
        """Take evaluations of a search in this process, whose rewards are ``sign`` times those told."""
        for evaluation in evaluations:
            if evaluation.reward == -math.inf:  # a step to where one cannot stop
                self.without_reward += 1
                continue
            # A costly step is known by the way to it.
            leaf, predicted = None if self.steps else _encoded(evaluation.leaf), evaluation.predicted
            if predicted is not None:
                predicted = Gaussian(sign * predicted.mean, predicted.variance)
            moves = moves_to(leaf, evaluation.actions or ())
            parts = self._shared(moved_parts(moves)) if moves else self._parts(leaf)
            self.add_told(Told(parts, leaf, sign * evaluation.reward, evaluation.seconds, predicted))

    @property
    def evaluations(self) -> int:
        """Number of evaluations that have ended and not failed."""
        return len(self.told) + self.without_reward

    @property
    def spent(self) -> int:
        """Number of evaluations that have ended, failed ones included, without rewards that were known."""
        return self.evaluations + self.lost - self.known

    def add_told(self, told: Told) -> None:
        """Take a reward."""
        if self.best is None or (not self._noisy and told.reward > self.told[self.best].reward):
            self.best, self.best_reward = len(self.told), told.reward
        self.told.append(told)

    def recommend(self, best: Any) -> None:
        """Take the number of the recommended evaluation, from 1, and the mean of its leaf's rewards."""
        if best is not None:
            self._noisy = True
            self.best, self.best_reward = min(int(best[0]), len(self.told)) - 1, float(best[1])

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
            except (
                TypeError,
                ValueError,
                LookupError,
                ArithmeticError,
                AttributeError,
                RecursionError,
            ) as error:
                raise StorageError(
                    f"event {event.number} ({event.kind}) is malformed ({type(error).__name__}: {error})"
                ) from error

    def _add(self, event: Event) -> None:
        take: Callable[[Event], None] | None = getattr(self, f"_on_{event.kind}", None)
        if take is not None:
            take(event)
        self.note(event.note)
        self.last = event.time
        self.events += 1

    def _parts(self, leaf: Any) -> list[Part]:
        return self._shared(parts_of(leaf, self._form, self.labels))

    def _shared(self, parts: list[Part]) -> list[Part]:
        """The parts, each of them once in memory: leaves of a search consist of the same few."""
        return [self._known.setdefault(part, part) for part in parts]

    def begin(self, header: Header) -> None:
        """Take the header of a run."""
        try:
            leaves, self.begun = header.settings["leaves"], header.created
            self.problem, self.made_by = header.problem["type"], header.settings["made_by"]
            self.version = header.version
            self._form, self.minimized = leaves.get("form"), bool(leaves.get("minimize"))
            self.game, self.steps = bool(leaves.get("game")), leaves.get("steps") is True
            labels = leaves.get("labels")
            self.labels = list(map(str, labels)) if isinstance(labels, list) else None
        except (TypeError, LookupError, AttributeError) as error:
            raise StorageError(f"the settings of run {header.name!r} are malformed ({error!r})") from error

    def _on_ask(self, event: Event) -> None:
        leaf, moves = event.body.get("leaf"), event.body.get("moves")
        parts = [] if leaf is None else self._parts(leaf)
        if isinstance(moves, list) and moves:
            parts = self._shared(moved_parts(moves))
        self.pending[event.number] = Waiting(parts, leaf, event.time, event.worker)
        self.settled = False
        self.recommend(event.body.get("best"))
        if (value := _belief(event.body.get("value"))) is not None:
            self.values.append((len(self.told), value))

    def _on_take(self, event: Event) -> None:
        if (asked := self.pending.get(event.body["ask"])) is not None:
            self.pending[event.body["ask"]] = asked._replace(since=event.time, by=event.worker)

    def _on_tell(self, event: Event) -> None:
        body = event.body
        asked = self.pending.pop(body["ask"], None)
        if body["reward"] is None and self.steps:
            self.without_reward += 1
            return
        if abs(body["reward"]) > LARGEST_REWARD:
            raise ValueError("the reward is too large")
        as_asked = asked is not None and (self.steps or asked.leaf == body["leaf"])
        parts = asked.parts if asked is not None and as_asked else self._parts(body["leaf"])
        if event.note.get("failure"):  # told as a bad reward
            self.failures.append(Failure(parts, event.time, str(event.note["failure"]), len(self.told) + 1))
        self.known += body.get("known") is True
        belief = _belief(body["predicted"])
        self.add_told(Told(parts, body["leaf"], body["reward"], float(body["seconds"]), belief))

    def _on_forget(self, event: Event) -> None:
        dropped = self.pending.pop(event.body["ask"], None)
        if failure := event.note.get("failure"):
            parts = [] if dropped is None else dropped.parts
            self.failures.append(Failure(parts, event.time, str(failure), max(1, len(self.told))))
            self.lost += 1

    def _on_untell(self, event: Event) -> None:
        kept = [one for one in self.told if one.leaf != event.body["leaf"]]
        self.told, self.best, self.best_reward = [], None, None
        for one in kept:
            self.add_told(one)

    def _on_settle(self, event: Event) -> None:
        self.settled = True

    def _on_run(self, event: Event) -> None:
        body = event.body
        if body["budget"] != self._script and is_budget(body["budget"]):  # else a request may have changed it
            self.budget = self._script = body["budget"]
        self.run_began, self.stopping, self.stopped, self.settled = event.time, False, None, False
        self.rules = {name: value for name, value in body["stop"].items() if is_finite(value)}

    def _on_end(self, event: Event) -> None:
        self.stopped = str(event.body["stopped"])
        self.recommend(event.body.get("best"))

    def _on_request(self, event: Event) -> None:
        action, value = event.body["action"], cast(Any, event.body.get("value"))
        answer, refused = None, False
        if action in ("pause", "continue"):
            self.paused, answer = action == "pause", "done"
        elif action == "stop":
            self.stopping, answer = True, "done"
        elif action == "budget":
            refused = not is_budget(value) or value < self.spent
            answer = f"{self.spent} evaluations are done already" if refused else "done"
            self.budget = self.budget if refused else value
        what = f"evaluate {leaf_text(self._parts(value))} next" if action == "propose" else str(action)
        what = f"budget {shown(value, _LONGEST)}" if action == "budget" else what
        self.requests[event.number] = Request(event.time, what, answer, refused)

    def _on_answer(self, event: Event) -> None:
        number, refused = event.body["request"], event.body["refused"]
        if (request := self.requests.get(number)) is not None:
            answer = "done" if refused is None else str(refused)
            self.requests[number] = request._replace(answer=answer, refused=refused is not None)

    # A feature selection -----------------------------------------------------------------------------

    def note(self, note: Mapping[str, Any]) -> None:
        """Take the note of an event. Only those of a feature selection mean anything here.

        Its first note identifies the data, and holds the names of the features; ``dagsearch select`` adds
        what it was asked for. A reward's note holds its scores on the folds.
        """
        if isinstance(note.get("select"), Mapping) and self.request is None:
            self.request = note["select"]
        if {"data", "features", "rows", "folds"} <= note.keys() and isinstance(note["features"], list):
            self.selection, self.digest, self.labels = True, note["data"], list(map(str, note["features"]))
            self.rows, self.folds = note["rows"], note["folds"]
            if is_finite(note.get("largest")):
                self.largest = float(note["largest"])
        if not self.selection:
            return
        if "columns" in note:
            scored = Scored(tuple(note["columns"]), self._scores(note), note["score_time"], note["failure"])
            best = None if self.best is None else self.told[self.best].reward
            self.entries.append(Entry(scored, best, note["seconds"]))
        if "belief" in note:
            entries, *moments = note["belief"]
            self.beliefs.append((entries, Gaussian(*moments)))
        if "nested" in note:
            candidates, score, fits = note["nested"]
            self.nested[candidates] = None if score is None else float(score), int(fits)

    def _scores(self, note: Mapping[str, Any]) -> FloatArray:
        scores = note["scores"]
        return np.full(self.folds, np.nan) if scores is None else np.array(scores, dtype=np.float64)

    def successes(self) -> Sequence[Entry]:
        """The entries with a score."""
        return [entry for entry in self.entries if entry.scored.failure is None]

    def failed(self) -> Sequence[Entry]:
        """The entries without a score."""
        return [entry for entry in self.entries if entry.scored.failure is not None]

    def failure_message(self, names: Sequence[Any]) -> str | None:
        """How many subsets could not be scored, and why the first one could not; ``None`` if all could."""
        failed = self.failed()
        if not failed:
            return None
        scored, count = failed[0].scored, len(self.entries)
        message = f"{len(failed)} of {count} subsets could not be scored"
        if len(failed) == count:
            message = f"none of the {count} subsets could be scored"
        return f"{message}; the first, {[names[column] for column in scored.columns]}: {scored.failure}"


def _belief(moments: Any) -> Gaussian | None:
    if not isinstance(moments, list) or len(moments) != 2 or not all(map(is_finite, moments)):
        return None
    mean, variance = moments
    return Gaussian(mean, variance) if abs(mean) < _LARGEST and 0.0 <= variance < _LARGEST**2 else None


def _encoded(leaf: Any) -> Any:
    """A leaf in JSON types; one that JSON cannot hold as text."""
    try:
        return to_json(leaf)
    except TypeError:
        return note_to_json(leaf)


def nothing_left(result: Result) -> bool:
    """Whether every leaf was evaluated, so that nothing better can come."""
    return result.stopped == "exhausted" or result.probability_best == 1.0
