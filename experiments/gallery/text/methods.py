"""What is compared: beam search, which keeps the best texts of each length, and the published ULTS."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from experiments.gallery.text.problem import Continuation, Text


class Found(NamedTuple):
    """What a method has found."""

    calls: int
    """Number of calls of the model."""
    log_p: float
    """Logarithm of the continuation's probability."""
    text: str
    """The continuation."""


class Asked:
    """Calls of the model that any method has made before are looked up, which saves time but no calls."""

    def __init__(self, problem: Continuation) -> None:
        self._asked: Callable[[str], Text] = problem.asked
        self._known: dict[str, Text] = {}

    def __call__(self, added: str) -> Text:
        """What the model says after a text."""
        if added not in self._known:
            self._known[added] = self._asked(added)
        return self._known[added]


def beam_search(problem: Continuation, width: int) -> Found:
    """Keep the ``width`` most probable texts of each length."""
    beam, totals, calls = [problem.asked("")], np.zeros(1), 1
    for _ in range(problem.length - 1):
        sums = totals[:, None] + np.array([text.log_p for text in beam])
        best = np.argsort(-sums, axis=None, kind="stable")[:width]
        chosen = [(beam[one // sums.shape[1]], one % sums.shape[1]) for one in best]
        totals = sums.ravel()[best]
        beam = [problem.asked(text.added + text.characters[number]) for text, number in chosen]
        calls += len(beam)
    totals = totals + np.array([text.log_p[0] for text in beam])
    found = int(np.argmax(totals))
    return Found(calls, float(totals[found]), problem.whole(beam[found]))
