"""The belief over the weights by itself."""

import numpy as np
import pytest

from dagsearch.posterior.belief import WeightBelief


def test_weights_that_appear_among_fantasies_keep_their_prior_when_these_are_discarded():
    belief = WeightBelief()
    for dimension in (3, 4):  # the second time there is room for more
        belief.grow(dimension)
    row = np.array([0, 2]), np.array([1.0, 1.0])
    belief.learn(*row, 2.0, 1.0, fantasy=False)
    copy = belief.copied()
    copy.learn(*row, 2.0, 0.0, fantasy=True)
    copy.grow(5)
    belief.grow(5)
    _, cov, recent = belief.arrays
    assert belief.variance[:5] == pytest.approx((cov - recent.T @ recent).diagonal())
    assert belief.variance[4] == 1.0


@pytest.mark.parametrize("least", [1, 3])
def test_absorbing_changes_no_covariance(least):
    belief = WeightBelief()
    belief.grow(4)
    for column in range(3):
        belief.learn(np.array([column, 3]), np.array([1.0, -0.5]), 1.0, 0.3, fantasy=False)
        _, cov, recent = belief.arrays
        expected = cov - recent.T @ recent
        belief.absorb(least)
        _, cov, recent = belief.arrays
        assert len(recent) == (column + 1) % least if least > 1 else len(recent) == 0
        assert cov - recent.T @ recent == pytest.approx(expected)
