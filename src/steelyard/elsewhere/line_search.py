"""Where the slopes of convex functions change their sign, for many functions at once.

Given is ``slope(t)`` for all of them together (each value is a sum over rows, so calls are what costs), rising in t and
below zero at 0. The whole step 1 is tried first; then a bracket, then the rule of false position, in which the end that
stays counts half (Illinois), until no more than a share of the slope at the start is left.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST = 30  # calls: the bracket halves at least every other time, and float32 has no more to give


def flat_point(slope: Callable[[Array], Array], at_start: Array, share: float) -> Array:
    """t with ``|slope(t)| <= share |slope(0)|``; 0 for those whose slope does not fall at 0.

    >>> flat_point(lambda t: 2.0 * t - np.array([1.0, 8.0]), np.array([-1.0, -8.0]), 0.01).tolist()
    [0.5, 4.0]
    """
    falls = at_start < 0.0
    low, high = np.zeros(len(at_start)), np.full(len(at_start), np.inf)
    f_low, f_high = at_start.copy(), np.zeros(len(at_start))
    side = np.zeros(len(at_start))
    t = np.where(falls, 1.0, 0.0)
    for _ in range(MOST):
        here = slope(t)
        going = falls & ~(np.abs(here) <= share * -at_start)
        if not going.any():
            break
        above, below = going & (here > 0.0), going & ~(here > 0.0)
        f_low, f_high = (
            np.where(above & (side > 0), 0.5 * f_low, f_low),
            np.where(below & (side < 0), 0.5 * f_high, f_high),
        )
        low, f_low = np.where(below, t, low), np.where(below, here, f_low)
        high, f_high = np.where(above, t, high), np.where(above, here, f_high)
        side = np.where(above, 1.0, np.where(below, -1.0, side))
        bounded = np.isfinite(high)
        end = np.where(bounded, high, 4.0 * np.maximum(low, 1.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            inside = low - f_low * (end - low) / (f_high - f_low)
        inside = np.where((inside > low) & (inside < end), inside, 0.5 * (low + end))
        t = np.where(going, np.where(bounded, inside, end), t)
    return t
