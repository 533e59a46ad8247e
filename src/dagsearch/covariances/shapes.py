r"""How covariance falls off with distance.

A shape s is a function of u = q / 2ℓ², with q the squared distance of two states and ℓ a length:

===========================  ===================================
name                         s(u)
===========================  ===================================
``"squared-exponential"``    e^(−u/2)
``"matern-5/2"``             (1 + r + r²/3) e^(−r), r² = 5u
``"matern-3/2"``             (1 + r) e^(−r), r² = 3u
===========================  ===================================
"""

from abc import ABC, abstractmethod
from typing import Final

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.errors import CovarianceError


class Shape(ABC):
    """A fall-off function s with s(0) = 1."""

    separable: bool = False
    """Whether s(u₁ + u₂) = s(u₁) s(u₂)."""

    @abstractmethod
    def value_and_slope(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """s(u) and its derivative, for u of at least 0."""

    def of_squares(self, squared: FloatArray, length: float) -> FloatArray:
        """s of squared distances, which rounding may have made negative; may overwrite them."""
        np.maximum(squared, 0.0, out=squared)
        return self.value_and_slope(squared / (2.0 * length**2))[0]


class SquaredExponential(Shape):
    """s(u) = e^(−u/2)."""

    separable = True

    def value_and_slope(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """e^(−u/2) and −e^(−u/2) / 2."""
        value = np.exp(-0.5 * u)
        return value, -0.5 * value

    def of_squares(self, squared: FloatArray, length: float) -> FloatArray:
        """Computed in place: a search with many items spends most of its time here."""
        squared *= -0.25 / length**2
        return np.exp(squared, out=squared)


class Matern52(Shape):
    """s(u) = (1 + r + r²/3) e^(−r) with r² = 5u."""

    def value_and_slope(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivative by u is −5/6 (1 + r) e^(−r)."""
        r = np.sqrt(5.0 * u)
        decay = np.exp(-r)
        return (1.0 + r + r * r / 3.0) * decay, -5.0 / 6.0 * (1.0 + r) * decay


class Matern32(Shape):
    """s(u) = (1 + r) e^(−r) with r² = 3u."""

    def value_and_slope(self, u: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivative by u is −3/2 e^(−r)."""
        r = np.sqrt(3.0 * u)
        decay = np.exp(-r)
        return (1.0 + r) * decay, -1.5 * decay


SHAPES: Final[dict[str, Shape]] = {
    "squared-exponential": SquaredExponential(),
    "matern-5/2": Matern52(),
    "matern-3/2": Matern32(),
}
"""Shapes by the names that covariances take."""


def shape_named(name: str) -> Shape:
    """The shape of a name in :data:`SHAPES`; :class:`CovarianceError` if there is none."""
    if not isinstance(name, str) or name not in SHAPES:
        raise CovarianceError(f"shape must be one of {', '.join(SHAPES)}, got {name!r}")
    return SHAPES[name]
