"""Checks of covariance parameters, and hyperparameters that are learnt from rewards."""

from collections.abc import Mapping, Sequence
from copy import copy
from itertools import chain
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray
from dagsearch.errors import CovarianceError

# Relative to the largest entry: asymmetry, and negative eigenvalue per row, that count as rounding errors.
_ROUNDING = 1e-8


def checked_variance(name: str, value: float) -> float:
    """``value`` as a float; :class:`CovarianceError` unless it is finite and not negative."""
    if not is_finite(value) or value < 0.0:
        raise CovarianceError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)


def checked_positive(name: str, value: float) -> float:
    """``value`` as a float; :class:`CovarianceError` unless it is finite and positive."""
    if not is_finite(value) or value <= 0.0:
        raise CovarianceError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def flaws_of(matrix: FloatArray) -> tuple[tuple[int, int] | None, float | None]:
    """An asymmetric entry of a finite matrix and its negative eigenvalue; ``None`` up to rounding."""
    scale = max(float(np.abs(matrix).max(initial=0.0)), np.finfo(np.float64).tiny)
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max(initial=0.0) > _ROUNDING * scale:
        i, j = divmod(int(asymmetry.argmax()), len(matrix))
        return (i, j), None
    try:  # a factorisation is much cheaper than eigenvalues
        np.linalg.cholesky(matrix + _ROUNDING * scale * len(matrix) * np.eye(len(matrix)))
    except np.linalg.LinAlgError:
        return None, float(linalg.eigvalsh(matrix)[0])
    return None, None


class Hyperparameter(NamedTuple):
    """A positive number that is learnt from rewards, with its prior."""

    name: str
    """Its description."""
    value: float
    """Its current value."""
    median: float
    """Median of its log-normal prior."""
    deviation: float
    """Prior standard deviation of its logarithm."""


class Learnt:
    """Base class of objects with positive attributes that are learnt from rewards."""

    _learnt: Mapping[str, Hyperparameter] = {}
    """By attribute name; the attribute holds the current value."""
    _parts: Sequence["Learnt"] = ()
    """Components; their hyperparameters follow its own."""

    def _learn(self, **attributes: tuple[str, float]) -> None:
        """Learn attributes that are not 0, given their names and the prior deviations of their logarithms."""
        values = {attribute: float(getattr(self, attribute)) for attribute in attributes}
        self._learnt = {
            attribute: Hyperparameter(name, values[attribute], values[attribute], deviation)
            for attribute, (name, deviation) in attributes.items()
            if values[attribute] > 0.0
        }

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """The parameters that are learnt from rewards."""
        own = [one._replace(value=getattr(self, name)) for name, one in self._learnt.items()]
        return *own, *chain.from_iterable(part.hyperparameters for part in self._parts)

    def with_values(self, values: Sequence[float]) -> Self:
        """A copy with other hyperparameter values."""
        if len(values) != len(self.hyperparameters):
            raise ValueError(f"{self!r} has {len(self.hyperparameters)} hyperparameters, got {list(values)}")
        left = map(float, values)
        other = changed(self, **{name: next(left) for name in self._learnt})
        parts = [part.with_values([next(left) for _ in part.hyperparameters]) for part in self._parts]
        return other._with_parts(parts)

    def _with_parts(self, parts: Sequence[Any]) -> Self:
        return changed(self, _parts=parts)


_Thing = TypeVar("_Thing")


def changed(thing: _Thing, **attributes: Any) -> _Thing:
    """A shallow copy with some attributes replaced."""
    other = copy(thing)
    other.__dict__.update(attributes)
    return other
