"""Which compiler flags? GCC."""

COUNTS = (50, 100, 200)
"""Numbers of evaluations in the table of the README."""
DIGITS = 0
"""Digits of its values, which are bytes."""
