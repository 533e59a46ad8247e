"""Several leaves at once: pending ones, told in any order, late, never, or taken back."""

import pickle

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import Overlap, SetKernel
from dagsearch.errors import SearchExhausted
from dagsearch.space import Space
from support.searches import SEARCHES, linear_subsets


def told(make, count=25):
    chosen = linear_subsets()
    search = make(chosen)
    search.run(count)
    return chosen, search


def beliefs(search):
    """Mean and variance of g of leaves, some of which were evaluated."""
    return search.index.scores.predict(search.space.random_leaves)


@pytest.mark.parametrize("name", SEARCHES)
def test_pending_leaves_lower_the_variance_and_leave_the_mean(name):
    _, search = told(SEARCHES[name])
    before = beliefs(search)
    search.ask(4)
    search.ask()  # sees four pending ones
    mean, variance = beliefs(search)
    assert mean == pytest.approx(before[0], abs=1e-12)
    assert np.all(variance <= before[1] + 1e-12)
    assert np.any(variance < before[1] - 1e-6)


@pytest.mark.parametrize("name", SEARCHES)
def test_taking_back_pending_leaves_restores_the_model(name):
    _, search = told(SEARCHES[name])
    root = search.problem.root()
    before, visits = beliefs(search), search.belief(root).visits
    asked = search.ask(9)
    assert search.pending == tuple(asked)
    for proposal in (asked[4], *asked[:4], *asked[5:]):
        search.forget(proposal)
    assert search.pending == ()
    assert beliefs(search) == (pytest.approx(before[0], abs=1e-8), pytest.approx(before[1], abs=1e-8))
    assert search.belief(root).visits == visits
    with pytest.raises(ValueError, match="is not pending"):
        search.forget(asked[0])


@pytest.mark.parametrize("name", ["default", "paper"])
def test_a_leaf_that_was_taken_back_can_be_asked_for_again(name):
    chosen = ds.problems.Subsets(5, 2, reward=sum)
    search = SEARCHES[name](chosen)
    if name == "paper":  # which repeats leaves anyway
        search.forget(search.ask())
        return
    asked = search.ask(100)
    assert {proposal.leaf for proposal in asked} == {frozenset(p) for p in _pairs(5)}
    with pytest.raises(SearchExhausted):
        search.ask()
    search.forget(asked[3])
    assert search.ask().leaf == asked[3].leaf
    for proposal in asked[:3] + asked[4:]:
        search.tell(proposal, sum(proposal.leaf))
    assert len(search.pending) == 1


def _pairs(n):
    return [(i, j) for i in range(n) for j in range(i)]


@pytest.mark.parametrize("name", SEARCHES)
def test_rewards_may_come_in_any_order_late_or_never(name):
    chosen, search = told(SEARCHES[name], 10)
    asked = search.ask(12)
    for proposal in asked[::-2]:
        search.tell(proposal, chosen.reward(proposal.leaf))
    search.tell(frozenset({0, 1, 2, 3}), chosen.reward(frozenset({0, 1, 2, 3})))  # never asked for
    search.run(10)
    search.tell(asked[0], chosen.reward(asked[0].leaf))
    assert len(search.history) == 10 + 6 + 1 + 10 + 1
    assert len(search.pending) == 5
    result = search.result()
    assert result.best_reward <= max(evaluation.reward for evaluation in search.history) + 1e-12


@pytest.mark.parametrize("name", ["default", "paper"])
def test_told_in_any_order_the_model_is_the_same(name):
    chosen = linear_subsets()
    found = []
    for order in (slice(None), slice(None, None, -1)):
        search = SEARCHES[name](chosen)
        search.posterior.evidence = None  # the order decides when it learns
        asked = search.ask(6)  # all of them standardise the rewards
        for proposal in asked[order]:
            search.tell(proposal, chosen.reward(proposal.leaf))
        found.append([search.belief(leaf).g for leaf in Space(chosen).random_leaves[:5]])
    for one, other in zip(*found, strict=True):
        assert one.mean == pytest.approx(other.mean)
        assert one.variance == pytest.approx(other.variance)


def test_results_do_not_know_what_is_pending():
    _, search = told(SEARCHES["default"])
    root = search.problem.root()
    before, result = search.belief(root), search.result()
    search.ask(5)
    assert search.belief(root).g.variance == pytest.approx(before.g.variance)
    assert search.result() == result


def test_a_leaf_that_failed_need_not_be_asked_for_again():
    search = ds.Search.default(ds.problems.Subsets(4, 2, reward=sum), seed=0)
    failed = search.ask()
    search.forget(failed, again=False)
    assert search.pending == ()
    assert failed.leaf not in {proposal.leaf for proposal in search.ask(100)}
    assert len(search.pending) == 5


@pytest.mark.parametrize("covariance", [None, SetKernel() + 0.5 * Overlap()])
def test_a_search_can_be_saved_and_goes_on_as_if_nothing_had_happened(covariance):
    search = ds.Search.default(
        ds.problems.Subsets(12, 3, reward=sum), covariance=covariance, initial=6, seed=0
    )
    search.run(15)
    asked = search.ask(3)
    copy = pickle.loads(pickle.dumps(search))
    for one in (search, copy):
        for proposal in one.pending:
            one.tell(proposal, sum(proposal.leaf))
        one.run(10)
    assert [e.leaf for e in copy.history] == [e.leaf for e in search.history]
    assert {proposal.leaf for proposal in asked} <= {e.leaf for e in copy.history}


def test_a_proposal_that_has_travelled_is_known_by_its_leaf():
    _, search = told(SEARCHES["default"], 10)
    for _ in range(3):
        copy = pickle.loads(pickle.dumps(search.ask()))
        search.tell(copy, 1.0)
    search.forget(pickle.loads(pickle.dumps(search.ask())))
    assert search.pending == ()


def test_an_interrupted_ask_leaves_nothing_pretended(monkeypatch):
    chosen, search = told(SEARCHES["default"])
    (first, *_) = search.ask(3)
    search.without_fantasies()

    def interrupted(nodes):
        type(search.index.scores).fantasised(search.index.scores, nodes[:1])
        raise KeyboardInterrupt

    monkeypatch.setattr(search.index.scores, "fantasised", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search.ask()
    monkeypatch.undo()
    search.tell(first, chosen.reward(first.leaf))
    assert len(search.pending) == 2


def test_of_many_pending_leaves_only_the_last_count_as_observed():
    """So that the cost of an ask does not grow with their number."""
    search = ds.Search.default(ds.problems.Subsets(40, 3, reward=sum), initial=4, seed=0)
    search.run(6)
    search.ask(140)
    search.posterior.fantasise([one.leaf for one in search.pending])
    assert 64 <= search.index.scores._factor.size - 6 < 128


def test_failures_at_the_beginning_do_not_keep_the_model_from_learning():
    """Ten random leaves standardise the rewards; if nine of them fail, two rewards have to do."""
    search = ds.Search.default(ds.problems.Subsets(20, 4, reward=sum), initial=10, seed=0)
    for _ in range(9):
        search.forget(search.ask(), again=False)
    rewards = {}
    for _ in range(2):
        proposal = search.ask()
        rewards[proposal.leaf] = 100.0 + sum(proposal.leaf)
        search.tell(proposal, rewards[proposal.leaf])
    assert search.posterior.informed
    for leaf, reward in rewards.items():
        assert search.belief(leaf).g.mean == pytest.approx(reward, abs=2.0)
