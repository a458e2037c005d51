"""Kernel machines with any box around each point, by sequential minimal optimisation.

    maximise  p'a - 1/2 a'Qa   subject to   y'a = 0,   lower <= a <= upper,      Q_ij = y_i y_j k(x_i, x_j)

Given a `Kernel` over the training rows, labels y in {-1, 1}, a linear term p and bounds for each row; back come a, the
constant of ``f(x) = sum_i a_i y_i k(x_i, x) + bias`` with ``y_i f(x_i) = p_i`` at the free rows, and a bound on how far
the optimality conditions are from holding. The standard SVM is ``p = 1, lower = 0, upper = C``; nonconvex SVMs shift
the boxes (002, Algorithm 2). One `Kernel` serves many calls: its cache stays, and the last result is a good start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ... import _core

KERNELS = ("linear", "rbf", "poly", "precomputed")
ROUNDING = 1e-14  # of the sum of all |b|


class Kernel:
    """The kernel matrix of the rows of X, computed row by row and cached in at most `cache_size` MB."""

    def __init__(
        self,
        X: Any,
        kernel: str = "rbf",
        *,
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 0.0,
        cache_size: float = 200.0,
    ) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"kernel is one of {', '.join(KERNELS)}; got {kernel!r}")
        self.n_rows = X.shape[0]
        how = (kernel, float(gamma), float(coef0), int(degree), float(cache_size) * 2**20)
        if sp.issparse(X):
            X = sp.csr_array(X)
            self._rows = _core.KernelMatrix.sparse(X.data, X.indices, X.indptr, X.shape[1], *how)
        else:
            self._rows = _core.KernelMatrix.dense(np.ascontiguousarray(X), *how)

    def product(self, b: np.ndarray) -> np.ndarray:
        """K b, from the rows with b != 0."""
        return np.asarray(self._rows.product(np.ascontiguousarray(b, dtype=np.float64)))

    @property
    def n_computed(self) -> int:
        """Rows computed so far; what the cache gave back does not count."""
        return int(self._rows.n_computed)


@dataclass(frozen=True)
class SmoResult:
    """A solution of the dual: `signed` is y a, `products` is K (y a), so that f = products + bias on the rows."""

    signed: np.ndarray
    products: np.ndarray
    bias: float
    objective: float
    violation: float
    n_iter: int
    converged: bool

    @property
    def scores(self) -> np.ndarray:
        return self.products + self.bias


def solve(
    kernel: Kernel,
    y: np.ndarray,
    p: np.ndarray | float,
    lower: np.ndarray | float,
    upper: np.ndarray | float,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    start: SmoResult | None = None,
    shrinking: bool = True,
) -> SmoResult:
    """The solution to `tol`: no pair of rows violates the optimality conditions by more. `start` is a warm start."""
    y = np.asarray(y, dtype=np.float64)
    n = kernel.n_rows
    one_side, other_side = y * np.broadcast_to(lower, n), y * np.broadcast_to(upper, n)
    low, high = np.minimum(one_side, other_side), np.maximum(one_side, other_side)
    if (np.broadcast_to(lower, n) > np.broadcast_to(upper, n)).any():
        raise ValueError("a lower bound lies above its upper bound")
    b = feasible(np.zeros(n) if start is None else start.signed, low, high)
    if start is None:
        products = kernel.product(b)
    else:
        products = start.products + kernel.product(b - start.signed)
    found = kernel._rows.solve(y * np.broadcast_to(p, n), low, high, b, products, tol, max_iter, shrinking)
    signed, products, bias, objective, violation, n_iter, converged = found
    return SmoResult(np.asarray(signed), np.asarray(products), bias, objective, violation, n_iter, converged)


def feasible(b: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A point of the boxes with sum 0, near b: clipped, then the heavier side moved back evenly.

    Values are moved towards zero first, since a row that stays at zero costs no row of the kernel matrix.
    """
    b = np.clip(b, low, high)
    for towards_zero in (True, False):
        surplus = b.sum()
        if abs(surplus) <= ROUNDING * np.abs(b).sum():
            break
        limit = low if surplus > 0 else high
        if towards_zero:
            limit = np.where(np.sign(b) == np.sign(surplus), np.clip(0.0, low, high), b)
        room = np.abs(b - limit)
        share = min(1.0, abs(surplus) / room.sum()) if room.any() else 0.0
        b = np.where(room > 0.0, b + share * (limit - b), b)
    else:
        if abs(b.sum()) > 1e-9 * max(1.0, np.abs(b).sum()):
            raise ValueError("no point within the bounds satisfies y'a = 0")
    return np.asarray(np.clip(b, low, high))
