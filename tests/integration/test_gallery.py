"""The gallery: every application small, the comparison they share, and what each of them computes."""

import json

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.gallery.flow_shop import COUNT, makespan, neh, taillards
from experiments.gallery.passes.compiler import installed
from experiments.harness.contest import Contest, compare
from experiments.harness.curves import by_run, by_setting, differences, means, units
from experiments.harness.evaluations import EvaluationFailed, Evaluations
from experiments.harness.runner import Row, read_rows

SMALL = {
    "flow_shop": ("order:", "NEH + local search"),
    "indexes": ("CREATE INDEX", "greedy per byte"),
    "passes": ("passes:", "whole orders"),
    "pipeline": ("choices:", None),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_an_application_answers_and_is_compared(name, tmp_path, capsys):
    answer, method = SMALL[name]
    if name == "passes" and installed() is None:
        pytest.skip("libLLVM is not installed")
    assert main(["gallery", name, "--quick", "--out", str(tmp_path)]) == 0
    assert answer in capsys.readouterr().out
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert 0 < about["evaluations"] <= 30
    assert about["commit"]
    if method is not None:
        assert main(["benchmark", name, "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
        assert f"| {method}" in capsys.readouterr().out
        assert (tmp_path / f"{name}.png").exists()
        assert method in {row.method for row in read_rows(tmp_path / f"{name}.csv.gz")}


# The comparison --------------------------------------------------------------------------------------


def climb(evaluate, seed):
    point = seed
    while True:
        evaluate.or_worst(point)
        point += 1


def reward(point):
    if point == 2:
        raise EvaluationFailed
    return float(point % 5)


def test_a_run_ends_with_its_budget_and_failures_count():
    rows = compare([Contest("p", {"climb": climb}, reward, 4, shown=lambda value: -value)], seeds=2)
    found = [(row.round, row.step, row.value) for row in rows if row.setting == "p"]
    assert found == [(0, 1, 0.0), (0, 2, -1.0), (0, 4, -3.0), (1, 1, -1.0), (1, 3, -3.0), (1, 4, -4.0)]
    every = units(rows, (1, 2, 3, 4), by_run)
    assert every["climb"].tolist() == [[0.0, -1.0, -1.0, -3.0], [-1.0, -1.0, -3.0, -4.0]]


def test_a_point_costs_once_even_if_it_fails():
    evaluate = Evaluations(reward, 3)
    assert [evaluate(1), evaluate(1)] == [1.0, 1.0]
    for _ in range(2):
        with pytest.raises(EvaluationFailed):
            evaluate(2)
    assert evaluate.rewards == [1.0, -np.inf]


def test_tables_have_means_over_units_and_differences_within_them():
    values = {("ours", "a"): (1.0, 3.0), ("ours", "b"): (5.0, 7.0), ("other", "a"): (0.0, 1.0)}
    values[("other", "b")] = (4.0, 5.0)
    rows = [Row(*key, seed, 1, value) for key, pair in values.items() for seed, value in enumerate(pair)]
    rows += [Row(method, "a, own ms", 0, 1, 2.0) for method in ("ours", "other")]
    assert "| ours | 4.00 ± 2.00 | 2.0 |" in means(rows, (1,), 2, by_setting)
    assert "| other | +1.50 ± 0.00 |" in differences(rows, (1,), 2, by_setting)


# The flow shop ---------------------------------------------------------------------------------------

TA001_FIRST_MACHINE = [54, 83, 15, 71, 77, 36, 53, 38, 27, 87, 76, 91, 14, 29, 12, 77, 32, 87, 68, 94]
NEH_PUBLISHED = [1286, 1365, 1159, 1325, 1305, 1228, 1278, 1223, 1291, 1151]


def test_the_generator_makes_the_published_instance():
    assert [row[0] for row in taillards(1).times] == TA001_FIRST_MACHINE


def test_neh_has_its_published_makespans():
    shops = [taillards(number) for number in (1, COUNT)]
    assert [makespan(shop.times, neh(shop.times)) for shop in shops] == NEH_PUBLISHED[::9]


def test_the_simulation_is_the_recurrence_of_the_literature():
    rng = np.random.default_rng(0)
    for number in range(1, COUNT + 1):
        times, order = taillards(number).times, rng.permutation(20).tolist()
        done = np.zeros(len(times[0]) + 1)
        for job in order:
            for machine, time in enumerate(times[job]):
                done[machine + 1] = max(done[machine], done[machine + 1]) + time
        assert makespan(times, order) == done[-1] >= taillards(number).best_known
