"""What is stated against what is true: the problems, the measures, and the stored results."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import dagsearch.optimum
from experiments.__main__ import main
from experiments.harness.peers import ascend
from experiments.harness.runner import Row, read_rows
from experiments.truth import fit, search
from experiments.truth.fitted import FITTED
from experiments.truth.fresh import FRESH, best_walk, smooth_field, tables
from experiments.truth.known import found
from experiments.truth.measures import BINS, line, stops

RESULTS = Path(__file__).parents[2] / "results" / "truth"


def test_no_problem_is_both_fitted_and_tested_on():
    assert not FITTED.keys() & FRESH.keys()
    assert len(FITTED) >= 40
    assert len(FRESH) >= 14


@pytest.mark.parametrize("name", ["chain", "thresholds", "team"])
def test_climbing_reaches_the_best_score_that_is_declared_and_no_more(name):
    known = FITTED[name]
    instance, best, rng = known.make(1), known.best(1), np.random.default_rng(0)
    ends = []
    for start in instance.space.sample(400, rng):
        _, score = ascend(instance.scores, start, lambda point: instance.space.neighbours(point, rng))
        ends.append(score)
        if found(score, best):
            break
    assert found(max(ends), best)
    assert max(ends) <= best + 1e-9 * abs(best)


def test_the_best_walk_is_the_best_of_all_walks():
    for number in range(5):
        assert best_walk(smooth_field(number, 12)) == pytest.approx(FRESH["walk"].best(number))


def test_the_best_letters_of_every_group_have_the_best_score_together():
    known = FRESH["groups"]
    counts, order = tables(3)
    point = np.zeros(24, dtype=np.int64)
    point[order] = np.ravel([np.unravel_index(table.argmax(), table.shape) for table in counts])
    assert found(float(known.make(3).scores(point[None])[0]), known.best(3))


def test_other_numbers_are_other_problems():
    for name, known in {**FITTED, **FRESH}.items():
        one, two = known.make(0), known.make(1)
        points = one.space.sample(50, np.random.default_rng(0))
        if one.space.size == two.space.size and name not in {
            "labs",
            "ackley",
            "tumours",
            "numerals",
            "diabetes",
        }:
            assert not np.allclose(one.scores(points), two.scores(points)), name


def test_statements_about_one_problem_count_once_in_the_error():
    alike = line("x", "0.5", [1.0] * 50 + [0.0] * 50, ["a"] * 50 + ["b"] * 50)
    apart = line("x", "0.5", [1.0] * 50 + [0.0] * 50, list(map(str, range(100))))
    assert alike.actual == apart.actual == 0.5
    assert alike.error == pytest.approx(0.5, rel=0.01)
    assert apart.error == pytest.approx(0.05, rel=0.01)


def test_the_first_stop_of_a_run_counts():
    said = {
        ("a", 0): [(0.95, 1.0), (0.95, 1.0), (0.95, 0.0), (0.99, 1.0)],
        ("b", 0): [(0.5, 0.0), (0.92, 0.0), (0.92, 0.0), (0.92, 1.0)],
        ("b", 1): [(0.95, 1.0), (0.95, 1.0), (0.7, 1.0)],
    }
    rows = [
        row
        for (problem, number), asked in said.items()
        for step, (certain, true) in enumerate(asked)
        for row in (
            Row(search.PROBABILITY, problem, number, step, certain),
            Row(search.CAUTIOUS, problem, number, step, certain),
            Row(search.FOUND, problem, number, step, true),
        )
    ]
    rows += [Row(name, "a", 0, 0, 1.0) for name in search.INTERVALS]
    (stop,) = [one for one in search.lines(rows) if one.quantity == "stop by `confidence=0.9`"]
    assert (stop.actual, stop.statements) == (0.5, 2)


def test_the_small_version_runs(tmp_path, capsys):
    assert main(["truth", "search", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "probability_best" in capsys.readouterr().out
    rows = read_rows(tmp_path / "search.csv.gz")
    assert {row.setting for row in rows} == {"walk", "columns", "valley"}


# What the stored files say ---------------------------------------------------------------------------------


def test_the_weights_in_the_library_are_those_that_were_fitted():
    rows = read_rows(RESULTS / "fitted.csv.gz")
    assert {row.setting for row in rows} == set(FITTED)
    assert np.round(fit.fitted(rows), 2).tolist() == list(dagsearch.optimum._ODDS)
    left_out, constant = fit.left_out_score(rows)
    assert left_out < 0.8 * constant


def test_stored_probabilities_are_those_of_the_present_weights():
    asked = stops(
        read_rows(RESULTS / "search.csv.gz"),
        [search.PROBABILITY, search.MODEL, search.PATIENCE, search.SKILL],
    )
    values = asked.said
    signs = zip(values[search.MODEL], values[search.PATIENCE], values[search.SKILL], strict=True)
    now = np.array([dagsearch.optimum.Signs(*one).probability for one in signs])
    enumerated = values[search.PROBABILITY] == 1.0
    assert values[search.PROBABILITY][~enumerated] == pytest.approx(now[~enumerated], abs=1e-3)


def test_what_is_stated_holds_on_problems_that_nothing_was_fitted_on():
    rows = read_rows(RESULTS / "search.csv.gz")
    assert {row.setting for row in rows} == set(FRESH)
    said, constant = search.scores(rows)
    assert said < 0.9 * constant
    by_name = {one.quantity: one for one in search.lines(rows)}
    for low, high in pairwise(BINS):
        one = by_name.get(f"`probability_best` from {low:g} to {high:g}")
        assert one is None or low - 1.5 * one.error <= one.actual <= high + 1.5 * one.error, one
    assert by_name["stop by `confidence=0.9`"].actual >= 0.9
    for quantity in search.INTERVALS.values():
        assert by_name[quantity].actual >= 0.85, quantity
