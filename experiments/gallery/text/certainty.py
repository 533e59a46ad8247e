"""Whether stopping by certainty holds: searches that stop by themselves, beside the most probable text."""

import heapq
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import dagsearch as ds
from experiments.gallery.text.methods import Calls
from experiments.gallery.text.problem import Continuation, Text
from experiments.harness import markdown
from experiments.harness.csv_files import read_csv, write_csv

LENGTHS = (8, 12)
"""Characters that are added. The most probable text can be found for sure only if they are few."""
CONFIDENCE, MOST = 0.9, 1500
"""Probability at which a search stops, and its budget."""


class Stop(NamedTuple):
    """One search."""

    length: int
    prompt: int
    calls: int
    """Calls of the model, the first one included."""
    stopped: bool
    """Whether it was certain before its budget was spent."""
    right: bool
    """Whether it has found the most probable text; only known if it stopped."""


class Remembered(Continuation):
    """The problem with calls that are looked up if they were made before, by whatever."""

    def asked(self, added: str) -> Text:
        """Ask the model."""
        return Calls(Continuation(self.prompt, self.length, self.model)).asked(added)


def searched(problem: Continuation, number: int) -> Stop:
    """Search until it is certain, and compare."""
    result = ds.search(problem, MOST, seed=0, confidence=CONFIDENCE)
    stopped = result.stopped == "confidence"
    right = stopped and not exceeded(problem, result.best_reward or 0.0)
    return Stop(problem.length, number, 1 + len(result.history), stopped, right)


def exceeded(problem: Continuation, log_p: float) -> bool:
    """Whether a text is more probable: no character can make a text more probable than its beginning."""
    beginnings = [(0.0, "")]
    while beginnings:
        lost, added = heapq.heappop(beginnings)
        text = problem.asked(added)
        if len(added) == problem.length - 1:
            if text.log_p[0] - lost > log_p + 1e-9:
                return True
            continue
        for character, gain in zip(text.characters, text.log_p, strict=True):
            if gain - lost > log_p + 1e-9:
                heapq.heappush(beginnings, (lost - gain, added + character))
    return False


def write(path: Path, stops: Sequence[Stop]) -> None:
    """Store them as CSV."""
    write_csv(path, Stop._fields, [tuple(map(int, stop)) for stop in stops])


def read(path: Path) -> list[Stop]:
    """What :func:`write` wrote."""
    return [Stop(*(int(row[name]) for name in Stop._fields)) for row in read_csv(path)]  # type: ignore[arg-type]


def table(stops: Sequence[Stop]) -> str:
    """How often searches stop, after how many calls, and whether they are right."""
    rows = []
    for length in sorted({stop.length for stop in stops}):
        own = [stop for stop in stops if stop.length == length]
        ended = [stop for stop in own if stop.stopped]
        calls = f"{sum(stop.calls for stop in ended) / len(ended):.0f}" if ended else ""
        right = f"{sum(stop.right for stop in ended)} of {len(ended)}"
        rows.append([str(length), f"{len(ended)} of {len(own)}", calls, right])
    heads = ["characters", f"stopped within {MOST} calls", "calls until then", "right"]
    return markdown.table(heads, rows)
