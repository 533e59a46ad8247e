"""Combinations of choices that a predicate forbids, found out about before all choices are made.

The predicate is given a mapping that notes what it looks at. Where it looks at a choice that is not made yet,
that choice is tried with each of its options, and only then. So it is known after few calls whether some
choices can be completed, however many other choices there are.
"""

import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from dagsearch.errors import ProblemError

logger = logging.getLogger(__name__)

# Number of combinations that are looked at before choices are taken to have no completion.
_MOST_TRIES: Final = 10_000

OptionsAfter = Callable[[str, Mapping[str, Any]], Sequence[Hashable]]
"""The options of a name, given a mapping of the choices; empty if there is no such choice."""


class _Needed(BaseException):
    """A choice that is not made was looked at; ``except Exception`` in a predicate does not catch it."""

    def __init__(self, name: str, options: Sequence[Hashable]) -> None:
        super().__init__(name)
        self.name, self.options = name, options


class _Looked(Mapping[str, Any]):
    """Some choices, for a function that looks at them; notes what it looks at."""

    def __init__(
        self, made: Mapping[str, Any], names: Sequence[str], options: OptionsAfter, read: set[str]
    ) -> None:
        self._made, self._names, self._options, self._read = made, names, options, read

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise ProblemError(f"forbid looks at {name!r}, which is not a place: places are {self._names!r}")
        self._read.add(name)
        if name in self._made:
            return self._made[name]
        before = self._names[: self._names.index(name)]
        options = self._options(name, _Looked(self._made, before, self._options, self._read))
        if not options:
            raise KeyError(name)
        raise _Needed(name, options)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


class Forbidden:
    """Says which choices are forbidden, and which cannot be completed.

    Parameters
    ----------
    predicate : callable
        ``predicate(choices)`` is true for complete choices that are forbidden.
    names : sequence of str
        The names of all choices, in their order.
    options : callable
        The options of a name.
    """

    def __init__(
        self, predicate: Callable[[Mapping[str, Any]], object], names: Sequence[str], options: OptionsAfter
    ) -> None:
        if not callable(predicate):
            raise ProblemError(f"forbid must be a function of the choices, got {predicate!r}")
        self._predicate, self._names, self._options = predicate, list(names), options
        self._told = False

    def completion(self, made: Mapping[str, Any]) -> dict[str, Any] | None:
        """These choices, and others with which they are not forbidden whatever the rest is.

        ``None`` if all completions are forbidden, or if none was found in many tries.
        """
        waiting: list[Iterator[dict[str, Any]]] = [iter([dict(made)])]
        order, tries = Random(0), 0
        while waiting:
            choices = next(waiting[-1], None)
            if choices is None:
                waiting.pop()
                continue
            tries += 1
            if tries > _MOST_TRIES:
                self._tell_left_out(made)
                return None
            try:
                if not self._judged(choices, set()):
                    return choices
            except _Needed as needed:
                waiting.append(_each(choices, needed.name, order.sample(needed.options, len(needed.options))))
        return None

    def read_by(self, made: Mapping[str, Any]) -> tuple[bool, set[str]]:
        """Whether complete choices are forbidden, and the names that decide it."""
        read: set[str] = set()
        return self._judged(made, read), read

    def _judged(self, made: Mapping[str, Any], read: set[str]) -> bool:
        try:
            return bool(self._predicate(_Looked(made, self._names, self._options, read)))
        except ProblemError:
            raise
        except Exception as error:
            raise ProblemError(
                f"forbid failed for choices with {dict(made)!r} ({type(error).__name__}: {error}); a place "
                "that is not in a branch is missing from the mapping: look at it with .get(name)"
            ) from error

    def _tell_left_out(self, made: Mapping[str, Any]) -> None:
        """Say once that choices are left out which may not be forbidden."""
        if not self._told:
            logger.warning(
                "no completion of the choices %r that forbid allows was found among %s, so they are left "
                "out, and so are others like them: let options depend on earlier choices instead",
                dict(made),
                f"{_MOST_TRIES:,}",
            )
        self._told = True


def _each(choices: dict[str, Any], name: str, values: Sequence[Hashable]) -> Iterator[dict[str, Any]]:
    return ({**choices, name: value} for value in values)
