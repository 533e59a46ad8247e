"""States as places that hold values, compared by where they differ."""

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.order import in_order
from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.base import Covariance
from dagsearch.covariances.overlap import parts_of
from dagsearch.covariances.parameters import checked_positive, checked_variance
from dagsearch.covariances.rows import Rows
from dagsearch.errors import CovarianceError
from dagsearch.problem import State


class _Differing(Covariance):
    """A product over places: the factor is 1 where two states agree, and smaller where they differ."""

    def __init__(self, length: float, private: float) -> None:
        self.length, self.private = checked_positive("length", length), checked_variance("private", private)
        self._learn(length=("length", 1.0), private=("private", 1.0))
        self._places: dict[Hashable, int] = {}
        self._values: list[dict[Hashable, int]] = []

    @abstractmethod
    def _penalties(self, places: int) -> FloatArray:
        """−log of the factor where states differ, for each place."""

    def represent(self, states: Sequence[State]) -> Rows:
        """The number of each place's value; 0 where the state has none."""
        placed = [dict(_places_of(state)) for state in states]
        for places in placed:
            for place, value in places.items():
                column = self._places.setdefault(place, len(self._places))
                if column == len(self._values):
                    self._values.append({})
                self._values[column].setdefault(value, len(self._values[column]) + 1)
        rows = np.zeros((len(states), len(self._places)), dtype=np.int64)
        for row, places in zip(rows, placed, strict=True):
            for place, value in places.items():
                column = self._places[place]
                row[column] = self._values[column][value]
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        a, b = np.asarray(a), np.asarray(b)
        width = max(a.shape[1], b.shape[1])
        penalties = self._penalties(width)
        differing = np.zeros((len(a), len(b)))
        for place in range(width):  # a place added since is empty in older rows
            one = a[:, place] if place < a.shape[1] else np.zeros(len(a), dtype=np.int64)
            other = b[:, place] if place < b.shape[1] else np.zeros(len(b), dtype=np.int64)
            differing += penalties[place] * (one[:, None] != other[None])
        return np.asarray(np.exp(-differing))

    def variances(self, a: Rows) -> FloatArray:
        return np.ones(len(a))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(length={self.length!r}, private={self.private!r})"


def _places_of(state: State) -> list[tuple[Hashable, Hashable]]:
    """Places and their values. The elements of a set, also of one inside a state, are places of their own."""
    if isinstance(state, Mapping):
        return list(state.items())
    if isinstance(state, (set, frozenset)):
        return [(element, True) for element in in_order(state)]
    found: list[tuple[Hashable, Hashable]] = []
    for name, part in parts_of(state):
        if isinstance(part, (set, frozenset)):
            found += [((name, element), True) for element in in_order(part)]
        elif isinstance(part, tuple):
            found += [((name, i), element) for i, element in enumerate(part)]
        else:
            found.append(((name,), part))
    return found


class Hamming(_Differing):
    """exp(−h/ℓ) with h the number of places at which two states differ.

    Tuples, strings and dataclasses have places; a set has one place for every element. A place that is not
    decided yet counts as one more value.

    Parameters
    ----------
    length : float
        ℓ: number of differences that lower the covariance by a factor of e. Learnt.
    private : float
        Variance of an independent offset of every state; learnt, unless 0.

    Examples
    --------
    >>> Hamming(length=1.0, private=0.0)(["abc"], ["abc", "abd", "xyz"]).round(3)
    array([[1.   , 0.368, 0.05 ]])
    """

    def __init__(self, length: float = 3.0, private: float = 0.02) -> None:
        super().__init__(length, private)

    def _penalties(self, places: int) -> FloatArray:
        return np.full(places, 1.0 / self.length)


class Diffusion(_Differing):
    """Diffusion of heat over the values of every place (Kondor and Lafferty 2002).

    On the complete graph of a place's c values, after time t = 1/ℓ, the factor where two states differ is
    (1 − e^(−ct)) / (1 + (c − 1) e^(−ct)): a difference at a place with many values counts less.

    Parameters
    ----------
    values : mapping or int
        Number of values of each place, or one number for all places.
    length : float
        1/t. Learnt.
    private : float
        Variance of an independent offset of every state; learnt, unless 0.

    Examples
    --------
    >>> Diffusion(values=2, length=1.0, private=0.0)(["00"], ["00", "01", "11"]).round(3)
    array([[1.   , 0.762, 0.58 ]])
    """

    def __init__(
        self, values: Mapping[Hashable, int] | int, length: float = 3.0, private: float = 0.02
    ) -> None:
        counts = values.values() if isinstance(values, Mapping) else [values]
        if not all(is_finite(count) and count >= 2 for count in counts):
            raise CovarianceError(f"values must be at least 2 at every place, got {values!r}")
        self._counts = values
        super().__init__(length, private)

    def _penalties(self, places: int) -> FloatArray:
        found = []
        for place in list(self._places)[:places]:
            key = place[0] if isinstance(place, tuple) and len(place) == 1 else place
            count = self._counts.get(key) if isinstance(self._counts, Mapping) else self._counts
            if count is None:
                raise CovarianceError(f"values must give the number of values of the place {key!r}")
            decay = math.exp(-count / self.length)
            found.append(math.log1p((count - 1) * decay) - math.log1p(-decay))
        return np.array(found)
