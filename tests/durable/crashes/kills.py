"""A process that is killed (``SIGKILL``) before, amid and after every operation on its journal."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dagsearch.journal.journal import has_begun, read_events
from experiments.harness.runner import ExperimentError
from tests.durable.crashes.layer import Operation, recorded, watched
from tests.durable.crashes.workloads import Log, Workload, told

_MOMENTS = ("before", "amid", "after")


def sweep(workload: Workload, folder: Path, every: int) -> Counter[str]:
    """Kill the run at one of ``every`` crash points, resume it each time, and count what went wrong.

    If the kill left half an event, the process that resumes is killed, too, at one of its first operations.
    """
    whole = folder / "whole.db"
    operations = recorded(lambda: workload.run(whole, folder / "whole.log"))
    points = [
        (number, moment)
        for number, operation in enumerate(operations)
        for moment in _MOMENTS
        if moment != "amid" or operation.kind == "write"
    ]
    expected, found = told(whole), Counter[str]()
    for number, moment in points[::every]:
        journal, log = folder / f"{number}-{moment}.db", folder / f"{number}-{moment}.log"
        run = partial(workload.run, journal, log)
        if not _killed(run, number, moment):
            raise ExperimentError(f"the process was not killed {moment} operation {number}")
        found["kills: crash points"] += 1
        pending = _pending(journal)
        if moment == "amid" and _killed(run, number % 5, _MOMENTS[number % 3]):
            found["kills: crash points"] += 1
            pending += _pending(journal)
        found.update(_checked(workload, journal, log, expected, pending))
    return found


def _pending(journal: Path) -> Counter[str]:
    """The pending leaves after a kill: each of them may have been paid for in vain."""
    leaves: list[str] = []
    for event in read_events(journal) if has_begun(journal) else ():
        if event.kind == "ask":
            leaves.append(str(sorted(event.content["leaf"])))
        elif event.content.get("pending") is not None:
            leaves.pop(event.content["pending"])
    return Counter(leaves)


def _killed(run: Callable[[], None], number: int, moment: str) -> bool:
    """Run in a forked process that is killed at an operation; false if it ended before."""
    child = os.fork()
    if child == 0:
        try:
            with watched(_killer(number, moment)):
                run()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _killer(number: int, moment: str) -> Callable[[Operation, Callable[[bytes], None]], None]:
    passed = 0

    def watch(operation: Operation, carry_out: Callable[[bytes], None]) -> None:
        nonlocal passed
        passed += 1
        if passed <= number or moment == "after":
            carry_out(operation.data)
        elif moment == "amid":
            carry_out(operation.data[: len(operation.data) // 2])
        if passed > number:
            os.kill(os.getpid(), signal.SIGKILL)

    return watch


def _checked(
    workload: Workload, journal: Path, log: Path, expected: list[tuple[Any, ...]], pending: Counter[str]
) -> Counter[str]:
    """Resume, check the promises 1 to 3, and continue to the end.

    ``pending`` says how many kills a leaf was pending at.
    """
    written, found = Log(log), Counter[str]()
    confirmed, paid = written.leaves("told"), written.leaves("paid")
    found["kills: rewards confirmed"] = len(confirmed)
    kept: list[str] = []
    if has_begun(journal):
        search = workload.resume(journal, log)
        kept = [str(sorted(evaluation.leaf)) for evaluation in search.history]
        search.close()
    found["kills: rewards lost"] = sum((Counter(confirmed) - Counter(kept)).values())
    workload.run(journal, log)
    paid_again = Counter(written.leaves("paid")[len(paid) :])
    found["kills: told leaves evaluated again"] = (
        0 if workload.repeats else sum((paid_again & Counter(kept)).values())
    )
    # An evaluation that the journal does not hold was pending at a kill; after the last one none is in vain.
    in_vain = Counter(paid) - Counter(kept) - pending
    too_many = max(0, paid_again.total() - (workload.budget - len(kept)))
    found["kills: evaluations repeated beyond pending"] = in_vain.total() + too_many
    found["kills: histories that differ"] = int(told(journal) != expected)
    return found
