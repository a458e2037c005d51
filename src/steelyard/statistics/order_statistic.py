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


def needed(cap: float, delta: float) -> int:
    """How many held-out rows of the class the promise needs.

    >>> needed(0.01, 0.05), needed(0.05, 0.05)
    (299, 59)
    """
    return max(1, math.ceil(math.log(delta) / math.log1p(-cap) - 1e-12))


def rank(n: int, cap: float, delta: float) -> int:
    """The smallest k with ``P(Bin(n, 1 - cap) >= k) <= delta``; ValueError if there is none.

    >>> rank(1000, 0.05, 0.05), rank(300, 0.01, 0.05)
    (962, 300)
    """
    from scipy.special import betainc  # P(Bin(n, p) >= k) = I_p(k, n - k + 1)

    if not (0.0 < cap < 1.0 and 0.0 < delta < 1.0):
        raise ValueError(f"a promise needs a cap and a delta strictly between 0 and 1; got cap={cap} and delta={delta}")
    if n < needed(cap, delta):
        raise ValueError(f"needs {needed(cap, delta)} held-out rows; {n} were given")
    return 1 + bisect_left(range(1, n + 1), -delta, key=lambda k: -float(betainc(k, n - k + 1, 1.0 - cap)))
