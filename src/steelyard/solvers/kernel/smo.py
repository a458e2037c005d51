"""Kernel machines with any box around each point, by sequential minimal optimisation.

    maximise  p'a - 1/2 a'Qa   subject to   y'a = 0,   lower <= a <= upper,      Q_ij = y_i y_j k(x_i, x_j)

Given a `Kernel` over the training rows, labels y in {-1, 1}, a linear term p and bounds for each row; back come a, the
constant of ``f(x) = sum_i a_i y_i k(x_i, x) + bias`` with ``y_i f(x_i) = p_i`` at the free rows, and a bound on how far
the optimality conditions are from holding. The standard SVM is ``p = 1, lower = 0, upper = C``; nonconvex SVMs shift
the boxes (Gasso et al., Algorithm 2). One `Kernel` serves many calls: its cache stays, and the last result is a
good start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...rows import Rows
from ..status import Ended, Status

Array = NDArray[np.float64]

KERNELS = ("linear", "rbf", "poly", "precomputed")
ROUNDING = 1e-14  # of the sum of all |b|: some fifty roundings of it
IMBALANCE = 1e-9  # of the same: a sum above this is no rounding, so that the bounds allow no sum of 0


@dataclass(frozen=True)
class KernelFunction:
    """``x.z``, ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``, or the matrix given."""

    name: str = "rbf"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(f"kernel is one of {', '.join(KERNELS)}; got {self.name!r}")


class Kernel:
    """The kernel matrix of the rows of X, computed row by row and cached in at most `cache_size` MB.

    Beside the cache it holds dense rows once more, in the order in which inner products are fastest (`n_bytes`). Of a
    precomputed matrix a view (`Rows.take`) has the rows and the columns that it names. Several threads may share it:
    one works at a time.
    """

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
        self.function = KernelFunction(kernel, float(gamma), int(degree), float(coef0))
        self.rows = Rows.of(X)
        self.n_rows = self.rows.n_rows
        spec = _core.KernelSpec(kernel, float(gamma), float(coef0), int(degree))
        self.core = _core.KernelMatrix(self.rows.core, spec, float(cache_size) * 2**20)

    def product(self, b: Array) -> Array:
        """K b, from the rows with b != 0."""
        return np.asarray(self.core.product(np.ascontiguousarray(b, dtype=np.float64)))

    @property
    def n_computed(self) -> int:
        """Rows computed so far; what the cache gave back does not count."""
        return int(self.core.n_computed)

    @property
    def n_bytes(self) -> int:
        """What it takes at most beyond X: the full cache, and the copy of dense rows."""
        return int(self.core.n_slots) * self.n_rows * 4 + int(self.core.copied_bytes)


@dataclass(frozen=True, eq=False)
class SmoResult:
    """A solution of the dual: `signed` is y a, `products` is K (y a), so that f = products + bias on the rows."""

    signed: Array
    products: Array
    bias: float
    objective: float
    violation: float  # of the optimality conditions; inf where they cannot be computed
    n_iter: int
    status: Status

    @property
    def scores(self) -> Array:
        return self.products + self.bias

    @property
    def converged(self) -> bool:
        return self.status.solved


def solve(
    kernel: Kernel,
    y: Array,
    p: Array | float,
    lower: Array | float,
    upper: Array | float,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    start: SmoResult | None = None,
    shrinking: bool = True,
) -> SmoResult:
    """The solution to `tol`: no pair of rows violates the optimality conditions by more. `start` is a warm start."""
    n = kernel.n_rows
    y = _signs(y, n)
    for name, given in (("p", p), ("lower", lower), ("upper", upper)):
        if not np.isfinite(given).all():
            raise ValueError(f"{name} must be finite; got {given}")
    one_side, other_side = y * np.broadcast_to(lower, n), y * np.broadcast_to(upper, n)
    low, high = np.minimum(one_side, other_side), np.maximum(one_side, other_side)
    if (np.broadcast_to(lower, n) > np.broadcast_to(upper, n)).any():
        raise ValueError("a lower bound lies above its upper bound")
    b = feasible(np.zeros(n) if start is None else start.signed, low, high)
    products = kernel.product(b) if start is None else start.products + kernel.product(b - start.signed)
    signed, products, bias, objective, violation, n_iter, ended, where = kernel.core.solve(
        y * np.broadcast_to(p, n), low, high, b, products, tol, max_iter, shrinking
    )
    status = Status.of(ended, where)
    if status.ended is Ended.LIMIT:
        status = Status(Ended.LIMIT, f"optimality is violated by {violation:.2g} after {n_iter} steps (tol {tol:.2g})")
    if status.ended is Ended.TROUBLE:
        violation = np.inf
    return SmoResult(np.asarray(signed), np.asarray(products), bias, objective, violation, n_iter, status)


def _signs(y: Any, n: int) -> Array:
    found = np.asarray(y, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError(f"y has {found.size} entries in shape {found.shape}; the kernel has {n} rows")
    other = np.flatnonzero(np.abs(found) != 1.0)
    if len(other):
        raise ValueError(f"labels are -1 and 1; y[{other[0]}] is {found[other[0]]}")
    return found


def feasible(b: Array, low: Array, high: Array) -> Array:
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
        if abs(b.sum()) > IMBALANCE * max(1.0, np.abs(b).sum()):
            raise ValueError("no point within the bounds satisfies y'a = 0")
    return np.asarray(np.clip(b, low, high))
