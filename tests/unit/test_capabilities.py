"""What score models say they are, and parts that require it."""

import pytest

from dagsearch.baselines import NoScores, TreeScores
from dagsearch.covariances import Overlap, SharedPath
from dagsearch.posterior import FunctionScores, InducedScores, JointScores, KernelScores, Scores, WeightScores
from dagsearch.posterior.base import check_requirements
from dagsearch.values.backups import JointSamples, MomentMatching
from dagsearch.values.proofs import WithProofs


@pytest.mark.parametrize(
    "kind", [WeightScores, KernelScores, FunctionScores, InducedScores, NoScores, TreeScores]
)
def test_a_model_with_a_joint_belief_has_the_methods_for_it(kind):
    methods = [name for name in set(dir(JointScores)) - set(dir(Scores)) if not name.startswith("_")]
    assert "fantasise" in methods
    for name in methods:
        assert hasattr(kind, name) == kind.is_joint, (kind, name)


def test_a_part_that_needs_a_joint_belief_is_refused_by_name():
    samples = JointSamples(8)
    for scores in (NoScores(), TreeScores(SharedPath(1.0, 1.0), 1.0)):
        named = rf"JointSamples\(8\) needs scores with a joint belief; {type(scores).__name__} has none"
        with pytest.raises(ValueError, match=named):
            check_requirements(scores, MomentMatching(), samples)
    check_requirements(KernelScores(Overlap(), 1.0), samples, object())  # what says nothing requires nothing


def test_joint_samples_are_refused_by_models_that_keep_too_little():
    with pytest.raises(ValueError, match="Use KernelScores"):
        FunctionScores(Overlap(), 1.0).sampled(8, None)


def test_proofs_refuse_a_back_up_that_needs_more_than_moments():
    with pytest.raises(ValueError, match=r"WithProofs cannot use JointSamples\(8\)"):
        WithProofs(JointSamples(8), -1.0, 1.0)
