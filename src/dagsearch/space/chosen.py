"""Named choices: questions, decisions, and the choices made."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

Options = tuple[Hashable, ...]
"""What can be chosen."""

REST: Final = "…"
"""The name in a suggestion whose value seeds the remaining choices, which are random; 0 means that there
should be none."""


class Decision(NamedTuple):
    """An action: the value chosen for a name."""

    name: str
    """The name of the choice."""
    value: Hashable
    """The option."""


class Question:
    """A choice to make: a name, its options, and one action per option."""

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options
        self.decisions = tuple(Decision(name, value) for value in options)

    def __repr__(self) -> str:
        return f"{self.name!r} with the options {list(self.options)!r}"


class Chosen(dict[str, Any]):
    """The choices made so far, by name: an immutable, hashable dictionary.

    It equals every dictionary with the same names and values. In JSON it is an object.

    Examples
    --------
    >>> state = Chosen({"scaler": "none", "k": 3})
    >>> state["k"], state == {"k": 3, "scaler": "none"}
    (3, True)
    >>> state.with_choice("depth", 2)
    {'scaler': 'none', 'k': 3, 'depth': 2}
    """

    options: tuple[Options, ...] | None = None
    """The options from which each value was chosen, if they are known only from the choice."""
    _hash: int | None = None

    @classmethod
    def among(cls, options: tuple[Options, ...] | None, chosen: Mapping[str, Hashable]) -> "Chosen":
        """Choices with the options from which each value was chosen."""
        found = cls(chosen)
        found.options = options
        return found

    def with_choice(self, name: str, value: Hashable) -> "Chosen":
        """These choices and one more."""
        return Chosen({**self, name: value})

    def __hash__(self) -> int:  # type: ignore[override]
        if self._hash is None:
            self._hash = hash(frozenset(self.items()))
        return self._hash

    def __reduce__(self) -> tuple[Callable[..., "Chosen"], tuple[Any, ...]]:
        return Chosen.among, (self.options, dict(self))  # the hash of text differs between processes

    def _refuse(self, *arguments: Any, **more: Any) -> NoReturn:
        raise TypeError("choices of a search are immutable: change a copy, dict(choices)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = clear = setdefault = _refuse
