"""Numbers as the page carries them: the shortest in a gap, and whole numbers in few bytes of text.

A double is ordered like its bits, so the number in a gap whose bits end in the most zeros is found by comparing the
bits of the ends. The last 11 of 64 bits are not used: what is left fits into a number of JavaScript. Sorted numbers are
written as differences, each as an odd number in sevens of bits and how often it was halved; most take two bytes.
"""

from __future__ import annotations

import base64

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

UNUSED = 11  # bits: 64 less the 53 that a number of JavaScript holds exactly


def shortest_between(low: Array, high: Array) -> tuple[Array, NDArray[np.bool_]]:
    """For each gap the shortest number strictly between its ends, and whether there is one.

    >>> shortest_between(np.array([0.3, 0.7, 0.5]), np.array([0.6, 0.72, 0.5]))
    (array([0.5    , 0.71875, 0.5    ]), array([ True,  True, False]))
    """
    first, last = _keys_above(low), -_keys_above(-high)
    below_zero = last < 0
    small, large = np.where(below_zero, -last, first), np.where(below_zero, -first, last)
    found = first <= last
    size = np.where((first <= 0) & (last >= 0), 0, _roundest(np.maximum(small, 1), np.maximum(large, 1)))
    return values(np.where(found, np.where(below_zero, -size, size), first)), found


def keys(numbers: Array) -> Ints:
    """Whole numbers in the order of the numbers, of those that `values` makes of them."""
    bits = np.abs(numbers).view(np.int64) >> UNUSED
    return np.where(np.signbit(numbers), -bits, bits)


def values(numbers: Ints) -> Array:
    found: Array = np.copysign((np.abs(numbers) << UNUSED).view(np.float64), numbers)
    return found + 0.0  # no negative zero


def _keys_above(numbers: Array) -> Ints:
    """The least key of a number that is larger."""
    near = keys(np.ascontiguousarray(numbers))
    above: Ints = np.where(values(near) > numbers, near, near + 1)
    return above


def _roundest(small: Ints, large: Ints) -> Ints:
    """Of ``small .. large`` the number with the most zeros at its end; all are positive."""
    differ = (small - 1) ^ large
    places = np.maximum(np.frexp(differ.astype(np.float64))[1] - 1, 0)  # exact, as keys have 53 bits
    found: Ints = (large >> places) << places
    return found


def packed_rising(numbers: Ints) -> str:
    """Whole numbers from 0 on that do not fall: each difference as how often it can be halved, and what is left."""
    steps = np.diff(numbers, prepend=0)
    halved = np.zeros(len(steps), dtype=np.int64)
    for power in (32, 16, 8, 4, 2, 1):
        even = (steps & ((1 << power) - 1)) == 0
        steps, halved = np.where(even, steps >> power, steps), halved + power * even
    return _text(halved.astype(np.uint8)) + " " + _text(_sevens(steps))


def packed_places(places: Ints) -> str:
    """Sorted whole numbers from 0 on, most of them close together."""
    return _text(_sevens(np.diff(places, prepend=0)))


def _sevens(numbers: Ints) -> NDArray[np.uint8]:
    """Each number in bytes of seven bits, lowest first; the eighth bit says that more follows."""
    digits = [((numbers >> (7 * k)) & 127).astype(np.uint8) for k in range(9)]
    used = np.maximum(1, np.array([np.where(numbers >> (7 * k) > 0, k + 1, 0) for k in range(9)]).max(axis=0))
    table = np.stack(
        [digit | np.where(used > k + 1, 128, 0).astype(np.uint8) for k, digit in enumerate(digits)], axis=1
    )
    written: NDArray[np.uint8] = table[np.arange(9) < used[:, None]]
    return written


def _text(data: NDArray[np.uint8]) -> str:
    return base64.b64encode(np.ascontiguousarray(data).tobytes()).decode("ascii")
