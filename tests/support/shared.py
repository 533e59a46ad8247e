"""A script that several processes run at once: ``python -m support.shared STORAGE FOLDER BUDGET KIND ROLE``.

Every evaluation writes lines to a file of the folder: when it begins, and when it has ended. Roles: a process
that is ``held`` stays in its first evaluation as long as a file ``hold`` exists; one that is ``failing``
fails every evaluation. In the end it prints what it knows, as JSON.
"""

import json
import os
import sys
import time
from pathlib import Path

import dagsearch as ds
from support.steps import Walk

SECONDS = 0.05


class Evaluations:
    """The file that all processes write to."""

    def __init__(self, folder, role="run"):
        self.folder, self.role = Path(folder), role

    def write(self, word, leaf):
        """A line is complete even if the process is killed right after it was written."""
        line = f"{word} {os.getpid()} {self.role} {json.dumps(leaf)}\n"
        file = os.open(self.folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line.encode())
        os.close(file)

    def read(self, word, role=None):
        """The leaves of lines with a word, perhaps of one role."""
        path = self.folder / "log"
        rows = [line.split(" ", 3) for line in path.read_text().splitlines()] if path.exists() else []
        return [row[3] for row in rows if row[0] == word and role in (None, row[2])]

    def made(self, leaf):
        """Spend some time on a leaf."""
        self.write("begun", leaf)
        while self.role == "held" and (self.folder / "hold").exists():
            time.sleep(0.01)
        if self.role == "failing":
            raise OSError("a broken machine")
        time.sleep(SECONDS)
        self.write("ended", leaf)


class Pairs(ds.problems.Choices):
    """Two numbers with a large product."""

    def __init__(self, evaluations):
        super().__init__({"a": range(12), "b": range(12)}, reward=self.measured)
        self.evaluations = evaluations

    def measured(self, chosen):
        self.evaluations.made([chosen["a"], chosen["b"]])
        return float(chosen["a"] * chosen["b"])


class Encoded(Pairs):
    """States are encoded as tuples, which JSON makes lists of."""

    def encode(self, state):
        return tuple(super().encode(state))


class Steps(Walk):
    """Costly steps."""

    def __init__(self, evaluations):
        self.evaluations = evaluations

    def expand(self, at, action):
        self.evaluations.made([*at, action])
        return super().expand(at, action)


KINDS = {"pairs": Pairs, "encoded": Encoded, "steps": Steps}


def main(storage, folder, budget, kind, role, lost_after):
    problem = KINDS[kind](Evaluations(folder, role))
    where = {"storage": storage, "lost_after": float(lost_after), "on_error": "skip"}
    result = ds.search(problem, int(budget), seed=0, **where)
    known = [[str(one.leaf), one.reward] for one in result.history]
    print(
        json.dumps(
            {"stopped": result.stopped, "known": known, "best": [str(result.best_state), result.best_reward]}
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
