"""Comparisons that the paper does not have: ``python -m experiments benchmark``."""
