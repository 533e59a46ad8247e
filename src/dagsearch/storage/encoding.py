"""States as JSON and back, without anything executable, and how readers decode leaves.

JSON has neither tuples nor sets: both become objects with one tagged entry. A reader of a run does not have
the problem, so the settings describe how to read leaves.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.order import in_order
from dagsearch._internal.plain import from_json, to_json
from dagsearch._internal.texts import shown
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, State, Step, has_costly_steps, is_minimized
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.sequences import TupleProblem
from dagsearch.problems.subsets import Subsets
from dagsearch.space import Space
from dagsearch.space.walks import shape_rng

# Largest number of labels that are stored, and of characters of a label or an action.
_MOST_LABELS, _LONGEST = 2000, 80
# Number of random leaves by which problems are compared.
_LEAVES = 8


def note_to_json(value: Any) -> Any:
    """A note in types that JSON has; never fails, because a reward may come with the note.

    NumPy's numbers and arrays become numbers and lists, tuples and sets become lists, and keys become text.
    Everything else, such as numbers that are not finite, becomes its ``repr``.
    """
    try:
        json.dumps(plain := _plain(value))  # fails for a number of too many digits, for instance
        return plain
    except Exception:
        return shown(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(part) for part in in_order(value)]
    known = value is None or isinstance(value, bool | int | str)
    return value if known or (isinstance(value, float) and math.isfinite(value)) else repr(value)


class StateCodec:
    """The problem's ``encode`` and ``decode``, or :func:`to_json` and :func:`from_json`.

    The constructor raises :class:`dagsearch.errors.ProblemError` if encoding and decoding changes the root or
    a random leaf; where steps are costly, only the root is tried.
    """

    def __init__(self, space: Space) -> None:
        self._encode: Callable[[State], Any] = space.encode or to_json
        self.decode: Callable[[Any], State] = space.decode or from_json
        root, rng = space.problem.root(), shape_rng()  # the same in every process
        states = [root.state if isinstance(root, Step) else root]
        if not has_costly_steps(space.problem):
            states += [space.walk(root, rng)[0] for _ in range(_LEAVES)]
        encoded = [self.encode(state) for state in states]
        for state, written in zip(states, encoded, strict=True):
            if not space.same(self.decode(written), state):
                raise ProblemError(
                    f"decode(encode(state)) is a state other than {state!r}: correct one of the two methods"
                )
        self.digest = hashlib.sha256(json.dumps(encoded).encode()).hexdigest()
        """Differs between problems, unless these states are the same."""

    def encode(self, state: State) -> Any:
        """The state as JSON."""
        try:
            encoded = self._encode(state)
            json.dumps(encoded, allow_nan=False)
            return encoded
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"the state {state!r} cannot be stored ({error}): use numbers, text, None or "
                "tuples, or give the problem encode(state), which returns JSON's types, and decode(encoded)"
            ) from error


def moves_to(leaf: Any, actions: Sequence[Action]) -> list[str] | None:
    """The actions to an encoded leaf that does not show them itself, as text; ``None`` if it does."""
    return None if isinstance(leaf, (list, dict)) else [str(action)[:_LONGEST] for action in actions]


def leaf_form(space: Space) -> dict[str, Any]:
    """How to read encoded leaves of a problem.

    Returns
    -------
    dict
        ``"form"``: ``"set"`` of items, ``"sequence"``, ``"choices"`` as pairs of name and value, or ``None``
        if it is unknown. ``"labels"``: text for each number in a leaf, or ``None``. ``"minimize"``: whether
        rewards are the negative numbers of a function that is minimised. ``"game"``: whether there are two
        players. ``"steps"``: whether steps are costly, so that an evaluation is a step.
    """
    problem, forms = space.problem, {NamedChoices: "choices", TupleProblem: "sequence", Subsets: "set"}
    form = next((name for kind, name in forms.items() if isinstance(problem, kind)), None)
    labels = getattr(problem, "labels", None) if form in ("sequence", "set") else None
    return {
        "form": form,
        "labels": None if labels is None else [str(label)[:_LONGEST] for label in labels[:_MOST_LABELS]],
        "minimize": is_minimized(problem),
        "game": space.has_players,
        "steps": has_costly_steps(problem),
    }
