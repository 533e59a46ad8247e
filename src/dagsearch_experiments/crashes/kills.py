"""A process that is killed (``SIGKILL``) before, amid and after every operation on its journal."""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagsearch.durable.journal import has_begun
from dagsearch_experiments.crashes.layer import Operation, recorded, watched
from dagsearch_experiments.crashes.workloads import Log, Workload, told
from dagsearch_experiments.runner import ExperimentError

_MOMENTS = ("before", "amid", "after")


def sweep(workload: Workload, folder: Path, every: int) -> Counter[str]:
    """Kill the run at one of ``every`` crash points, resume it each time, and count what went wrong."""
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
        _killed(lambda: workload.run(journal, log), number, moment)  # noqa: B023
        found["kills: crash points"] += 1
        found.update(_checked(workload, journal, log, expected))
    return found


def _killed(run: Callable[[], None], number: int, moment: str) -> None:
    """Run in a forked process, which is killed at an operation."""
    child = os.fork()
    if child == 0:
        try:
            with watched(_killer(number, moment)):
                run()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
        raise ExperimentError(f"the process was not killed {moment} operation {number}")


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


def _checked(workload: Workload, journal: Path, log: Path, expected: list[tuple[Any, ...]]) -> Counter[str]:
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
    found["kills: evaluations repeated beyond pending"] = max(0, len(paid) - len(kept) - waiting) + max(
        0, paid_again.total() - (workload.budget - len(kept))
    )
    found["kills: histories that differ"] = int(told(journal) != expected)
    return found
