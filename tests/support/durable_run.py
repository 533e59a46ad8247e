"""A run in its own process, which a test can kill: ``python -m support.durable_run JOURNAL LOG BUDGET JOBS``."""

import os
import resource
import signal
import sys
from pathlib import Path

import dagsearch as ds
from support.problems import Sum, value

N_INITIAL, SEED = 10, 3


class Logged(Sum):
    """Notes every evaluation in a file before it is made."""

    def __init__(self, log):
        super().__init__()
        self.log = str(log)

    def reward(self, leaf):
        line = "-".join(map(str, sorted(leaf))) + "\n"
        file = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
        return value(leaf)


def search(journal, log):
    problem = Logged(log)
    if Path(journal).exists():
        return ds.Search.resume(journal, problem)
    return ds.Search.default(problem, initial=N_INITIAL, seed=SEED, journal=journal)


def main(journal, log, budget, jobs):
    run = search(journal, log)
    if "DURABLE_LIMIT" in os.environ:
        run.run(int(os.environ["DURABLE_LIMIT"]))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        room = os.path.getsize(f"{journal}-wal") + 20_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    execution = {"n_jobs": int(jobs), "deterministic": True} if int(jobs) > 1 else {}
    left = int(budget) - len(run.history)
    if left > 0:
        run.run(left, **execution)
    run.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
