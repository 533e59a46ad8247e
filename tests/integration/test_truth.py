"""``python -m experiments truth``: measurements of what is stated, in a small version."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine

from experiments.harness.csv_files import read_csv
from experiments.truth import selection
from experiments.truth.statement import over_groups
from experiments.truth.tables import CHOSEN_ON, TABLES, made

LOADED = {"wine": (load_wine, True), "diabetes": (load_diabetes, False)}


def measured(name, split, size, budget):
    load, classification = LOADED[name]
    data, target = load(return_X_y=True)
    table = made(data, target, classification, "linear")
    return selection.measured(table, name, split, size, budget)


def test_what_a_selector_states_is_measured_on_held_out_rows(tmp_path):
    written = selection.run(tmp_path, True, 1, False, measured, list(LOADED))
    assert [path.name for path in written] == ["selection.csv.gz", "inclusion.csv.gz", "selection.json"]
    about = json.loads(written[2].read_text())
    assert about["tables"] == list(LOADED)
    assert about["versions"]["scikit-learn"]
    cases = read_csv(written[0])
    assert len(cases) == 2 * 2 * 2
    for case in cases:
        score, expected, low, high = (float(case[name]) for name in ("score", "expected", "low", "high"))
        assert low < expected <= min(high, score)
        assert high <= 1.0
        assert int(case["fits"]) > 0
        assert float(case["none"]) < float(case["held"])
        assert float(case["held_low"]) <= float(case["held"]) <= float(case["held_high"])
    stated = {one.quantity: one for one in selection.statements(tmp_path)}
    assert stated["score_interval_: covers the score on new rows"].n == 8
    assert stated["score_interval_: covers the score on new rows"].actual >= 0.5


@pytest.mark.parametrize(("held", "covered"), [(0.86, True), (0.81, True), (0.79, False), (1.0, False)])
def test_coverage_allows_for_the_error_of_the_held_out_score(held, covered):
    case = {"expected": 0.9, "low": 0.86, "high": 0.94, "held": held}
    case |= {"held_low": held - 0.03, "held_high": held + 0.09}
    # Below, the reach is hypot(0.04, 0.09); above, hypot(0.04, 0.03).
    assert selection.covers({name: str(value) for name, value in case.items()}) == covered


def test_features_are_compared_with_those_chosen_on_other_splits():
    rows = [
        {"table": "t", "split": str(split), "size": "s", "column": "0", "probability": p, "chosen": taken}
        for split, p, taken in ((0, "0.95", "1"), (1, "0.3", "0"), (2, "nan", "1"))
    ]
    found = {one.nominal: one.actual for one in selection._inclusion(rows)}
    assert found == {0.3: 1.0, 0.95: 0.5}


def test_cases_of_a_table_are_not_independent():
    alone = over_groups("x", 0.9, {str(i): [float(i % 2)] for i in range(40)})
    grouped = over_groups("x", 0.9, {str(i): [float(i % 2)] * 10 for i in range(4)})
    assert alone.actual == grouped.actual == 0.5
    assert alone.error == pytest.approx(0.5 / np.sqrt(39))
    assert grouped.error == pytest.approx(0.5 / np.sqrt(3))


def test_stored_intervals_of_scores_hold_on_tables_that_did_not_choose_them():
    folder = Path(__file__).parents[2] / "results" / "truth"
    cases = read_csv(folder / "selection.csv.gz")
    about = json.loads((folder / "selection.json").read_text())
    assert about["tables"] == list(TABLES) == list(dict.fromkeys(case["table"] for case in cases))
    assert not {name.lower() for name in TABLES} & {name.strip().lower() for name in CHOSEN_ON.split(",")}
    covered, *_ = selection.statements(folder)
    assert covered.n == len(TABLES) * selection.SPLITS * 2
    assert covered.actual >= 0.85
    bias = next(one for one in selection.statements(folder) if one.quantity.startswith("expected_score_"))
    assert abs(bias.actual) <= 2.0 * bias.error + 0.005
