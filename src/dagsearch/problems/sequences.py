"""Find the best sequence of letters."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import BoolArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.options import END, checked_options, checked_reward_function, digest, identified
from dagsearch.space.codes import draw_moves

Letters = tuple[Any, ...]
"""Letters or items, which are hashable; a reward may ask for their own type."""


class TupleProblem:
    """What problems over tuples share: the numbers of what stands in them, and the user's reward.

    Parameters
    ----------
    what : str
        What the letters are called in errors.
    letters : iterable
        Different hashable values, or a text.
    reward : callable, optional
        ``reward(leaf)`` of a complete tuple.
    """

    def __init__(
        self, what: str, letters: Iterable[Hashable], reward: Callable[[Letters], float] | None
    ) -> None:
        self.labels = checked_options(what, list(letters) if isinstance(letters, str) else letters)
        """What may stand in the tuples, in the order of its numbers."""
        self._number = {letter: number for number, letter in enumerate(self.labels)}
        self._reward = checked_reward_function(reward)

    def reward(self, leaf: Letters) -> float:
        """The user's function."""
        return self._reward(leaf)  # type: ignore[no-any-return]

    def leaf_of(self, codes: IntArray) -> Letters:
        """The tuple of the letters with these numbers; a larger number stands for none."""
        return tuple([self.labels[number] for number in codes.tolist() if number < len(self.labels)])

    def _codes(self, tuples: Sequence[Letters], length: int) -> IntArray:
        """The numbers of the letters of each tuple, then −1; shape ``(tuples, length)``."""
        lengths = np.array([len(letters) for letters in tuples], dtype=np.int64)
        numbers = map(self._number.__getitem__, chain.from_iterable(tuples))
        rows = np.full((len(tuples), length), -1, dtype=np.int64)
        rows[np.arange(length) < lengths[:, None]] = np.fromiter(numbers, np.int64, int(lengths.sum()))
        return rows

    def encode(self, state: Any) -> Any:
        """The numbers of the letters."""
        return [self._number[letter] for letter in state]

    def decode(self, encoded: Any) -> Any:
        """The state that :meth:`encode` was given."""
        return tuple(self.labels[number] for number in encoded)


@dataclass(frozen=True, slots=True)
class Prefix:
    """An inner state of :class:`Sequences` of free length: a sequence that has not ended."""

    letters: Letters
    """The letters so far."""


