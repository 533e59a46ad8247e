"""``python -m experiments benchmark long``: thousands of evaluations, on six problems too large to solve."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from experiments.general.methods import LONG, OURS
from experiments.general.page import STYLES
from experiments.general.problems import LARGE
from experiments.general.suite import Suite
from experiments.harness.curves import OWN_MS, curves
from experiments.harness.drawing import legend_below, panels
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Outcome, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKS = (500, 1000, 2000, 3000)
"""Numbers of evaluations in the table."""


def tables(rows: Iterable[Row]) -> dict[str, str]:
    """The table of the page: the mean best score at some steps, with errors at the end; the best in bold.

    Methods that were stopped earlier are in the picture alone.
    """
    found, lines = curves(rows), []
    for problem in LARGE:
        of_problem = {method: curve for (method, name), curve in found.items() if name == problem}
        longest = max((curve.steps[-1] for curve in of_problem.values()), default=0)
        whole = {method: curve for method, curve in of_problem.items() if curve.steps[-1] == longest}
        best = max((curve.mean[-1] for curve in whole.values()), default=0.0)
        for method, curve in whole.items():
            reached = [f"{curve.mean[curve.at(m)]:#.5g}" if m <= longest else "–" for m in MARKS]
            reached[-1] += f" ± {curve.error[-1]:.2g}"
            reached[-1] = f"**{reached[-1]}**" if curve.mean[-1] == best else reached[-1]
            own = f"{found[method, f'{problem}, {OWN_MS}'].mean[-1]:.1f}"
            lines.append([f"`{problem}`", method, *reached, own])
    return {"long": table(["problem", "method", *map(str, MARKS), OWN_MS], lines)}


def draw(rows: Iterable[Row]) -> Mapping[str, "Figure"]:
    """Mean of the best so far against evaluations, by problem."""
    found = curves(rows)
    shown = [problem for problem in LARGE if any(name == problem for _, name in found)]
    drawn, places = panels(len(shown), 3)
    for axes, problem in zip(places, shown, strict=True):
        for (method, name), curve in found.items():
            if name == problem:
                axes.plot(curve.steps, curve.mean, label=method, **STYLES[method])
        ours = found.get((OURS, problem))
        if ours is not None:  # earlier values are so low that they would squeeze the rest
            axes.set_ylim(bottom=float(ours.mean[ours.at(50)]))
        axes.set(title=problem, xlabel="evaluations")
        axes.grid(alpha=0.25, linewidth=0.6)
    legend_below(drawn, places)
    drawn.supylabel("best so far, mean of all runs", fontsize="medium")
    return {"long": drawn}


SUITE = Suite("long", LONG, LARGE, 5, draw)
run = SUITE.run


def summary(outcome: Outcome) -> str:
    """The table for a terminal."""
    return aligned(tables(outcome.rows)["long"])
