"""How does it most probably go on? A language model."""

from collections.abc import Sequence

import numpy as np

from experiments.gallery import frame
from experiments.harness import markdown

WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20)
"""Widths of beam search that we are compared with."""
ULTS_WIDTHS = (5, 20)
"""Limits of the published ULTS; the first is its default."""
REFERENCE = 50
"""Width of the beam that stands for the best there is, together with whatever else was found."""
SHARE = 0.6
"""Part of a beam's calls after which it is compared, too."""
OURS = "dagsearch"
RUNS_PER_PROMPT = 100
"""A run's number is that of its prompt, times this, plus its seed."""


def beam(width: int) -> str:
    """The method's name."""
    return f"beam of {width}"


def ults_of(width: int) -> str:
    """The method's name."""
    return f"ULTS of {width}"


class Curves:
    """What each method has found for each prompt, seeds averaged."""

    def __init__(self, runs: Sequence[frame.Run]) -> None:
        self._found: dict[str, dict[int, frame.Run]] = {}
        for run in runs:
            self._found.setdefault(run.method, {})[run.seed] = run

    def __contains__(self, method: str) -> bool:
        return method in self._found

    def calls(self, method: str) -> dict[int, int]:
        """Number of calls of every run."""
        return {number: len(run.best) for number, run in self._found[method].items()}

    def mean_calls(self, method: str) -> float:
        """Mean number of calls."""
        return float(np.mean(list(self.calls(method).values())))

    def final(self, method: str) -> float:
        """Mean log-likelihood at the end."""
        return float(np.mean([run.best[-1] for run in self._found[method].values()]))

    def after(self, share: float, other: str, method: str = OURS) -> float:
        """Mean log-likelihood after a share of another method's calls, prompt by prompt."""
        calls = self.calls(other)
        runs = self._found[method]
        return float(np.mean([_after(runs[number], share * count) for number, count in calls.items()]))

    def needed(self, other: str) -> float | None:
        """Percent of another method's calls after which ours is as good on average; the smallest number."""
        goal = self.final(other) - 1e-9
        return next((share for share in range(1, 101) if self.after(share / 100.0, other) >= goal), None)

    def best(self) -> dict[int, float]:
        """The best that any method has found for each prompt."""
        found: dict[int, float] = {}
        for runs in self._found.values():
            for number, run in runs.items():
                prompt = number // RUNS_PER_PROMPT
                found[prompt] = max(found.get(prompt, -np.inf), run.best[-1])
        return found

    def optimal(self, method: str) -> float:
        """Share of runs that ended with the best that any method has found."""
        best = self.best()
        runs = self._found[method].items()
        return float(
            np.mean([run.best[-1] >= best[number // RUNS_PER_PROMPT] - 1e-4 for number, run in runs])
        )


def _after(run: frame.Run, calls: float) -> float:
    """The best after a number of calls, rounded down; nothing is found before the first one."""
    return run.best[min(int(calls), len(run.best)) - 1] if calls >= 1.0 else -np.inf


def compared(runs: Sequence[frame.Run]) -> str:
    """Log-likelihoods at equal numbers of calls."""
    curves, rows = Curves(runs), []
    for name in (*map(beam, WIDTHS), *map(ults_of, ULTS_WIDTHS)):
        if name in curves:
            needed = curves.needed(name)
            rows.append(
                [
                    name,
                    f"{curves.mean_calls(name):.0f}",
                    f"{curves.final(name):.2f}",
                    f"{curves.after(SHARE, name):.2f}",
                    f"{curves.after(1.0, name):.2f}",
                    "more" if needed is None else f"{needed} %",
                ]
            )
    heads = [
        "mean log-likelihood",
        "calls",
        "its own",
        f"ours, {SHARE:.0%} of its calls",
        "ours, all its calls",
    ]
    return markdown.table([*heads, "calls for the same"], rows)


def table(runs: Sequence[frame.Run]) -> str:
    """The same, and how often the best known text is found."""
    curves = Curves(runs)
    ends = [
        [name, f"{curves.mean_calls(name):.0f}", f"{curves.final(name):.2f}", f"{curves.optimal(name):.0%}"]
        for name in (OURS, beam(max(WIDTHS)), beam(REFERENCE))
        if name in curves
    ]
    heads = ["at the end", "calls", "mean log-likelihood", "best known text"]
    return f"{compared(runs)}\n\n{markdown.table(heads, ends)}"
