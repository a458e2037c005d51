"""Bounds of a measure over many rectangles of rates at once, by interval arithmetic on its tape.

Given are ``[low, high]`` of TPR and of TNR for each rectangle, the prevalence and the size of the sample; what comes
back holds for every point inside. The bounds are not tight (a rate that comes twice is taken to vary twice), but they
become so as rectangles shrink. A bound that is undefined is infinite. A measure that falls in neither rate is bounded
by its value at the corners, exactly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .expression import Measure
from .tape import OPS

Array = NDArray[np.float64]
Range = tuple[Array, Array]


def over(measure: Measure, tpr: Range, tnr: Range, prevalence: float, sample_size: float) -> Range:
    """The least and the largest value, or bounds of them.

    >>> import steelyard.measures as m
    >>> box = (np.array([0.5]), np.array([0.6]))
    >>> low, high = over(m.BalancedAccuracy(), box, box, 0.1, 100)
    >>> round(float(low[0]), 3), round(float(high[0]), 3)
    (0.5, 0.6)
    """
    if measure.is_monotone:
        ends = [
            np.asarray(measure(tpr[k], tnr[k], prevalence, sample_size=sample_size), dtype=np.float64) for k in (0, 1)
        ]
        return _known(np.broadcast_to(ends[0], tpr[0].shape), np.broadcast_to(ends[1], tpr[0].shape))
    tape = measure.tape()
    given = (tpr, tnr, *((np.full_like(tpr[0], x),) * 2 for x in (prevalence, 0.5 / sample_size)))
    slots: list[Range] = []
    with np.errstate(all="ignore"):
        for op, left, right, number in zip(tape.op, tape.left, tape.right, tape.number, strict=True):
            name = OPS[op]
            if name == "input":
                slots.append(given[left])
            elif name == "constant":
                slots.append((np.full_like(tpr[0], number),) * 2)
            else:
                slots.append(_known(*_OPERATIONS[name](slots[left], slots[right], float(number))))
    return slots[-1]


def _known(low: Array, high: Array) -> Range:
    undefined = np.isnan(low) | np.isnan(high)
    return np.where(undefined, -np.inf, low), np.where(undefined, np.inf, high)


def _hull(parts: list[Array]) -> Range:
    return np.minimum.reduce(parts), np.maximum.reduce(parts)


def _product(x: Range, y: Range) -> Range:
    """Zero wins over infinity, as in the measures themselves."""
    parts = [a * b for a in x for b in y]
    zeros = [(a == 0.0) | (b == 0.0) for a in x for b in y]
    return _hull([np.where(zero, 0.0, part) for zero, part in zip(zeros, parts, strict=True)])


def _quotient(x: Range, y: Range) -> Range:
    low, high = _product(x, (1.0 / y[1], 1.0 / y[0]))
    through_zero = (y[0] <= 0.0) & (y[1] >= 0.0)
    return np.where(through_zero, -np.inf, low), np.where(through_zero, np.inf, high)


def _power(x: Range, exponent: float) -> Range:
    ends = [np.power(end, exponent) for end in x]
    low, high = _hull(ends)
    inside = (x[0] < 0.0) & (x[1] > 0.0)  # an even power turns round at 0, an odd one does not, others have no value
    if exponent < 0.0:
        return np.where(inside, -np.inf, low), np.where(inside, np.inf, high)
    return np.where(inside & (exponent % 2 == 0), 0.0, low), high


def _absolute(x: Range, y: Range, number: float) -> Range:
    low, high = _hull([np.abs(end) for end in x])
    return np.where((x[0] < 0.0) & (x[1] > 0.0), 0.0, low), high


def _logarithm(x: Array) -> Array:
    return np.where(x > 0.0, np.log(np.where(x > 0.0, x, 1.0)), -np.inf)


# In the words of `tape.OPS`.
_OPERATIONS: dict[str, Callable[[Range, Range, float], Range]] = {
    "add": lambda x, y, number: (x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y, number: (x[0] - y[1], x[1] - y[0]),
    "multiply": lambda x, y, number: _product(x, y),
    "divide": lambda x, y, number: _quotient(x, y),
    "negate": lambda x, y, number: (-x[1], -x[0]),
    "log": lambda x, y, number: (_logarithm(x[0]), _logarithm(x[1])),
    "power": lambda x, y, number: _power(x, number),
    "absolute": _absolute,
    "minimum": lambda x, y, number: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1])),
    "maximum": lambda x, y, number: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1])),
}
