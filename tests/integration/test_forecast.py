"""The measured coverage of forecasts, and that the experiment runs."""

from pathlib import Path

import pytest

from dagsearch.forecasts import FITTED
from experiments.benchmarks.forecast import OTHERS, SHIPPED, measured, table
from experiments.harness.runner import read_rows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rows():
    return read_rows(ROOT / "results" / "forecast" / "forecast.csv.gz")


def test_forecasts_hold_as_often_as_they_should(rows):
    *_, line = table(rows).splitlines()
    name, *shares = line.strip("| ").split(" | ")
    assert name == "all"
    assert len(shares) == 7
    assert all(0.8 <= float(share) <= 0.95 for share in shares)


def test_coverage_is_measured_from_the_rewards_in_the_file(rows):
    """With the coefficients in use, which the file was written with."""
    kept = [row for row in rows if row.setting == "cover" or row.setting.startswith("cover,")]
    told = [row for row in kept if row.method in ("reward", "prediction")]
    again = [row for row in measured(told) if row.method == SHIPPED]
    assert again == [row for row in kept if row.method == SHIPPED]
    assert {row.method for row in rows} == {"reward", "prediction", SHIPPED, OTHERS}
    assert len(FITTED.hazard) + len(FITTED.size) == 9
