"""What score models say they are, and parts that require it."""

import pytest

from dagsearch.baselines import NoScores
from dagsearch.covariances import Overlap
from dagsearch.posterior import FunctionScores, InducedScores, JointScores, Scores, WeightScores
from dagsearch.posterior.base import check_requirements
from dagsearch.posterior.evidence import Evidence
from dagsearch.values.backups import MomentMatching


@pytest.mark.parametrize("kind", [WeightScores, FunctionScores, InducedScores, NoScores])
def test_a_model_with_a_joint_belief_has_the_methods_for_it(kind):
    methods = [name for name in set(dir(JointScores)) - set(dir(Scores)) if not name.startswith("_")]
    assert "fantasised" in methods
    for name in methods:
        assert hasattr(kind, name) == kind.is_joint, (kind, name)


def test_a_part_that_needs_a_joint_belief_is_refused_by_name():
    evidence = Evidence()
    with pytest.raises(ValueError, match=r"Evidence\(.*\) needs .* joint belief; NoScores has none"):
        check_requirements(NoScores(), MomentMatching(), evidence)
    check_requirements(
        FunctionScores(Overlap(), 1.0), evidence, object()
    )  # what says nothing requires nothing
