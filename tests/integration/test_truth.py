"""What is stated against what is true: the problems, the measures, and the stored results."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_wine

from experiments.harness.runner import read_rows
from experiments.truth import search, selection
from experiments.truth.fresh import FRESH
from experiments.truth.measures import line
from experiments.truth.selection import CHOSEN_ON, TABLES, made

RESULTS = Path(__file__).parents[2] / "results" / "truth"


def test_other_numbers_are_other_problems():
    for name, known in FRESH.items():
        one, two = known.make(0), known.make(1)
        points = one.space.sample(50, np.random.default_rng(0))
        if one.space.size == two.space.size:
            assert not np.allclose(one.scores(points), two.scores(points)), name


def test_statements_about_one_problem_count_once_in_the_error():
    alike = line("x", "0.5", [1.0] * 50 + [0.0] * 50, ["a"] * 50 + ["b"] * 50)
    apart = line("x", "0.5", [1.0] * 50 + [0.0] * 50, list(map(str, range(100))))
    assert alike.actual == apart.actual == 0.5
    assert alike.error == pytest.approx(0.5, rel=0.01)
    assert apart.error == pytest.approx(0.05, rel=0.01)


# What the stored files say ---------------------------------------------------------------------------------


def test_what_is_stated_holds_on_problems_that_nothing_was_fitted_on():
    rows = read_rows(RESULTS / "search.csv.gz")
    assert {row.setting for row in rows} == set(FRESH)
    for one, (_, nominal) in zip(search.lines(rows), search.STATED.values(), strict=True):
        assert one.actual >= float(nominal) - 0.05, one


# Feature selection -------------------------------------------------------------------------------------

LOADED = {
    "wine": lambda: made(*load_wine(return_X_y=True), True, "linear"),
    "diabetes": lambda: made(*load_diabetes(return_X_y=True), False, "linear"),
}


def test_what_a_selector_states_is_measured_on_held_out_rows(tmp_path):
    outcome = selection.run(1, True, LOADED)
    written = outcome.write(tmp_path)
    assert [path.name for path in written] == ["selection.csv.gz", "inclusion.csv.gz", "selection.json"]
    about = json.loads(written[2].read_text())
    assert about["tables"] == list(LOADED)
    assert about["versions"]["scikit-learn"]
    cases = pd.read_csv(written[0]).to_dict("records")
    assert len(cases) == 2 * 2 * 2
    for case in cases:
        score, expected, low, high = (case[name] for name in ("score", "expected", "low", "high"))
        assert low < expected <= min(high, score)
        assert high <= 1.0
        assert case["fits"] >= 0
        assert case["none"] < case["held"]
        assert case["held_low"] <= case["held"] <= case["held_high"]
    covered, *_ = selection.read(tmp_path)
    assert covered.statements == 8
    assert covered.actual >= 0.5
    assert "covers the score on new rows" in selection.summary(outcome)


@pytest.mark.parametrize(("held", "covered"), [(0.86, True), (0.81, True), (0.79, False), (1.0, False)])
def test_coverage_allows_for_the_error_of_the_held_out_score(held, covered):
    case = {"expected": 0.9, "low": 0.86, "high": 0.94, "held": held}
    case |= {"held_low": held - 0.03, "held_high": held + 0.09}
    # Below, the reach is hypot(0.04, 0.09); above, hypot(0.04, 0.03).
    assert selection.covers(pd.DataFrame([case])).tolist() == [covered]


def test_features_are_compared_with_those_chosen_on_other_splits():
    rows = [
        {"table": "t", "split": split, "size": "s", "column": 0, "probability": p, "chosen": taken}
        for split, p, taken in ((0, 0.95, 1), (1, 0.3, 0), (2, np.nan, 1))
    ]
    found = {one.nominal: one.actual for one in selection.inclusion(pd.DataFrame(rows))}
    assert found == {"0.30": 1.0, "0.95": 0.5}


def test_stored_intervals_of_scores_hold_on_tables_that_did_not_choose_them():
    folder = RESULTS
    cases = pd.read_csv(folder / "selection.csv.gz")
    about = json.loads((folder / "selection.json").read_text())
    assert about["tables"] == list(TABLES) == cases["table"].unique().tolist()
    assert not {name.lower() for name in TABLES} & {name.strip().lower() for name in CHOSEN_ON.split(",")}
    covered, *others = selection.read(folder)
    assert covered.statements == len(TABLES) * selection.SPLITS * 2
    assert covered.actual >= 0.85
    bias = next(one for one in others if one.quantity.startswith("`expected_score_"))
    assert abs(bias.actual) <= 2.0 * bias.error + 0.005
