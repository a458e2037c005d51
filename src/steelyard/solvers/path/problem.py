"""What a path is traced on, and what a path is: rows with signs, targets and boxes, and models over a range of tau.

    min over w   1/2 |w|^2 + sum_i  max over a in [low_i, high_i] of  a (t_i - s_i x_i.w),    low, high linear in tau

The rows may be features or, with a `PathKernel`, functions ``k(x_i, .)``. Equal rows are merged into one of their
summed weight: the same problem, and fewer ties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._core import PathOn, equal_rows
from ...rows import Rows
from ..abilities import Abilities, Wanted
from ..linear.cost_sensitive import weights_of
from ..status import Status

Array = NDArray[np.float64]

# Targets differ by up to this share of a target, so that rows that depend on each other are never on the margin
# together: far above the rounding of a margin, 1e-16 to 1e-13, and a tenth of the 1e-8 to which the optimality
# conditions hold for the targets without it (`ExactPath.audit`, tests/solvers/test_cost_path.py).
PERTURBATION = 1e-9
CACHE = 2.0**30  # bytes of the kernel matrix kept at a time: 1 GiB holds all rows up to n = 11,000


@dataclass(frozen=True)
class ExactReach:
    """Up to where the exact path is the one to take: it has about as many kinks as there are rows, each at the price of
    a factor of up to as many rows as there are columns. Some seconds at these limits (benchmarks/path.py, "growth")."""

    rows: int = 20_000
    columns: int = 1_000

    def has(self, wanted: Wanted) -> bool:
        few = wanted.kernel != "linear" or min(wanted.n_rows, wanted.n_cols) <= self.columns
        return wanted.n_rows <= self.rows and few


KERNELS = ("linear", "rbf", "poly", "precomputed")
SOLVERS = (
    Abilities("exact", ("hinge",), KERNELS, suits=ExactReach().has),
    Abilities("approximate", ("hinge",), KERNELS),
)


@dataclass(frozen=True)
class PathKernel:
    """``k(x, z) + constant``; the constant stands for an appended constant feature."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    constant: float = 1.0
    cache_bytes: float = CACHE


@dataclass(frozen=True)
class State:
    """What a callback sees of a path that grows: up to which tau it is known, what share of the range that is, and how
    many kinks or knots it has."""

    tau: float
    share: float
    n_models: int


Callback = Callable[[State], None]


def told(callback: Callback | None, tau_range: tuple[float, float]) -> Callable[[float, int], None] | None:
    """The same for the core."""
    if callback is None:
        return None
    low, high = tau_range
    return lambda tau, n_models: callback(State(tau, (tau - low) / (high - low), n_models))


class ModelPath(Protocol):
    """A piecewise linear path of models over ``start <= tau <= end``."""

    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def kinks(self) -> Array: ...
    @property
    def status(self) -> Status: ...
    @property
    def gap(self) -> float:
        """A bound on the relative duality gap at any tau; infinite where none is known."""
        ...

    def models(self, tau: ArrayLike) -> Array:
        """One model w a row."""
        ...

    def stretches(self) -> Iterator[tuple[Array, Array, Array]]:
        """The knots ``(tau, w, way)`` in order, a part at a time; each begins with the last knot of the one before.

        ``way`` is how far the model has moved since the first knot of the part.
        """
        ...


@dataclass(frozen=True, eq=False)
class PathProblem:
    """Rows with their signs, perturbed targets and boxes; `unit` is the size of a target."""

    rows: Rows
    sign: Array
    target: Array
    box: Array  # low, low_rate, high, high_rate
    unit: float
    kernel: PathKernel | None
    kept: NDArray[np.int64]  # which of the rows given these are: equal ones are merged

    @cached_property
    def on(self) -> PathOn:
        """The same for the core, with the cache of a kernel; made again after a pickle."""
        how, rows = None if self.kernel is None else astuple(self.kernel), self.rows
        if self.kernel is not None and self.kernel.name == "precomputed" and rows.which is not None:
            rows = Rows.of(rows.source[rows.which][:, rows.which], check=False)  # the rows left name the columns
        return PathOn(rows.core, self.sign, self.target, self.box, how)

    @property
    def model_size(self) -> int:
        return self.rows.n_cols if self.kernel is None else self.rows.n_rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "on"}


def merged(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, labels: Callable[[ArrayLike, int], Array]
) -> tuple[Rows, Array, Array, NDArray[np.int64]]:
    """Rows, labels and weights with equal rows as one of their summed weight, and which rows these are."""
    rows = Rows.of(X).packed()
    label, weight = labels(y, rows.n_rows), weights_of(sample_weight, rows.n_rows)
    weight = np.ones(rows.n_rows) if weight is None else weight
    first = np.asarray(equal_rows(rows.core, label))
    kept = np.flatnonzero(first == np.arange(rows.n_rows)).astype(np.int64)
    if len(kept) == rows.n_rows:
        return rows, label, weight, kept
    summed = np.bincount(first, weight, rows.n_rows).astype(np.float64)
    return rows.take(kept), label[kept], summed[kept], kept


def perturbation(n_rows: int) -> Array:
    """The same for the same number of rows; its values only have to differ."""
    return PERTURBATION * np.random.default_rng(0).random(n_rows)


def values_of(y: ArrayLike, n_rows: int) -> Array:
    value = np.ascontiguousarray(y, dtype=np.float64)
    if value.shape != (n_rows,) or not np.isfinite(value).all():
        raise ValueError(f"y must be {n_rows} finite numbers; got shape {value.shape}")
    return value


def check_C(C: float) -> float:
    if not 0.0 < C < np.inf:
        raise ValueError(f"C must be positive and finite; got {C!r}")
    return float(C)


def check_range(tau_range: Any) -> tuple[float, float]:
    try:
        low, high = map(float, tau_range)
    except (TypeError, ValueError):
        raise ValueError(f"tau_range is a pair of numbers such as (0.0, 1.0); got {tau_range!r}") from None
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(f"tau_range must satisfy 0 <= low < high <= 1; got {tau_range!r}")
    return low, high


def moved(w: Array) -> Array:
    """How far each model is from the first, along the path."""
    return np.asarray(np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(w, axis=0), axis=1))])
