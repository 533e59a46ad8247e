"""Where a descent goes (section 3.3)."""

import math
from typing import Protocol

import numpy as np

from dagsearch._checks import is_finite
from dagsearch._typing import FloatArray
from dagsearch.expansions import Options


class Policy(Protocol):
    """Rates the options at a node; the descent takes the best, ties broken at random."""

    def rate(self, options: Options) -> FloatArray:
        """One number per option; the largest is the most urgent, whoever moves."""

    def value(self, options: Options) -> FloatArray:
        """One number per option; the largest is the best as far as is known, whoever moves."""


class UpperConfidence:
    """Mean value plus a bonus for uncertainty: ``μ + β sqrt(log(n) σ²)``.

    ``n`` counts the visits of the node that decides. Hence:

    - at a node's first visit, log(1) = 0, the option with the best mean is taken;
    - the bonus grows with the node's visits, but only an option's own uncertainty earns it;
    - at a MIN node the rule is mirrored: the smallest ``μ − β sqrt(log(n) σ²)`` is taken.

    Parameters
    ----------
    beta : float
        Exploration constant β ≥ 0.
    """

    def __init__(self, beta: float) -> None:
        if not is_finite(beta) or beta < 0.0:
            raise ValueError(f"beta must be finite and not negative, got {beta!r}")
        self.beta = float(beta)

    def rate(self, options: Options) -> FloatArray:
        """``sign · μ + β sqrt(log(n) σ²)`` of every option."""
        width = self.beta * math.sqrt(math.log(options.visits))
        return options.sign * options.mean + width * np.sqrt(options.variance)

    def value(self, options: Options) -> FloatArray:
        """Mean v of every option, as the one who moves sees it."""
        return options.sign * options.mean

    def __repr__(self) -> str:
        return f"UpperConfidence(beta={self.beta})"
