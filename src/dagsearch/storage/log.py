"""The log of a search in a database: it writes its own events and reads those of other processes.

Every process has its own search. It reads what is new, decides, and writes its ask; the claim of that event
makes sure that no other process has made the same proposal. A working process sends heartbeats. If it falls
silent, each of its proposals is claimed by one other process.

A run stores the composition of its search as JSON. Only an equal search begins, continues or joins it.
"""

import hashlib
import json
import logging
import math
import os
import platform
import re
import secrets
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from dagsearch._internal.deadline import OutOfTime
from dagsearch._internal.texts import described
from dagsearch.errors import CovarianceError, SearchExhausted, StorageError
from dagsearch.log import LOST_AFTER, Log
from dagsearch.problem import Problem, has_costly_steps
from dagsearch.results import Proposal
from dagsearch.storage.database import Database, Event, Header, database_of
from dagsearch.storage.events import LeafEvents, StateCodec, StepEvents, leaf_form
from dagsearch.storage.record import Record

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

Storage = str | PathLike[str]
"""A path, or a URL ``postgresql://…``."""

# Longest time between two heartbeats in seconds, and least number of heartbeats within ``lost_after``.
_BEAT, _BEATS = 5.0, 6.0
# Seconds between two checks of which processes are at work.
_LOOK = 1.0


def attach(
    search: "Search", storage: Storage | None, name: str | None, made_by: str, arguments: Mapping[str, Any]
) -> None:
    """Log a new search in a run; if the run exists, the search joins it. Does nothing without storage.

    ``made_by`` names the constructor that made the search, and ``arguments`` are its own, without the
    problem, the seed and the storage.
    """
    from dagsearch import __version__

    if storage is None:
        if name is not None:
            raise ValueError("name= selects a run of a database: give storage=, too")
        return
    space, codec = search.space, StateCodec(search.space)
    problem = {
        "type": type(space.problem).__name__,
        "identity": None if space.identity is None else str(space.identity()) or None,
        "leaves": codec.digest,
    }
    covariance = None if has_costly_steps(space.problem) else search.index.scores.covariance
    learnable = () if covariance is None else covariance.hyperparameters
    # The text of a covariance may not show all of its numbers.
    parts = {**arguments, "hyperparameters": [f"{one.value:.6g}" for one in learnable]}
    settings = {
        "made_by": made_by,
        "arguments": _plain(arguments),
        "parts": {name: without_addresses(repr(part)) for name, part in parts.items()},
        "leaves": leaf_form(space),
        "seed": search.seed,
    }
    now = Header("", 0.0, __version__, problem, settings)
    with closing(database_of(storage, write=True)) as database:
        header = database.begin(name, now)
        _check_same(header, now, database.where)
    search.seed = header.settings["seed"]
    search.log_with(RunLog(search, storage, header, codec))
    try:
        search.log.catch_up()
    except BaseException:
        search.close()
        raise
    search.data.continue_clock()


def has_begun(storage: Storage, name: str | None = None) -> bool:
    """Whether storage has the run."""
    with closing(database_of(storage, write=True)) as database:
        return database.find(name) is not None


def resume(
    kind: type["Search"], storage: Storage, problem: Problem, name: str | None, given: Mapping[str, Any]
) -> "Search":
    """The search of a run, composed as it was, after all events of the run."""
    with closing(database_of(storage)) as database:
        header = database.run(name)
    made_by, known = header.settings["made_by"], header.settings["arguments"]
    makers = {f"Search.{way}": getattr(kind, way, None) for way in ("paper", "default")}
    if (maker := kind if made_by == kind.__name__ else makers.get(made_by)) is None:
        raise StorageError(f"the run was begun by {made_by!r}, which is unknown here")
    arguments = {**known, **given, "seed": header.settings["seed"], "storage": storage, "name": header.name}
    try:
        return cast("Search", maker(problem, **arguments))
    except TypeError as error:
        raise StorageError(f"pass the arguments of {made_by}(...) to resume, too ({error})") from error


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that JSON can hold, as it holds them; NumPy's numbers are plain ones."""
    found = dict[str, Any]()
    for name, value in arguments.items():
        with suppress(TypeError, ValueError):
            found[name] = json.loads(json.dumps(value, default=np.generic.item))
    return found


