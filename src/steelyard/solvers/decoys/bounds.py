"""Columns cut off at quantiles: no single feature carries a row to the top of a list.

Given rows and a share t, ``low_j`` and ``high_j`` are the quantiles t and 1 - t of column j, and a value beyond one of
them counts as that one. A linear score is unbounded, so that one freak (a decoy with a feature far from all others) may
rank first, and near the top of a list a single decoy takes a place of the few that are allowed. Labels take no part, so
that a proof that hides them stands. The zeros that CSR does not store are never moved: there the bounds have 0 between
them.
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


@dataclass(frozen=True, eq=False)
class Bounds:
    """The least and the largest value of every column.

    >>> Bounds.of(Rows.of([[0.0], [1.0], [2.0], [3.0], [90.0]]), 0.2)(Rows.of([[-7.0], [1.5], [90.0]])).source.tolist()
    [[0.0], [1.5], [3.0]]
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Rows, tail: float, weight: Array | None = None) -> Bounds:
        """The smallest value with a share `tail` of the weight up to it, and the one with a share ``1 - tail``."""
        ends = [_quantiles(values, counted, tail) for values, counted in _columns(rows, weight)]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        if rows.is_sparse:
            low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        return cls(np.ascontiguousarray(low), np.ascontiguousarray(high))

    def __call__(self, rows: Rows) -> Rows:
        return Rows.of(self._within(_stored(rows)))

    def pieces(self, rows: Rows) -> Iterator[tuple[slice, Rows]]:
        """The bounded rows, some at a time, so that no copy of all is made."""
        at_once = max(1, PIECE // max(1, rows.n_cols))
        for start in range(0, rows.n_rows, at_once):
            part = slice(start, start + at_once)
            stored = rows.source[part if rows.which is None else rows.which[part]]
            yield part, Rows.of(self._within(stored), check=False)

    def _within(self, X: Any) -> Any:
        low, high = self.low.astype(X.dtype), self.high.astype(X.dtype)
        if not sp.issparse(X):
            return np.clip(X, low, high)
        return sp.csr_matrix((np.clip(X.data, low[X.indices], high[X.indices]), X.indices, X.indptr), shape=X.shape)


def _columns(rows: Rows, weight: Array | None) -> Iterator[tuple[NDArray[Any], Array]]:
    """The values of each column and what each counts; in CSR those not stored are one 0 that counts for all of them."""
    weight = np.ones(rows.n_rows) if weight is None else weight
    X, total = _stored(rows), float(weight.sum())
    if not sp.issparse(X):
        for column in X.T:
            yield column, weight
        return
    X = X.tocsc()
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        counted = weight[X.indices[start:end]]
        yield np.append(X.data[start:end], 0.0), np.append(counted, max(total - float(counted.sum()), 0.0))


def _quantiles(values: NDArray[Any], weight: Array, tail: float) -> tuple[float, float]:
    order = np.argsort(values)
    upto = np.cumsum(weight[order])
    first = np.searchsorted(upto, (tail * upto[-1] * (1 - 1e-12), (1.0 - tail) * upto[-1] * (1 - 1e-12)))
    low, high = values[order][np.minimum(first, len(values) - 1)]
    return float(low), float(high)


def _stored(rows: Rows) -> Any:
    return rows.source if rows.which is None else rows.source[rows.which]
