"""A process that is killed (``SIGKILL``) before, amid and after every operation on its journal."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dagsearch.durable.journal import has_begun
from dagsearch_experiments.crashes.layer import Operation, recorded, watched
from dagsearch_experiments.crashes.workloads import Log, Workload, told
from dagsearch_experiments.runner import ExperimentError

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
        kills = 1 + (moment == "amid" and _killed(run, number % 5, _MOMENTS[number % 3]))
        found["kills: crash points"] += kills
        found.update(_checked(workload, journal, log, expected, kills))
    return found


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
    workload: Workload, journal: Path, log: Path, expected: list[tuple[Any, ...]], kills: int = 1
) -> Counter[str]:
    """Resume, check the promises 1 to 3, and continue to the end."""
    written, found = Log(log), Counter[str]()
    confirmed, paid = written.leaves("told"), written.leaves("paid")
    found["kills: rewards confirmed"] = len(confirmed)
    kept: list[str] = []
    waiting = 0
    if has_begun(journal):
        search = workload.resume(journal, log)
        kept, waiting = [str(sorted(e.leaf)) for e in search.history], len(search.pending)
        search.close()
    found["kills: rewards lost"] = sum((Counter(confirmed) - Counter(kept)).values())
    workload.run(journal, log)
    paid_again = Counter(written.leaves("paid")[len(paid) :])
    found["kills: told leaves evaluated again"] = (
        0 if workload.repeats else sum((paid_again & Counter(kept)).values())
    )
    # Every evaluation that the journal does not hold was pending; nothing else is paid for twice.
    found["kills: evaluations repeated beyond pending"] = max(0, len(paid) - len(kept) - kills * waiting)
    found["kills: evaluations repeated beyond pending"] += max(
        0, paid_again.total() - (workload.budget - len(kept))
    )
    found["kills: histories that differ"] = int(told(journal) != expected)
    return found
