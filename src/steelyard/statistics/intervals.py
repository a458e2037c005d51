"""Intervals for a share of which some cases were seen."""

from __future__ import annotations


def clopper_pearson(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share of which `hits` of `n` were seen (Clopper & Pearson 1934).

    >>> [round(limit, 3) for limit in clopper_pearson(0, 20)]
    [0.0, 0.168]
    """
    from scipy.special import betaincinv

    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(betaincinv(hits, n - hits + 1, tail))
    high = 1.0 if hits == n else float(betaincinv(hits + 1, n - hits, 1.0 - tail))
    return low, high
