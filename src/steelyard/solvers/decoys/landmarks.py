"""An RBF kernel on many rows: the features of its Nystroem approximation, beside the columns themselves.

With landmarks l_1..l_m, ``K = [k(l_i, l_j)]`` and ``k(x) = [k(x, l_i)]``, the features ``K^(-1/2) k(x)`` have inner
products that equal the kernel's on the landmarks and approach it near them. Together with the columns of x they are the
features of the kernel ``x.x' + exp(-gamma |x - x'|^2)``, so that the linear model stays within reach.

Features are computed in pieces of rows, so that a signal is heard between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import eigh

from ...rows import Rows

Array = NDArray[np.float64]

RANK_TOL = 1e-8  # of the largest eigenvalue: the root of a double's rounding, below which 1 / sqrt(value) is noise
PIECE = 2**24  # multiplications at a time: about 20 ms


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Maps rows to features; made by `place`."""

    points: Array
    whiten: Array
    gamma: float

    def __call__(self, X: Any) -> Array:
        rows = Rows.of(X)
        out = np.empty((rows.n_rows, rows.n_cols + self.whiten.shape[1]))
        for part, features in self.pieces(rows):
            out[part] = features
        return out

    def scores(self, X: Any, w: Array) -> Array:
        """Features times w, without the features of all rows in memory."""
        rows = Rows.of(X)
        out = np.empty(rows.n_rows)
        for part, features in self.pieces(rows):
            out[part] = features @ w
        return out

    def pieces(self, rows: Rows) -> Iterator[tuple[slice, Array]]:
        at_once = max(1, PIECE // (len(self.points) * (rows.n_cols + len(self.points))))
        for start in range(0, rows.n_rows, at_once):
            part = slice(start, start + at_once)
            dense = _dense(rows.source[part if rows.which is None else rows.which[part]])
            yield part, np.hstack([dense, _rbf(dense, self.points, self.gamma) @ self.whiten])


def place(points: Any, gamma: float) -> Landmarks:
    """The map for these landmarks.

    >>> place(np.array([[0.0], [1.0]]), gamma=1.0)(np.array([[0.5]])).shape
    (1, 3)
    """
    dense = _dense(points)
    values, vectors = eigh(_rbf(dense, dense, gamma))
    kept = values > RANK_TOL * values[-1]
    return Landmarks(dense, vectors[:, kept] / np.sqrt(values[kept]), gamma)


def _rbf(A: Array, B: Array, gamma: float) -> Array:
    square = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1)[None, :] - 2.0 * (A @ B.T)
    return np.asarray(np.exp(-gamma * np.maximum(square, 0.0)))


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