def without_addresses(text: str) -> str:
    """A ``repr`` without memory addresses."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def _check_same(then: Header, now: Header, where: str) -> None:
    """Raise unless a search is the one that began a run, by a version that is not of a later series."""
    versions = f"{where} was begun with dagsearch {then.version}, this is {now.version}"
    if int(then.version.partition(".")[0]) > int(now.version.partition(".")[0]):
        raise StorageError(f"{versions}: continue it there, or export its rewards with 'dagsearch export'")
    if then.version != now.version:
        logger.warning("%s: last digits of beliefs, and so later proposals, may differ", versions)
    before, after = (_identity(header, then.version == now.version) for header in (then, now))
    for name, value in after.items():
        if (was := before.get(name, value)) != value:
            differs = f"its {name} was {was}, and is {value}"
            differs = re.sub(r"\b([0-9a-f]{8})[0-9a-f]{8,}\b", r"\1…", differs)  # digests say little
            raise StorageError(
                f"{where} is a run of another problem or search: {differs}. Pass the same problem, data and "
                "arguments, or another file or name= to begin a new run"
            )


def _identity(header: Header, with_parts: bool) -> dict[str, Any]:
    """What must be equal in two searches. Versions may describe the same parts differently."""
    made = header.settings
    search = {"method": made["made_by"], "minimize": made["leaves"]["minimize"], **made["arguments"]}
    return {**header.problem, **search, **(made["parts"] if with_parts else {})}


class RunLog(Log):
    """Writes every event of a search to a run, and replays those of other processes.

    A new search has the state that follows from the run's events once it has caught up.
    """

    def __init__(self, search: "Search", storage: Storage, header: Header, codec: StateCodec) -> None:
        super().__init__()
        self.database, self.name, self.record = database_of(storage), header.name, Record(header)
        self.listeners: list[Any] = []
        """Called with every event of another process."""
        self._search: Search = weakref.proxy(search)
        self._events = (StepEvents if has_costly_steps(search.problem) else LeafEvents)(search, codec)
        self.decoded = codec.decode
        self._repeated: Event | None = None  # the event that the search repeats now
        self._at_work, self._looked, self._lost_after = set[str](), -math.inf, LOST_AFTER
        self._heart = _Heart(database_of(storage), self.name)
        self.worker = self._heart.worker
        self._finalizer = weakref.finalize(self, _leave, self._heart, self.database)
        if at_work(self.database, self.name) - {self.worker} and self.database.is_on_network:
            self.close()
            raise StorageError(
                f"{self.database.where} is on a network file system, which only one process may use: pass "
                "storage='postgresql://…', or begin one process with Dask workers (executor=)"
            )

    # Writing ------------------------------------------------------------------------------------------

    def _append(self, kind: str, body: dict[str, Any], claim: str | None = None) -> int | None:
        """Store an event; returns its number, or ``None`` if another process was faster to claim it."""
        try:
            with self.deciding():
                if not self._heart.is_alive():  # a fork has no other threads
                    raise StorageError("the search was opened before this process was forked: open it again")
                number = self.database.append(self.name, self.worker, kind, body, claim)
        except StorageError as error:
            lost = f"the next event ({kind}) was not written"
            if "reward" in body:
                lost = f"tell the reward {body['reward']!r} of {body['leaf']} after resuming"
            self.broken = f"{error}; {lost}"
            raise StorageError(self.broken) from error
        if number is not None and number == self.record.events + 1:  # nobody has written in between
            self.record.add([Event(number, time.time(), self.worker, kind, body, claim)])
        return number

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Within this context, changes of the search are logged completely or not at all.

        After Ctrl-C or an error in the user's problem, only the log is right. A covariance that refuses a
        reward is no such error: a search that is opened again refuses it, too.
        """
        try:
            yield
        except (CovarianceError, SearchExhausted, OutOfTime, StorageError):
            raise
        except BaseException as error:
            what = f"the search was stopped halfway ({described(error)}) and may differ from its log"
            self.broken = f"{what}: resume it from {self.database.where}"
            raise

    def write(self, kind: str, *about: Any, **body: Any) -> int | None:
        if self._repeated is not None and not (kind == "learnt" and self.learns):
            return self._repeated.number
        body, claim = self._events.written(kind, *about, **body)
        number = self._append(kind, body, claim)
        if number is None and kind == "tell":
            again = {"ask": body["ask"], "again": body["reward"], "note": body["note"]}
            self._append("note", {"note": {"told again": again}})
        # If others have written what comes before it, it is repeated in its turn.
        return None if number is None or (number > self.record.events and _has_turn(kind, claim)) else number

    def begun(self, budget: float, lost_after: float) -> None:
        self._lost_after = lost_after
        self._heart.pauses.put(min(_BEAT, lost_after / _BEATS))
        self.began = self._append("run", {"budget": math.ceil(budget)}) or 0

    def close(self) -> None:
        """Leave the run: other processes take over the leaves that are pending here."""
        self._finalizer()

    # Reading ------------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Replay what other processes have written since the last call."""
        if self._repeated is not None:
            return
        if self.broken is not None:
            raise StorageError(self.broken)
        events = self.database.events(self.name, self.record.events)  # a long run is not held in memory
        for event, follower in pairwise(chain(events, [None])):
            assert event is not None, "only the last one has no follower"
            try:
                self._take(event, follower is None)
            except Exception as error:
                what = f"event {event.number} ({event.kind}) of {self.database.where}"
                raise StorageError(f"{what} cannot be repeated ({described(error)})") from error
            finally:
                self._repeated, self.learns = None, True

    def _take(self, event: Event, is_last: bool) -> None:
        """Let the search repeat an event, unless it has already acted on it."""
        self.record.add([event])
        own = event.worker == self.worker
        if own and not _has_turn(event.kind, event.claim):
            return
        # What others learn comes later in the log, unless they have died before they could write it.
        self.learns = own or (is_last and not self._is_alive(event.worker))
        self._repeated = event
        self._events.repeat(event)
        for listener in () if own else self.listeners:
            listener(event)
        if own and event.kind == "ask":
            self._search.data.offered += [one for one in self._search.pending if one.number == event.number]

    # Processes at work ------------------------------------------------------------------------------

    def take_over(self) -> Proposal | None:
        self.overtaken = False
        if not self._lost():
            return None
        self.catch_up()  # the last rewards of a process, and takeovers by others
        for proposal in self._lost():
            deaths = self.record.pending[proposal.number].deaths
            if self._append("take", {"ask": proposal.number}, f"take {proposal.number} {deaths}") is None:
                break
            if deaths > 0:
                what = "%d processes ended while they evaluated %r: with n_jobs=1, a crash counts as failed"
                logger.warning(what, deaths + 1, proposal.leaf)
            return proposal
        self.overtaken = True
        return None

    def _lost(self) -> list[Proposal]:
        """Pending proposals whose processes have ended."""
        return [one for one in self._search.pending if not self._is_alive(self._owner(one))]

    def is_elsewhere(self, proposal: Proposal) -> bool:
        owner = self._owner(proposal)
        return owner != self.worker and self._is_alive(owner)

    def _owner(self, proposal: Proposal) -> str:
        """The process that evaluates a proposal: this one, if the log says nothing yet."""
        asked = self.record.pending.get(proposal.number)
        return self.worker if asked is None or asked.by is None else asked.by

    def _is_alive(self, worker: str) -> bool:
        if worker not in self._at_work or time.monotonic() - self._looked > _LOOK:  # it may be new
            self._at_work = at_work(self.database, self.name, self._lost_after) | {self.worker}
            self._looked = time.monotonic()
        return worker in self._at_work


