"""Puts the tables of all results into the pages of ``docs``: ``python -m experiments.pages``.

Tests check that this would change nothing.
"""

from collections.abc import Mapping
from pathlib import Path

from experiments import costly, speed
from experiments.benchmarks import tables as benchmarks
from experiments.gallery import frame, passes
from experiments.general import page as general
from experiments.general.measures import Measures
from experiments.harness import markdown
from experiments.harness.runner import read_rows
from experiments.truth import measures, search, selection

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS, GALLERY = ROOT / "results", ROOT / "docs", ROOT / "experiments" / "gallery"


def parts() -> dict[str, Mapping[str, str]]:
    """The tables and pictures of every page, by the names of their places."""
    beyond = benchmarks.tables(RESULTS / "beyond")
    found = Measures(read_rows(RESULTS / "general" / "general.csv.gz"))
    front = general.front(found)
    orders = frame.read(GALLERY / "passes")
    return {
        "general.md": general.tables(found),
        "speed.md": {"figures": speed.figures(read_rows(RESULTS / "speed" / "speed.csv.gz"))},
        "beyond.md": beyond,
        "selectors.md": beyond,
        "runs.md": beyond,
        "costly.md": {
            "costly": costly.means(read_rows(RESULTS / "costly" / "costly.csv.gz")),
            "passes": passes.means(orders),
            "merging": passes.merging(orders),
        },
        "index.md": {"front": front.format(docs="")},
        "../README.md": {"front": front.format(docs="docs/")},
        "truth.md": {
            "search": measures.table(search.lines(read_rows(RESULTS / "truth" / "search.csv.gz"))),
            "selection": measures.table(selection.read(RESULTS / "truth")),
        },
    }


if __name__ == "__main__":
    for page, made in parts().items():
        markdown.put(DOCS / page, made)
