"""Beliefs that are brought up to date where somebody looks."""

from itertools import pairwise

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.posterior.landmarks import InducedScores
from dagsearch.values.refresh import Eager, Lazy
from support.journals import history, kept, replayed, state
from support.searches import BEST_UNEVEN, refreshing, uneven_value


@pytest.mark.parametrize("kind", ["kernel", "weights"])
def test_scores_are_those_of_now_wherever_one_looks(kind):
    search = refreshing(Lazy(above=0, growth=100.0), kind)
    search.run(60)
    assert search.refresh.selective
    graph, scores = search.explored.graph, search.explored.scores
    stale = scores.moments()[0].copy()
    looked = {node: search.explored.score(node) for node in range(len(graph))}
    fresh = scores.refitted(scores.covariance, scores.noise, graph.states)
    told = [
        search.engine.learner.standardizer.standardized(episode) for episode in search.engine.learner.told
    ]
    fresh.condition_all([e.leaf for e in told], [e.reward for e in told], [e.noise for e in told])
    assert [g.mean for g in looked.values()] == pytest.approx(fresh.mean, abs=1e-6)
    assert [g.variance for g in looked.values()] == pytest.approx(fresh.variance, abs=1e-6)
    assert np.abs(stale - fresh.mean).max() > 1e-3  # others were left alone


@pytest.mark.parametrize("kind", ["kernel", "weights"])
def test_values_on_the_way_follow_from_the_children(kind):
    search = refreshing(Lazy(above=0, growth=100.0), kind)
    search.run(60)
    explored, graph = search.explored, search.explored.graph
    proposal = next(p for p in iter(search.ask, None) if len(p.path) > 2)
    for pending in search.pending[:-1]:
        search.forget(pending)
    search.tell(proposal, uneven_value(proposal.leaf))
    before = graph.v_mean[: len(graph)].copy()
    nodes = explored.around([proposal.path])
    explored.scores.refresh(nodes)
    search.backup.back_up(explored, [], nodes)
    assert graph.v_mean[: len(graph)] == pytest.approx(before, abs=1e-9)
    explored.scores.refresh()
    search.backup.back_up(explored, [])
    assert np.abs(graph.v_mean[: len(graph)] - before).max() > 1e-3  # elsewhere they were old


def test_all_nodes_are_done_in_time():
    rewards = []

    class Watched(Lazy):
        def nodes(self, explored, paths, count):
            found = super().nodes(explored, paths, count)
            if found is None:
                rewards.append(count)
            return found

    refreshing(Watched(above=0, growth=1.5)).run(80)
    last = [r for r in rewards if r > 10]
    assert all(later <= np.ceil(1.5 * one) for one, later in pairwise(last))
    assert len(set(last)) < 10


def test_small_dags_are_exact_all_the_time():
    exact, lazy = refreshing(Eager()), refreshing(Lazy(above=10_000))
    assert exact.run(50) == lazy.run(50)


@pytest.mark.parametrize("settings", [{"above": -1}, {"above": 0.5}, {"growth": 1.0}, {"growth": np.nan}])
def test_bad_settings_are_named(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Lazy(**settings)


def test_a_back_up_that_needs_all_nodes_gets_them():
    search = refreshing(Lazy(above=0), backup=ds.backups.JointSamples(16))
    assert isinstance(search.refresh, Eager)
    search.run(15)


@pytest.mark.parametrize("kind", ["kernel", "weights"])
def test_journals_are_replayed_to_the_last_bit(kind, tmp_path):
    def make():
        return refreshing(Lazy(above=30, growth=1.3), kind)

    search = kept(make(), tmp_path / "run.db")
    search.run(60)
    search.ask(3)
    again = replayed(make, tmp_path / "run.db")
    assert history(again) == history(search)
    assert search.ask() == again.ask()
    assert state(again)[4:6] == state(search)[4:6]


def test_many_rewards_are_told_by_landmarks(monkeypatch, tmp_path):
    monkeypatch.setattr("dagsearch.posterior.function._MOST_EXACT", 60)

    def make():
        return refreshing(Lazy(above=30, growth=1.3))

    search = kept(make(), tmp_path / "run.db")
    result = search.run(150)
    assert isinstance(search.explored.scores, InducedScores)
    assert result.best_reward >= uneven_value(BEST_UNEVEN) - 0.3
    again = replayed(make, tmp_path / "run.db")
    assert search.ask(2) == again.ask(2)
