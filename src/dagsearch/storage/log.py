"""The log of a search in a database: it writes its own events and reads those of other processes.

Every process has its own search. It reads what is new, decides, and writes its ask; the claim of that event
makes sure that no other process has made the same proposal. A working process sends heartbeats. If it falls
silent, each of its proposals is claimed by one other process.
"""

import hashlib
import logging
import math
import os
import platform
import secrets
import sys
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dagsearch._internal.deadline import OutOfTime
from dagsearch.errors import CovarianceError, SearchExhausted, StorageError
from dagsearch.log import Log
from dagsearch.problem import has_costly_steps
from dagsearch.results import Proposal
from dagsearch.storage.database import Database, Event
from dagsearch.storage.encoding import StateCodec
from dagsearch.storage.events import LeafEvents, StepEvents
from dagsearch.storage.record import Steering

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

LOST_AFTER = 60.0
"""Seconds of silence after which a process counts as dead."""
# Longest time between two heartbeats in seconds, and least number of heartbeats within ``lost_after``.
_BEAT, _BEATS = 5.0, 6.0
# Seconds between two checks of which processes are at work.
_LOOK = 1.0


class RunLog(Log):
    """Writes every event of a search to a run, and replays those of other processes.

    A new search has the state that follows from the run's events once it has caught up.
    """

    def __init__(self, search: "Search", database: Database, name: str, codec: StateCodec) -> None:
        super().__init__()
        self.database, self.name = database, name
        self.worker = f"{platform.node()} {os.getpid()} {_numbering()}-{secrets.token_hex(4)}"
        self.steering = Steering()
        self.listeners: list[Any] = []
        """Called with every event of another process."""
        self._process = os.getpid()
        self._search: Search = weakref.proxy(search)
        self._events = (StepEvents if has_costly_steps(search.problem) else LeafEvents)(search, codec)
        self.decoded = codec.decode
        self._seen = 0  # number of the last event that was read
        self._known = 0  # number of the last event up to which the search knows all
        self._late = set[int]()  # own events that are repeated, because others came before them
        self._repeated: Event | None = None  # the event that the search repeats now
        self._owners = defaultdict[int, list[str]](list)  # of proposals, the present one last
        self._at_work, self._looked = set[str](), -math.inf
        self._lost_after = LOST_AFTER
        self._heart = _Heart(database, self.name, self.worker)
        self._finalizer = weakref.finalize(self, self._heart.stop, database)
        if at_work(database, self.name) - {self.worker} and database.is_on_network:
            self.close()
            raise StorageError(
                f"{database.where} is on a network file system, where several processes cannot share an "
                "SQLite file: use storage='postgresql://…', or one process with Dask workers (executor=)"
            )

    def __reduce__(self) -> NoReturn:
        raise TypeError("a search with storage cannot be copied or pickled: open it from its storage")

    # Writing ------------------------------------------------------------------------------------------

    def _append(self, kind: str, body: dict[str, Any], claim: str | None = None) -> int | None:
        """Store an event; returns its number, or ``None`` if another process was faster to claim it."""
        if self.broken is not None:
            raise StorageError(self.broken)
        try:
            with self.deciding():
                if os.getpid() != self._process:
                    raise StorageError("the search was opened before this process was forked: open it again")
                number = self.database.append(self.name, self.worker, kind, body, claim)
                if number is not None and number <= self._seen:
                    raise StorageError(
                        f"{self.database.where} is damaged: events of {self.name!r} are missing"
                    )
        except StorageError as error:
            lost = f"the next event ({kind}) was not written"
            if "reward" in body:
                lost = (
                    f"the reward {body['reward']!r} of {body['leaf']} was not written: tell it after resuming"
                )
            self.broken = f"{error}; {lost}"
            raise StorageError(self.broken) from error
        self._known += number == self._known + 1
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
            self.broken = (
                f"the search was stopped halfway ({type(error).__name__}: {error}) and may differ from its "
                f"log. No reported reward is lost: open the search from {self.database.where} again"
            )
            raise

    def write(self, kind: str, *about: Any, **body: Any) -> int | None:
        if self._repeated is not None and not (kind == "learnt" and self.learns):
            return self._repeated.number
        body, claim = self._events.written(kind, *about, **body)
        number = self._append(kind, body, claim)
        if number is None and kind == "tell":
            again = {"ask": body["ask"], "again": body["reward"], "note": body["note"]}
            self._append("note", {"note": {"told again": again}})
        if number is None:
            return None
        if number > self._known and (kind == "tell" or (claim or "").startswith("ask")):
            self._late.add(number)  # others have written what comes before it: it is repeated in its turn
            return None
        return number

    def begun(self, budget: float, lost_after: float | None) -> None:
        self._lost_after = LOST_AFTER if lost_after is None else lost_after
        self._heart.every(min(_BEAT, self._lost_after / _BEATS))
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
        events = self.database.events(self.name, self._seen)  # a long run is not held in memory
        for event, follower in pairwise(chain(events, [None])):
            assert event is not None, "only the last one has no follower"
            self._seen, self._known = event.number, max(self._known, event.number)
            try:
                self._take(event, follower is None)
            except StorageError:
                raise
            except Exception as error:
                raise StorageError(
                    f"event {event.number} ({event.kind}) of {self.database.where} cannot be repeated "
                    f"({type(error).__name__}: {error}): it belongs to another problem, or another version "
                    "of it"
                ) from error
            finally:
                self._repeated, self.learns = None, True

    def _take(self, event: Event, is_last: bool) -> None:
        """Let the search repeat an event, unless it is its own."""
        self.steering.steer(event, self._search.spent - self._search.data.known)
        own = event.worker == self.worker
        if event.kind in ("ask", "take"):
            self._owners[event.body.get("ask", event.number)].append(event.worker)
        if own and event.number not in self._late:
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
            owners = len(self._owners[proposal.number])
            claim = f"take {proposal.number} {owners - 1}"
            if self._append("take", {"ask": proposal.number}, claim) is None:
                break
            if owners > 1:
                logger.warning(
                    "%d processes ended while they evaluated %r, which is evaluated again. If it crashes its "
                    "process, run with n_jobs=1, so that it crashes a worker instead and counts as failed",
                    owners,
                    proposal.leaf,
                )
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
        return (self._owners[proposal.number] or [self.worker])[-1]

    def _is_alive(self, worker: str) -> bool:
        if worker not in self._at_work or time.monotonic() - self._looked > _LOOK:  # it may be new
            self._at_work = at_work(self.database, self.name, self._lost_after) | {self.worker}
            self._looked = time.monotonic()
        return worker in self._at_work


