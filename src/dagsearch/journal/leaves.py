"""What a leaf consists of, so that a reader of the journal can show it without the problem."""

from collections.abc import Sequence
from typing import Any

from dagsearch.problem import Action, Problem
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.functions import FunctionProblem
from dagsearch.problems.sequences import TupleProblem
from dagsearch.space import Space

# Largest number of labels that a journal holds, and of characters of one.
_MOST_LABELS, _LONGEST = 2000, 80


def moves_to(leaf: Any, actions: Sequence[Action]) -> list[str] | None:
    """The actions to an encoded leaf that says nothing of them itself, as text; ``None`` if it does."""
    return None if isinstance(leaf, (list, dict)) else [str(action)[:_LONGEST] for action in actions]


def leaf_form(problem: Problem) -> dict[str, Any]:
    """How encoded leaves of a problem are to be read.

    Returns
    -------
    dict
        ``"form"``: ``"set"`` of items, ``"sequence"``, ``"choices"`` as pairs of name and value, or ``None``
        if it is not known. ``"labels"``: text for each number in a leaf, or ``None``. ``"minimize"``: whether
        rewards are the negative numbers of a function that is minimised. ``"game"``: whether there are two
        players.
    """
    labels = None
    if isinstance(problem, NamedChoices):
        form: str | None = "choices"
    elif isinstance(problem, TupleProblem):
        form, labels = "sequence", [str(letter)[:_LONGEST] for letter in problem.labels[:_MOST_LABELS]]
    else:
        form = "set" if Space(problem).inclusion is not None else None
    minimize = isinstance(problem, FunctionProblem) and problem.minimize
    game = Space(problem).has_players
    return {"form": form, "labels": labels, "minimize": minimize, "game": game}
