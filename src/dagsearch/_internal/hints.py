"""Hints for unknown names."""

import difflib
from collections.abc import Iterable
from typing import Final

OF_OTHERS: Final = {
    **dict.fromkeys(("n_trials", "n_iter", "n_calls", "max_evals", "max_iter"), "it is called budget here"),
    **dict.fromkeys(("random_state", "rng"), "it is called seed here, and is passed to the search"),
    **dict.fromkeys(("direction", "mode", "maximize", "minimize"), "call ds.maximize or ds.minimize"),
    "verbose": "ds.search, ds.maximize and ds.minimize have progress=True",
    **dict.fromkeys(("n_workers", "workers", "jobs"), "it is called n_jobs here"),
    "study_name": "it is called name here",
    "callbacks": "it is called callback here, and is one function",
    "x0": "leaves to evaluate first are called start here, leaves with their rewards known",
}
"""The names of other libraries' keywords here."""
# Shorter texts are part of too many names to identify the right one.
_SHORTEST = 3


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """The question whether the closest of the known names was meant; ``otherwise`` if none is close.

    Names that begin with the given one, or contain it, come before similar ones; case is ignored.

    >>> did_you_mean("colours", ["size", "colour"])
    "did you mean 'colour'?"
    >>> did_you_mean("Usage", ["age", "usage hours"])
    "did you mean 'usage hours'?"
    """
    names, part = list(known), name.casefold()
    holding = [one for one in names if part in one.casefold()] if len(part) >= _SHORTEST else []
    holding.sort(key=lambda one: (not one.casefold().startswith(part), len(one)))
    close = holding or difflib.get_close_matches(name, names, 1)
    return f"did you mean {close[0]!r}?" if close else otherwise
