"""A problem whose evaluations are logged, and a run of it that other processes join."""

import os
import sys
import time
from pathlib import Path

import dagsearch as ds


class Logged(ds.problems.Choices):
    """Every evaluation writes a line; in a process with ``HELD`` it waits as long as a file exists."""

    def __init__(self):
        super().__init__({"a": range(12), "b": range(12)}, reward=self.measured)
        self.folder = Path(os.environ["FOLDER"])

    def measured(self, chosen):
        with (self.folder / "log").open("a") as log:
            log.write(f"{os.environ.get('ROLE')} {chosen['a']} {chosen['b']}\n")
        while os.environ.get("ROLE") == "held" and (self.folder / "hold").exists():
            time.sleep(0.01)
        if os.environ.get("ROLE") == "failing":
            raise OSError("a broken machine")
        time.sleep(0.05)
        return chosen["a"] * chosen["b"]


if __name__ == "__main__":
    journal, budget = Path(os.environ["FOLDER"]) / "run.db", int(sys.argv[1])
    result = ds.search(Logged(), budget, seed=0, journal=journal, join=True, on_error="skip")
    print(len(result.history), result.stopped)
