"""Numeric options, and their positions on scales.

Numbers are compared by value, regardless of their position in the list of options. The evidence chooses the
scale: each scale is a separate view (:class:`dagsearch.covariances.counts.PlaceViews`).
"""

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray

SCALES = ("rank", "value", "logarithm")
"""Scales for numbers, in the order in which they are tried."""

# With fewer distinct numbers, order adds nothing to equality.
_FEWEST = 3
# A scale is dropped if its positions correlate more than this with those on an earlier scale.
_ALIKE = 0.97
# Weight of the polynomials of degree 1, 2 and 3: a smooth function is mostly linear.
_WEIGHTS = (1.0, 0.5, 0.25)


def numbers_of(options: Sequence[Hashable]) -> FloatArray | None:
    """The options as numbers, ``nan`` for others; ``None`` if too few different ones are numbers.

    ``True`` and ``False`` are names, not numbers.
    """
    found = np.array([_number(option) for option in options], dtype=np.float64)
    return found if np.unique(found[np.isfinite(found)]).size >= _FEWEST else None


def numbers_of_places(options: Sequence[Sequence[Hashable]]) -> Sequence[FloatArray | None]:
    """:func:`numbers_of` the options of every place; empty if none of them has numbers."""
    found = [numbers_of(known) for known in options]
    return found if any(one is not None for one in found) else ()


def _number(option: Any) -> float:
    try:
        value = math.nan if isinstance(option, (str, bytes, bool, np.bool_)) else float(option)
    except (TypeError, OverflowError, ValueError):
        return math.nan
    return value if math.isfinite(value) else math.nan


def scale_features(numbers: FloatArray) -> list[FloatArray | None]:
    """Features of each number on each scale, shape ``(numbers, 3)``; ``None`` if an earlier scale is similar.

    They are values of orthogonal polynomials, so that a smooth function of the number is linear in them; all
    are 0 for options that are not numbers.
    """
    known = np.isfinite(numbers)
    value = numbers[known]
    found: list[FloatArray | None] = []
    kept: list[FloatArray] = []
    rank = np.unique(value, return_inverse=True)[1].astype(np.float64)
    for place in (rank, value, np.log(value) if value.min() > 0.0 else None):
        if place is None or any(abs(np.corrcoef(place, other)[0, 1]) > _ALIKE for other in kept):
            found.append(None)
            continue
        kept.append(place)
        span = place - place.min()
        degrees = min(len(_WEIGHTS), np.unique(place).size - 1)
        powers = np.vander(2.0 * span / span.max() - 1.0, degrees + 1, increasing=True)
        features = np.zeros((len(numbers), len(_WEIGHTS)))
        polynomials = np.linalg.qr(powers)[0][:, 1:]  # zero on average
        features[known, :degrees] = math.sqrt(len(place)) * polynomials * _WEIGHTS[:degrees]
        found.append(features)
    return found
