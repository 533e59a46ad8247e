"""Parts of a search: when one is left, which is next, and what its model knows."""

from contextlib import closing

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.data import Data
from dagsearch.proposers import parts
from dagsearch.proposers.parts import next_part, promise
from support.runs import cut_off, events, knowledge

SHORT = 14
"""Number of evaluations below which no part is left, in these tests."""


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(parts, "_SHORTEST", SHORT)


def spiked(chosen):
    """Most rewards are about alike, so that parts are soon left."""
    return float(sum(chosen) % 7) + 1e-3 * min(chosen)


def problem(n=14, k=4):
    return ds.problems.Subsets(n, k, spiked)


def searched(budget, n=14, k=4, **settings):
    search = ds.Search.default(problem(n, k), initial=6, seed=1, **settings)
    search.run(budget)
    return search


def rewarded(*rewards):
    """Data with these rewards of parts, one after the other."""
    data = Data(lambda leaf: leaf)
    for number, own in enumerate(rewards):
        for reward in own:
            data.add(data.evaluation(len(data), (), reward, 0.0, part=number, asked=True))
    return data


RISING = np.arange(60.0).tolist()
STILL, LATER = [*RISING, *[0.0] * 55], [*RISING, *[0.0] * 300]
"""A part that has stood still for a while, with a promise of about 1/2, and much later."""


def test_a_part_that_improves_goes_on():
    assert next_part(rewarded(RISING).parts, 0) == 0


def test_a_part_that_stands_still_is_left_for_a_new_one():
    assert next_part(rewarded(LATER).parts, 0) == 1


def test_no_part_is_left_while_its_model_is_still_learning(monkeypatch):
    monkeypatch.setattr(parts, "_SHORTEST", 1000)
    assert next_part(rewarded(LATER).parts, 0) == 0
    assert next_part(rewarded(LATER, [0.0] * 900).parts, 1) == 1


def test_the_best_part_goes_on_while_it_promises_more_than_a_new_one():
    assert 1.0 / 2.0 < promise(rewarded(STILL).parts[0], 2) < 2.0 / 3.0
    assert 1.0 / 6.0 < promise(rewarded(LATER).parts[0], 2) < 1.0 / 5.0
    assert promise(rewarded(LATER).parts[0], 51) > 1.0 / 51.0  # a new best is rare by then
    behind = [0.0] * 20
    assert next_part(rewarded(STILL).parts, 0) == next_part(rewarded(STILL, behind).parts, 0) == 0
    assert next_part(rewarded(LATER, behind, behind).parts, 0) == 3
    assert next_part(rewarded(LATER, *[behind] * 49).parts, 0) == 0


def test_a_part_that_is_behind_the_median_of_the_others_at_the_same_age_is_left():
    ahead, behind = (np.arange(20.0) + 0.5).tolist(), (np.arange(20.0) - 0.5).tolist()
    low = [-1.0] * 20
    assert next_part(rewarded(STILL, ahead).parts, 1) == 1
    assert next_part(rewarded(STILL, behind).parts, 1) == 0
    assert next_part(rewarded(STILL, behind[: SHORT - 1]).parts, 1) == 1
    assert next_part(rewarded(LATER, behind).parts, 1) == 2
    assert next_part(rewarded(STILL, low, behind).parts, 2) == 2  # ahead of the median, that of 13 and -1
    assert next_part(rewarded(STILL, low, [*behind[:SHORT], *[0.0] * SHORT]).parts, 2) == 0
    assert next_part(rewarded(STILL, low, [*ahead[:SHORT], *[0.0] * (SHORT - 1)]).parts, 2) == 2
    assert next_part(rewarded(STILL, [*ahead, *[0.0] * 1000]).parts, 1) == 0  # older than the best one


def test_rewards_that_the_search_did_not_ask_for_do_not_end_a_part():
    search = ds.Search.default(problem(), initial=6, seed=0)
    for leaf in search.space.random_leaves:
        search.tell(leaf, spiked(leaf), known=True)
    for leaf in [frozenset({0, 1, 2, last}) for last in range(3, 14)]:
        search.tell(search.propose(leaf), spiked(leaf))
    search.ask()
    assert search.posterior.part == 0


def test_a_part_begins_with_random_leaves_and_knows_its_own_rewards_only():
    search = searched(80)
    assert len(search.data.parts) > 1
    for number, part in enumerate(search.data.parts):
        assert all(one.predicted is None for one in part.evaluations[:6]), number
        assert all(one.predicted is not None for one in part.evaluations[6:]), number
    own = {one.row for one in search.data.parts[search.posterior.part].evaluations}
    assert set(search.posterior.scores._leaves.tolist()) == own


def test_nothing_is_asked_twice_and_the_best_is_that_of_all_parts():
    search = searched(100)
    assert len(search.data.parts) > 1
    assert len({one.leaf for one in search.history}) == 100
    assert search.result().best_reward == max(one.reward for one in search.history)


def test_the_belief_over_a_leaf_of_another_part_is_its_own_reward():
    search = searched(80)
    for one in search.history:
        assert search.belief(one.leaf).g.mean == pytest.approx(one.reward, abs=0.01)


def test_a_tiny_problem_is_searched_completely():
    result = searched(1000, 9, 3).result()
    assert (len(result.history), result.stopped, result.probability_best) == (84, "exhausted", 1.0)


def test_searches_with_noise_and_with_descents_have_one_part():
    for search in (
        ds.Search.default(problem(), initial=6, noisy=True, seed=0),
        ds.Search.paper(problem(), seed=0),
    ):
        search.run(50)
        assert [one.part for one in search.history] == [0] * 50


def test_a_late_reward_goes_to_the_part_that_asked_for_it():
    search = ds.Search.default(problem(), initial=6, seed=1)
    late = search.ask(3)
    while search.posterior.part == 0:
        proposal = search.ask()
        search.tell(proposal, spiked(proposal.leaf))
    for one in late:
        assert search.tell(one, spiked(one.leaf)).part == 0
    assert len(search.posterior.told) == len(search.data.parts[1])


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 1.0])
def test_a_resumed_search_is_in_the_same_part_and_knows_the_same(tmp_path, share):
    search = searched(80, storage=tmp_path / "run.db")
    assert len(search.data.parts) > 1
    search.close()
    count = int(share * len(events(tmp_path / "run.db")))
    again = cut_off(tmp_path / "run.db", count, tmp_path / "copy.db")
    with closing(ds.Search.resume(again, problem())) as resumed:
        resumed.run(80 - len(resumed.history)) if share < 1.0 else None
        assert knowledge(resumed) == knowledge(search)


def test_a_proposal_that_another_process_was_faster_to_make_leaves_the_part_as_it_was(tmp_path):
    search = ds.Search.default(problem(), initial=6, seed=1)
    while search.posterior.part == 0:
        before = knowledge(search)
        proposal = search.decide()
        entered = search.posterior.part
        search.withdraw(proposal)
        assert search.turn == before[-4]
        assert knowledge(search)[0] == before[0]
        proposal = search.ask()
        assert search.posterior.part == entered
        search.tell(proposal, spiked(proposal.leaf))
