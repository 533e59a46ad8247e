"""Importances of the parts of leaves, from the evaluations of a search."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from dagsearch._internal.typing import BoolArray
from dagsearch.report.importance import Importance, importances
from dagsearch.report.parts import Part, Shown

# Smallest number of evaluations for importances; largest number of parts.
_FEWEST, _PARTS = 10, 200
# Number of the best leaves whose neighbours are predicted, and largest number of neighbours.
_LEADERS, _NEIGHBOURS = 15, 2000


Effect: TypeAlias = tuple[Part, Importance, int]
"""A part, its importance, and the number of evaluated leaves that have it."""


def effects_of(told: Sequence[Shown]) -> list[Effect]:
    """The effects of all parts that some leaves have and others lack, the largest first."""
    counts = Counter(part for one in told for part in dict.fromkeys(one.parts))
    parts = [part for part, seen in counts.most_common() if seen < len(told)][:_PARTS]
    if len(told) < _FEWEST or not parts:
        return []
    rewards = np.array([one.reward for one in told])
    leaders = [told[place] for place in np.argsort(-rewards, kind="stable")[:_LEADERS]]
    fixed = len({len(one.parts) for one in told}) == 1
    others = [leaf for one in leaders for leaf in _neighbours(one.parts, parts, fixed)][:_NEIGHBOURS]
    found = importances(_has([one.parts for one in told], parts), rewards, _has(others, parts))
    effects = [(part, one, counts[part]) for part, one in zip(parts, found, strict=True)]
    return sorted(effects, key=lambda effect: (-effect[1].worth, -effect[1].probability))


def _has(leaves: Sequence[Iterable[Part]], parts: Sequence[Part]) -> BoolArray:
    column = {part: place for place, part in enumerate(parts)}
    has = np.zeros((len(leaves), len(parts)), dtype=bool)
    for row, leaf in enumerate(leaves):
        has[row, [column[part] for part in leaf if part in column]] = True
    return has


def _neighbours(leaf: Collection[Part], parts: Sequence[Part], fixed: bool) -> Iterator[set[Part]]:
    """Leaves with one other option, in an order with two places exchanged, in a set with one other item."""
    own, at = set(leaf), {part.place: part for part in leaf}
    values = {part.value: part for part in leaf}
    is_order = fixed and len(values) == len(leaf) and all(part.value in values for part in parts)
    for part in parts:
        if part in own or (part.place and part.place not in at):
            continue
        if not part.place:  # an item of a set
            yield from ([own - {old} | {part} for old in leaf] if fixed else [own | {part}])
        elif is_order:
            old, source = at[part.place], values[part.value]
            yield own - {old, source} | {part, Part(source.place, old.value)}
        else:
            yield own - {at[part.place]} | {part}
    if not fixed and "" in at:
        yield from (own - {old} for old in leaf)