def _has_turn(kind: str, claim: str | None) -> bool:
    """Whether a search acts on its own event in the order of the log, like every other process."""
    return kind == "tell" or (claim is not None and claim.startswith("ask"))


def at_work(database: Database, run: str, lost_after: float = LOST_AFTER) -> set[str]:
    """The processes of a run with a heartbeat in the last seconds that have not ended on this machine."""
    return {worker for worker in database.beating(run, lost_after) if not _has_ended(worker)}


def _has_ended(worker: str) -> bool:
    """Whether a process of this machine no longer exists."""
    _, process, here = worker.rsplit(" ", 2)
    if here.partition("-")[0] != _machine() or sys.platform == "win32":
        return False  # on Windows a signal of 0 would end the process
    with suppress(PermissionError, ValueError):  # of another user
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
    return False


@cache
def _machine() -> str:
    """Identifies the machine or the container, each of which numbers its own processes."""
    name = platform.node()
    with suppress(OSError):
        name += Path("/proc/sys/kernel/random/boot_id").read_text() + os.readlink("/proc/self/ns/pid")
    return hashlib.sha256(name.encode()).hexdigest()[:8]


class _Heart(threading.Thread):
    """Sends the heartbeats of this process, on a connection of its own, until it leaves the run."""

    def __init__(self, database: Database, name: str) -> None:
        super().__init__(daemon=True, name="dagsearch heartbeat")
        self.worker = f"{platform.node()} {os.getpid()} {_machine()}-{secrets.token_hex(4)}"
        self.pauses = SimpleQueue[float | None]()
        """Takes the seconds between two heartbeats from now on; ``None`` to leave the run."""
        self._database, self._who = database, (name, self.worker)
        database.beat(*self._who)
        database.tries = 1  # another heartbeat follows
        self.start()

    def run(self) -> None:
        pause: float | None = _BEAT
        while pause is not None:
            with suppress(Empty):
                pause = self.pauses.get(timeout=pause)
            with suppress(StorageError):  # the search itself says so if it cannot write
                self._database.beat(*self._who)
        with closing(self._database), suppress(StorageError):
            self._database.leave(*self._who)


def _leave(heart: _Heart, database: Database) -> None:
    heart.pauses.put(None)
    heart.join()
    database.close()
