"""Small runs that keep a journal and write down, outside the journal, what was paid for."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dagsearch.journal.journal import has_begun, read_events
from dagsearch.problems import Subsets
from dagsearch.search import Search

_ITEMS, _CHOSEN = 12, 3
_WEIGHTS = np.random.default_rng(0).normal(size=_ITEMS)
_WORKERS = 3


class Logged(Subsets):
    """Writes every evaluation to a file before it is made."""

    def __init__(self, log: "Log") -> None:
        super().__init__(_ITEMS, _CHOSEN, reward=self._value)
        self._log = log

    def _value(self, leaf: frozenset[int]) -> float:
        self._log.write("paid", leaf)
        return float(_WEIGHTS[sorted(leaf)].sum()) + 0.1 * (min(leaf) % 3)


class Log:
    """A file of lines; a line is complete even if the process is killed right after it was written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, word: str, leaf: frozenset[int]) -> None:
        """Append a line."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(descriptor, f"{word} {sorted(leaf)}\n".encode())
        os.close(descriptor)

    def leaves(self, word: str) -> list[str]:
        """The leaves of the lines with this word."""
        text = self._path.read_text() if self._path.exists() else ""
        lines = (line.split(" ", 1) for line in text.splitlines())
        return [leaf for first, leaf in lines if first == word]


@dataclass(frozen=True)
class Workload:
    """A run that can be interrupted and continued."""

    make: Callable[..., Search]
    """Makes the search; called with the problem, ``seed`` and ``journal``."""
    budget: int
    """Number of evaluations."""
    workers: int = 1
    """Number of evaluations at once."""
    repeats: bool = False
    """Whether the search may evaluate a leaf again."""

    def run(self, journal: Path, log: Path) -> None:
        """Begin the run, or continue it, to its end; writes down every reward that was confirmed."""
        written = Log(log)
        search = self.resume(journal, log) if has_begun(journal) else self._begin(journal, log)
        try:
            left = self.budget - len(search.history)
            if left <= 0:
                return
            with ThreadPoolExecutor(self.workers) as executor:
                several: dict[str, Any] = {"executor": executor, "deterministic": True}
                for evaluation in search.steps(left, **(several if self.workers > 1 else {})):
                    written.write("told", evaluation.leaf)
        finally:
            search.close()

    def _begin(self, journal: Path, log: Path) -> Search:
        return self.make(Logged(Log(log)), seed=0, journal=journal)

    def resume(self, journal: Path, log: Path) -> Search:
        """The search of a journal."""
        return Search.resume(journal, Logged(Log(log)))


def told(journal: Path) -> list[tuple[Any, ...]]:
    """The rewards of a journal, and the beliefs before each, which must be equal to the last bit."""
    events = (event.content for event in read_events(journal) if "reward" in event.content)
    return [(sorted(e["leaf"]), e["reward"], e["expected"], e["actions"]) for e in events]


WORKLOADS: dict[str, Workload] = {
    "paper": Workload(Search.paper, 10),
    "default": Workload(lambda *args, **more: Search.default(*args, initial=4, **more), 10),
    "noisy": Workload(
        lambda *args, **more: Search.default(*args, initial=4, noisy=True, **more), 10, repeats=True
    ),
    "batch": Workload(lambda *args, **more: Search.default(*args, initial=4, **more), 10, workers=_WORKERS),
}