class Sequences(TupleProblem):
    """Find the best sequence of letters: of fixed length, or of any length in a range.

    A leaf is the tuple of letters. An inner state is the tuple of the letters so far, or a :class:`Prefix` of
    them where the length is free. An action is the next letter or, where the length is free, ``END``.

    Parameters
    ----------
    alphabet : sequence
        Different hashable values, the letters.
    length : int
        Number of letters; the largest number if ``min_length`` is given.
    reward : callable, optional
        ``reward(letters)`` of a complete sequence, a tuple. Without it, use ``ask`` and ``tell``.
    forbidden : iterable of pairs
        Letters ``(a, b)`` such that ``b`` must not follow ``a``. Only letters from which a complete sequence
        can be reached are offered.
    min_length : int, optional
        Smallest number of letters; by default all sequences have ``length`` letters.

    Examples
    --------
    >>> problem = Sequences("ab", 3, reward=lambda letters: letters.count("a"), forbidden=[("a", "a")])
    >>> problem.actions(("a",))
    ('b',)
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
        forbidden: Iterable[tuple[Hashable, Hashable]] = (),
        min_length: int | None = None,
    ) -> None:
        super().__init__("the letters of the alphabet", alphabet, reward)
        if not is_whole(length) or length < 1:
            raise ValueError(f"length must be a whole number of at least 1, got {length!r}")
        self._least = length if min_length is None else min_length
        if not is_whole(self._least) or not 0 <= self._least <= length:
            raise ValueError(
                f"min_length must be a whole number between 0 and length={length}, got {min_length!r}"
            )
        self._most, self._free = int(length), self._least < length
        self._allowed = self._transitions(forbidden)
        self._going = self._continuations()
        if not self._going[self._least].any() and self._least > 0:
            raise ProblemError(
                f"the forbidden transitions leave no sequence of {self._least} letters: allow more"
            )
        places = np.full(self._most, len(self.labels), dtype=np.int64)
        places[self._least :] += 1
        self.layout = Layout("places", places)
        """One place per position; the category is the letter's number, or "absent" after the end."""
        self._widths = self._mean_widths()
        self.depth = len(self._widths)
        """Number of decisions to the deepest leaf: one per letter; to be as long as possible is to end."""

    def _transitions(self, forbidden: Iterable[tuple[Hashable, Hashable]]) -> BoolArray:
        """Which letter may follow which, shape ``(letters, letters)``."""
        allowed = np.ones((len(self.labels),) * 2, dtype=np.bool_)
        for pair in forbidden:
            if len(pair) != 2 or not set(pair) <= self._number.keys():
                raise ValueError(f"forbidden must hold pairs of letters, got {pair!r}")
            allowed[self._number[pair[0]], self._number[pair[1]]] = False
        return allowed

    def _continuations(self) -> BoolArray:
        """Whether a stretch of some letters may begin with each letter, shape ``(length + 1, letters)``."""
        going = np.ones((self._most + 1, len(self.labels)), dtype=np.bool_)
        for count in range(2, self._most + 1):
            going[count] = (self._allowed & going[count - 1]).any(axis=1)
        return going

    def _mean_widths(self) -> list[int]:
        """Mean number of actions at each level under random play, rounded."""
        widths, chances = [], np.zeros(len(self.labels) + 1)
        chances[-1] = 1.0  # the start, which any letter may follow
        for level in range(self._most):
            follow = self._next_letters(level)
            counts = follow.sum(axis=1)
            options = counts + (self._free and level >= self._least) * (counts > 0)
            reached = chances * (options > 0)
            if not reached.any():
                break
            widths.append(round(float(reached @ options / reached.sum())))
            shares = reached / np.maximum(options, 1)
            chances = np.append(shares @ follow, 0.0)
        return widths

    def _next_letters(self, level: int) -> BoolArray:
        """Which letters may follow each letter and, last, the start; shape ``(letters + 1, letters)``."""
        to_come = max(self._least - level, 1)  # this letter, and those that must follow it
        follow: BoolArray = np.vstack([self._allowed, np.ones_like(self._allowed[:1])])
        follow &= self._going[to_come]
        return follow

    # The four methods ----------------------------------------------------------------------------------

    def root(self) -> Prefix | Letters:
        """No letter yet."""
        return Prefix(()) if self._free else ()

    def actions(self, state: Prefix | Letters) -> Letters:
        """The letters that may follow, and ``END`` where the sequence may end."""
        if isinstance(state, Prefix):
            ended = (END,) if len(state.letters) >= self._least else ()
            return (*self._following(state.letters), *ended)
        return () if self._free or len(state) >= self._most else self._following(state)

    def _following(self, letters: Letters) -> Letters:
        last = self._number[letters[-1]] if letters else len(self.labels)
        return self._offered[len(letters)][last]

    @cached_property
    def _offered(self) -> list[list[Letters]]:
        """Letters to offer, by level and last letter."""
        return [
            [tuple(self.labels[number] for number in np.flatnonzero(row)) for row in follow]
            for follow in map(self._next_letters, range(self._most))
        ]

    def step(self, state: Prefix | Letters, action: Any) -> Prefix | Letters:
        """The sequence with a letter more, or ended; it ends by itself where nothing can follow."""
        if not isinstance(state, Prefix):
            return (*state, action)
        if action is END:
            return state.letters
        letters = (*state.letters, action)
        ended = len(letters) == self._most or (len(letters) >= self._least and not self._following(letters))
        return letters if ended else Prefix(letters)

    def branching(self, level: int) -> int:
        """Mean number of actions after ``level`` letters under random play, rounded."""
        return self._widths[level]

    def items(self, state: Prefix | Letters) -> list[tuple[int, Hashable]]:
        """The letters with their positions; ``END`` is one at the end of a shorter sequence."""
        letters = self._letters(state)
        found = list(enumerate(letters))
        if self._free and not isinstance(state, Prefix) and len(letters) < self._most:
            found.append((len(letters), END))
        return found

    @staticmethod
    def _letters(state: Prefix | Letters) -> Letters:
        return state.letters if isinstance(state, Prefix) else state

    def leaf(self, given: Iterable[Hashable]) -> Letters:
        """The complete sequence that a list of letters means; for ``tell``."""
        return tuple(given)

    def validate(self, state: Prefix | Letters) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        wrong, letters = f"{state!r} is not a sequence of this problem", self._letters(state)
        if not isinstance(letters, tuple) or any(letter not in self._number for letter in letters):
            raise ProblemError(f"{wrong}: it must be a tuple of letters of {list(self.labels)!r}")
        reached = self.root()
        for letter in letters:
            if letter not in self.actions(reached):
                raise ProblemError(f"{wrong}: {letter!r} cannot follow {self._letters(reached)!r}")
            reached = self.step(reached, letter)
        if reached != state and END not in self.actions(reached):
            raise ProblemError(f"{wrong}: it has too few letters")

    def random_leaf(
        self, state: Prefix | Letters, rng: np.random.Generator
    ) -> tuple[Prefix | Letters, list[Any]]:
        """A leaf by uniformly random actions from ``state`` on, and these."""
        taken: list[Any] = []
        if not self._free and self._allowed.all():
            count = self._most - len(self._letters(state))
            drawn = rng.integers(len(self.labels), size=count).tolist()
            taken = [self.labels[number] for number in drawn]
            return (*self._letters(state), *taken), taken
        while actions := self.actions(state):
            taken.append(actions[int(rng.random() * len(actions))])
            state = self.step(state, taken[-1])
        return state, taken

    # Arrays ------------------------------------------------------------------------------------------

    def codes(self, states: Sequence[Prefix | Letters]) -> IntArray:
        """Number of the letter at each position, shape ``(states, length)``; −1 where none is decided yet."""
        rows = self._codes([self._letters(state) for state in states], self._most)
        ended = np.array([self._free and not isinstance(state, Prefix) for state in states], dtype=np.bool_)
        rows[ended] = np.where(rows[ended] < 0, len(self.labels), rows[ended])
        return rows

    def path_to(self, leaf: Letters) -> list[Any]:
        """The letters from first to last, and ``END`` where the sequence does not end by itself."""
        ends = self._free and len(leaf) < self._most and len(self._following(leaf)) > 0
        return [*leaf, END] if ends else list(leaf)

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of sequences one change away, each once: all, or ``count`` of them at random.

        One letter replaced or, where the length is free, inserted or dropped.
        """
        end, places = len(self.labels), np.arange(self._most)
        word = codes[codes < end]
        masks = self._possible(word)
        possible = np.flatnonzero(np.concatenate([mask.ravel() for mask in masks]))
        move = possible[draw_moves([possible.size], count, rng)[1]]
        starts = np.cumsum([mask.size for mask in masks])
        drops, inserts = move >= starts[1], (move >= starts[0]) & (move < starts[1])
        place, letter = np.divmod(np.where(inserts, move - starts[0], move), end)
        place = np.where(drops, move - starts[1], place)[:, None]
        source = places - (inserts[:, None] & (places > place)) + (drops[:, None] & (places >= place))
        rows: IntArray = np.append(codes, end)[source]
        rows[~drops, place[~drops, 0]] = letter[~drops]
        return rows

    def _possible(self, word: IntArray) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Which letters may replace each one, may be inserted in front of it, and whether it may be dropped.

        A letter is not inserted in front of its like but behind it, and of several alike the first is
        dropped, because the result is the same.
        """
        end, length = len(self.labels), len(word)
        # The last row and column are for nothing, before and behind the word.
        allowed = np.pad(self._allowed, (0, 1), constant_values=True)
        before, after = np.append(end, word), np.append(word, end)
        different = after[:, None] != np.arange(end)
        follows, leads = allowed[before, :-1], allowed[:-1, after].T
        replaced = follows[:-1] & leads[1:] & different[:-1]
        inserted = follows & leads & different & (self._free and length < self._most)
        dropped = allowed[before[:-1], after[1:]] & (before[:-1] != word)
        return replaced, inserted, dropped & (self._free and length > self._least)

    # For a journal -------------------------------------------------------------------------------------

    def encode(self, state: Prefix | Letters) -> Any:
        """The numbers of the letters; in a mapping if a sequence of free length has not ended."""
        numbers = super().encode(self._letters(state))
        return {"prefix": numbers} if isinstance(state, Prefix) else numbers

    def decode(self, encoded: Any) -> Prefix | Letters:
        if isinstance(encoded, dict):
            return Prefix(super().decode(encoded["prefix"]))
        return tuple(super().decode(encoded))

    def identity(self) -> str:
        """A digest of alphabet, lengths and forbidden transitions, and what the reward says of itself."""
        own = digest(self.labels, self._least, self._most, self._allowed.tolist())
        return identified(own, self._reward)
