"""The tables in ``docs`` from the files of ``python -m experiments benchmark``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from experiments.benchmarks.portfolio import portfolio_table
from experiments.benchmarks.selection import FOLDS, METHODS, OURS, standings
from experiments.benchmarks.selection_tables import TASKS
from experiments.harness.markdown import table
from experiments.harness.runner import Curve, Row, curves, read_rows

Curves = Mapping[tuple[str, str], Curve]


def tables(folder: Path) -> dict[str, str]:
    """Every table whose file is in the folder, by name."""
    makers = {"synthetic": _synthetic, "digits": _digits, "tictactoe": _game, "calibration": _calibration}
    makers |= {"mnist": _mnist, "selection": _selection, "overhead": _overhead, "batches": _batches}
    found = {}
    for name, make in makers.items():
        path = folder / f"{'selection' if name == 'overhead' else name}.csv.gz"
        if path.exists():
            found[name] = make(curves(read_rows(path)))
    if (folder / "selection.csv.gz").exists():
        found["standings"] = _standings(read_rows(folder / "selection.csv.gz"))
        found["picture"] = "![Held-out scores of all methods](../results/beyond/selection.png)"
    if (folder / "portfolio.csv.gz").exists():
        found["portfolio"] = portfolio_table(read_rows(folder / "portfolio.csv.gz"))
    return found


def _at(curve: Curve, step: int, digits: int = 3) -> str:
    if curve.steps[0] > step:
        return "–"
    return f"{curve.mean[curve.at(step)]:.{digits}f}"


def _synthetic(found: Curves) -> str:
    steps = (15, 20, 25, 50)
    head = ["method", *(f"found by {step}" for step in steps)]
    return table(head, [[method, *(_at(curve, s, 2) for s in steps)] for (method, _), curve in found.items()])


def _digits(found: Curves) -> str:
    methods = list(dict.fromkeys(method for method, _ in found))
    rows = []
    for method in methods:
        row = [method]
        for split in range(3):
            curve = found.get((method, f"split {split}"))
            cells = [] if curve is None else [_at(curve, step) for step in (50, 100, 200)]
            row.append(" / ".join(cells) if cells else "")
        row.append(" / ".join(_over_splits(found, method, step) for step in (100, 200)))
        row.append(_at(found[method, "split 0, own ms"], 10_000, 1))
        rows.append(row)
    head = ["method", "demo's split, at 50 / 100 / 200", "split 1", "split 2", "mean at 100 / 200", "own ms"]
    return table(head, rows)


def _over_splits(found: Curves, method: str, step: int) -> str:
    """Mean over all splits, or a dash if the method did not run on every split."""
    splits = [found.get((method, f"split {split}")) for split in range(3)]
    known = [curve.mean[curve.at(step)] for curve in splits if curve is not None]
    return f"{np.mean(known):.4f}" if len(known) == len(splits) else "–"


def _game(found: Curves) -> str:
    steps = (50, 75, 100, 150, 200)
    rows = []
    for (method, _), curve in found.items():
        perfect = int(np.sum(curve.values[:, -1] == 0.0))
        rows.append([method, *(_at(curve, s) for s in steps), f"{perfect} of {len(curve.values)}"])
    return table(["method", *(f"at {step}" for step in steps), "perfect at 200"], rows)


def _calibration(found: Curves) -> str:
    methods = list(dict.fromkeys(method for method, _ in found))
    steps = [int(step) for step in found[methods[0], "covered"].steps]
    rows = []
    for method in methods:
        covered, off = found[method, "covered"], found[method, "mean less optimum"]
        rows.append([method, *(_at(covered, step, 2) for step in steps), f"{off.mean.mean():+.2f}"])
    head = ["values by", *(f"{step} rewards" for step in steps), "mean error of the mean"]
    return table(head, rows)


def _mnist(found: Curves) -> str:
    recorded = next(iter(found.values()))
    steps = [int(recorded.steps[recorded.at(step)]) for step in (100, 200, 400, 800, 1200)]
    head = ["method", *(f"at {step}" for step in steps)]
    return table(head, [[method, *(_at(curve, s) for s in steps)] for (method, _), curve in found.items()])


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


def _batches(found: Curves) -> str:
    steps = (50, 100, 160, 200)
    methods = [method for method, setting in found if setting == "split 0"]
    rows = [[method, *(_over_splits(found, method, step) for step in steps)] for method in methods]
    return table(["mean of three splits", *(f"at {step}" for step in steps)], rows)
