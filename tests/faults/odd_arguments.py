"""Arguments for calls of the core: mostly such that the call makes sense, and now and then not.

All of them follow from a seed. How odd they are is drawn first, so that some calls have nothing wrong with them, some one
thing, and some many: a check that comes first must not hide the one behind it.
"""

from __future__ import annotations

import numpy as np

import steelyard.measures as m
from steelyard import _core

ODD = (0.0, -0.0, 1.0, -1.0, 1e-300, 1e308, -1e308, np.nan, np.inf, -np.inf, 5e-324)
ODD_COUNTS = (0, 1, 2, 3, -1, -2, 7, 1000, 2**31 - 1, -(2**31))
ODD_INDICES = (0, 1, -1, 3, 2**31, 2**62, -(2**62))
HUGE = 2**58  # rows or columns of an array without numbers: numpy makes it, and products of it pass 2^63
MEASURES = (m.FBeta(1), m.GMean(), m.BAKLD(), m.CQReward(), m.NegKLD(), m.Precision(), m.Recall() - m.fpr)


class Draw:
    """A source of arguments for one try."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.odd = self.rng.choice([0.0, 0.02, 0.2])
        self.n, self.d = int(self.rng.choice([1, 2, 8, 30, 64])), int(self.rng.choice([0, 1, 3, 8]))

    def maybe(self, share=None):
        return self.rng.random() < (self.odd if share is None else share)

    def one_of(self, *choices):
        return choices[self.rng.integers(len(choices))]

    def number(self, good=1.0):
        return float(self.one_of(*ODD)) if self.maybe() else float(good)

    def count(self, good):
        return int(self.one_of(*ODD_COUNTS)) if self.maybe() else int(good)

    def index(self, good):
        return int(self.one_of(*ODD_INDICES)) if self.maybe() else int(good)

    def length(self, good):
        return max(0, int(self.one_of(0, good - 1, good + 1, 3 * good))) if self.maybe() else good

    def numbers(self, length, make=None):
        x = (make or self.rng.standard_normal)(self.length(length)).astype(float)
        for k in range(len(x)):
            if self.maybe(self.odd / 4):
                x[k] = self.one_of(*ODD)
        return x

    def matrix(self, n, d):
        if self.maybe(self.odd / 20):  # nothing in it, but for its shape
            return np.zeros(self.one_of((0, HUGE), (HUGE, 0), (0, d), (n, 0)))
        n, d = self.length(n), self.length(d)
        keep, self.odd = self.odd, self.odd / 2
        x = np.ascontiguousarray(self.numbers(n * d)[: n * d])
        self.odd = keep
        return x.reshape(n, d) if len(x) == n * d else np.zeros((n, d))

    def signs(self, n):
        return self.numbers(n, lambda k: self.rng.choice([-1.0, 1.0], k))

    def bools(self, n):
        return self.rng.random(self.length(n)) < 0.4

    def whole(self, n, high, kind):
        x = self.rng.integers(0, max(high, 1), self.length(n)).astype(kind)
        for k in range(len(x)):
            if self.maybe():
                x[k] = self.one_of(-1, high, high + 5, np.iinfo(kind).max, np.iinfo(kind).min)
        return x

    def rows(self, values=True):
        """Rows that the core has found in order, as `steelyard.rows` asks it to; views among them. Without `values`
        their numbers have not been looked at."""
        kind = self.one_of(np.float64, np.float32)
        X = self.matrix(self.n, self.d)[:1000].astype(kind)  # the core would look at each of 2^58 rows of nothing
        if self.maybe(0.5):
            made = _core.Rows.dense(X)
        else:
            starts = np.concatenate([[0], np.cumsum(self.whole(self.n, 4, np.int32).clip(-1, 9))])
            stored = int(abs(starts[-1]))
            wide = self.one_of(np.int32, np.int64)
            columns = np.sort(self.whole(stored, self.d, wide))
            values = self.numbers(stored).astype(kind)
            width = self.one_of(self.count, self.index)(self.d)
            made = _core.Rows.csr(values, columns, starts.astype(self.one_of(np.int32, np.int64)), width)
        if made.first_fault(self.count(1), values)[0] not in ("", "unordered"):
            raise ValueError("not in order")
        if self.maybe(0.2):
            made = made.view(self.whole(self.n, made.n_rows, np.int64), self.one_of(0.0, 1.0))
        self.n, self.d = made.n_rows, made.n_cols
        return made

    def weight(self):
        return None if self.maybe(0.5) else self.numbers(self.n, self.rng.random)

    def measure(self):
        return self.one_of(*MEASURES)

    def tape(self):
        """That of a measure, with a number of it changed now and then; or no tape at all."""
        if self.maybe(self.odd / 4):
            length = int(self.rng.integers(1, 6))
            numbers = [self.whole(length, high, np.int32) for high in (24, length, length)]
            return (*numbers, self.numbers(length))
        tape = self.measure().tape()
        parts = [np.array(part) for part in (tape.op, tape.left, tape.right, tape.number)]
        if self.maybe():
            part = self.one_of(*parts)
            part[self.rng.integers(len(part))] = self.one_of(-1, 0, 1, 2, 7, 1000, 2**31 - 1)
        return tuple(parts)
