"""A cap on an error rate that holds on unseen data with probability ``1 - delta``, from one held-out sample.

Given n held-out scores of one class (say the negatives), drawn like the future ones and not used in training, and a
cap ``a``: call a row positive when its score is strictly above the k-th smallest of them, where k is the smallest
number with ``P(Bin(n, 1 - a) >= k) <= delta``. The false-alarm rate of that rule exceeds ``a`` with probability at most
``delta``, whatever the distribution (Tong, Feng & Li 2018, Proposition 1). Such a k exists once
``(1 - a)^n <= delta``. Any higher threshold keeps the promise too, as the rate only falls.

The scores must come from *one* fixed model: pooled out-of-fold scores followed by a refit do not carry the promise.
"""

from __future__ import annotations

import math
from bisect import bisect_left

# Relative. exp(n log(1 - a)) is off by n |log(1 - a)| units in the last place, some 700 where delta is still a number,
# and a cap given as 0.1 is off by half a unit that the power n multiplies: 1e-13 for a thousand rows.
ROUNDING = 1e-12


def needed(cap: float, delta: float) -> int:
    """How many held-out rows of the class the promise needs: the smallest n with ``(1 - cap)^n <= delta``.

    >>> needed(0.01, 0.05), needed(0.05, 0.05)
    (299, 59)
    """
    n = max(1, math.ceil(math.log(delta) / math.log1p(-cap)))
    # The quotient is off by a few units in its last place: the neighbours are tried, by the same rule as in `rank`.
    while n > 1 and _holds(n - 1, n - 1, cap, delta):
        n -= 1
    while not _holds(n, n, cap, delta):
        n += 1
    return n


def rank(n: int, cap: float, delta: float) -> int:
    """The smallest k with ``P(Bin(n, 1 - cap) >= k) <= delta``, at most n; ValueError if there is none.

    >>> rank(1000, 0.05, 0.05), rank(300, 0.01, 0.05)
    (962, 300)
    """
    if not (0.0 < cap < 1.0 and 0.0 < delta < 1.0):
        raise ValueError(f"a promise needs a cap and a delta strictly between 0 and 1; got cap={cap} and delta={delta}")
    if n < 1 or not _holds(n, n, cap, delta):
        raise ValueError(f"needs {needed(cap, delta)} held-out rows; {n} were given")
    return 1 + bisect_left(range(1, n + 1), True, key=lambda k: _holds(k, n, cap, delta))


def _holds(k: int, n: int, cap: float, delta: float) -> bool:
    """Whether ``P(Bin(n, 1 - cap) >= k) <= delta``, up to rounding.

    Both sides carry rounding errors, of the caller (0.729 for 0.9^3) and of the arithmetic; where they are equal up to
    these the promise holds. What that may add to delta is nothing that anybody could notice.
    """
    from scipy.special import betainc  # P(Bin(n, p) >= k) = I_p(k, n - k + 1)

    tail = math.exp(n * math.log1p(-cap)) if k == n else float(betainc(k, n - k + 1, 1.0 - cap))
    return tail <= delta * (1.0 + ROUNDING)
