"""Sets in an order that is the same in every process.

Python orders a set by the hashes of its elements, and hashes of text differ between processes.
"""

from collections.abc import Hashable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any


def in_order(items: Iterable[Hashable]) -> Iterable[Hashable]:
    """The items; those of a set in an order that depends only on the items."""
    if not isinstance(items, (set, frozenset)) or len(items) < 2:
        return items
    kinds = set(map(type, items))
    return sorted(items, key=None if kinds in _SORTABLE else _key)


# Sets can be compared, too, but comparison does not sort them, nor tuples of sets.
_SORTABLE = ({int}, {str})


def _key(item: Any) -> tuple[Any, ...]:
    """Sort key for items of any kinds: by kind, then by content."""
    if isinstance(item, (int, float)):
        return "", item
    if isinstance(item, tuple):
        return "tuple", *map(_key, item)
    if isinstance(item, frozenset):
        return "frozenset", *sorted(map(_key, item))
    if is_dataclass(item):
        return type(item).__qualname__, *(_key(getattr(item, field.name)) for field in fields(item))
    return type(item).__qualname__, repr(item)
