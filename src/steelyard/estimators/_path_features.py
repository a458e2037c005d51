"""What the models of a path are multiplied with: the features, a kernel's rows, or features made of a kernel.

The exact path of a kernel is in the dual form (`solvers.path.exact`): a model is its coefficients on the training rows,
and a new row is ``k(x, .)`` there. Solvers that know features only take the pivoted Cholesky factorisation K = F F',
with as many columns as the numerical rank of the kernel matrix K: the rows of F are features whose inner products are
the kernel. For a new row, ``f(x) = T^-1 k(x, pivots)`` with T the factor of the pivots' own kernel matrix.

Kernel values are computed in pieces, so that Ctrl-C is heard between two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.metrics.pairwise import pairwise_kernels

from ..rows import Rows
from ..solvers.path.problem import PathKernel

Array = NDArray[np.float64]

LARGEST = 20_000  # rows: the factor of a kernel matrix takes up to n^2 numbers, 3.2 GB of them here
# What the pivots leave unexplained, of the largest diagonal entry: above the rounding of a kernel value times the
# number of pivots (1e-16 * LARGEST), and far below the 1e-3 to which the models are solved.
RANK_TOL = 1e-10
PIECE = 2**21  # kernel values computed at a time: 16 MB
WORK = 2**28  # multiplications for them: a tenth of a second of one core
PANEL = 128  # rows of the factor made before the rest is updated: 64 is a fifth slower, 192 as fast (n = 3,000)


class Features(Protocol):
    """Rows as the models of a path see them."""

    def __call__(self, rows: Rows) -> Rows: ...
    def norms(self, rows: Rows, made: Rows) -> Array:
        """The length of each row, in the space of the models; `made` is what the call has made of them."""
        ...

    def scores(self, rows: Rows, models: Array) -> Array:
        """``f(x_i)`` of one model, or of several (down) one column each."""
        ...

    def for_model(self, w: Array) -> tuple[Features, Array]:
        """What one model needs of this, and the model."""
        ...


class LinearFeatures:
    """The columns of the rows, and a constant one if asked for."""

    def __init__(self, constant: bool) -> None:
        self.constant = constant

    def fit(self, X: Any) -> Any:
        return X

    def train(self, rows: Rows) -> Rows:
        return rows.with_constant() if self.constant else rows

    def __call__(self, rows: Any) -> Any:
        return rows.with_constant() if self.constant else rows

    def norms(self, rows: Rows, made: Rows) -> Array:
        return np.sqrt(made.squared_norms())

    def scores(self, rows: Rows, models: Array) -> Array:
        made: Rows = self(rows)
        return made.scores(models, made.cores)

    def for_model(self, w: Array) -> tuple[LinearFeatures, Array]:
        return self, w


class KernelColumns:
    """``k(x, .)`` on some vectors, plus a constant; of a precomputed kernel, some columns of the rows."""

    def __init__(self, kernel: PathKernel, vectors: Rows | None, columns: NDArray[np.int64] | None) -> None:
        self.kernel = kernel
        self.vectors = vectors
        self.columns = columns

    @classmethod
    def of(cls, kernel: PathKernel, rows: Rows) -> KernelColumns:
        """On the rows of a path; of a precomputed kernel they name their columns."""
        if kernel.name == "precomputed":
            return cls(kernel, None, np.arange(rows.n_cols) if rows.which is None else rows.which)
        return cls(kernel, rows, None)

    def __call__(self, rows: Rows) -> Rows:
        values = np.empty((rows.n_rows, self._n_columns()))
        for part, K in self._pieces(rows):
            values[part] = K
        return Rows.of(values, check=False)

    def scores(self, rows: Rows, models: Array) -> Array:
        found = np.empty((rows.n_rows, *models.shape[:-1]))
        for part, K in self._pieces(rows):
            found[part] = K @ models.T
        return found

    def norms(self, rows: Rows, made: Rows) -> Array:
        """``k(x, x) ** 0.5``; that of a precomputed kernel is not known."""
        k = self.kernel
        if k.name == "precomputed":
            return np.full(rows.n_rows, np.inf)
        if k.name == "rbf":
            return np.full(rows.n_rows, (1.0 + k.constant) ** 0.5)
        return np.asarray(np.sqrt((k.gamma * rows.squared_norms() + k.coef0) ** k.degree + k.constant))

    def for_model(self, w: Array) -> tuple[KernelColumns, Array]:
        support = np.flatnonzero(w)
        if self.columns is not None:
            return KernelColumns(self.kernel, None, self.columns[support]), w[support]
        assert self.vectors is not None
        vectors = Rows.of(part_of(self.vectors.take(support)), check=False)
        return KernelColumns(self.kernel, vectors, None), w[support]

    def _n_columns(self) -> int:
        if self.columns is not None:
            return len(self.columns)
        assert self.vectors is not None
        return self.vectors.n_rows

    def _pieces(self, rows: Rows) -> Iterator[tuple[slice, Array]]:
        if self.columns is not None:
            for part in pieces(rows.n_rows, len(self.columns)):
                yield part, _dense(part_of(rows, part)[:, self.columns]) + self.kernel.constant
            return
        assert self.vectors is not None
        k, vectors = self.kernel, part_of(self.vectors)
        for part, K in kernel_pieces(rows, vectors, k.name, params_of(k)):
            yield part, K + k.constant


class KernelFeatures:
    """The pivoted Cholesky factor of a kernel matrix, extended to new rows; with a constant column if asked for."""

    def __init__(self, kernel: str, params: dict[str, Any], constant: bool = False) -> None:
        self.kernel = kernel
        self.params = params
        self.constant = constant

    def fit(self, X: Any) -> Array:
        """The features of the training rows, without a constant one."""
        rows = Rows.of(X)
        if rows.n_rows > LARGEST:
            raise ValueError(
                f"a kernel path on {rows.n_rows} rows would hold up to {rows.n_rows}^2 numbers; the limit is {LARGEST} "
                "rows. Train on a sample, or take kernel='linear' on an explicit feature map (Nystroem)"
            )
        names = np.arange(rows.n_rows) if rows.which is None else rows.which
        K = np.empty((rows.n_rows, rows.n_rows))
        if self.kernel == "precomputed":
            for part in pieces(rows.n_rows, rows.n_rows):
                K[part] = _dense(part_of(rows, part)[:, names])
        else:
            for part, values in kernel_pieces(rows, part_of(rows), self.kernel, self.params):
                K[part] = values
        factor, pivots = pivoted_cholesky(K)
        self.pivots_ = names[pivots]
        self.landmarks_ = None if self.kernel == "precomputed" else part_of(rows.take(pivots))
        self.triangle_ = factor[pivots]
        return factor

    def train(self, rows: Rows) -> Rows:
        """Of the training rows, with the constant."""
        made = Rows.of(self.fit(rows), check=False)
        return made.with_constant() if self.constant else made

    def __call__(self, rows: Any) -> Any:
        """Features of new rows: `Rows` of `Rows`, with the constant, an array of an array, without it."""
        given = Rows.of(rows)
        features = np.empty((given.n_rows, len(self.triangle_)))
        for part, cross in self._cross(given):
            features[part] = solve_triangular(self.triangle_, cross.T, lower=True).T
        if not isinstance(rows, Rows):
            return features
        made = Rows.of(features, check=False)
        return made.with_constant() if self.constant else made

    def norms(self, rows: Rows, made: Rows) -> Array:
        return np.sqrt(made.squared_norms())

    def scores(self, rows: Rows, models: Array) -> Array:
        made: Rows = self(rows)
        return made.scores(models, made.cores)

    def for_model(self, w: Array) -> tuple[KernelFeatures, Array]:
        return self, w

    def weights(self, w: Array) -> Array:
        """For a linear kernel: what w on these features is on the columns of X."""
        assert self.kernel == "linear"
        assert self.landmarks_ is not None
        return np.asarray(self.landmarks_.T @ solve_triangular(self.triangle_, w, lower=True, trans="T")).ravel()

    def _cross(self, rows: Rows) -> Iterator[tuple[slice, Array]]:
        if self.landmarks_ is not None:
            yield from kernel_pieces(rows, self.landmarks_, self.kernel, self.params)
            return
        for part in pieces(rows.n_rows, len(self.pivots_)):
            yield part, _dense(part_of(rows, part)[:, self.pivots_])


def params_of(kernel: PathKernel) -> dict[str, Any]:
    """As scikit-learn's `pairwise_kernels` takes them."""
    if kernel.name in ("linear", "precomputed"):
        return {}
    powers = {"degree": kernel.degree, "coef0": kernel.coef0} if kernel.name == "poly" else {}
    return {"gamma": kernel.gamma, **powers}


