"""The maximum of Gaussian variables, matched by a Gaussian (section 3.2.1 and appendix A).

:mod:`~dagsearch.values.gaussians.moments` has the notation and the compiled functions of pairs and folds,
:mod:`~dagsearch.values.gaussians.exact` integrates the density of the maximum, and
:mod:`~dagsearch.values.gaussians.maximum` has the functions for Python callers.
"""

from dagsearch.values.gaussians.maximum import checked_prior, max_of_many, max_of_two
from dagsearch.values.gaussians.moments import Gaussian, fold_maximum, pair_maximum, with_prior

__all__ = [
    "Gaussian",
    "checked_prior",
    "fold_maximum",
    "max_of_many",
    "max_of_two",
    "pair_maximum",
    "with_prior",
]
