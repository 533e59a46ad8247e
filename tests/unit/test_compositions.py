"""Compositions that cannot work are refused when they are made, and the message names both parts."""

import pytest

import dagsearch as ds
from dagsearch.baselines import NoScores
from dagsearch.covariances import Overlap
from dagsearch.posterior import WeightScores
from dagsearch.proposers import Climb, Descent, Nearby, Portfolio, Random
from dagsearch.proposers.expansions import AllChildren
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Greedy, Uniform
from support.searches import linear_subsets


def parts(policy=None, rollout=None, **changed):
    return {
        "scores": WeightScores(Overlap(), 0.1),
        "proposers": Descent(policy or UpperConfidence(1.0), rollout or Uniform(), AllChildren()),
    } | changed


REFUSED = {
    "greedy roll-outs without scores": (
        lambda: parts(scores=NoScores(), rollout=Greedy(1.0)),
        r"Greedy\(beta=1.0\).* needs .*NoScores has none",
    ),
    "climbing without scores": (
        lambda: parts(scores=NoScores(), proposers=Climb()),
        r"Climb\(.*\) needs .*NoScores has none",
    ),
    "climbing without scores, among others": (
        lambda: parts(scores=NoScores(), proposers=Portfolio([Random(), Climb()], Nearby())),
        r"Climb\(.*\) needs .*NoScores has none",
    ),
    "evidence without scores": (
        lambda: parts(scores=NoScores(), evidence=ds.evidence.Evidence()),
        r"Evidence\(.*\) needs .*NoScores has none",
    ),
    "no proposers": (lambda: parts(proposers=[]), "at least one proposer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_when_it_is_composed(name):
    made, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        ds.Search(ds.problems.Synthetic(), **made())


def test_scores_of_another_search_are_refused():
    used = parts()
    ds.Search(ds.problems.Synthetic(), **used)
    with pytest.raises(ValueError, match="scores must be new"):
        ds.Search(ds.problems.Synthetic(), **used)


def test_parts_that_say_nothing_of_requirements_still_work():
    class First:
        """A policy of a user, without a base class."""

        def rate(self, options):
            return -options.actions.astype(float)

        def value(self, options):
            return options.mean

    search = ds.Search(ds.problems.Synthetic(), **parts(policy=First()), seed=0)
    assert len(search.run(5).history) == 5


def test_proposers_are_given_alone_in_a_row_or_as_a_portfolio():
    problem = ds.problems.Synthetic()
    for proposers in (Random(), [Random()], (Random(),), Portfolio([Random()])):
        search = ds.Search(problem, **parts(proposers=proposers), seed=0)
        assert len(search.run(4).history) == 4


def test_a_portfolio_begins_anew_in_every_search():
    problem, portfolio = ds.problems.Subsets(6, 3, reward=sum), Portfolio([Climb(), Random()], initial=3)
    runs = []
    for _ in range(2):
        search = ds.Search(problem, **parts(proposers=portfolio), seed=0)
        runs.append([one.leaf for one in search.run(6).history])
    assert runs[0] == runs[1]


def test_a_portfolio_of_ones_own_decides_who_proposes():
    class LastOnly(Portfolio):
        def turn(self, view, rng):
            yield self.proposers[-1]

    search = ds.Search(
        ds.problems.Subsets(6, 3, sum), **parts(proposers=LastOnly([Random(), Silent()])), seed=0
    )
    with pytest.raises(ds.SearchExhausted):
        search.ask()


class Silent(Random):
    """Proposes nothing."""

    def propose(self, view, rng):
        return None


@pytest.mark.parametrize(
    ("preset", "problem", "settings"),
    [
        ("synthetic", ds.problems.Synthetic(seed=0), {"noise": 1e-4, "beta": 0.01}),
        ("tictactoe", ds.problems.TicTacToe(), {"c": 0.5, "noise": 0.1, "beta": 1.0}),
        ("mnist", linear_subsets(), {"c": 0.1, "noise": 1e-4, "beta": 0.5, "standardize": 20}),
    ],
)
def test_a_preset_is_the_settings_of_an_experiment_and_what_is_given_comes_first(preset, problem, settings):
    def leaves(**given):
        return [e.actions for e in ds.Search.paper(problem, seed=0, **given).steps(30)]

    assert leaves(preset=preset) == leaves(**settings)
    assert leaves(preset=preset, beta=7.0, noise=0.3) == leaves(**settings | {"beta": 7.0, "noise": 0.3})


def test_an_unknown_preset_is_named():
    with pytest.raises(ValueError, match="preset must be one of 'synthetic', 'tictactoe', 'mnist', got 'go'"):
        ds.Search.paper(ds.problems.TicTacToe(), preset="go")
