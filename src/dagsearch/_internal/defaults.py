"""Defaults that several parts of the package share."""

BUDGET = 100
"""Number of subsets to score or to evaluate: of the selector, ``dagsearch select`` and ``dagsearch demo``."""
