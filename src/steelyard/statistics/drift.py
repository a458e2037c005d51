"""Has the mean moved? A comparison of two samples whose level holds for rare classes and in the far tail.

Given values in [0, 1] of the n rows of a window and of the b rows before it, judge the difference D of their means
under the hypothesis that all are draws from one distribution, for which the pooled values stand. Wanted: the
probability of a difference at least as large, of either sign.

The normal distribution is not good enough. An alarm that may be false once in a million rows needs tails of 1e-3 and
less, and the count of a clear class of 1 % in a window of 200 rows has a Poisson tail there, in which a normal one
raises several times the alarms that it states. So the tail is that of the saddlepoint (Lugannani and Rice, 1980). With
the cumulant generating function ``K`` of the pooled values,

    K_D(t) = n K(t/n) + b K(-t/b),     t solves K_D'(t) = D,
    w = sqrt(2 (t D - K_D(t))),        v = t sqrt(K_D''(t)),
    P = 1 - Phi(w) + phi(w) (1/v - 1/w).

Values of 0 and 1 make sums on a lattice, for which D is first moved half a row's worth, ``1/(2n)``, towards zero (the
continuity correction); the more values there are between, the less so. With ``r`` the range of the values u, D is moved
by ``r/(2n) |E exp(2 pi i u/r)|^n``. What is kept of past values must not grow with the stream, so a `Tally` holds them
in bins of their log-odds, each with a mean of its own; what the bins hide of the variance joins K as that of a normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logit, ndtr

Array = NDArray[np.float64]

# Of the log-odds, 0.375 wide. Against 2,049 bins, tails down to 1e-12 of windows of 500 rows are off by 2 % at most for
# classes that overlap and 0.2 % for clear ones; 33 bins: 8 %, 129: 0.5 %.
BINS = 65
WIDEST = 12.0  # log-odds (6e-6) beyond which all values share a bin; 6 to 15 give the same tails within 3 %
PLAIN = 2.0  # standard errors below which the normal tail will do: it is 4.6 % there, and alarms begin below 1 %


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts, sums and sums of squares of values in [0, 1], by bin: (columns, BINS) each."""

    counts: Array
    sums: Array
    squares: Array

    @classmethod
    def nothing(cls, columns: int) -> Tally:
        """Of no rows."""
        return cls(*np.zeros((3, columns, BINS)))

    @classmethod
    def of(cls, values: Array) -> Tally:
        """From values (rows, columns)."""
        return cls.steps(values, max(1, len(values)), 1)[0]

    @classmethod
    def steps(cls, values: Array, length: int, count: int) -> list[Tally]:
        """One for each of `count` times `length` rows."""
        with np.errstate(divide="ignore"):
            place = np.clip(logit(values) / WIDEST, -1.0, 1.0)
        bins = np.rint((place + 1.0) * 0.5 * (BINS - 1)).astype(np.intp)
        shape = (count, values.shape[1], BINS)
        at = (np.arange(len(values))[:, None] // length * shape[1] + np.arange(shape[1])) * BINS + bins

        def total(of: Array) -> Array:
            return np.bincount(at.ravel(), of.ravel(), count * shape[1] * BINS).reshape(shape).astype(np.float64)

        return [cls(*parts) for parts in zip(total(np.ones_like(values)), total(values), total(values**2), strict=True)]

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.counts + other.counts, self.sums + other.sums, self.squares + other.squares)

    @property
    def size(self) -> int:
        return int(self.counts[0].sum())


def moved(window: Tally, before: Tally) -> Array:
    """For each column, how probable a difference of the means as large as this one is if nothing moved."""
    n, b, pooled = window.size, before.size, window + before
    gap = window.sums.sum(axis=1) / n - before.sums.sum(axis=1) / b
    mean = pooled.sums.sum(axis=1) / (n + b)
    variance = np.maximum(pooled.squares.sum(axis=1) / (n + b) - mean**2, 0.0)
    error = np.sqrt(np.maximum(variance * (1.0 / n + 1.0 / b), 1e-300))
    found: Array = 2.0 * ndtr(-np.abs(gap) / error)
    for c in np.flatnonzero((np.abs(gap) > PLAIN * error) & (variance > 0.0)):
        seen = pooled.counts[c] > 0
        values, shares = pooled.sums[c, seen] / pooled.counts[c, seen], pooled.counts[c, seen] / (n + b)
        one = _Pooled.of(values, shares, float(mean[c]), float(variance[c]))
        size = abs(float(gap[c])) / float(variance[c]) ** 0.5 - one.half_step(n)
        found[c] = 2.0 * _tail(one.mirrored(gap[c] < 0.0), size, n, b)
    return found


@dataclass(frozen=True, eq=False)
class _Pooled:
    """A distribution of mean 0 and variance 1: points with shares, and a normal part of variance `hidden`."""

    points: Array
    shares: Array
    hidden: float

    @classmethod
    def of(cls, values: Array, shares: Array, mean: float, variance: float) -> _Pooled:
        points = (values - mean) / variance**0.5
        return cls(points, shares, max(0.0, 1.0 - float(shares @ points**2)))

    def half_step(self, n: int) -> float:
        """Half the step of the mean of n values, as far as these lie on a lattice."""
        reach = float(np.ptp(self.points))
        if reach == 0.0:
            return 0.0
        turn = 2.0 * np.pi / reach
        kept = float(abs(self.shares @ np.exp(1j * turn * self.points))) * float(np.exp(-0.5 * turn**2 * self.hidden))
        return 0.5 * reach / n * kept**n

    def mirrored(self, yes: bool) -> _Pooled:
        return _Pooled(-self.points, self.shares, self.hidden) if yes else self

    def cumulants(self, s: float) -> tuple[float, float, float]:
        """K(s) and its first two derivatives."""
        power = s * self.points
        top = float(power.max())
        tilted = self.shares * np.exp(power - top)
        total = float(tilted.sum())
        mean = float(tilted @ self.points) / total
        spread = float(tilted @ (self.points - mean) ** 2) / total
        h = self.hidden
        return top + float(np.log(total)) + 0.5 * h * s * s, mean + h * s, spread + h


def _tail(one: _Pooled, gap: float, n: int, b: int) -> float:
    """P(D >= gap) for a gap in standard deviations of a row."""
    if gap <= 0.0:
        return 0.5
    ratio = n / b

    def short(s: float) -> float:
        return one.cumulants(s)[1] - one.cumulants(-ratio * s)[1] - gap

    end = 1.0
    while short(end) < 0.0:
        end *= 2.0
        if end > 1e6:  # no draw from the pooled values reaches this far: tilted so, the largest is all there is
            return 0.0
    s = float(brentq(short, 0.0, end, xtol=1e-12, rtol=1e-12))
    (k, _, spread), (k_before, _, spread_before) = one.cumulants(s), one.cumulants(-ratio * s)
    w = (2.0 * max(n * s * gap - n * k - b * k_before, 1e-300)) ** 0.5
    v = n * s * (spread / n + spread_before / b) ** 0.5
    density = np.exp(-0.5 * w * w) / (2.0 * np.pi) ** 0.5
    return float(np.clip(ndtr(-w) + density * (1.0 / v - 1.0 / w), 0.0, 1.0))
