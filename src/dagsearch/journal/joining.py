"""Several processes on one run: one writes the journal, the others evaluate leaves for it.

Beside the journal ``run.db`` is a folder, ``run.db-join``, with two files for every process that joins:

- ``NAME.log`` is written by that process alone, which locks it as long as it lives. Every result is a line on
  the disk before the run hears of it.
- ``NAME.todo`` is written by the run alone: the leaves to evaluate.

Whoever is killed, every result that was paid for is in a log or in the journal. A tell in the journal names
the result that it comes from, so each is told once: a run that is continued first reads what the logs hold. A
leaf whose process has died is given to another one; the leaves that processes still evaluate for a run that
has died are waited for by the run that continues it.

Both files are used only if they belong to the account that runs the search, and nobody else may write to
them. They work wherever all processes see one folder, whose file system locks files.
"""

import json
import logging
import os
import platform
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dagsearch._internal.texts import shortened, shown
from dagsearch.errors import JournalError
from dagsearch.journal.encoding import StateCodec
from dagsearch.journal.file import LockedFile, sync_folder
from dagsearch.journal.fingerprint import check_same_problem
from dagsearch.journal.journal import has_begun, is_in_use, iter_events
from dagsearch.journal.requests import begun_at, open_own
from dagsearch.problem import Problem, State, check_members
from dagsearch.problems.functions import FunctionProblem
from dagsearch.results import Proposal
from dagsearch.run.pools import Pool, Running
from dagsearch.run.worker import RemoteError, evaluate
from dagsearch.space import Space

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# Seconds between two looks into the files, and for which a process waits for a run that nobody continues.
_GLANCE, _PATIENCE = 0.05, 600.0
# How many processes may die at a leaf before it counts as failed.
_DEATHS = 3
# How many bytes are read at once.
_CHUNK = 1 << 20


def joining_folder(journal: str | PathLike[str]) -> Path:
    """The folder through which processes join the run of a journal."""
    return Path(f"{os.path.realpath(journal)}-join")


class _Found(NamedTuple):
    """What a process has found out about a leaf."""

    name: str
    """Identifies the result."""
    leaf: Any
    """The leaf as the journal holds it."""
    reward: float | None
    """The reward; ``None`` if the evaluation failed."""
    error: str
    """Why it failed."""
    reached: Any = None
    """The leaf that was really evaluated, where that may be another one."""


def _lines(descriptor: int, offset: int) -> tuple[list[dict[str, Any]], int]:
    """The complete lines of a file from an offset on, and where they end."""
    os.lseek(descriptor, offset, os.SEEK_SET)
    data = b""
    while chunk := os.read(descriptor, _CHUNK):
        data += chunk
    end = data.rfind(b"\n") + 1
    found = list[dict[str, Any]]()
    for line in data[:end].splitlines():
        with suppress(ValueError, RecursionError):  # a line that was being written when its process died
            if isinstance(one := json.loads(line), dict):
                found.append(one)
    return found, offset + end


# The run ------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Task:
    """An evaluation that another process is to make."""

    leaf: Any
    """The leaf as the journal holds it."""
    running: Running
    """The evaluation, for the run."""
    deaths: int = 0
    """How many processes have died at it."""


