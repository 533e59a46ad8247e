"""What score models say they can do, and parts that require it."""

import pytest

from dagsearch.baselines import NoScores, TreeScores
from dagsearch.covariances import Overlap, SharedPath
from dagsearch.posterior import Capability, InducedScores, KernelScores, WeightScores
from dagsearch.posterior.base import check_requirements
from dagsearch.values.backups import JointSamples, MomentMatching
from dagsearch.values.proofs import WithProofs


@pytest.mark.parametrize("kind", [WeightScores, KernelScores, InducedScores, NoScores, TreeScores])
def test_what_a_model_says_it_can_do_it_has_methods_for(kind):
    methods = {
        Capability.UPPER_CONFIDENCE: ("upper_confidence",),
        Capability.JOINT: ("joint", "draw"),
        Capability.SAMPLES: ("sampled",),
        Capability.FANTASIES: ("fantasise", "discard"),
        Capability.REFIT: ("refitted", "condition_all"),
        Capability.LAZY: ("as_lazy",),
    }
    assert set(methods) == set(Capability)
    for capability, names in methods.items():
        for name in names:
            assert hasattr(kind, name) == (capability in kind.can), (kind, name)


def test_a_part_that_needs_what_scores_cannot_do_is_refused_by_name():
    samples = JointSamples(8)
    for scores in (NoScores(), TreeScores(SharedPath(1.0, 1.0), 1.0)):
        with pytest.raises(ValueError, match=rf"JointSamples\(8\) needs .*; {type(scores).__name__} cannot"):
            check_requirements(scores, MomentMatching(), samples)
    check_requirements(KernelScores(Overlap(), 1.0), samples, object())  # what says nothing requires nothing


def test_proofs_refuse_a_back_up_that_needs_more_than_moments():
    with pytest.raises(ValueError, match=r"WithProofs cannot use JointSamples\(8\)"):
        WithProofs(JointSamples(8), -1.0, 1.0)
