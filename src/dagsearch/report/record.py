"""What has happened in a search, as its journal or its result tells it."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from dagsearch.journal.encoding import note_to_json, to_json
from dagsearch.journal.events import Event
from dagsearch.report.leaves import Part, parts_of
from dagsearch.results import Evaluation, Result
from dagsearch.values.gaussians import Gaussian


class Told(NamedTuple):
    """An evaluation that has ended with a reward."""

    parts: list[Part]
    """What the leaf consists of."""
    leaf: Any
    """The leaf as in the journal."""
    reward: float
    """The reward; large is good."""
    seconds: float
    """When it was told, in seconds from the start of the search."""
    predicted: Gaussian | None
    """Belief over the leaf's g just before, in units of the reward."""


class Waiting(NamedTuple):
    """An evaluation that has not ended."""

    parts: list[Part]
    """What the leaf consists of; empty if the journal does not say."""
    leaf: Any
    """The leaf as in the journal."""
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


class Steering(NamedTuple):
    """A request of the user that the search has taken."""

    at: float
    """When it was taken, in seconds since 1970."""
    request: str
    """Identifies the request."""
    what: str
    """What it asked for."""
    refused: str | None
    """Why the search did not carry it out; ``None`` if it did."""


class Record:
    """The state of a search after some of its events; :meth:`add` takes the next ones."""

    def __init__(self) -> None:
        self.problem = "search"
        self.made_by = ""
        self.version = ""
        self.minimized = False
        self.begun: float | None = None
        """When the search began, in seconds since 1970."""
        self.last: float | None = None
        """When the last event happened."""
        self.events = 0
        """Number of events."""
        self.told: list[Told] = []
        self.pending: list[Waiting] = []
        self.failures: list[Failure] = []
        self.steering: list[Steering] = []
        self.budget: int | None = None
        """Number of rewards at which the run ends; ``None`` if the journal does not state it."""
        self.failed_now = 0
        """Number of failures in the present run; they count as evaluations of its budget."""
        self.rules: dict[str, float] = {}
        """Other rules for stopping, by name."""
        self.run_began: float | None = None
        self.paused = False
        self.stopping = False
        """Whether the run ends as soon as the running evaluations have ended."""
        self.settled = False
        """Whether the search expects no further reward, as when every leaf has been evaluated."""
        self.repeats = False
        """Whether a leaf may be evaluated again."""
        self.game = False
        """Whether there are two players."""
        self.values: list[tuple[int, Gaussian]] = []
        """Beliefs over the value of a game, each with the number of rewards then."""
        self.selection = False
        """Whether features are selected."""
        self.asked: list[str] = []
        """What a feature selection was asked for: its target, estimator and score."""
        self._by: str | None = None
        self._form: str | None = None
        self.labels: list[str] | None = None
        """Text for each number in a leaf; ``None`` if leaves are as they are."""
        self._take: dict[str, Callable[[Event], None]] = {
            "settings": self._settings,
            "ask": self._asked,
            "propose": self._asked,
            "tell": self._tell,
            "forget": self._forget,
            "settle": self._settle,
            "run": self._run,
            "steer": self._steer,
            "note": self._note,
        }

    @classmethod
    def of(cls, events: Iterable[Event]) -> "Record":
        """The state after some events."""
        record = cls()
        record.add(events)
        return record

    @classmethod
    def of_result(cls, result: Result) -> "Record":
        """What a result tells: its evaluations, without what was pending or failed."""
        record = cls()
        record.minimized, record.game = result.minimized, result.game
        if result.game:
            record.values.append((len(result.history), result.value))
        record.add_evaluations(result.history, -1.0 if result.minimized else 1.0)
        return record

    def add_evaluations(self, evaluations: Iterable[Evaluation], sign: float = 1.0) -> None:
        """Take evaluations of a search in this process, whose rewards are ``sign`` times those told."""
        for evaluation in evaluations:
            leaf, predicted = _encoded(evaluation.leaf), evaluation.predicted
            if predicted is not None:
                predicted = Gaussian(sign * predicted.mean, predicted.variance)
            parts = parts_of(leaf)
            if len(parts) == 1 and evaluation.actions:
                parts = [
                    Part(str(place), str(move)) for place, move in enumerate(evaluation.actions, start=1)
                ]
            self.told.append(Told(parts, leaf, sign * evaluation.reward, evaluation.seconds, predicted))

    def add(self, events: Iterable[Event]) -> None:
        """Take further events, in order."""
        for event in events:
            take = self._take.get(event.kind)
            if take is not None:
                take(event)
            self._steered(event)
            self.last = event.at
            self.events += 1

    def _parts(self, leaf: Any) -> list[Part]:
        return parts_of(leaf, self._form, self.labels)

    def _settings(self, event: Event) -> None:
        content, self.begun = event.content, event.at
        self.problem, self.made_by = content["problem"]["type"], content["made_by"]
        self.version, self.repeats = content["dagsearch"], content["parts"].get("repeats") == "True"
        leaves = content.get("leaves")
        if isinstance(leaves, dict):
            self._form, self.minimized = leaves.get("form"), bool(leaves.get("minimize"))
            self.game = bool(leaves.get("game"))
            labels = leaves.get("labels")
            self.labels = list(map(str, labels)) if isinstance(labels, list) else None
        elif self.problem in ("Subsets", "SubsetRange", "Knapsack"):
            self._form = "set"

    def _asked(self, event: Event) -> None:
        leaf, moves = event.content.get("leaf"), event.content.get("moves")
        parts = [] if leaf is None else self._parts(leaf)
        if isinstance(moves, list) and moves:
            parts = [Part(str(place), str(move)) for place, move in enumerate(moves, start=1)]
        self.pending.append(Waiting(parts, leaf, event.at, self._by))
        self.settled = False
        if (value := _belief(event.content.get("value"))) is not None:
            self.values.append((len(self.told), value))

    def _drop(self, event: Event) -> Waiting | None:
        place = event.content["pending"]
        return self.pending.pop(place) if place is not None and place < len(self.pending) else None

    def _tell(self, event: Event) -> None:
        content = event.content
        asked = self._drop(event)
        known = asked is not None and asked.leaf == content["leaf"]
        parts = asked.parts if asked is not None and known else self._parts(content["leaf"])
        if event.note.get("failure"):  # told as a bad reward
            self.failures.append(Failure(parts, event.at, str(event.note["failure"]), len(self.told) + 1))
        belief = _belief(content.get("predicted"))
        seconds = content["seconds"]
        if seconds is None:
            seconds = event.at - (self.begun or event.at)
        self.told.append(Told(parts, content["leaf"], content["reward"], seconds, belief))

    def _forget(self, event: Event) -> None:
        dropped = self._drop(event)
        failure = event.note.get("failure")
        if failure:
            parts = [] if dropped is None else dropped.parts
            self.failures.append(Failure(parts, event.at, str(failure), max(1, len(self.told))))
            self.failed_now += 1

    def _settle(self, event: Event) -> None:
        self.settled = True

    def _run(self, event: Event) -> None:
        self.budget, self.run_began, self.stopping = event.content["budget"], event.at, False
        self.failed_now, self.settled = 0, False
        rules = event.content.get("stop")
        self.rules = rules if isinstance(rules, dict) else {}
        by = event.content.get("by")
        self._by = by if isinstance(by, str) else None

    def _note(self, event: Event) -> None:
        """A feature selection notes the names of the features, and the command what it was asked for."""
        names, asked = event.note.get("features"), event.note.get("select")
        if "data" in event.note and isinstance(names, list):
            self.selection, self.labels = True, list(map(str, names))
        if isinstance(asked, dict):
            self.asked = [
                f"{name} {asked[name]}"
                for name in ("target", "estimator", "scoring")
                if asked.get(name) is not None
            ]

    def _steer(self, event: Event) -> None:
        content = event.content
        if content.get("refused") is not None:
            return
        if content["action"] in ("pause", "continue"):
            self.paused = content["action"] == "pause"
        elif content["action"] == "stop":
            self.stopping = True
        elif content["action"] == "budget":
            self.budget = content["value"]["now"]

    def _steered(self, event: Event) -> None:
        """List a request that an event carries out."""
        if event.kind == "steer":
            content, value = event.content, event.content["value"]
            if isinstance(value, dict) and "now" in value:
                value = value["now"]
            what = content["action"] if value is None else f"{content['action']} {value}"
            self.steering.append(Steering(event.at, content["request"], what, content["refused"]))
        elif "steer" in event.note:
            self.steering.append(Steering(event.at, str(event.note["steer"]), event.kind, None))


def _belief(moments: Any) -> Gaussian | None:
    return Gaussian(*moments) if isinstance(moments, list) and len(moments) == 2 else None


def _encoded(leaf: Any) -> Any:
    """A leaf in JSON types; one that JSON cannot hold as text."""
    try:
        return to_json(leaf)
    except TypeError:
        return note_to_json(leaf)