class _Joiner:
    """A process that has joined, as the run sees it."""

    def __init__(self, log: Path, begun: float | None) -> None:
        self.log, self.todo = log, log.with_suffix(".todo")
        self._descriptor = open_own(log, os.O_RDONLY)
        self._offset, self._begun, self._mine = 0, begun, False
        self.alive = True
        self.tasks: dict[int, Any] = {}
        """Leaves that it was given and has not answered for, by number."""
        self._given = 0
        with suppress(OSError):
            for line in self._todo_lines():
                self.tasks[line["task"]] = line["leaf"]
                self._given = max(self._given, line["task"] + 1)

    def _todo_lines(self) -> list[dict[str, Any]]:
        descriptor = open_own(self.todo, os.O_RDONLY)
        try:
            return [line for line in _lines(descriptor, 0)[0] if {"task", "leaf"} <= line.keys()]
        finally:
            os.close(descriptor)

    def read(self) -> list[_Found]:
        """The results since the last call; whether the process lives is known afterwards."""
        alive = is_in_use(self.log)  # first: what it wrote before it died is read now
        lines, self._offset = _lines(self._descriptor, self._offset)
        self.alive, found = alive, list[_Found]()
        for line in lines:
            if "begun" in line:
                self._mine = line["begun"] == self._begun  # else it joined an earlier journal of this name
            elif self._mine and {"task", "leaf"} <= line.keys():
                self.tasks.pop(line["task"], None)
                name = f"{self.log.stem}/{line['task']}"
                error, reached = str(line.get("error", "")), line.get("reached")
                found.append(_Found(name, line["leaf"], line.get("reward"), error, reached))
        return found

    @property
    def free(self) -> bool:
        """Whether it waits for a leaf."""
        return self.alive and self._mine and not self.tasks

    def give(self, leaf: Any) -> None:
        """Let it evaluate a leaf."""
        self._write({"task": self._given, "leaf": leaf})
        self.tasks[self._given] = leaf
        self._given += 1

    def end(self) -> None:
        """Let it go: the run is over."""
        with suppress(OSError):
            self._write({"over": True})

    def _write(self, line: dict[str, Any]) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = open_own(self.todo, flags)
        try:
            # A run that was killed amid a line must not spoil the next one.
            os.write(descriptor, b"\n" + json.dumps(line, allow_nan=False).encode() + b"\n")
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Release the log."""
        os.close(self._descriptor)


class JoinedPool:
    """Evaluations in a pool of this process, and in processes that join the run.

    Parameters
    ----------
    own : Pool
        The pool of this process; it must not block while it evaluates.
    journal : path
        The journal of the run, which this process writes.
    problem : Problem
        Encodes leaves.
    timeout : float, optional
        Seconds after which an evaluation counts as failed; in a process that has joined, from when it was
        given the leaf. Such a process gets no other leaf before it answers.
    deterministic : bool
        Whether results are taken in the order in which evaluations began.
    """

    def __init__(
        self, own: Pool, journal: Path, problem: Problem, timeout: float | None, deterministic: bool
    ) -> None:
        self._own, self._timeout, self._deterministic = own, timeout, deterministic
        self._folder, self._begun = joining_folder(journal), begun_at(journal)
        self._codec = StateCodec(problem)
        self._joiners: dict[str, _Joiner] = {}
        self._mine: list[Running] = []  # of this process
        self._instead: list[tuple[Running, Running]] = []  # of this process, for those of others that died
        self._tasks: list[_Task] = []  # of others, also those that wait for one
        self._taken = {str(event.note["joined"]) for event in iter_events(journal) if "joined" in event.note}
        self._results: list[_Found] = []
        """Results that were not told and belong to no evaluation of this run yet."""
        self._trouble = ""
        self._open()
        self._look()

    def _open(self) -> None:
        with suppress(FileExistsError):
            self._folder.mkdir(mode=0o700)
            sync_folder(self._folder)
        found = self._folder.stat()
        own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or not own or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise JournalError(
                f"{self._folder} cannot be used for processes that join: it must be a folder of this account "
                "that nobody else may write to"
            )

    def _look(self) -> None:
        """Meet processes that have joined, read their results, and give away what waits."""
        for log in self._folder.glob("*.log"):
            if log.name not in self._joiners:
                try:
                    self._joiners[log.name] = _Joiner(log, self._begun)
                except OSError as error:
                    if self._trouble != str(error):  # not at every look
                        logger.warning("%s cannot be used (%s): that process does not join", log, error)
                    self._trouble = str(error)
        for joiner in self._joiners.values():
            lived = joiner.alive
            self._results += [one for one in joiner.read() if one.name not in self._taken]
            if lived and not joiner.alive:
                self._bury(joiner)
        self._match()
        for task in self._tasks:
            if not task.running.future.done() and not self._is_given(task):
                self._give(task)

    def _pass_on(self) -> None:
        """Let evaluations end that this process has made in place of another one."""
        for mine, wanted in self._instead:
            if (mine.late or mine.future.done()) and not wanted.future.done():
                wanted.late = mine.late
                if not mine.late:
                    error = mine.future.exception()
                    if error is None:
                        wanted.future.set_result(mine.future.result())
                    else:
                        wanted.future.set_exception(error)
        self._instead = [pair for pair in self._instead if not (pair[0].late or pair[0].future.done())]

    def _bury(self, joiner: _Joiner) -> None:
        """A process has died: its leaves wait for another one, unless too many have died at them."""
        for leaf in joiner.tasks.values():
            for task in self._tasks:
                if task.leaf == leaf and not task.running.future.done():
                    task.deaths += 1
                    if task.deaths == _DEATHS:
                        died = f"{_DEATHS} processes died while they evaluated it"
                        task.running.future.set_exception(RemoteError(died))
        joiner.tasks.clear()

    def _match(self) -> None:
        """Let evaluations end whose results are there."""
        for task in self._tasks:
            if task.running.future.done():
                continue
            found = next((one for one in self._results if one.leaf == task.leaf), None)
            if found is not None:
                self._results.remove(found)
                self._taken.add(found.name)
                task.running.note = {"joined": found.name}
                if found.reward is None:
                    task.running.future.set_exception(RemoteError(found.error))
                elif found.reached is None:
                    task.running.future.set_result(found.reward)
                else:
                    task.running.future.set_result((self._codec.decode(found.reached), found.reward))

    def _is_given(self, task: _Task) -> bool:
        own = any(wanted is task.running for _, wanted in self._instead)
        return own or any(task.leaf in joiner.tasks.values() for joiner in self._joiners.values())

    def _give(self, task: _Task) -> None:
        free = next((joiner for joiner in self._joiners.values() if joiner.free), None)
        if free is not None:
            free.give(task.leaf)
            task.running.started = time.monotonic()
        elif not any(joiner.alive for joiner in self._joiners.values()):  # nobody is left to wait for
            mine = self._own.start(self._problem, task.running.proposal)
            self._mine.append(mine)
            self._instead.append((mine, task.running))

    # As a pool ---------------------------------------------------------------------------------------

    def unclaimed(self, wanted: Callable[[State], bool]) -> Iterator[tuple[State, float, dict[str, str]]]:
        """Rewards that were paid for, of leaves that are not ``wanted`` to be evaluated, and their notes."""
        for one in [one for one in self._results if one.reward is not None]:
            leaf = self._codec.decode(one.leaf)
            if not wanted(leaf):
                leaf = leaf if one.reached is None else self._codec.decode(one.reached)
                self._results.remove(one)
                self._taken.add(one.name)
                yield leaf, float(one.reward or 0.0), {"joined": one.name}

    def workers(self) -> int:
        """Those of this process, and one for each process that has joined."""
        self._look()
        return self._own.workers() + sum(joiner.alive for joiner in self._joiners.values())

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Let a process that has joined evaluate a leaf, or this one."""
        self._problem = problem
        leaf = self._codec.encode(proposal.leaf)
        known = any(one.leaf == leaf for one in self._results)
        begun = any(leaf in joiner.tasks.values() for joiner in self._joiners.values())
        if not known and not begun and not any(joiner.free for joiner in self._joiners.values()):
            mine = self._own.start(problem, proposal)
            self._mine.append(mine)
            return mine
        task = _Task(leaf, Running(proposal, Future()))
        self._tasks.append(task)
        self._look()
        return task.running

    def finished(self, running: Sequence[Running], patience: float | None = None) -> list[Running]:
        """Wait until evaluations have ended or are late; returns these, in the order in which they began."""
        awaited = running[:1] if self._deterministic else running
        until = None if patience is None else time.monotonic() + patience
        while True:
            mine = [one for one in self._mine if not one.future.done()]
            if mine:
                late = self._own.finished(mine, _GLANCE)
            else:
                late = []
                if not any(one.future.done() for one in awaited):
                    time.sleep(_GLANCE)
            self._pass_on()
            self._look()
            for task in self._tasks:
                one = task.running
                one.late = one.late or (not one.future.done() and self._is_late(task))
            ended = [one for one in awaited if one.late or one.future.done() or one in late]
            if ended or (until is not None and time.monotonic() >= until):
                break
        for one in ended:
            self._forget(one)
        return ended

    def _is_late(self, task: _Task) -> bool:
        over = self._timeout is not None and self._is_given(task)
        return over and time.monotonic() - task.running.started >= (self._timeout or 0.0)

    def _forget(self, one: Running) -> None:
        self._mine = [other for other in self._mine if other is not one]
        self._tasks = [task for task in self._tasks if task.running is not one]

    def abandon(self, one: Running) -> None:
        """Wait no longer for an evaluation that may hang."""
        if any(other is one for other in self._mine):
            self._own.abandon(one)
        self._forget(one)

    def close(self) -> None:
        """Let the processes go that have joined, and remove what those left behind that have died."""
        try:
            self._own.close()
        finally:
            for joiner in self._joiners.values():
                joiner.end()
                joiner.close()
                untold = any(one.name.startswith(f"{joiner.log.stem}/") for one in self._results)
                if not joiner.alive and not untold and not self._tasks:
                    for path in (joiner.todo, joiner.log):
                        with suppress(OSError):
                            path.unlink()


