"""Scores of new rows from a kernel machine: ``f(x) = sum_i coef_i k(x_i, x) + bias`` over its support vectors.

A linear kernel is one weight vector, and so is a precomputed one (a weight for each column of the matrix given). Other
kernels are computed in pieces of rows that take a few hundredths of a second each, so that a signal is heard between
them and the kernel values of all rows are never in memory together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...rows import Rows
from .smo import KernelFunction

Array = NDArray[np.float64]

PIECE = 2**25  # multiplications: 20 to 30 ms
EXPONENTIAL = 32  # multiplications that an exponential or a power takes the time of


@dataclass(frozen=True, eq=False)
class LinearScore:
    """``f(x) = x.w + bias``."""

    w: Array
    bias: float

    def __call__(self, X: Any) -> Array:
        return Rows.of(X).scores(self.w) + self.bias


@dataclass(frozen=True, eq=False)
class KernelExpansion:
    """``f(x) = sum_i coef_i k(x_i, x) + bias``, with the support vectors x_i kept."""

    vectors: Any
    coef: Array
    bias: float
    function: KernelFunction

    def __call__(self, X: Any) -> Array:
        rows = Rows.of(X)
        scores = np.full(rows.n_rows, self.bias)
        if len(self.coef) == 0:
            return scores
        vectors, norms = _as_float64(self.vectors), _squared_norms(self.vectors)
        at_once = max(1, PIECE // (len(self.coef) * (rows.n_cols + EXPONENTIAL)))
        for start in range(0, rows.n_rows, at_once):
            part = slice(start, start + at_once)
            x = _as_float64(rows.source[part if rows.which is None else rows.which[part]])
            scores[part] += kernel_values(x, vectors, norms, self.function) @ self.coef
        return scores


def expansion(X: Any, coef: Array, bias: float, function: KernelFunction) -> LinearScore | KernelExpansion:
    """The scores of the machine with these coefficients on the rows of X.

    >>> f = expansion(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), 0.5, KernelFunction("linear"))
    >>> f(np.array([[1.0], [3.0]])).tolist()
    [2.5, 6.5]
    """
    rows, support = Rows.of(X), np.flatnonzero(coef)
    if function.name == "linear":
        return LinearScore(rows.take(support).sums(coef[support]), bias)
    if function.name == "precomputed":
        w = np.zeros(rows.n_cols)
        w[support if rows.which is None else rows.which[support]] = coef[support]
        return LinearScore(w, bias)
    vectors = rows.source[support if rows.which is None else rows.which[support]]
    return KernelExpansion(vectors, coef[support], bias, function)


def kernel_values(A: Any, B: Any, norms: Array, function: KernelFunction) -> Array:
    """k(a, b) for every row of A (down) and of B (across, with these squared norms); in double precision."""
    products = A @ B.T
    K: Array = products.toarray() if sp.issparse(products) else np.asarray(products)
    if function.name == "rbf":
        K *= -2.0
        K += _squared_norms(A)[:, None]
        K += norms
        np.maximum(K, 0.0, out=K)
        K *= -function.gamma
        np.exp(K, out=K)
    elif function.name == "poly":
        K *= function.gamma
        K += function.coef0
        K **= function.degree
    return K


def _squared_norms(A: Any) -> Array:
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", A, A, dtype=np.float64))


def _as_float64(A: Any) -> Any:
    return A.astype(np.float64, copy=False)
