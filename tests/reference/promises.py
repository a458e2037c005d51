"""Promises, slowly and obviously: payments row by row, tails summed term by term, thresholds walked one by one."""

from math import comb, log, sqrt

import numpy as np
from scipy.stats import binom


def tail(s, k, share):
    """P(Bin(k, share) >= s)."""
    return sum(comb(k, i) * share**i * (1 - share) ** (k - i) for i in range(s, k + 1))


def p_two_payments(payments, down, up):
    """Exact test that the mean of payments, of which each is `up`, `down` or 0, is not negative."""
    paying = [x for x in payments if x != 0]
    good = sum(x > 0 for x in paying)
    return tail(good, len(paying), -down / (up - down))


def p_bet(payments, stake):
    """One over the fortune of who stakes a share on every row."""
    fortune = 1.0
    for x in payments:
        fortune *= 1 + stake * x
    return min(1.0, 1 / fortune)


def stake_of(before, lowest, n, delta):
    square = (sum(x * x for x in before) + lowest**2) / (len(before) + 1)
    return min(sqrt(2 * log(1 / delta) / (n * square)), 0.9 / -lowest)


def fallback(p, weights, delta):
    """Which tests of a fixed order pass."""
    passed, fortune = [], 0.0
    for one, weight in zip(p, weights, strict=True):
        fortune += weight * delta
        passed.append(fortune > 0 and one <= fortune)
        if not passed[-1]:
            fortune = 0.0
    return passed


def counts_at(scores, is_positive, threshold):
    tp = fp = fn = tn = 0
    for s, y in zip(scores, is_positive, strict=True):
        called = s > threshold
        tp, fp, fn, tn = tp + (called and y), fp + (called and not y), fn + (y and not called), tn + (not (called or y))
    return tp, fp, fn, tn


def payments_at(pays, scores, is_positive, threshold):
    """The payment of every row at a threshold; `pays` is (tp, fp, fn, tn)."""
    return np.array(
        [pays[0 if s > threshold else 2] if y else pays[1 if s > threshold else 3]
         for s, y in zip(scores, is_positive, strict=True)]
    )  # fmt: skip


def p_two_shares(factors, hits, rows, constant, points=400):
    """The largest probability of a sum as large as seen, over shares on the border of the constraint."""
    (f, g), (h, k), (n, m) = factors, hits, rows
    at_n, at_m = np.arange(n + 1), np.arange(m + 1)
    reached = f * at_n[:, None] / n + g * at_m[None, :] / m >= f * h / n + g * k / m - 1e-9
    largest = 0.0
    for q in np.linspace(0.0, 1.0, points):
        p = -(constant + g * q) / f
        if 0.0 <= p <= 1.0:
            both = binom.pmf(at_n, n, p)[:, None] * binom.pmf(at_m, m, q)[None, :]
            largest = max(largest, float(both[reached].sum()))
    return largest
