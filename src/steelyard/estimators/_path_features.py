"""What the models of a path are multiplied with: the features, a kernel's rows, or features made of a kernel.

The exact path of a kernel is in the dual form (`solvers.path.exact`): a model is its coefficients on the training rows,
and a new row is ``k(x, .)`` there. Solvers that know features only take the pivoted Cholesky factorisation K = F F',
with as many columns as the numerical rank of the kernel matrix K: the rows of F are features whose inner products are
the kernel. For a new row, ``f(x) = T^-1 k(x, pivots)`` with T the factor of the pivots' own kernel matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms

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

    def norms(self, X: Any, rows: Any) -> np.ndarray:
        """The length of each row."""
        return row_norms(rows)

    def for_model(self, w: np.ndarray) -> tuple[LinearFeatures, np.ndarray]:
        """What one model needs of this, and the model."""
        return self, w


class KernelColumns:
    """``k(x, .)`` on rows Z, plus a constant; for a precomputed kernel Z are the columns that belong to the rows."""

    def __init__(self, Z: Any, kernel: str, params: dict[str, Any], constant: float) -> None:
        self.Z = Z
        self.kernel = kernel
        self.params = params
        self.constant = constant

    def __call__(self, X: Any) -> np.ndarray:
        if self.kernel == "precomputed":
            return _dense(X[:, self.Z]) + self.constant
        return np.asarray(pairwise_kernels(X, self.Z, metric=self.kernel, **self.params)) + self.constant

    def norms(self, X: Any, rows: Any) -> np.ndarray:
        """``k(x, x) ** 0.5``; that of a precomputed kernel is not known."""
        if self.kernel == "precomputed":
            return np.full(X.shape[0], np.inf)
        if self.kernel == "rbf":
            return np.full(X.shape[0], (1.0 + self.constant) ** 0.5)
        powers = (self.params["gamma"] * row_norms(X, squared=True) + self.params["coef0"]) ** self.params["degree"]
        return np.asarray(np.sqrt(powers + self.constant))

    def for_model(self, w: np.ndarray) -> tuple[KernelColumns, np.ndarray]:
        support = np.flatnonzero(w)
        return KernelColumns(self.Z[support], self.kernel, self.params, self.constant), w[support]


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
        K = np.array(_dense(X), dtype=np.float64, order="C") if self.kernel == "precomputed" else self._kernel(X, X)
        factor, pivots = _pivoted_cholesky(K)
        self.pivots_ = pivots
        self.landmarks_ = None if self.kernel == "precomputed" else X[pivots]
        self.triangle_ = factor[pivots]
        return with_constant(factor) if self.constant else factor

    def __call__(self, X: Any) -> np.ndarray:
        cross = _dense(X[:, self.pivots_]) if self.landmarks_ is None else self._kernel(X, self.landmarks_)
        features = solve_triangular(self.triangle_, cross.T, lower=True).T
        return with_constant(features) if self.constant else features

    def norms(self, X: Any, rows: Any) -> np.ndarray:
        return row_norms(rows)

    def for_model(self, w: np.ndarray) -> tuple[KernelFeatures, np.ndarray]:
        return self, w

    def weights(self, w: np.ndarray) -> np.ndarray:
        """For a linear kernel: what w on these features is on the columns of X."""
        assert self.kernel == "linear"
        return np.asarray(self.landmarks_.T @ solve_triangular(self.triangle_, w, lower=True, trans="T")).ravel()

    def _kernel(self, A: Any, B: Any) -> np.ndarray:
        return np.asarray(pairwise_kernels(A, B, metric=self.kernel, **self.params))


def _pivoted_cholesky(K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F with F F' = K to RANK_TOL, and its pivots; ``F[pivots]`` is lower triangular. K may be overwritten."""
    largest = float(np.diagonal(K).max())
    if not largest > 0.0:
        raise ValueError("the kernel is zero on every row: nothing can be learned from it")
    # K is symmetric, so its transpose is the same matrix, in the order that LAPACK takes without a copy.
    triangle, order, rank, _ = dpstrf(K.T, tol=RANK_TOL * largest, lower=1, overwrite_a=1)
    order = order - 1
    factor = np.zeros((len(K), rank))
    factor[order] = np.tril(triangle[:, :rank])
    return factor, order[:rank]


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def with_constant(X: Any) -> Any:
    column = np.ones((X.shape[0], 1))
    return sp.hstack([X, column], format="csr") if sp.issparse(X) else np.hstack([X, column])
