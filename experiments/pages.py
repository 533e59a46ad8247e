"""Put the tables of all results into their places in pages: ``python -m experiments.pages``.

Tests check that the pages are up to date.
"""

from pathlib import Path

from experiments import arena, costly, speed
from experiments.benchmarks import beyond
from experiments.benchmarks.selection import standings
from experiments.gallery import flow_shop, indexes, passes, pipeline
from experiments.general import long
from experiments.general import page as general
from experiments.harness import markdown
from experiments.harness.runner import Row, read_rows
from experiments.truth import measures, search, selection

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "experiments").glob("gallery/*/README.md"),
]


def parts() -> dict[str, str]:
    """All tables, by the names of their places."""
    rows = _rows("general/general")
    found = general.Measures(rows)
    return {
        **general.tables(found),
        "front": general.front(found),
        "figures": speed.figures(_rows("speed/speed")),
        **beyond.tables(RESULTS / "beyond"),
        "costly": costly.means(_rows("costly/costly")),
        **long.tables(_rows("long/long")),
        "arena": arena.scores_table(_rows("arena/arena")),
        "standings": standings(_rows("beyond/selection")),
        **flow_shop.tables(_rows("gallery/flow_shop")),
        **indexes.tables(_rows("gallery/indexes")),
        **passes.tables(_rows("gallery/passes")),
        **pipeline.tables(rows),
        "search": measures.table(search.lines(_rows("truth/search"))),
        "selection": measures.table(selection.read(RESULTS / "truth")),
    }


def _rows(name: str) -> list[Row]:
    return read_rows(RESULTS / f"{name}.csv.gz")


if __name__ == "__main__":
    made = parts()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(markdown.filled(text, made), encoding="utf-8")
