"""What proposes the next leaf: an initial roll-out, the descent, or a refinement."""

from collections.abc import Sequence

import numpy as np

from dagsearch.proposers import Refinement


class Schedule:
    """The order in which the ways to propose a leaf take turns.

    The first proposals are roll-outs from the root. Then the descent and every refinement take turns. Where
    the improvements that the model predicts do not come, up to half of the turns go to local search, which
    does not need a model.

    Parameters
    ----------
    refinements : sequence of Refinement
        In the order of their turns, after the descent.
    local : Refinement or None
        Local search.
    initial : int
        Number of initial roll-outs.
    """

    def __init__(self, refinements: Sequence[Refinement], local: Refinement | None, initial: int) -> None:
        self.refinements, self.local = tuple(refinements), local
        self._turn, self._initial = 0, int(initial)

    def next(self, kept: float, rng: np.random.Generator) -> Refinement | None:
        """The refinement whose turn it is; ``None`` for the descent.

        ``kept`` is the share of the predicted improvements that came.
        """
        if self.local is not None and self._initial == 0 and kept < 0.5 and rng.random() < 0.5 - kept:
            return self.local
        turn, self._turn = self._turn, (self._turn + 1) % (len(self.refinements) + 1)
        return self.refinements[turn - 1] if turn > 0 and self._initial == 0 else None

    def starts_at_root(self) -> bool:
        """Whether an initial roll-out is left; if so, uses it up."""
        if self._initial == 0:
            return False
        self._initial -= 1
        return True

    @property
    def state(self) -> tuple[int, int]:
        """Index of the next turn, and number of initial roll-outs left."""
        return self._turn, self._initial

    @state.setter
    def state(self, state: tuple[int, int]) -> None:
        turn, self._initial = state
        self._turn = turn % (len(self.refinements) + 1)  # an earlier version may have had more turns
