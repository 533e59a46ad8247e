"""How ties are broken: one random number serves a whole descent."""

from typing import Final

import numpy as np

from dagsearch._internal.compiled import compiled

ENOUGH: Final = 2.0**20
"""How fine the rest of a number must be, to pick an option as if at random."""


@compiled
def picked(value: float, resolution: float, options: int) -> tuple[int, float, float]:
    """One of so many options by the leading part of a uniform number; the rest scaled up, and how fine it is.

    The number must be fine enough: ``resolution >= options * ENOUGH``.
    """
    value *= options
    option = int(value)
    return option, value - option, resolution / options


class TieBreaker:
    """A random number, uniform between 0 and 1, that is used up bit by bit.

    One of ``n`` options is picked by its leading part; the rest, scaled up, is uniform again and ``n`` times
    as coarse. Compiled code can go on with it where Python has left off, and the other way round.

    Parameters
    ----------
    rng : numpy Generator
        Where it comes from, and the next one when it is used up.
    """

    __slots__ = ("_rng", "resolution", "value")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._renew()

    def _renew(self) -> None:
        self.value = self._rng.random()
        self.resolution = 2.0**53

    def pick(self, options: int) -> int:
        """One of so many options, by its number."""
        if options == 1:
            return 0
        if self.resolution < options * ENOUGH:
            self._renew()
        option, self.value, self.resolution = picked(self.value, self.resolution, options)
        return option