def kernel_pieces(rows: Rows, vectors: Any, kernel: str, params: dict[str, Any]) -> Iterator[tuple[slice, Array]]:
    """``k(x_i, z_j)`` for all rows and vectors, some rows at a time, in float64 whatever they are kept in."""
    vectors = vectors.astype(np.float64, copy=False)
    for part in pieces(rows.n_rows, vectors.shape[0], vectors.shape[1]):
        some = part_of(rows, part).astype(np.float64, copy=False)
        yield part, np.asarray(pairwise_kernels(some, vectors, metric=kernel, **params))


def pieces(n_rows: int, n_columns: int, depth: int = 1) -> Iterator[slice]:
    """Rows in pieces for which a tenth of a second does."""
    size = max(1, min(PIECE // max(n_columns, 1), WORK // max(n_columns * depth, 1)))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def part_of(rows: Rows, part: slice = slice(None)) -> Any:
    """Rows as an array or CSR, without a constant column; a view of the memory where it is one piece."""
    return rows.source[part] if rows.which is None else rows.source[rows.which[part]]


def pivoted_cholesky(K: Array) -> tuple[Array, NDArray[np.intp]]:
    """F with F F' = K to RANK_TOL, and its pivots; ``F[pivots]`` is lower triangular. K is overwritten.

    LAPACK's dpstrf in pieces, on the upper triangle of rows: a panel of rows of F', each for the row of K with the most
    left to explain, and then what is left of the triangle at once, some rows at a time.
    """
    n = len(K)
    left = np.diagonal(K).copy()
    largest = float(left.max(initial=0.0))
    if not largest > 0.0:
        raise ValueError("the kernel is zero on every row: nothing can be learned from it")
    order, rank = np.arange(n), 0
    for start in range(0, n, PANEL):
        end = min(start + PANEL, n)
        for j in range(start, end):
            pivot = j + int(np.argmax(left[j:]))
            if not left[pivot] > RANK_TOL * largest:
                break
            _swap(K, left, order, j, pivot)
            K[j, j] = np.sqrt(left[j])
            K[j, j + 1 :] -= K[start:j, j] @ K[start:j, j + 1 :]
            K[j, j + 1 :] /= K[j, j]
            left[j + 1 :] -= K[j, j + 1 :] ** 2
            rank = j + 1
        if rank < end:
            break
        for part in pieces(n - end, n, PANEL):
            first, last = end + part.start, end + part.stop
            K[first:last, first:] -= K[start:end, first:last].T @ K[start:end, first:]
    factor = np.zeros((n, rank))
    factor[order] = np.triu(K[:rank]).T
    return factor, order[:rank]


def _swap(K: Array, left: Array, order: NDArray[np.intp], j: int, k: int) -> None:
    """Rows and columns j < k change places, in the upper triangle."""
    if j == k:
        return
    K[:j, [j, k]] = K[:j, [k, j]]
    between = K[j, j + 1 : k].copy()
    K[j, j + 1 : k] = K[j + 1 : k, k]
    K[j + 1 : k, k] = between
    K[[j, k], k + 1 :] = K[[k, j], k + 1 :]
    K[j, j], K[k, k] = K[k, k], K[j, j]
    left[[j, k]] = left[[k, j]]
    order[[j, k]] = order[[k, j]]


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
