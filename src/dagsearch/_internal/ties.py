"""How ties are broken: one random number serves a whole descent."""

from typing import Final

import numpy as np

from dagsearch._internal.compiled import compiled

ENOUGH: Final = 2.0**20
"""Number of different values that a number must still be able to take for each option it picks from."""


@compiled
def picked(value: float, resolution: float, options: int) -> tuple[int, float, float]:
    """Pick an option by the leading part of a uniform number.

    The option's index, the rest of the number scaled up to be uniform again, and the resolution of that.
    Requires ``resolution >= options * ENOUGH``.
    """
    value *= options
    option = int(value)
    return option, value - option, resolution / options


class TieBreaker:
    """A random number, uniform between 0 and 1, that is used up bit by bit.

    One of ``n`` options is picked by its leading part; the rest, scaled up, is uniform again and ``n`` times
    as coarse. Python and compiled code can take turns with it: ``value`` and ``resolution`` are its state.

    Parameters
    ----------
    rng : numpy Generator
        Gives the number, and the next one when it is used up.
    """

    __slots__ = ("_rng", "resolution", "value")

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._renew()

    def _renew(self) -> None:
        self.value = self._rng.random()
        self.resolution = 2.0**53

    def pick(self, options: int) -> int:
        """The index of one of ``options`` options, all equally likely."""
        if options == 1:
            return 0
        if self.resolution < options * ENOUGH:
            self._renew()
        option, self.value, self.resolution = picked(self.value, self.resolution, options)
        return option
