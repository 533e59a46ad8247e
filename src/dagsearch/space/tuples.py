"""Codes of states that are the tuples of decisions so far, found on random walks.

What the walks have shown may not be all there is: an option may be missing after some decisions, or appear
only after others. So codes only say which leaves to look at. Whether such a leaf exists is for the problem to
say, decision by decision, before it is proposed (:meth:`dagsearch.space.Space.replayed`).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.problem import Action, Coding, Layout, State
from dagsearch.space.moves import product_of
from dagsearch.space.numbers import MOST_NAMES, numbers_of, numbers_of_places
from dagsearch.space.walks import Path

# Number of options of a place that are few, however many places there are.
_FEW = 8


def inferred_coding(paths: Sequence[Path]) -> Coding | None:
    """The codes of a problem whose states are tuples of decisions, all paths of one length; else ``None``."""
    leaves, length = [path.states[-1] for path in paths], len(paths[0].actions)
    if length < 2 or not all(_is_own_path(path, length) for path in paths):
        return None
    options: list[dict[Action, int]] = [{} for _ in range(length)]
    always_same = all_others = True
    for path in paths:
        for place, (known, offered) in enumerate(zip(options, path.offered, strict=True)):
            always_same = always_same and (not known or tuple(known) == tuple(offered))
            others = options[0].keys() - set(path.actions[:place])
            all_others = all_others and (place == 0 or set(offered) == others)
            for option in offered:
                known.setdefault(option, len(known))
    names = sum(len(known) for known in options if numbers_of(list(known)) is None)
    if names > max(MOST_NAMES, _FEW * length):
        return None
    first = options[0]
    if not always_same and all(set(leaf) <= first.keys() and len(set(leaf)) == length for leaf in leaves):
        return _Tuples([first] * length).coding("order", certain=all_others)
    return _Tuples(options).coding("places", certain=always_same)


def _is_own_path(path: Path, length: int) -> bool:
    """Whether a leaf is the tuple of the decisions that led there, of this number."""
    leaf = path.states[-1]
    return type(leaf) is tuple and leaf == tuple(path.actions) and len(leaf) == length


class _Tuples:
    """Codes of tuples of decisions.

    Parameters
    ----------
    options : sequence of mappings
        Category of each decision, by place.
    """

    def __init__(self, options: Sequence[dict[Action, int]]) -> None:
        self._options = options
        self._decisions = [list(known) for known in options]
        self._categories = np.array([len(known) for known in options])

    def coding(self, kind: str, certain: bool) -> Coding:
        numbers = numbers_of_places(self._decisions) if kind == "places" else ()
        layout = Layout(kind, self._categories, numbers)
        every = partial(product_of, self._categories) if kind == "places" and certain else None
        return Coding(layout, self.codes, self.leaf_of, list, every, certain=certain)

    def codes(self, states: Sequence[State]) -> IntArray:
        rows = np.full((len(states), len(self._options)), -1, dtype=np.int64)
        for row, state in zip(rows, states, strict=True):
            row[: len(state)] = [known.get(part, -1) for known, part in zip(self._options, state)]  # noqa: B905
        return rows

    def leaf_of(self, codes: IntArray) -> State:
        # A list first: a generator takes twice as long.
        return tuple([known[code] for known, code in zip(self._decisions, codes.tolist(), strict=True)])