def joined_pool(search: "Search", own: Pool, timeout: float | None, deterministic: bool) -> JoinedPool:
    """The pool of a run that other processes may join.

    Results that an earlier run of the journal did not take are told, unless their leaf is pending: then the
    run takes them instead of an evaluation.
    """
    pool = JoinedPool(own, search.recorder.path, search.problem, timeout, deterministic)
    try:
        for leaf, reward, note in pool.unclaimed(lambda leaf: search.data.find(leaf) is not None):
            if search.repeats or not search.index.is_closed(leaf):
                search.tell(leaf, reward, note=note)
    except BaseException:
        pool.close()
        raise
    return pool


# A process that joins ----------------------------------------------------------------------------


def join(
    journal: str | PathLike[str],
    problem: Problem | Callable[[Any], float],
    *,
    patience: float = _PATIENCE,
) -> int:
    """Take part in a run: evaluate leaves for the search that writes a journal.

    Call it in other shells, or on other machines that see the same folder, as often as you like, while one
    process runs ``ds.search(problem, budget, journal=..., join=True)``. It returns when the run is over. A
    process that joins may be killed at any time: nothing that it has finished is lost, and another one
    evaluates its leaf. If the run itself is killed, start it again; until then this function waits.

    Parameters
    ----------
    journal : path
        The journal of the run. If it does not exist yet, it is waited for.
    problem : Problem or callable
        The problem of the run, or the function that ``ds.maximize`` or ``ds.minimize`` was given.
    patience : float
        Seconds to wait for a run to begin, or to be continued.

    Returns
    -------
    int
        Number of evaluations that this process has made.

    Raises
    ------
    JournalError
        If the journal is that of another problem, or nobody continues the run.
    """
    if not patience > 0.0:
        raise ValueError(f"patience must be a positive number of seconds, got {shown(patience)}")
    path, folder = Path(os.path.abspath(journal)), joining_folder(journal)
    _wait(lambda: has_begun(path) and folder.is_dir() and is_in_use(path), path, patience)
    settings = next(iter(iter_events(path))).content
    if not isinstance(problem, Problem) and callable(problem):
        problem = FunctionProblem(problem, minimize=bool(settings["leaves"].get("minimize")))
    check_members(problem)
    check_same_problem(settings, Space.of(problem), path)
    return _Joined(path, folder, problem, patience).run()


