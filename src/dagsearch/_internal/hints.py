"""Hints for names that are not known."""

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question whether the closest of the known names was meant; ``otherwise`` if none is close.

    >>> did_you_mean("colours", ["size", "colour"])
    "did you mean 'colour'?"
    """
    close = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {close[0]!r}?" if close else otherwise
