"""Puts the tables of all results into the pages of ``docs`` and the gallery: ``python -m experiments.pages``.

Tests check that this would change nothing.
"""

from collections.abc import Mapping
from pathlib import Path

from experiments import speed
from experiments.benchmarks import tables as benchmarks
from experiments.gallery import flow_shop, indexes, passes, pipeline
from experiments.general import page as general
from experiments.general.measures import Measures
from experiments.harness import markdown
from experiments.harness.runner import Row, read_rows
from experiments.truth import measures, search, selection

ROOT = Path(__file__).resolve().parents[1]
RESULTS, DOCS = ROOT / "results", ROOT / "docs"


def parts() -> dict[str, Mapping[str, str]]:
    """The tables and pictures of every page, by the names of their places."""
    beyond, rows = benchmarks.tables(RESULTS / "beyond"), _rows("general/general")
    found, orders = Measures(rows), passes.tables(_rows("gallery/passes"))
    front = general.front(found)
    gallery = {
        "flow_shop": flow_shop.tables(_rows("gallery/flow_shop")),
        "indexes": indexes.tables(_rows("gallery/indexes")),
        "passes": {"results": orders["results"]},
        "pipeline": pipeline.tables(rows),
    }
    return {
        "general.md": general.tables(found),
        "speed.md": {"figures": speed.figures(_rows("speed/speed"))},
        "beyond.md": beyond,
        "selectors.md": beyond,
        "runs.md": beyond,
        "costly.md": {name: orders[name] for name in ("passes", "merging")},
        "index.md": {"front": front.format(docs="")},
        "../README.md": {"front": front.format(docs="docs/")},
        "truth.md": {
            "search": measures.table(search.lines(_rows("truth/search"))),
            "selection": measures.table(selection.read(RESULTS / "truth")),
        },
        **{f"../experiments/gallery/{name}/README.md": tables for name, tables in gallery.items()},
    }


def _rows(name: str) -> list[Row]:
    return read_rows(RESULTS / f"{name}.csv.gz")


if __name__ == "__main__":
    for page, made in parts().items():
        markdown.put(DOCS / page, made)
