"""The labels of largest expected F-beta, given each row's probability of being positive, exactly (Ye et al. 2012).

Given independent rows with probabilities ``p_1 >= p_2 >= ... >= p_n``, some set of the k most probable rows is best
(Lewis 1995), so it is enough to compute the expectation for every k. With S the number of positives,

    E_k = (1 + b^2) sum over s of  A_k(s) / (b^2 s + k),     A_k(s) = sum over i <= k of  p_i P(S_without_i = s - 1),

and ``E_0 = P(S = 0)``: calling nothing is right when there is nothing to find (F is 1 there, and 0 wherever else it is
0/0). The distribution of S takes one convolution a row. Leaving row i out again is a division by its factor, upwards
in s for ``p_i < 1/2`` and downwards otherwise, so that errors shrink on the way. All k together cost O(n) for each s;
S lies within some standard deviations of its mean but for a mass of 1e-18, so it is O(n sqrt(n)) in all, for any beta.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .expression import check_number

Array = NDArray[np.float64]

NEGLIGIBLE = 1e-18  # probability of a number of positives that is left out: below the rounding of a sum near 1


def expected_fbeta_labels(proba: ArrayLike, beta: float = 1) -> NDArray[np.bool_]:
    """Which rows of a batch to call positive for the largest expected F-beta, given their probabilities.

    The rows must be independent given the probabilities, and these calibrated. The answer belongs to the batch: a
    row's label depends on the others. Of several best sets the smallest is taken.

    >>> expected_fbeta_labels([0.8, 0.45, 0.4, 0.1]).tolist()
    [True, True, True, False]
    >>> expected_fbeta_labels([0.1, 0.05]).tolist()
    [False, False]
    """
    p = np.asarray(proba, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"proba holds one probability a row, that of the positive class; got shape {p.shape}")
    if p.size and not (p.min() >= 0.0 and p.max() <= 1.0):
        bad = p[~((p >= 0.0) & (p <= 1.0))][0]
        raise ValueError(f"probabilities lie in [0, 1]; got {bad}")
    order = np.argsort(-p, kind="stable")
    k = int(np.argmax(expected_fbeta(p[order], beta)))
    called = np.zeros(len(p), dtype=np.bool_)
    called[order[:k]] = True
    return called


def expected_fbeta(proba: ArrayLike, beta: float = 1) -> Array:
    """The expected F-beta of calling the k most probable rows positive, for k = 0 .. n; `proba` must not rise.

    >>> expected_fbeta([0.5, 0.5]).round(4).tolist()
    [0.25, 0.4167, 0.5833]
    """
    b2 = float(check_number(beta, "beta", low=0.0)) ** 2
    p = np.asarray(proba, dtype=np.float64)
    first, mass = _number_of_positives(p)
    likely = int(np.count_nonzero(p >= 0.5))
    high, low = p[:likely], p[likely:]
    values = np.zeros(len(p) + 1)
    values[0] = mass[0] if first == 0 else 0.0
    calls = np.arange(1.0, len(p) + 1.0)

    # others = P(S_without_i = s - 1) for s positives in all; the rows of p >= 1/2 first, from the largest s down.
    others, total = np.zeros(likely), np.zeros(len(mass) + 1)
    for j in range(len(mass) - 1, -1, -1):
        others = np.maximum(0.0, (mass[j] - (1.0 - high) * others) / high)
        reached = np.cumsum(high * others)  # A_k(s) for s = first + j
        total[j] = reached[-1] if likely else 0.0
        values[1 : likely + 1] += reached / (b2 * (first + j) + calls[:likely])
    others = np.zeros(len(low))
    for j in range(len(mass) + 1):
        values[likely + 1 :] += (total[j] + np.cumsum(low * others)) / (b2 * (first + j) + calls[likely:])
        if j < len(mass):
            others = np.maximum(0.0, (mass[j] - low * others) / (1.0 - low))
    values[1:] *= 1.0 + b2
    return values


def _number_of_positives(p: Array) -> tuple[int, Array]:
    """``(first, mass)``: the distribution of the number of positives from `first` on, cut where it is negligible."""
    first, mass = 0, np.ones(1)
    tail = NEGLIGIBLE / max(1, 2 * len(p))  # what a row may cut off at either end
    for x in p:
        longer = np.append(mass * (1.0 - x), 0.0)
        longer[1:] += mass * x
        low = 0
        while longer[low] < tail and low < len(longer) - 1:
            low += 1
        high = len(longer)
        while longer[high - 1] < tail and high > low + 1:
            high -= 1
        first, mass = first + low, longer[low:high]
    return first, mass
