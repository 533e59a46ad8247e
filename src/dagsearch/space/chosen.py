"""Named choices: what can be chosen, what is decided, and what was chosen."""

from collections.abc import Hashable, Mapping
from typing import Any, Final, NamedTuple, NoReturn

Options = tuple[Hashable, ...]
"""What can be chosen."""

REST: Final = "…"
"""The name by which a suggestion says that the rest is chosen at random. Its value seeds these choices; 0
says that there should be none."""


class Decision(NamedTuple):
    """An action: the value chosen for a name."""

    name: str
    """What was chosen."""
    value: Hashable
    """The option."""


class Question:
    """A choice to be made: a name, its options, and one action per option."""

    __slots__ = ("decisions", "name", "options")

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options
        self.decisions = tuple(Decision(name, value) for value in options)

    def __repr__(self) -> str:
        return f"{self.name!r} with the options {list(self.options)!r}"


class Chosen(dict[str, Any]):
    """The choices made so far, by name: a dictionary that does not change and can be hashed.

    It is equal to every other one, and to every mapping, with the same names and values. JSON writes it as
    an object.

    Parameters
    ----------
    names : tuple of str
        What was chosen, in the order of the decisions.
    values : tuple
        The value for each name.
    options : tuple of tuples, optional
        What each value was chosen from, if that is known only now that it was chosen.

    Examples
    --------
    >>> state = Chosen(("scaler", "k"), ("none", 3))
    >>> state
    {'scaler': 'none', 'k': 3}
    >>> state["k"], state == {"k": 3, "scaler": "none"}
    (3, True)
    """

    __slots__ = ("_hash", "chosen", "names", "options")

    def __init__(
        self,
        names: tuple[str, ...] = (),
        values: tuple[Hashable, ...] = (),
        options: tuple[Options, ...] | None = None,
    ) -> None:
        super().__init__(zip(names, values, strict=True))
        self.names, self.chosen, self.options = names, values, options
        self._hash: int | None = None

    def asdict(self) -> dict[str, Any]:
        """The choices as a dictionary of their own."""
        return dict(self)

    def with_choice(self, name: str, value: Hashable) -> "Chosen":
        """These choices and one more."""
        longer = Chosen.__new__(Chosen)
        # Copying a dictionary is much faster than filling one.
        dict.update(longer, self)
        dict.__setitem__(longer, name, value)
        longer.names, longer.chosen = (*self.names, name), (*self.chosen, value)
        longer.options = longer._hash = None
        return longer

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Chosen) and self.names == other.names:
            return self.chosen == other.chosen
        return isinstance(other, Mapping) and dict.__eq__(self, dict(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        if self._hash is None:
            self._hash = hash(frozenset(zip(self.names, self.chosen, strict=True)))
        return self._hash

    def __reduce__(self) -> tuple[type["Chosen"], tuple[Any, ...]]:
        return Chosen, (self.names, self.chosen, self.options)  # the hash of text differs between processes

    def _refuse(self, *arguments: Any, **more: Any) -> NoReturn:
        raise TypeError("choices of a search do not change: change a copy, dict(choices)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = clear = setdefault = _refuse
