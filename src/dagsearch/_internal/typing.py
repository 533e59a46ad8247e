"""Array types used in annotations."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Pair = tuple[FloatArray, FloatArray]  # such as means and variances
