"""What is compared: beam search, which keeps the best texts of each length, and the published ULTS."""

from functools import partial

import numpy as np

import dagsearch as ds
from experiments.gallery.frame import Method
from experiments.gallery.text import (
    OURS,
    REFERENCE,
    ULTS_WIDTHS,
    WIDTHS,
    beam,
    ults,
    ults_of,
)
from experiments.gallery.text.problem import Continuation, Text
from experiments.harness.evaluations import EvaluationFailed, Evaluations


class Calls:
    """What is counted: one call of the model. The reward is a complete text's log-likelihood.

    Calls that any earlier method or run has made are looked up, which saves time but no calls.
    """

    _known: dict[tuple[str, str], Text] = {}  # noqa: RUF012 - shared by all runs of a process

    def __init__(self, problem: Continuation) -> None:
        self.problem = problem

    def __call__(self, added: str) -> float:
        """Ask the model what comes after some characters; raises an error if the text is not complete yet."""
        text = self.asked(added)
        if len(added) < self.problem.length - 1:
            raise EvaluationFailed("the text is not complete")
        return self.log_p(added) + text.log_p[0]

    def asked(self, added: str) -> Text:
        """What the model says after some characters."""
        key = (self.problem.prompt, added)
        if key not in self._known:
            self._known[key] = self.problem.asked(added)
        return self._known[key]

    def log_p(self, added: str) -> float:
        """Log-likelihood of some characters after the prompt."""
        total = 0.0
        for count, character in enumerate(added):
            before = self.asked(added[:count])
            total += before.log_p[before.characters.index(character)]
        return total


class Counted(Continuation):
    """The problem with counted calls."""

    def __init__(self, problem: Continuation, evaluate: Evaluations) -> None:
        super().__init__(problem.prompt, problem.length, problem.model)
        self._evaluate, self._calls = evaluate, Calls(problem)

    def asked(self, added: str) -> Text:
        """Ask the model; the call counts."""
        self._evaluate.or_worst(added)
        return self._calls.asked(added)


def ours(evaluate: Evaluations, seed: int, problem: Continuation) -> None:
    """``ds.search`` without any setting."""
    ds.search(Counted(problem, evaluate), evaluate.budget, seed=seed)


def beam_search(evaluate: Evaluations, seed: int, problem: Continuation, width: int) -> None:
    """Keep the ``width`` most probable texts of each length; it draws nothing at random."""
    counted = Counted(problem, evaluate)
    texts, totals = [counted.asked("")], np.zeros(1)
    for _ in range(problem.length - 1):
        sums = totals[:, None] + np.array([text.log_p for text in texts])
        best = np.argsort(-sums, axis=None, kind="stable")[:width]
        totals = sums.ravel()[best]
        chosen = [divmod(int(one), sums.shape[1]) for one in best]
        texts = [counted.asked(texts[text].added + texts[text].characters[rank]) for text, rank in chosen]


def ults_search(evaluate: Evaluations, seed: int, problem: Continuation, width: int) -> None:
    """The published package."""
    ults.search(Counted(problem, evaluate), width, seed)


def methods(problem: Continuation) -> dict[str, Method]:
    """The methods by name for one prompt, ours first."""
    found: dict[str, Method] = {OURS: partial(ours, problem=problem)}
    for width in (*WIDTHS, REFERENCE):
        found[beam(width)] = partial(beam_search, problem=problem, width=width)
    if ults.is_installed():
        found |= {ults_of(width): partial(ults_search, problem=problem, width=width) for width in ULTS_WIDTHS}
    return found


def budget(method: str, length: int) -> int:
    """Most calls that a method may make: those of the widest beam that it is compared with."""
    width = REFERENCE if method == beam(REFERENCE) else max(WIDTHS)
    return 1 + width * (length - 1)
