"""Tails of a difference of two means, by summing every outcome and by drawing."""

import numpy as np
from scipy.stats import binom


def of_calls(share, gap, n, b):
    """P(X/n - Y/b >= gap) for X ~ Bin(n, share), Y ~ Bin(b, share)."""
    x = np.arange(n + 1)
    most = np.floor(b * (x / n - gap) + 1e-9)
    return float(binom.pmf(x, n, share) @ binom.cdf(most, b, share))


def drawn(values, gap, n, b, draws, rng):
    """The share of draws with replacement from `values` whose means differ by so much."""
    found = [rng.choice(values, n).mean() - rng.choice(values, b).mean() for _ in range(draws)]
    return np.mean(np.array(found) >= gap)
