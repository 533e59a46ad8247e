"""Options that are numbers: placed by their value, whatever their order in the list."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import Views
from dagsearch.covariances.counts import PlaceViews
from dagsearch.problem import Layout
from dagsearch.space.moves import Ladder, OtherOptions
from dagsearch.space.numbers import numbers_of, scale_features


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([3, 1, 2], [3.0, 1.0, 2.0]),
        ([0.5, Fraction(1, 4), Decimal("0.125")], [0.5, 0.25, 0.125]),
        ([None, 1, 10, 100], [math.nan, 1.0, 10.0, 100.0]),
        (["auto", 1, 2, 3, math.inf], [math.nan, 1.0, 2.0, 3.0, math.nan]),
        (list(np.float32([1.0, 2.0, 4.0])), [1.0, 2.0, 4.0]),
        ([1, 2, 10**400, 3], [1.0, 2.0, math.nan, 3.0]),
    ],
)
def test_what_is_a_number_is_found(options, expected):
    np.testing.assert_allclose(numbers_of(options), expected)


@pytest.mark.parametrize("options", [["a", "b", "c"], [True, False], [1, 2], [1, 2, "x"], [None, (1, 2), 3]])
def test_names_and_too_few_numbers_are_not(options):
    assert numbers_of(options) is None


@pytest.mark.parametrize(
    ("numbers", "scales"),
    [
        (np.arange(1.0, 9.0), ["rank", "logarithm"]),
        (np.arange(50.0, 58.0), ["rank"]),
        (np.logspace(-5, -1, 9), ["rank", "value"]),
        (np.array([-1.0, 0.0, 1.0]), ["rank"]),
        (np.array([1.0, 10.0, 11.0, 12.0, 1000.0]), ["rank", "value", "logarithm"]),
        (np.array([1e-9, 1.0, 2.0, 3.0, 4.0, 1e3, 1e9]), ["rank", "value", "logarithm"]),
    ],
)
def test_a_scale_is_a_view_where_it_differs_from_the_others(numbers, scales):
    found = scale_features(numbers)
    named = dict(zip(("rank", "value", "logarithm"), found, strict=True))
    assert [name for name, features in named.items() if features is not None] == scales


@pytest.mark.parametrize("count", [3, 4, 9, 1000])
def test_features_are_orthogonal_polynomials_of_the_position(count):
    numbers = np.random.default_rng(count).permutation(count) * 3.0 + 100.0
    features = scale_features(numbers)[0]
    degrees = min(3, count - 1)
    gram = features.T @ features / count
    np.testing.assert_allclose(
        gram, np.diag([1.0, 0.25, 0.0625][:degrees] + [0.0] * (3 - degrees)), atol=1e-9
    )
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-9)
    assert abs(np.corrcoef(features[:, 0], numbers)[0, 1]) == pytest.approx(1.0)


def test_what_is_not_a_number_or_not_decided_has_no_features():
    layout = Layout("places", np.array([4, 3]), [np.array([np.nan, 1.0, 2.0, 3.0]), None])
    views = PlaceViews(layout.categories, layout.numbers)
    assert views.names[-1] == "number at its place, by rank"
    codes = np.array([[0, 1], [-1, 1], [2, 1]])
    numbers = views.described(codes).parts[1][:, : views.numbers.width]
    assert not numbers[:2].any()
    assert views.norms(views.described(codes), np.ones(3))[2, -1] == pytest.approx((numbers[2] ** 2).sum())


def settings(chosen):
    return -abs(math.log10(chosen["rate"]) + 3.0) - abs(chosen["depth"] - 12) / 10.0


def choices(rate, depth):
    return ds.problems.Choices({"rate": rate, "depth": depth}, settings)


def test_the_order_of_the_list_makes_no_difference():
    rng, numbers = np.random.default_rng(0), np.array([1.0, 2.0, 5.0, 10.0, 100.0])
    order, codes = rng.permutation(5), rng.integers(5, size=(12, 2))
    listed = PlaceViews(np.array([5, 5]), [numbers, numbers])
    shuffled = PlaceViews(np.array([5, 5]), [numbers[order], numbers[order]])
    place = np.argsort(order)  # where an option has gone
    for view, name in enumerate(listed.names):
        weights = np.tile(np.eye(len(listed.names))[view], (2, 1))
        grams = []
        for views, rows in ((listed, codes), (shuffled, place[codes])):
            described = views.described(rows)
            grams.append(views.compared(described, described, np.ones(4), weights))
        np.testing.assert_allclose(*grams, atol=1e-9, err_msg=name)


def test_near_numbers_are_more_alike_than_far_ones():
    problem = choices(np.logspace(-5, -1, 200), range(1, 33))
    rates = np.logspace(-5, -1, 200).tolist()
    leaves = [problem.leaf({"rate": rates[place], "depth": 5}) for place in (100, 101, 110, 190)]
    row = Views().bind(problem)(leaves)[0]
    assert row[0] >= row[1] > row[2] > row[3]


@pytest.mark.parametrize("size", [10, 10_000])
def test_neighbours_of_one_among_many_numbers_are_near_and_far(size):
    ladder = Ladder(np.random.default_rng(0).permutation(size).astype(float))
    around = ladder.around(3, np.random.default_rng(1))
    assert 3 not in around
    assert len(set(around.tolist())) == len(around) <= 2 * size.bit_length() + 8
    values = np.random.default_rng(0).permutation(size)
    apart = np.abs(values[around] - values[3])
    assert (apart == 1).any()
    assert apart.max() > size / 4


def test_many_numbers_leave_room_for_the_other_places():
    layout = Layout("places", np.array([10_000, 3]), [np.arange(10_000.0), None])
    rows = OtherOptions(layout).around(np.array([500, 1]), 100, np.random.default_rng(0))
    assert (rows[:, 1] != 1).sum() == 2
    assert len({tuple(row) for row in rows.tolist()}) == len(rows) > 20


def test_thousands_of_numbers_are_searched():
    def function(choose):
        return settings(
            {"rate": choose("rate", np.logspace(-5, -1, 2_000)), "depth": choose("depth", range(1, 10_001))}
        )

    result = ds.maximize(function, 60, seed=0)
    # Of 300 random searches of this budget, 97 in 100 end below −1.1.
    assert result.best_reward > -1.0
