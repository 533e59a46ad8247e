"""The tables in ``docs`` from the files of ``python -m experiments benchmark``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.benchmarks import beyond
from experiments.benchmarks.selection import FOLDS, METHODS, OURS, standings
from experiments.benchmarks.selection_tables import TASKS
from experiments.harness.markdown import table
from experiments.harness.runner import Curve, Row, curves, read_rows

Curves = Mapping[tuple[str, str], Curve]


def tables(folder: Path) -> dict[str, str]:
    """Every table, by name."""
    rows = {name: read_rows(folder / f"{name}.csv.gz") for name in ("synthetic", "digits", "tictactoe")}
    rows |= {name: read_rows(folder / f"{name}.csv.gz") for name in ("mnist", "batches", "selection")}
    found = curves(rows["selection"])
    batches = [row for row in rows["batches"] if row.setting.startswith("split")]
    return {
        "synthetic": beyond.means(rows["synthetic"], (15, 20, 25, 50), 2, "found by"),
        "digits": beyond.means(rows["digits"], (50, 100, 200), 4),
        "tictactoe": beyond.means(rows["tictactoe"], (50, 75, 100, 150, 200), 3),
        "mnist": beyond.means(rows["mnist"], (100, 200, 400, 800, 1200), 3),
        "batches": beyond.means(batches, (50, 100, 160, 200), 4, first="mean of three splits"),
        "selection": _selection(found),
        "overhead": _overhead(found),
        "standings": _standings(rows["selection"]),
        "picture": "![Held-out scores of all methods](../results/beyond/selection.png)",
    }


def _selection(found: Curves) -> str:
    """Mean held-out scores, the cross-validated ones in brackets; the best held-out one in bold."""
    methods = [method for method in METHODS if any(method == known for known, _ in found)]
    rows = []
    for name in TASKS:
        held = [found[method, f"{name}, held out"].mean[0] for method in methods]
        inside = [found[method, f"{name}, cross-validated"].mean[0] for method in methods]
        best = max(np.round(held, 3))
        cells = [f"{h:.3f} ({c:.3f})" for h, c in zip(held, inside, strict=True)]
        cells = [f"**{cell}**" if round(h, 3) == best else cell for h, cell in zip(held, cells, strict=True)]
        rows.append([name, *cells])
    return table(["table", *methods], rows)


def _standings(rows: Sequence[Row]) -> str:
    """On how many tables ours is ahead, level or behind; level is within one standard error."""
    compared = standings(rows)
    lines = []
    for method in METHODS:
        ours = [standing for (other, _), standing in compared.items() if other == method]
        if ours:
            ahead = sum(standing.ahead > standing.error for standing in ours)
            behind = sum(standing.behind for standing in ours)
            lines.append([method, str(ahead), str(len(ours) - ahead - behind), str(behind)])
    never = sum(not any(s.behind for (_, other), s in compared.items() if other == name) for name in TASKS)
    lines.append([f"tables where no method is ahead of ours: {never} of {len(TASKS)}", "", "", ""])
    return table(["against", "ours ahead", "level", "ours behind"], lines)


def _overhead(found: Curves) -> str:
    own, whole = (
        found[OURS, f"overhead, {what}"].mean[-1]
        for what in ("own ms", f"{FOLDS}-fold logistic regression ms")
    )
    head = ["own time per subset", f"{FOLDS}-fold logistic regression, 1,000 × 50", "ratio"]
    return table(head, [[f"{own:.1f} ms", f"{whole:.1f} ms", f"{own / whole:.2f}"]])
