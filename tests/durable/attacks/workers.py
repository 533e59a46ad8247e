"""Worker processes whose evaluations fork, die and answer out of turn: a reward belongs to its leaf."""

import os
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dagsearch.problem import Problem
from dagsearch.problems import Subsets
from dagsearch.results import Proposal
from dagsearch.run.pools import ProcessPool
from dagsearch.run.processes import ProcessDied

WORKERS = "workers"
"""Name of what is attacked."""
MANNERS = ("plain", "return", "raise", "exit", "exec", "live on", "error", "die")
"""What an evaluation does: its forked child returns, raises, exits, fails to become another program, or lives
on while the parent returns; it raises an error itself; or it ends its process, each time."""
_PATIENCE = 600.0


class Leaf(NamedTuple):
    """What is evaluated."""

    number: int
    """Its reward."""
    manner: str
    """One of :data:`MANNERS`."""
    waits: bool
    """Whether the parent waits for the child that it forks."""


class _Forking(Subsets):
    """Evaluates a :class:`Leaf`."""

    def __init__(self) -> None:
        super().__init__(4, 2, reward=sum)

    def reward(self, leaf: Any) -> float:
        """The leaf's number, after whatever its manner is."""
        if leaf.manner == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if leaf.manner == "error":
            raise RuntimeError(f"error of {leaf.number}")
        if leaf.manner != "plain":
            child = os.fork()
            if child == 0:
                return self._in_child(leaf.manner)
            if leaf.waits and leaf.manner != "live on":
                os.waitpid(child, 0)
        return float(leaf.number)

    def _in_child(self, manner: str) -> float:
        if manner == "raise":
            raise RuntimeError("in the child")
        if manner == "exit":
            raise SystemExit(0)
        if manner == "exec":
            os.execv("/nowhere/to/be/found", ["found"])
        if manner == "live on":
            signal.pause()
        return -1.0


class WorkersWorld:
    """Two worker processes that are attacked.

    Parameters
    ----------
    folder : Path
        Not used: nothing is written.
    figures : Counter
        Counts what was tried and what went wrong.
    """

    def __init__(self, folder: Path, figures: Counter[str]) -> None:
        self.figures = figures
        self._problem: Problem = _Forking()
        self._pool = ProcessPool(2, timeout=None, deterministic=False)
        self._number = 0

    def evaluate(self, manners: Sequence[tuple[str, bool]]) -> None:
        """Evaluate leaves at once: each must get its own reward, or its own error."""
        leaves = [Leaf(self._number + place, *manner) for place, manner in enumerate(manners)]
        self._number += len(leaves)
        started = [self._pool.start(self._problem, Proposal(leaf, ())) for leaf in leaves]
        for leaf, running in zip(leaves, started, strict=True):
            found = self._outcome(running.future)
            expected = {"error": f"error of {leaf.number}", "die": "SIGKILL, 3 times in a row"}
            if leaf.manner in expected:
                assert isinstance(found, Exception), f"{leaf} has the reward {found}"
                assert expected[leaf.manner] in str(found), f"{leaf} has the error {found!r}"
            else:
                assert found == float(leaf.number), f"{leaf} has the reward {found!r}"
                self.figures["rewards told"] += 1
            self.figures["states compared"] += 1

    def _outcome(self, future: Any) -> float | Exception:
        try:
            reward: float = future.result(_PATIENCE).get()
        except (ProcessDied, RuntimeError) as error:
            return error
        return reward

    def end(self) -> None:
        """Evaluate once more."""
        self.evaluate([("plain", True)] * 3)

    def close(self) -> None:
        """End the processes."""
        self._pool.close()
