"""Which indexes? PostgreSQL."""

from collections.abc import Sequence

import numpy as np

from experiments.gallery import frame


def table(runs: Sequence[frame.Run]) -> str:
    """The comparison in Markdown: costs, and the number of evaluations until greedy's cost is reached."""
    (greedy,) = (run for run in runs if run.method == "greedy")
    spent = len(greedy.best)
    counts = sorted({min(count, spent) for count in (50, 100, spent // 5, spent)})
    lines = [frame.table(runs, counts, digits=4), ""]
    for method in dict.fromkeys(run.method for run in runs if run.method != "greedy"):
        reached = [_first(run.best, greedy.best[-1]) for run in runs if run.method == method]
        known = [count for count in reached if count is not None]
        text = "never"
        if known:
            error = np.std(known, ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
            text = f"after {np.mean(known):.0f} ± {error:.0f} evaluations"
        lines.append(
            f"- {method} reaches greedy's final cost in {len(known)} of {len(reached)} runs, {text}; "
            f"greedy needs {spent}."
        )
    return "\n".join(lines)


def _first(best: Sequence[float], cost: float) -> int | None:
    """Number of evaluations until a cost is reached."""
    return next((count for count, value in enumerate(best, start=1) if value <= cost * (1 + 1e-7)), None)
