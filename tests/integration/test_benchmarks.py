"""Every benchmark of ``python -m experiments benchmark``, small, and the pages with the committed results."""

from pathlib import Path

import pytest

from experiments import benchmarks
from experiments.benchmarks import digits, game
from experiments.benchmarks import tables as page_tables
from experiments.benchmarks.variants import SET_ABLATIONS


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["synthetic", "tictactoe", "calibration", "selection", "batches", "portfolio"]
)
def test_benchmarks_run(name, tmp_path, monkeypatch):
    monkeypatch.setattr(game, "STEPS", (25, 50))
    outcome = benchmarks.run(name, quick=True, progress=False)
    assert {path.suffix for path in outcome.write(tmp_path)} == {".gz", ".json", ".png", ".pdf"}
    assert benchmarks.summary(outcome)


@pytest.mark.slow
def test_the_digits_benchmark_runs_with_all_peers():
    outcome = digits.run(digits.Settings(runs=1, budget=25, splits=1), jobs=1, progress=False)
    methods = {row.method for row in outcome.rows}
    assert set(SET_ABLATIONS) <= methods
    assert "TPE (Optuna)" in methods
    steps = {(row.method, row.setting): row.step for row in outcome.rows}
    assert steps["dagsearch", "split 0"] == 25


def test_there_is_no_such_benchmark():
    with pytest.raises(ValueError, match="no benchmark 'chess'"):
        benchmarks.run("chess")


# The page ---------------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[2]


def test_the_tables_of_the_page_are_those_of_the_results():
    pages = [(ROOT / "docs" / name).read_text() for name in ("beyond.md", "selectors.md", "parallel.md")]
    tables = page_tables.tables(ROOT / "results" / "beyond")
    wanted = {"synthetic", "digits", "mnist", "tictactoe", "calibration", "batches", "portfolio"}
    wanted |= {"selection", "standings", "certainty", "covered", "overhead", "picture"}
    assert set(tables) == wanted
    for name, table in tables.items():
        assert any(table in page for page in pages), (
            f"put the output of experiments.benchmarks.tables there: {name}"
        )
