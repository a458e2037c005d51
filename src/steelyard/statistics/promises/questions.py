"""One constraint at many thresholds: how probable what was seen would be if it did not hold (p-values).

At a threshold that was fixed before these rows were looked at, they are a plain sample. Three tests, by what is asked:

- *Two payments* ``u > 0 > v`` (a cap on a rate, precision, accuracy, F1, Jaccard). Of the k rows that pay, the number s
  that pays u is binomial given k, and the mean payment is negative exactly if its share is below ``r = -v / (u - v)``:
  ``p = P(Bin(k, r) >= s)``. Exact.
- *More payments* (F-beta, costs). A bet for bounded means (Waudby-Smith & Ramdas 2024): start with 1 and stake a share
  L of the fortune on every row, ``E = prod (1 + L x_i)``. Each factor has mean at most 1 where the mean payment is not
  positive, so ``P(E >= 1/a) <= a`` (Markov): ``p = 1/E``. L may be any number below ``1 / |smallest payment|`` that is
  fixed beforehand; ``sqrt(2 log(1/delta) / (n mean(x^2)))``, from the rows that fix the order, is the best for n rows.
- *Shares of two samples* (constraints on both rates without the prevalence; a gap between groups): the exact test of
  `two_shares`. Where it holds by far, or rows are many, the bounds of Clopper & Pearson are enough: each fails with
  probability a / 2, and p is the smallest a whose bounds keep the constraint at their worst. By far means that both
  would pass at any level above 0.001, so that it makes no difference which is asked.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv

from ...measures.constraints import Constraint
from . import two_shares
from .counts import ByView, Counts
from .payments import Payments, Shares

Array = NDArray[np.float64]

MOST = 0.9  # of what may be staked: at 1 a single bad row would leave nothing
FAR = 5.0  # standard errors: the bounds then pass at 1e-3
MANY = (
    5000  # rows of the smaller sample: the bounds then waste two percent of a share, and the test takes 5 ms and more
)
SMALLEST = 1e-12  # a p-value of bounds is not followed below this
HALVINGS = 16  # of the logarithm of such a p-value: it is at most 28 / 2^16 of itself too large, never too small


@dataclass(frozen=True)
class Share:
    """A share of the rows of one class that is on the right side: of the positives those called, of the negatives
    those not called, and of all rows (None) those called; in one view, times a factor."""

    factor: float
    of_positives: bool | None
    view: Any = None

    def seen(self, counts: ByView) -> tuple[Array, Array]:
        """(hits, rows) at each threshold."""
        at = counts[self.view]
        if self.of_positives is None:
            return at.tp + at.fp, at.positives + at.negatives
        return (at.tp, at.positives) if self.of_positives else (at.tn, at.negatives)


@dataclass(frozen=True)
class Question:
    """A constraint, ready to be tested: payments in one view, or a sum of shares with a constant."""

    constraint: Constraint
    payments: Payments | None = None
    shares: tuple[Share, ...] = ()
    constant: float = 0.0
    view: Any = None

    @classmethod
    def of(cls, constraint: Constraint, read: Payments | Shares, view: Any = None) -> Question:
        if isinstance(read, Payments):
            return cls(constraint, read, view=view)
        shares = tuple(
            Share(factor, positives, view) for factor, positives in ((read.tpr, True), (read.tnr, False)) if factor
        )
        return cls(constraint, None, shares, read.constant, view)

    @property
    def views(self) -> set[Any]:
        return {self.view} if self.payments is not None else {share.view for share in self.shares}

    @property
    def keeps_above(self) -> bool | None:
        """Whether a threshold that keeps a cap on one rate is kept by every higher one (True) or lower one (False)."""
        if self.payments is None or len(self.payments.values) != 2:
            return None
        pays = self.payments
        if pays.side == "negative":
            return pays.tn > 0.0 > pays.fp or None
        return False if pays.side == "positive" and pays.tp > 0.0 > pays.fn else None

    # -- p-values -----------------------------------------------------------------------------------------------
    def p_values(self, counts: ByView, stakes: Array | float = 0.0) -> Array:
        """At each threshold, the probability of what was seen, or better, if the constraint did not hold."""
        if self.payments is None:
            return _p_of_shares([(s.factor, *s.seen(counts)) for s in self.shares], self.constant)
        at, values = counts[self.view], self.payments.values
        if not values or values[0] > 0.0:
            return np.zeros(len(at.tp)) if values else np.ones(len(at.tp))
        if values[-1] < 0.0:
            return np.ones(len(at.tp))
        if len(values) == 2:
            good, bad = _tally(self.payments, at)
            return _tail(good, good + bad, -values[0] / (values[1] - values[0]))
        fortune = sum(n * np.log1p(np.asarray(stakes) * v) for n, v in _paid(self.payments, at))
        return np.asarray(np.exp(-np.maximum(fortune, 0.0)))

    @property
    def bets(self) -> bool:
        return self.payments is not None and len(self.payments.values) > 2

    def stakes(self, before: ByView, n_rows: float, delta: float) -> Array:
        """The share that is staked on each row at each threshold, from rows that are not tested."""
        assert self.payments is not None
        at, lowest = before[self.view], min(self.payments.values)
        squares = sum(n * v * v for n, v in _paid(self.payments, at)) + lowest**2
        per_row = squares / (at.positives + at.negatives + 1.0)
        return np.minimum(np.sqrt(2.0 * math.log(1.0 / delta) / (max(n_rows, 1.0) * per_row)), MOST / -lowest)

    # -- what is expected ---------------------------------------------------------------------------------------
    def margin(self, counts: ByView, n_rows: float) -> Array:
        """By how many standard errors of `n_rows` rows the constraint seems to hold: where a test is likely to pass."""
        if self.payments is None:
            total, variance = np.full_like(counts[None].tp, self.constant), np.zeros_like(counts[None].tp)
            for share in self.shares:
                hits, n = share.seen(counts)
                mean = (hits + 0.5) / (n + 1.0)
                total, variance = total + share.factor * mean, variance + share.factor**2 * mean * (1 - mean) / (n + 1)
            return np.asarray(total / np.sqrt(variance * counts[None].n_rows / n_rows))
        paid = _paid(self.payments, counts[self.view])
        largest = max((v * v for _, v in paid), default=1.0)
        earned, square = sum(n * v for n, v in paid), sum(n * v * v for n, v in paid) + 0.5 * largest
        return np.asarray(earned / np.sqrt(square) * math.sqrt(n_rows / max(counts[None].n_rows, 1.0)))


def _paid(payments: Payments, at: Counts) -> list[tuple[Array, float]]:
    return [(n, v) for n, v in zip((at.tp, at.fp, at.fn, at.tn), astuple(payments), strict=True) if v != 0.0]


def _tally(payments: Payments, at: Counts) -> tuple[Array, Array]:
    """How many rows pay the positive amount and how many the negative one."""
    nothing = np.zeros(len(at.tp))
    paid = _paid(payments, at)
    return sum((n for n, v in paid if v > 0.0), nothing), sum((n for n, v in paid if v < 0.0), nothing)


def _tail(hits: Array, n: Array, share: float) -> Array:
    """P(Bin(n, share) >= hits); fractions of rows, as where rows needed are foreseen, are let in."""
    some = hits > 0.0
    found = betainc(np.where(some, hits, 1.0), np.maximum(n - hits, 0.0) + 1.0, share)
    return np.where(some, found, 1.0)


def _p_of_shares(seen: list[tuple[float, Array, Array]], constant: float) -> Array:
    """Exact where that matters; bounds where the constraint holds by far or rows are many; 1 where it does not hold."""
    total, variance = np.full(len(seen[0][1]), constant), np.zeros(len(seen[0][1]))
    for factor, hits, n in seen:
        mean = (hits + 0.5) / (n + 1.0)
        total, variance = total + factor * hits / np.maximum(n, 1.0), variance + factor**2 * mean * (1 - mean) / (n + 1)
    smaller = np.min([n for _, _, n in seen], axis=0)
    few = (smaller >= 1.0) & (smaller <= MANY)
    near = (total >= 0.0) & (total < FAR * np.sqrt(variance)) & few
    p = np.where(total >= 0.0, np.nan, 1.0)
    bounded = (total >= 0.0) & ~near
    if bounded.any():
        p[bounded] = _p_of_bounds([(factor, hits[bounded], n[bounded]) for factor, hits, n in seen], constant)
    (f, h, n), (g, k, m) = seen
    for i in np.flatnonzero(near).tolist():
        p[i] = two_shares.p_value((f, g), (round(h[i]), round(k[i])), (round(n[i]), round(m[i])), constant)
    return p


def _p_of_bounds(seen: list[tuple[float, Array, Array]], constant: float) -> Array:
    low, high = np.full(len(seen[0][1]), math.log(SMALLEST)), np.zeros(len(seen[0][1]))
    keeps = _worst(seen, constant, np.ones_like(high)) >= 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        good = _worst(seen, constant, np.exp(middle)) >= 0.0
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return np.where(keeps, np.exp(high), 1.0)


def _worst(seen: list[tuple[float, Array, Array]], constant: float, level: Array) -> Array:
    """The constraint with every share at the bound that hurts."""
    tail, total = level / len(seen), np.full(len(level), constant)
    for factor, hits, n in seen:
        if factor > 0.0:
            bound = np.where(hits > 0.0, betaincinv(np.maximum(hits, 1e-9), n - hits + 1.0, tail), 0.0)
        else:
            bound = np.where(hits < n, betaincinv(hits + 1.0, np.maximum(n - hits, 1e-9), 1.0 - tail), 1.0)
        total = total + factor * bound
    return total
