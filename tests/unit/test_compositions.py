"""Compositions that cannot work are refused when they are made, and the message names both parts."""

import pytest

import dagsearch as ds
from dagsearch.baselines import UCB1, Averages, NoScores, Traversed, TreeScores
from dagsearch.covariances import Overlap, SharedPath
from dagsearch.posterior import WeightScores
from dagsearch.proposers.policies import Thompson, UpperConfidence
from dagsearch.values.backups import JointSamples, MomentMatching


def parts(**changed):
    return {
        "scores": WeightScores(Overlap(), 0.1),
        "policy": UpperConfidence(1.0),
        "rollout": ds.rollouts.Uniform(),
        "backup": MomentMatching(),
    } | changed


def tree_scores():
    return TreeScores(SharedPath(step=1.0, root=1.0), 0.1)


REFUSED = {
    "greedy roll-outs without scores": (
        lambda: parts(scores=NoScores(), rollout=ds.rollouts.Greedy(1.0)),
        r"Greedy\(beta=1.0\) needs .*NoScores has none",
    ),
    "sampled roll-outs on a tree": (
        lambda: parts(scores=tree_scores(), rollout=ds.rollouts.Thompson()),
        r"Thompson\(\) needs .*TreeScores has none",
    ),
    "joint samples on a tree": (
        lambda: parts(scores=tree_scores(), backup=JointSamples(8)),
        r"JointSamples\(8\) needs .*TreeScores has none",
    ),
    "swaps without scores": (
        lambda: parts(scores=NoScores(), refinements=[ds.proposers.Swaps()]),
        r"Swaps\(.*\) needs .*NoScores has none",
    ),
    "regrowing on a tree": (
        lambda: parts(scores=tree_scores(), refinements=[ds.proposers.Regrow()]),
        r"Regrow\(.*\) needs .*TreeScores has none",
    ),
    "evidence on a tree": (
        lambda: parts(scores=tree_scores(), evidence=ds.evidence.Evidence()),
        r"Evidence\(.*\) needs .*TreeScores has none",
    ),
    "samples of another back-up": (
        lambda: parts(policy=Thompson(JointSamples(8)), backup=JointSamples(16)),
        r"Thompson\(JointSamples\(8\)\) reads .*JointSamples\(16\)",
    ),
    "averages of another back-up": (
        lambda: parts(policy=UCB1(Averages(Traversed()), 1.0)),
        r"UCB1\(c=1.0\) reads .*MomentMatching",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_when_it_is_composed(name):
    made, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        ds.Search(ds.problems.Synthetic(), **made())


def test_a_back_up_with_proofs_gives_only_moments():
    with pytest.raises(ValueError, match=r"WithProofs cannot use JointSamples\(8\)"):
        ds.proofs.WithProofs(JointSamples(8), -1.0, 1.0)


def test_parts_that_say_nothing_of_requirements_still_work():
    class First:
        """A policy of a user, without a base class."""

        def rate(self, options):
            return -options.actions.astype(float)

        def value(self, options):
            return options.mean

    search = ds.Search(ds.problems.Synthetic(), **parts(policy=First()), seed=0)
    assert len(search.run(5).history) == 5


def test_missing_and_unknown_parts_are_named():
    with pytest.raises(TypeError, match="a search needs backup=, policy=, rollout="):
        ds.Search(ds.problems.Synthetic(), scores=NoScores())
    with pytest.raises(TypeError, match="a search has no part 'colour'; its parts are scores, policy"):
        ds.Search(ds.problems.Synthetic(), **parts(colour="red"))


def test_parts_of_a_search_cannot_be_exchanged():
    search = ds.Search(ds.problems.Synthetic(), **parts())
    with pytest.raises(AttributeError):
        search.policy = UpperConfidence(2.0)
