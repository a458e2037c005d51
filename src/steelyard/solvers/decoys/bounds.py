"""Columns that level off: no single feature carries a row to the top of a list.

A linear score is unbounded, so that one freak (a decoy with a feature far from all others) may rank first, and near the
top of a list a single decoy takes a place of the few that are allowed. Two ways of bounding a column:

- `Soft`: ``x -> c + b tanh((x - c) / b)``, nearly x itself around the median c, and never further from it than b, some
  deviations of the column. Labels take no part, so that a proof which hides them stands.
- `Clip`: a value beyond `low` or `high` counts as that one.

A deviation is half the range from the quantile 16 % to 84 %, or a quarter of that from 2.3 % to 97.7 %, the larger; of
a normal column both are its standard deviation, a few freaks do not change them, and a column that is mostly one value
has the second. Where that is 0 too (a rare flag) it is the standard deviation. Rows in CSR keep their zeros: `Soft` is
shifted so that 0 stays 0, which an intercept makes good, and in `Clip` the bounds have 0 between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...rows import Rows

Array = NDArray[np.float64]

PIECE = 2**21  # entries at a time: about 10 ms
ONE, TWO = 0.158655, 0.022750  # of a normal column below minus one and minus two standard deviations
SHIFT = 1e-12  # of a share, so that rounding does not move a quantile by a row


class Columnwise:
    """A function of each column by itself that leaves 0 where it is not stored."""

    def _of(self, values: NDArray[Any], column: Any) -> NDArray[Any]:
        """The values of the columns with these numbers (a slice: all, in order)."""
        raise NotImplementedError

    def __call__(self, rows: Rows) -> Rows:
        """A copy of the rows, made piece by piece: what is computed on the way is two to three times as large."""
        if rows.is_sparse:
            return Rows.of(self._within(stored(rows)))
        found = np.empty((rows.n_rows, rows.source.shape[1]), dtype=rows.source.dtype)
        for part, some in self.pieces(rows):
            found[part] = some.source
        return Rows.of(found)

    def pieces(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """The bounded rows, some at a time, so that no copy of all is made."""
        at_once = max(1, PIECE // max(1, rows.n_cols))
        for start in range(0, rows.n_rows, at_once):
            part = slice(start, start + at_once)
            held = rows.source[part if rows.which is None else rows.which[part]]
            yield part, Rows.of(self._within(held), check=False)

    def _within(self, X: Any) -> Any:
        if not sp.issparse(X):
            return self._of(X, slice(None)).astype(X.dtype, copy=False)
        values = self._of(X.data, X.indices).astype(X.dtype, copy=False)
        return sp.csr_matrix((values, X.indices, X.indptr), shape=X.shape)


@dataclass(frozen=True, eq=False)
class Soft(Columnwise):
    """``b tanh((x - c) / b) + b tanh(c / b)``: around c with the slope 1, and 0 at 0.

    >>> soft = Soft.of(Rows.of(np.arange(9.0)[:, None]), 3.0)
    >>> soft(Rows.of([[0.0], [4.0], [1e9]])).source.round(2).ravel().tolist()
    [0.0, 3.76, 12.76]
    """

    centre: Array
    reach: Array

    @classmethod
    def of(cls, rows: Rows, deviations: float, weight: Array | None = None) -> Soft:
        found = [_spread(values, counted) for values, counted in _columns(rows, weight)]
        centre, spread = np.array(found, dtype=np.float64).reshape(-1, 2).T
        return cls(np.ascontiguousarray(centre), np.where(spread > 0.0, deviations * spread, 1.0))

    @property
    def at_zero(self) -> Array:
        """``c + b tanh(-c / b)``: what the unshifted function has at 0."""
        return np.asarray(self.centre - self.reach * np.tanh(self.centre / self.reach))

    def _of(self, values: NDArray[Any], column: Any) -> NDArray[Any]:
        c, b = self.centre[column], self.reach[column]
        with np.errstate(over="ignore"):  # far beyond the reach of a column of tiny numbers: tanh is 1 at infinity
            return np.asarray(b * (np.tanh((values - c) / b) + np.tanh(c / b)))


@dataclass(frozen=True, eq=False)
class Clip(Columnwise):
    """The least and the largest value of every column.

    >>> Clip.of(Rows.of([[0.0], [1.0], [2.0], [3.0], [90.0]]), 0.2)(Rows.of([[-7.0], [1.5], [90.0]])).source.tolist()
    [[0.0], [1.5], [3.0]]
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Rows, tail: float, weight: Array | None = None) -> Clip:
        """The smallest value with a share `tail` of the weight up to it, and the one with a share ``1 - tail``."""
        ends = [quantiles(values, counted, (tail, 1.0 - tail)) for values, counted in _columns(rows, weight)]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        if rows.is_sparse:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return cls(np.ascontiguousarray(low), np.ascontiguousarray(high))

    def _of(self, values: NDArray[Any], column: Any) -> NDArray[Any]:
        return np.asarray(np.clip(values, self.low[column], self.high[column]))


def quantiles(values: NDArray[Any], weight: Array, shares: tuple[float, ...]) -> Array:
    """For each share the smallest value with at least that share of the weight up to it."""
    order = np.argsort(values)
    upto = np.cumsum(weight[order])
    first = np.searchsorted(upto, (np.array(shares) - SHIFT) * upto[-1])
    return np.asarray(values[order][np.minimum(first, len(values) - 1)], dtype=np.float64)


def _spread(values: NDArray[Any], weight: Array) -> tuple[float, float]:
    """The median and a deviation of one column."""
    a, b, median, c, d = quantiles(values, weight, (TWO, ONE, 0.5, 1.0 - ONE, 1.0 - TWO))
    spread = max((c - b) / 2.0, (d - a) / 4.0)
    if spread <= 0.0:
        away = values.astype(np.float64) - median  # exactly 0 in a constant column
        mean = float(weight @ away) / float(weight.sum())
        spread = float(np.sqrt(max(float(weight @ away**2) / float(weight.sum()) - mean**2, 0.0)))
    return float(median), float(spread)


def _columns(rows: Rows, weight: Array | None) -> Iterator[tuple[NDArray[Any], Array]]:
    """The values of each column and what each counts; in CSR those not stored are one 0 that counts for all of them."""
    weight = np.ones(rows.n_rows) if weight is None else weight
    X, total = stored(rows), float(weight.sum())
    if not sp.issparse(X):
        for column in X.T:
            yield column, weight
        return
    X = X.tocsc()
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        counted = weight[X.indices[start:end]]
        yield np.append(X.data[start:end], 0.0), np.append(counted, max(total - float(counted.sum()), 0.0))


def stored(rows: Rows) -> Any:
    return rows.source if rows.which is None else rows.source[rows.which]
