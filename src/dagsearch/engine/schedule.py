"""What proposes the next leaf: an initial roll-out, the descent, or a refinement."""

from collections.abc import Sequence

from dagsearch.refinements import Refinement


class Schedule:
    """The order in which the ways to propose a leaf take turns.

    The first proposals are roll-outs from the root. Then the descent and every refinement take turns.

    Parameters
    ----------
    refinements : sequence of Refinement
        In the order of their turns, after the descent.
    initial : int
        Number of initial roll-outs.
    """

    def __init__(self, refinements: Sequence[Refinement], initial: int) -> None:
        self.refinements = tuple(refinements)
        self._turn, self._initial = 0, int(initial)

    def next(self) -> Refinement | None:
        """The refinement whose turn it is; ``None`` for the descent."""
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
        self._turn, self._initial = state
