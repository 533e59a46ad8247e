"""Arrays that grow."""

from operator import ge
from typing import Any

import numpy as np
from numpy.typing import NDArray


def grown(array: NDArray[Any], *shape: int, fill: float = 0) -> NDArray[Any]:
    """``array`` itself if it has at least ``shape``, else a larger copy whose new entries are ``fill``.

    Every axis that is too short grows by a quarter, so n growths by one element cost O(n) in total.
    """
    if all(map(ge, array.shape, shape)):
        return array
    sizes = zip(array.shape, shape, strict=True)
    needed = [have if have >= need else max(need, have + have // 4 + 16) for have, need in sizes]
    # Pages of zeros are free until they are used.
    larger = np.full(needed, fill, dtype=array.dtype) if fill else np.zeros(needed, dtype=array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger
