"""The expected improvement on the best score, as a logarithm."""

import math

import numpy as np
from scipy.special import erfcx, log_ndtr

from dagsearch._internal.typing import FloatArray


def log_expected_improvement(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """log E[max(g − best, 0)] for g ~ N(mean, variance).

    With z = (mean − best)/σ it is log σ + log(φ(z) + zΦ(z)). For z < −1 both terms nearly cancel; there
    φ(z) + zΦ(z) = φ(z) (1 + z sqrt(π/2) erfcx(−z/√2)) is stable.
    """
    deviation = np.sqrt(np.maximum(variance, 1e-18))
    z = (mean - best) / deviation
    low = np.minimum(z, -1.0)
    scaled = 1.0 + low * math.sqrt(math.pi / 2.0) * erfcx(-low / math.sqrt(2.0))
    tail = -0.5 * low * low - 0.5 * math.log(2.0 * math.pi) + np.log(np.maximum(scaled, 1e-300))
    high = np.maximum(z, -1.0)
    density = np.exp(-0.5 * high * high) / math.sqrt(2.0 * math.pi)
    head = np.log(density + high * np.exp(log_ndtr(high)))
    return np.asarray(np.log(deviation) + np.where(z < -1.0, tail, head))
