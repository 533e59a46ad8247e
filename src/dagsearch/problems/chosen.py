"""Named choices: what is asked, what is answered, and all answers so far as the state of a problem."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from dagsearch.problems.options import Options


class Decision(NamedTuple):
    """An action: the value chosen for a name."""

    name: str
    """What was chosen."""
    value: Hashable
    """The option."""


class Question:
    """A choice to be made: a name and its options.

    Parameters
    ----------
    name : str
        What is to be chosen.
    options : tuple
        Different hashable values.
    """

    __slots__ = ("decisions", "name", "options")

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options
        self.decisions = tuple(Decision(name, value) for value in options)
        """One action per option."""

    def __repr__(self) -> str:
        return f"{self.name!r} with the options {list(self.options)!r}"


Answer = Callable[[Question], Hashable]
"""Chooses one of a question's options."""


class Chosen(Mapping[str, Hashable]):
    """The choices made so far, by name: a mapping that does not change and can be hashed.

    It is equal to every other one, and to every dictionary, with the same names and values.

    Parameters
    ----------
    names : tuple of str
        What was chosen, in the order of the decisions.
    values : tuple
        The value for each name.

    Examples
    --------
    >>> state = Chosen(("scaler", "k"), ("none", 3))
    >>> state
    Chosen({'scaler': 'none', 'k': 3})
    >>> state["k"], state == {"k": 3, "scaler": "none"}
    (3, True)
    """

    __slots__ = ("_hash", "chosen", "names")

    def __init__(self, names: tuple[str, ...] = (), values: tuple[Hashable, ...] = ()) -> None:
        self.names, self.chosen = names, values
        self._hash: int | None = None

    def asdict(self) -> dict[str, Any]:
        """The choices as a dictionary of their own."""
        return dict(zip(self.names, self.chosen, strict=True))

    def with_choice(self, name: str, value: Hashable) -> "Chosen":
        """These choices and one more."""
        return Chosen((*self.names, name), (*self.chosen, value))

    def __getitem__(self, name: str) -> Hashable:
        try:
            return self.chosen[self.names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Chosen) and self.names == other.names:
            return self.chosen == other.chosen
        return isinstance(other, Mapping) and self.asdict() == dict(other)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(zip(self.names, self.chosen, strict=True)))
        return self._hash

    def __reduce__(self) -> tuple[type["Chosen"], tuple[Any, ...]]:
        return Chosen, (self.names, self.chosen)  # the hash of text differs from process to process

    def __repr__(self) -> str:
        return f"Chosen({self.asdict()!r})"
