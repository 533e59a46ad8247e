"""The points of a space as other packages want them: named categories, numbers and floats."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray


class Scale:
    """Numbers on a line, or on a line of logarithms if their ratios are the more even steps.

    Parameters
    ----------
    values : sequence of float
        The numbers, in any order.
    """

    def __init__(self, values: Sequence[float]) -> None:
        self.values = tuple(values)
        ordered = np.sort(np.array(values, dtype=np.float64))
        self.low, self.high = float(ordered[0]), float(ordered[-1])
        self.whole = all(isinstance(value, int) for value in values)
        """Whether all are whole numbers."""
        self.log = self.low > 0.0 and len(values) > 2 and _unevenness(np.log(ordered)) < _unevenness(ordered)
        """Whether the logarithms are on a line."""
        self._positions = self._on_the_line(np.array(values, dtype=np.float64))

    def nearest(self, value: float) -> int:
        """Which of the values is nearest to a number between the smallest and the largest."""
        return int(np.abs(self._positions - self._on_the_line(np.array(value))).argmin())

    def _on_the_line(self, values: FloatArray) -> FloatArray:
        return np.log(values) if self.log else values


def _unevenness(ordered: FloatArray) -> float:
    steps = np.diff(ordered)
    return float(steps.std() / steps.mean())


class Parameter(NamedTuple):
    """One parameter of a space."""

    name: str
    options: int | None = None
    """Number of its options; ``None`` for a float between 0 and 1."""
    scale: Scale | None = None
    """Where its options are, if they are numbers."""
    when: tuple[str, tuple[int, ...]] | None = None
    """The earlier parameter on which it depends, and with which of its options it exists."""

    def exists(self, answers: Mapping[str, Any]) -> bool:
        """Whether it exists, given the answers before it."""
        return self.when is None or answers.get(self.when[0]) in self.when[1]


def floats(count: int) -> list[Parameter]:
    """One float for each of some items."""
    return [Parameter(f"x{number}") for number in range(count)]


def is_number(values: Sequence[Hashable]) -> bool:
    """Whether all values are numbers."""
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def answered(
    parameters: Sequence[Parameter],
    ask: Callable[[Parameter], Any],
    made: Callable[[Mapping[str, Any]], IntArray],
) -> IntArray:
    """The point made of one answer for every parameter that exists: the number of an option, or a float."""
    answers: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.exists(answers):
            answers[parameter.name] = ask(parameter)
    return made(answers)
