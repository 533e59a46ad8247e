"""The table of ``docs/truth.md``."""

from collections.abc import Mapping
from pathlib import Path

from experiments.harness.runner import read_rows
from experiments.truth import fit, pairs, search, selection
from experiments.truth.measures import table


def tables(folder: Path) -> Mapping[str, str]:
    """The parts of the page."""
    rows = read_rows(folder / "search.csv.gz")
    said, constant = search.scores(rows)
    left_out, mean = fit.left_out_score(read_rows(folder / "fitted.csv.gz"))
    return {
        "search": table(search.lines(rows)),
        "selection": table(selection.read(folder)),
        "effects": table(pairs.lines(read_rows(folder / "pairs.csv.gz"))),
        "brier": (
            f"Brier score of `probability_best`: {said:.3f}; of always stating the share that was right: "
            f"{constant:.3f}. On the problems that it was fitted on, each left out in turn: {left_out:.3f} "
            f"and {mean:.3f}."
        ),
    }