def _wait(holds: Callable[[], bool], path: Path, patience: float) -> None:
    """Wait for a run that takes processes; raises if none comes."""
    end, told = time.monotonic() + patience, False
    while not holds():
        if not told:
            logger.warning("waiting for a run of %s with join=True", path)
            told = True
        if time.monotonic() >= end:
            raise JournalError(
                f"no run of {path} takes processes that join: run the search with journal= and join=True, "
                "then join it"
            )
        time.sleep(_GLANCE)


class _Joined:
    """A process that has joined a run, as it sees itself."""

    def __init__(self, journal: Path, folder: Path, problem: Problem, patience: float) -> None:
        self._journal, self._problem, self._patience = journal, problem, patience
        self._codec, self._done = StateCodec(problem), 0
        name = secrets.token_hex(8)
        self._todo = folder / f"{name}.todo"
        self._offset, self._over = 0, False
        # The run must not see the log before it is locked, or it would take this process for dead.
        new, log = folder / f"{name}.new", folder / f"{name}.log"
        self._log = LockedFile(new, os.O_CREAT | os.O_EXCL, 0o600)
        by = f"{platform.node()}, process {os.getpid()}"
        self._append({"begun": begun_at(journal), "by": by})
        new.rename(log)
        sync_folder(log)

    def _append(self, line: dict[str, Any]) -> None:
        try:
            self._log.append(json.dumps(line, allow_nan=False).encode() + b"\n")
        except OSError as error:
            lost = (
                f": tell the search the reward {line['reward']!r} of {line['leaf']}"
                if "reward" in line
                else ""
            )
            raise JournalError(f"cannot write to {self._log.path} ({error}){lost}") from error

    def run(self) -> int:
        """Evaluate what is asked for until the run is over; returns the number of evaluations."""
        since = time.monotonic()
        try:
            while not self._over:
                tasks = self._tasks()
                for number, leaf in tasks:
                    self._evaluate(number, leaf)
                if tasks or is_in_use(self._journal):
                    since = time.monotonic()
                elif time.monotonic() - since > self._patience:
                    raise JournalError(
                        f"nobody has continued the run of {self._journal} for {self._patience:g} seconds: "
                        f"run the search again. The {self._done} results of this process are safe"
                    )
                if not tasks:
                    time.sleep(_GLANCE)
        finally:
            self._log.close()
        return self._done

    def _tasks(self) -> list[tuple[int, Any]]:
        try:
            descriptor = open_own(self._todo, os.O_RDONLY)
        except FileNotFoundError:
            return []
        try:
            lines, self._offset = _lines(descriptor, self._offset)
        finally:
            os.close(descriptor)
        self._over = any("over" in line for line in lines)
        return [(line["task"], line["leaf"]) for line in lines if {"task", "leaf"} <= line.keys()]

    def _evaluate(self, number: int, leaf: Any) -> None:
        answer: dict[str, Any] = {"task": number, "leaf": leaf}
        outcome = evaluate(self._problem, self._codec.decode(leaf))
        if isinstance(outcome.reward, tuple):
            answer["reached"], answer["reward"] = self._codec.encode(outcome.reward[0]), outcome.reward[1]
        elif outcome.error is None:
            answer["reward"] = outcome.reward
        else:
            answer["error"] = shortened(outcome.described)
        self._append(answer)
        self._done += 1
