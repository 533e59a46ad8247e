"""The order in which proposers take turns."""

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np

from dagsearch.data import Part
from dagsearch.proposers.base import Proposer, View
from dagsearch.proposers.descent import Descent
from dagsearch.proposers.nearby import Random


class Portfolio:
    """Proposers that take turns, after some random leaves.

    If improvements fall short of the model's predictions, up to half of the turns go in equal shares to local
    search and random leaves. If a proposer finds nothing, the others are asked, and finally a random leaf.

    Parameters
    ----------
    proposers : sequence of Proposer
        In the order of their turns.
    local : Proposer or None
        Local search.
    initial : int
        Number of initial random leaves, less the number of known rewards; a descent begins with roll-outs
        from the root instead.
    """

    def __init__(
        self, proposers: Sequence[Proposer], local: Proposer | None = None, initial: int = 0
    ) -> None:
        if not proposers:
            raise ValueError("a search needs at least one proposer")
        self.proposers, self.local, self.initial = tuple(proposers), local, int(initial)
        self.descent = next((one for one in proposers if isinstance(one, Descent)), None)
        """The descent, if it is one of the proposers."""
        self._turn, self._initial = 0, self.initial

    @classmethod
    def of(cls, proposers: "Proposer | Sequence[Proposer] | Portfolio", initial: int) -> "Portfolio":
        """The portfolio of these proposers, before its first turn."""
        if isinstance(proposers, Portfolio):  # of any subclass; it may have been given to another search, too
            fresh = copy(proposers)
            fresh.state = 0, proposers.initial
            return fresh
        return cls(proposers if isinstance(proposers, Sequence) else [proposers], initial=initial)

    @property
    def parts(self) -> list[object]:
        """Everything that may require a joint belief."""
        return [*self.proposers, self.local, self.descent and self.descent.rollout]

    def turn(self, view: View, rng: np.random.Generator) -> Iterator[Proposer]:
        """The proposers in the order in which to ask them now."""
        view.initial = self._initial > view.part.known
        if view.initial:
            self._initial -= 1
            yield self.descent or Random()
            view.initial = False
        ratio = view.part.realised_ratio
        if self.local is not None and ratio < 0.5 and (drawn := rng.random()) < 0.5 - ratio:
            # On a plateau no leaf near the best ones is better.
            yield Random() if drawn < 0.25 - ratio / 2.0 else self.local
        first, self._turn = self._turn, (self._turn + 1) % len(self.proposers)
        yield self.proposers[first]
        if self.descent is None or len(self.proposers) > 1:  # a descent finds every remaining leaf
            others = dict.fromkeys(one for one in self.proposers if one is not self.proposers[first])
            yield from others
            yield from (self.local,) if self.local is not None else ()
            yield Random()

    def begin(self, part: Part) -> None:
        """Start or resume a part of the search; a new one begins with random leaves."""
        self._initial = self.initial if len(part) == 0 else 0

    @property
    def state(self) -> tuple[int, int]:
        """Index of the next turn, and remaining number of random leaves."""
        return self._turn, self._initial

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        self._turn, self._initial = state

    def __repr__(self) -> str:
        return f"Portfolio({list(self.proposers)!r}, local={self.local!r})"
