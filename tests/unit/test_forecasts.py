"""Forecasts of the best reward: their form, and what they follow from."""

from itertools import pairwise

import numpy as np
import pytest

import dagsearch as ds
from dagsearch import forecasts
from dagsearch.forecasts import forecast, progress_of
from dagsearch.results import Gaussian


def of(rewards, predicted=None):
    return progress_of(rewards, [None] * len(rewards) if predicted is None else predicted)


@pytest.mark.parametrize("rewards", [[], [1.0] * 4, [1.0, 2.0, 3.0, 4.0], [3.0] * 50, [1e9] * 20])
def test_nothing_is_foretold_from_too_little(rewards):
    assert of(rewards) is None


def test_what_a_forecast_is_computed_from():
    rewards = [0.0, 1.0, 0.5, 2.0, 1.5, 4.0, 1.0, 2.0]
    predicted = [None] * 4 + [Gaussian(mean, 1.0) for mean in (1.5, 3.0, 2.0, 2.0)]
    found = of(rewards, predicted)
    assert (found.rewards, found.best, found.improvements, found.gained) == (8, 4.0, 1, 2.0)
    assert found.since_best == 2
    assert found.spread == pytest.approx(np.std(rewards))
    assert found.error == pytest.approx(np.sqrt((0 + 1 + 1 + 0) / 4))


def test_without_predictions_the_error_is_the_spread_of_the_last_rewards():
    assert of([0.0, 9.0, 1.0, 3.0, 1.0, 3.0]).error == pytest.approx(np.std([3.0, 1.0, 3.0]))


def test_more_evaluations_promise_more():
    progress = of(list(np.random.default_rng(0).normal(size=40)))
    found = [forecast(progress, n) for n in (1, 3, 10, 30, 100, 1000)]
    for one, more in pairwise(found):
        assert one.chance < more.chance
        assert one.mean < more.mean
        assert one.low <= more.low
        assert one.high <= more.high
    assert all(progress.best <= one.low <= one.high for one in found)


def test_shift_and_scale_of_rewards_only_shift_and_scale_the_forecast():
    rewards = np.random.default_rng(1).normal(size=30)
    one, other = forecast(of(rewards), 20), forecast(of(100.0 + 3.0 * rewards), 20)
    assert other.chance == pytest.approx(one.chance)
    assert other[1:4] == pytest.approx([100.0 + 3.0 * value for value in one[1:4]])


def test_the_interval_has_a_probability_of_ninety_percent(monkeypatch):
    """By samples from the model that the formulas describe: nothing with exp(-H), otherwise exponential."""
    rng, progress = np.random.default_rng(2), of([0.0, 1.0, 2.0, 1.0, 3.0, 2.5, 2.0, 1.0])
    for hazard in (0.3, 2.0, 6.0):
        monkeypatch.setattr(forecasts, "_HAZARD", (np.log(hazard), 0, 0, 0, 0))
        monkeypatch.setattr(forecasts, "_SIZE", (np.log(0.7), 0, 0, 0))
        one = forecast(progress, 5)
        gain = 0.7 * progress.spread * rng.exponential(size=200_000)
        best = progress.best + np.where(rng.random(200_000) < np.exp(-hazard), 0.0, gain)
        assert ((one.low <= best) & (best <= one.high)).mean() == pytest.approx(0.9, abs=0.005)
        assert best.mean() == pytest.approx(one.mean, abs=0.01)
        assert (best > progress.best).mean() == pytest.approx(one.chance, abs=0.005)
        assert (one.low > progress.best) == (np.exp(-hazard) < 0.05)


def test_a_search_foretells_from_its_own_record():
    problem = ds.problems.Subsets(12, 3, reward=sum)
    search = ds.Search.default(problem, seed=0)
    assert search.forecast(3) is None
    search.run(20)
    told = search.history
    assert all(one.predicted is not None for one in told[-5:])
    progress = progress_of([one.reward for one in told], [one.predicted for one in told])
    assert search.forecast(3) == forecast(progress, 3)
    with pytest.raises(ValueError, match="n must be a positive whole number"):
        search.forecast(0)


def test_an_evaluation_says_what_was_predicted():
    search = ds.Search.default(ds.problems.Subsets(12, 3, reward=sum), seed=0)
    search.run(12)
    proposal = search.ask()
    belief = search.belief(proposal.leaf).g
    predicted = search.tell(proposal, 5.0, noise=2.0).predicted
    assert tuple(predicted) == pytest.approx((belief.mean, belief.variance + 2.0))


def test_forecasts_stay_below_the_largest_reward():
    rewards = [0.90, 0.93, 0.95, 0.96, 0.97, 0.985]
    free = forecast(progress_of(rewards, [None] * 6), 50)
    assert free.high > 1.0
    bounded = forecast(progress_of(rewards, [None] * 6, 1.0), 50)
    assert bounded.high == 1.0
    assert 0.985 <= bounded.low <= bounded.mean <= 1.0
