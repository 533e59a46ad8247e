"""Find the best sequence of letters."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding, Layout
from dagsearch.problems.options import END, ListedProblem, checked_options, identified
from dagsearch.space.moves import OtherOptions, others
from dagsearch.space.walks import step_by_step

Letters = tuple[Any, ...]
"""Letters or items: hashable values of any type."""


class TupleProblem(ListedProblem):
    """Base of problems whose leaves are tuples."""

    def __init__(self, items: str, leaf: str, given: Iterable[Any], reward: Any, allowed: Any = None) -> None:
        self.labels = checked_options(items, list(given) if isinstance(given, str) else given)
        """The letters or items, in the order of their numbers."""
        super().__init__(self.labels, leaf, reward, allowed)

    def _of_labels(self, given: Any) -> Letters | None:
        """The tuple that a list or tuple stands for; ``None`` if it has an unknown label."""
        if not isinstance(given, (tuple, list)) or not all(letter in self.labels for letter in given):
            return None
        return tuple([self.labels[self._number[letter]] for letter in given])

    def leaf_of(self, codes: IntArray) -> Letters:
        """The tuple of the letters with these numbers; a larger number means none."""
        return tuple([self.labels[number] for number in codes.tolist() if number < len(self.labels)])

    def _codes(self, tuples: Sequence[Letters], length: int) -> IntArray:
        """The numbers of the letters of each tuple, then −1; shape ``(tuples, length)``."""
        lengths = np.array([len(letters) for letters in tuples], dtype=np.int64)
        numbers = map(self._number.__getitem__, chain.from_iterable(tuples))
        rows = np.full((len(tuples), length), -1, dtype=np.int64)
        rows[np.arange(length) < lengths[:, None]] = np.fromiter(numbers, np.int64, int(lengths.sum()))
        return rows


@dataclass(frozen=True, slots=True)
class Prefix:
    """An inner state of :class:`Sequences` of free length: a sequence that has not ended."""

    letters: Letters
    """The letters so far."""


class Sequences(TupleProblem):
    """Find the best sequence of letters: of fixed length, or of any length in a range.

    A leaf is the tuple of letters. An inner state is the tuple of the letters so far, or a :class:`Prefix` of
    them if the length is free. An action is the next letter or, if the length is free, ``END``; a sequence of
    maximal length needs no ``END``.

    Parameters
    ----------
    alphabet : sequence
        Different hashable values, the letters.
    length : int
        Number of letters; the largest number if ``min_length`` is given.
    reward : callable, optional
        ``reward(letters)`` of a complete sequence, a tuple. Without it, use ``ask`` and ``tell``.
    min_length : int, optional
        Smallest number of letters; by default all sequences have ``length`` letters.
    allowed : callable, optional
        ``allowed(letters)`` is false for complete sequences that must not be evaluated. Random sequences are
        drawn until one is allowed, see :class:`Subsets`.

    Examples
    --------
    >>> problem = Sequences("ab", 3, reward=lambda letters: letters.count("a"))
    >>> problem.actions(("a",))
    ('a', 'b')
    >>> free = Sequences("ab", 3, reward=len, min_length=1)
    >>> free.actions(Prefix(("a",)))
    ('a', 'b', END)
    >>> free.step(Prefix(("a",)), END)
    ('a',)
    """

    def __init__(
        self,
        alphabet: Iterable[Hashable],
        length: int,
        reward: Callable[[Letters], float] | None = None,
        min_length: int | None = None,
        allowed: Callable[[Letters], object] | None = None,
    ) -> None:
        super().__init__("the letters of the alphabet", "a complete sequence", alphabet, reward, allowed)
        if not is_whole(length) or length < 1:
            raise ValueError(f"length must be a whole number of at least 1, got {length!r}")
        self._least = length if min_length is None else min_length
        if not is_whole(self._least) or not 0 <= self._least <= length:
            raise ValueError(
                f"min_length must be a whole number between 0 and length={length}, got {min_length!r}"
            )
        self._most, self._free = int(length), self._least < length
        places = np.full(self._most, len(self.labels), dtype=np.int64)
        places[self._least :] += 1
        self.layout = Layout("places", places)
        """One place per position; the category is the letter's number, or "absent" after the end."""
        self._options = OtherOptions(self.layout)

    def root(self) -> Prefix | Letters:
        """The empty sequence."""
        return Prefix(()) if self._free else ()

    def actions(self, state: Prefix | Letters) -> Letters:
        """The letters, and ``END`` if the sequence may end."""
        if isinstance(state, Prefix):
            return (*self.labels, END) if len(state.letters) >= self._least else self.labels
        return () if self._free or len(state) >= self._most else self.labels

    def step(self, state: Prefix | Letters, action: Any) -> Prefix | Letters:
        """The sequence with one more letter, or ended."""
        if not isinstance(state, Prefix):
            return (*state, action)
        if action is END:
            return state.letters
        letters = (*state.letters, action)
        return letters if len(letters) == self._most else Prefix(letters)

    def items(self, state: Prefix | Letters) -> list[tuple[int, Hashable]]:
        """The letters with their positions; in a shorter sequence ``END`` counts as the last one."""
        letters = _letters(state)
        found = list(enumerate(letters))
        if self._free and not isinstance(state, Prefix) and len(letters) < self._most:
            found.append((len(letters), END))
        return found

    def leaf(self, given: Any) -> Letters:
        """The complete sequence that a list or tuple of letters stands for; raises if there is none."""
        letters = self._of_labels(given)
        if letters is None or not self._least <= len(letters) <= self._most:
            wanted = " to ".join(str(length) for length in sorted({self._least, self._most}))
            raise ProblemError(
                f"{given!r} is not a sequence of this problem: it must be a tuple of {wanted} letters of "
                f"{list(self.labels)!r}"
            )
        return letters

    def path_to(self, leaf: Letters) -> list[Any]:
        """The letters from first to last, and ``END`` if the sequence could be longer."""
        return [*leaf, END] if self._free and len(leaf) < self._most else list(leaf)

    def random_leaf(
        self, state: Prefix | Letters, rng: np.random.Generator
    ) -> tuple[Prefix | Letters, list[Any]]:
        """A leaf reached by uniformly random actions from ``state``, and these actions."""
        letters = _letters(state)
        if self._free:
            return step_by_step(self, state, rng)
        drawn = rng.integers(len(self.labels), size=self._most - len(letters)).tolist()
        taken = [self.labels[number] for number in drawn]
        return (*letters, *taken), taken

    @property
    def coding(self) -> Coding:
        """Sequences as arrays of numbers of letters."""
        own = self._aligned if self._free else None
        return Coding(self.layout, self.codes, self.leaf_of, self.path_to, neighbours=own)

    def codes(self, states: Sequence[Prefix | Letters]) -> IntArray:
        """Number of the letter at each position, shape ``(states, length)``; −1 if undecided."""
        rows = self._codes([_letters(state) for state in states], self._most)
        ended = np.array([self._free and not isinstance(state, Prefix) for state in states], dtype=np.bool_)
        rows[ended] = np.where(rows[ended] < 0, len(self.labels), rows[ended])
        return rows

    def _aligned(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of different sequences with one place changed; letters after an absent one move up."""
        rows = self._options.around(codes, count, rng)
        order = np.argsort(rows == len(self.labels), axis=1, kind="stable")
        return others(np.take_along_axis(rows, order, axis=1), codes)

    def encode(self, state: Prefix | Letters) -> Any:
        """The numbers of the letters; in a mapping if a sequence of free length has not ended."""
        numbers = super().encode(_letters(state))
        return {"prefix": numbers} if isinstance(state, Prefix) else numbers

    def decode(self, encoded: Any) -> Prefix | Letters:
        if isinstance(encoded, dict):
            return Prefix(super().decode(encoded["prefix"]))
        letters: Letters = super().decode(encoded)
        return letters

    def identity(self) -> str:
        """A digest of alphabet and lengths, and the ``identity`` of ``allowed`` and the reward."""
        return identified((self.labels, self._least, self._most), self._reward, self.allowed)


def _letters(state: Prefix | Letters) -> Letters:
    return state.letters if isinstance(state, Prefix) else state
