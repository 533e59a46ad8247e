"""Comparisons beyond the paper: ``python -m experiments benchmark``."""