def at_work(database: Database, run: str, lost_after: float = LOST_AFTER) -> set[str]:
    """The processes that have neither left a run nor ended on this machine, nor are silent for too long."""
    silence = database.silence(run)
    return {worker for worker in silence if silence[worker] <= lost_after and not _has_ended(worker)}


def _has_ended(worker: str) -> bool:
    """Whether a process of this machine no longer exists."""
    host, process, here = worker.rsplit(" ", 2)
    if host != platform.node() or here.partition("-")[0] != _numbering() or sys.platform == "win32":
        return False  # on Windows a signal of 0 would end the process
    with suppress(PermissionError, ValueError):  # of another user
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return True
    return False


@cache
def _numbering() -> str:
    """Which processes share the numbers of processes: containers with one host name need not."""
    with suppress(OSError):
        boot, numbers = Path("/proc/sys/kernel/random/boot_id").read_text(), Path("/proc/self/ns/pid").stat()
        return hashlib.sha256(f"{boot}{numbers.st_ino}".encode()).hexdigest()[:8]
    return ""


class _Heart:
    """Sends heartbeats from a thread of its own."""

    def __init__(self, database: Database, run: str, worker: str) -> None:
        self._database, self._run, self._worker = database.another(), run, worker
        self._pause, self._wake, self._over, self._process = _BEAT, threading.Event(), False, os.getpid()
        self._database.beat(run, worker)
        self._thread = threading.Thread(target=self._beat, daemon=True, name="dagsearch heartbeat")
        self._thread.start()

    def every(self, pause: float) -> None:
        """Beat at this pace from now on."""
        self._pause = pause
        self._wake.set()

    def _beat(self) -> None:
        while not self._over:
            self._wake.wait(self._pause)
            self._wake.clear()
            with suppress(StorageError):  # the search itself says so if it cannot write
                self._database.beat(self._run, self._worker)

    def stop(self, database: Database) -> None:
        """Say that the process has left the run, and close the database."""
        if os.getpid() == self._process:  # else it is a fork
            self._over = True
            self._wake.set()
            self._thread.join()
            with suppress(StorageError):
                self._database.leave(self._run, self._worker)
            self._database.close()
        database.close()
