"""``dagsearch benchmark load``, small, and its table."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from dagsearch_experiments import load
from dagsearch_experiments.runner import read_rows

ROOT = Path(__file__).parents[2]


@contextmanager
def killed_twice():
    """Processes of which two are killed, one after each of the first two rewards."""
    with load.processes() as around:
        yield around._replace(disturb=lambda number: number < 2 and around.disturb(number))


@pytest.mark.slow
def test_nothing_is_lost_or_repeated_under_load(monkeypatch, tmp_path):
    monkeypatch.setattr(load, "WORKERS", 2)
    monkeypatch.setattr(load, "KINDS", {"processes": killed_twice})
    outcome = load.run(load.Size(evaluations=40, every=0.0), progress=False)
    found = {row.setting: row.value for row in outcome.rows}
    assert found["evaluations told"] == 40
    assert found["disturbances: workers killed, or changes of their number"] == 2
    assert found["rewards that the journal lacks or has otherwise"] == 0
    assert found["leaves told twice"] == 0
    assert found["evaluations begun again"] <= 2
    written = outcome.write(tmp_path)
    assert load.table(read_rows(written[0])) in load.summary(outcome)


def test_the_table_of_the_page_is_that_of_the_results():
    page = (ROOT / "docs" / "parallel.md").read_text()
    assert load.table(read_rows(ROOT / "results" / "load" / "load.csv.gz")) in page
