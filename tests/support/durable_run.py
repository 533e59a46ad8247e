"""A run in its own process, which may be killed: ``python -m support.durable_run JOURNAL LOG BUDGET JOBS``.

Two environment variables make it fail: ``DURABLE_KILL=EVALUATIONS:SECONDS`` kills it and its workers some
time after a number of evaluations have begun; ``DURABLE_LIMIT=EVALUATIONS`` lets its files grow by 20 kB and
no more after a number of evaluations.
"""

import os
import resource
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import dagsearch as ds
from support.problems import Sum, name_of, value

N_INITIAL, SEED = 10, 3


class Logged(Sum):
    """Notes every evaluation in a file before it is made."""

    def __init__(self, log):
        super().__init__()
        self.log = str(log)

    def reward(self, leaf):
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, f"{name_of(leaf)}\n".encode())
        finally:
            os.close(file)
        if "DURABLE_KILL" in os.environ:
            evaluations, seconds = os.environ["DURABLE_KILL"].split(":")
            if len(Path(self.log).read_text().splitlines()) >= int(evaluations):
                threading.Timer(float(seconds), os.killpg, (os.getpgrp(), signal.SIGKILL)).start()
        return value(leaf)


def search(journal, log):
    problem = Logged(log)
    if Path(journal).exists():
        return ds.Search.resume(journal, problem)
    return ds.Search.default(problem, initial=N_INITIAL, seed=SEED, journal=journal)


def go_on(journal, log, budget, jobs):
    """Begin a run or resume it, with threads in place of processes, and bring it to its end."""
    run = search(journal, log)
    left = budget - len(run.history)
    if left > 0:
        with ThreadPoolExecutor(jobs) as executor:
            run.run(left, **({"executor": executor, "deterministic": True} if jobs > 1 else {}))
    run.close()


def main(journal, log, budget, jobs):
    run = search(journal, log)
    if "DURABLE_LIMIT" in os.environ:
        run.run(int(os.environ["DURABLE_LIMIT"]))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = os.path.getsize(journal) + 20_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    execution = {"n_jobs": int(jobs), "deterministic": True} if int(jobs) > 1 else {}
    run.run(int(budget) - len(run.history), **execution)
    run.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
