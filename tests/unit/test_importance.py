"""Importances of parts, against brute force, and causes that are known."""

from itertools import combinations

import numpy as np
import pytest

from dagsearch.report.importance import importances


def subsets(parts, size):
    has = np.zeros((len(list(combinations(range(parts), size))), parts), dtype=bool)
    for row, chosen in zip(has, combinations(range(parts), size), strict=True):
        row[list(chosen)] = True
    return has


def exact_worth(has, values):
    """Best value with each part minus the best without it."""
    return np.array([values[column].max() - values[~column].max() for column in has.T])


@pytest.mark.parametrize("seed", range(3))
def test_exact_rewards_of_all_leaves_leave_nothing_open(seed):
    has = subsets(7, 3)
    rng = np.random.default_rng(seed)
    values = has @ rng.normal(size=7) + 0.5 * rng.normal(size=len(has))
    found = importances(has, values)
    wanted = exact_worth(has, values)
    assert [one.worth for one in found] == pytest.approx(wanted, abs=0.02 * np.ptp(values))
    assert [one.probability > 0.5 for one in found] == list(wanted > 0.0)


def test_intervals_hold_where_most_leaves_are_predicted():
    has = subsets(9, 4)
    inside = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        values = has @ rng.normal(size=9) + 0.2 * rng.normal(size=len(has))
        seen = rng.permutation(len(has)) < 50
        found = importances(has[seen], values[seen], has[~seen])
        wanted = exact_worth(has, values)
        inside += [one.low <= worth <= one.high for one, worth in zip(found, wanted, strict=True)]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.08)


def test_rewards_of_one_leaf_count_together():
    has = np.repeat(np.array([[True, False], [False, True]]), 100, axis=0)
    rng = np.random.default_rng(0)
    rewards = has[:, 0] + rng.normal(size=200)
    found = importances(has, rewards)[0]
    assert found.worth == pytest.approx(1.0, abs=0.4)
    assert found.high - found.low == pytest.approx(2 * 1.645 * np.sqrt(2.0 / 100.0), rel=0.3)


def test_nothing_to_compare_is_unknown_and_equal_rewards_are_worth_nothing():
    has = np.array([[True, False, True], [True, False, False], [True, False, True]])
    always, never, some = importances(has, np.ones(3))
    assert np.isnan(always).all()
    assert np.isnan(never).all()
    assert some == (0.0, 0.0, 0.0, 0.5)
    assert np.isnan(importances(has[:1], np.array([2.0]))).all()


@pytest.mark.parametrize("unit", [1e-90, 1e90])
def test_units_do_not_matter(unit):
    has = subsets(5, 2)
    rewards = has @ np.arange(5.0)
    own, scaled = importances(has, rewards), importances(has, unit * rewards)
    assert [one.worth for one in scaled] == pytest.approx([unit * one.worth for one in own], rel=1e-6)
    assert [one.probability for one in scaled] == [one.probability for one in own]


def test_many_evaluations_are_cut_to_those_that_matter():
    rng = np.random.default_rng(0)
    has, others = rng.random((3000, 20)) < 0.3, rng.random((500, 20)) < 0.5
    effects = np.linspace(0.0, 1.0, 20)
    found = importances(has, has @ effects, others)
    every = np.vstack([has, others])
    wanted = exact_worth(every, every @ effects)
    assert [one.worth for one in found] == pytest.approx(wanted, abs=0.01)


def test_noise_that_subsets_share_does_not_average_out():
    """Effects differ from fold to fold: part 0 has one beyond that, those of the others are 0 on average."""
    rng = np.random.default_rng(0)
    has = np.unique(rng.random((80, 8)) < 0.5, axis=0)
    effects = rng.normal(size=(8, 5))
    effects[0] += 10.0
    folds = has @ effects
    shared = importances(has, folds.mean(axis=1), folds=folds)
    alone = importances(has, folds.mean(axis=1))
    assert shared[0].probability > 0.95
    certain = [sum(abs(one.probability - 0.5) > 0.45 for one in found[1:]) for found in (shared, alone)]
    assert certain[0] <= 1 < certain[1]
