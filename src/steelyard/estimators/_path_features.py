"""The columns a path is traced on: the features themselves, or a kernel's, with or without a constant column.

A kernel matrix has the pivoted Cholesky factorisation K = F F' with as many columns as its numerical rank. The rows of
F are features whose inner products are the kernel, so the path of the kernel machine is the linear path on them. For a
new row, ``f(x) = T^-1 k(x, pivots)`` with T the factor of the pivots' own kernel matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from sklearn.metrics.pairwise import pairwise_kernels

LARGEST = 20_000  # rows: the factor of a kernel matrix takes up to n^2 numbers
RANK_TOL = 1e-10  # of the largest diagonal entry: what the pivots leave unexplained


class LinearFeatures:
    """The columns of X, and a constant one if asked for."""

    def __init__(self, constant: bool) -> None:
        self.constant = constant

    def fit(self, X: Any) -> Any:
        return self(X)

    def __call__(self, X: Any) -> Any:
        return with_constant(X) if self.constant else X


class KernelFeatures:
    """The pivoted Cholesky factor of a kernel matrix, extended to new rows."""

    def __init__(self, kernel: str, params: dict[str, Any], constant: bool) -> None:
        self.kernel = kernel
        self.params = params
        self.constant = constant

    def fit(self, X: Any) -> np.ndarray:
        if X.shape[0] > LARGEST:
            raise ValueError(
                f"a kernel path on {X.shape[0]} rows would hold up to {X.shape[0]}^2 numbers; the limit is {LARGEST} "
                "rows. Train on a sample, or take kernel='linear' on an explicit feature map (Nystroem)"
            )
        if self.kernel == "precomputed":
            diagonal = np.asarray(np.diagonal(X), dtype=np.float64).copy()
            column = lambda i: X[:, i]
        else:
            diagonal = np.array([self._kernel(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])
            column = lambda i: self._kernel(X, X[i : i + 1])[:, 0]
        factor, pivots = _pivoted_cholesky(diagonal, column)
        self.pivots_ = pivots
        self.landmarks_ = None if self.kernel == "precomputed" else X[pivots]
        self.triangle_ = factor[pivots]
        return with_constant(factor) if self.constant else factor

    def __call__(self, X: Any) -> np.ndarray:
        cross = X[:, self.pivots_] if self.landmarks_ is None else self._kernel(X, self.landmarks_)
        features = solve_triangular(self.triangle_, np.asarray(cross).T, lower=True).T
        return with_constant(features) if self.constant else features

    def _kernel(self, A: Any, B: Any) -> np.ndarray:
        return np.asarray(pairwise_kernels(A, B, metric=self.kernel, **self.params))


def _pivoted_cholesky(diagonal: np.ndarray, column: Any) -> tuple[np.ndarray, np.ndarray]:
    """F with F F' = K to RANK_TOL, and its pivots; ``F[pivots]`` is lower triangular. O(n r^2) time, O(n r) numbers."""
    n = len(diagonal)
    largest = float(diagonal.max())
    if not largest > 0.0:
        raise ValueError("the kernel is zero on every row: nothing can be learned from it")
    factor, pivots, left = np.zeros((n, min(n, 64))), [], diagonal.copy()
    while len(pivots) < n:
        i = int(np.argmax(left))
        if left[i] <= RANK_TOL * largest:
            break
        r = len(pivots)
        if r == factor.shape[1]:
            factor = np.hstack([factor, np.zeros((n, min(n - r, r)))])
        new = (np.asarray(column(i), dtype=np.float64) - factor[:, :r] @ factor[i, :r]) / np.sqrt(left[i])
        new[pivots] = 0.0
        factor[:, r] = new
        pivots.append(i)
        left -= new**2
        left[pivots] = -np.inf
    return np.ascontiguousarray(factor[:, : len(pivots)]), np.array(pivots)


def with_constant(X: Any) -> Any:
    column = np.ones((X.shape[0], 1))
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
