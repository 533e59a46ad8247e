"""Every benchmark of ``python -m experiments benchmark``, small, and the pages with the committed results."""

import pytest

from experiments import benchmarks, pages
from experiments.benchmarks import digits, game
from experiments.benchmarks.variants import SET_ABLATIONS
from experiments.harness import markdown
from experiments.harness.runner import Request


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["synthetic", "tictactoe", "calibration", "selection", "batches", "portfolio"]
)
def test_benchmarks_run(name, tmp_path, monkeypatch):
    monkeypatch.setattr(game, "STEPS", (25, 50))
    outcome = benchmarks.run(name, Request(quick=True, progress=False))
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
        benchmarks.run("chess", Request())


# The pages --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts():
    return pages.parts()


def test_pages_show_the_results(parts):
    for page, made in parts.items():
        text = (pages.DOCS / page).read_text()
        assert markdown.filled(text, made) == text, f"run python -m experiments.pages: {page}"


def test_every_table_has_one_place(parts):
    beyond = ("beyond.md", "selectors.md", "runs.md")  # these share their tables
    texts = {page: (pages.DOCS / page).read_text() for page in parts}
    for page, made in parts.items():
        where = [texts[other] for other in (beyond if page in beyond else (page,))]
        for name in made:
            assert sum(text.count(f"<!-- {name} -->") for text in where) == 1, (page, name)
    wanted = {"synthetic", "digits", "mnist", "tictactoe", "calibration", "batches", "portfolio"}
    wanted |= {"selection", "standings", "overhead", "picture"}
    assert {name for page in beyond for name in parts[page]} == wanted
