"""The linear SVM for every misclassification cost at once, exactly (Yu, Vishwanathan and Zhang 2009, DPF).

For each tau, the cost of a false positive over the sum of both costs::

    min over w   1/2 |w|^2 + C sum_i s_i(tau) hinge(y_i x_i.w),     s = 2 (1 - tau) for positives, 2 tau for negatives

times the row's weight. The solution is piecewise linear in tau; `trace` finds every kink. There is no intercept at this
level: append a column of ones. The same path over another pair of bounds is quantile regression, `trace_quantiles`::

    min over w   1/2 |w|^2 + C sum_i max(tau r_i, (tau - 1) r_i),   r_i = y_i - x_i.w

With a `PathKernel` the rows are functions ``k(x_i, .)``, and a model ``sum_i c_i k(x_i, .)`` is its coefficients: the
path is then followed in the dual form, on rows of the kernel matrix that are computed when needed and cached.

What is kept are events and checkpoints, O(K + sqrt(K) d) numbers for K kinks; any tau is replayed from the rows and the
nearest checkpoint. Equal rows are merged into one of their summed weight, and margin targets carry a perturbation of
1e-9, so that rows that depend on each other are never on the margin together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._core import PathLog, PathOn, equal_rows
from ..linear.cost_sensitive import _labels, _Rows, _rows, _weights

Array = NDArray[np.float64]

PERTURBATION = 1e-9
PRECISION = 1e-6
STRETCH = 2**20  # numbers in one stretch of models
CACHE = 2.0**30  # bytes of the kernel matrix kept at a time


@dataclass(frozen=True)
class PathKernel:
    """``k(x, z) + constant``; the constant stands for an appended constant feature."""

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    constant: float = 1.0
    cache_bytes: float = CACHE


class Path(Protocol):
    """A piecewise linear path of models over ``start <= tau <= end``."""

    @property
    def start(self) -> float: ...
    @property
    def end(self) -> float: ...
    @property
    def kinks(self) -> Array: ...
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

    rows: _Rows
    sign: Array
    target: Array
    box: Array
    unit: float
    kernel: PathKernel | None
    kept: NDArray[np.int64]  # which of the rows given these are: equal ones are merged

    @cached_property
    def on(self) -> PathOn:
        """The same for the core, with the cache of a kernel; made again after a pickle."""
        r = self.rows
        how = None if self.kernel is None else astuple(self.kernel)
        return PathOn(r.values, r.columns, r.starts, r.n_cols, self.sign, self.target, self.box, how)

    @property
    def model_size(self) -> int:
        return self.rows.n_cols if self.kernel is None else self.rows.n_rows

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "on"}


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Every kink, and the model at any tau. ``interrupted`` says that Ctrl-C ended the trace at ``end``."""

    problem: PathProblem
    log: PathLog

    @property
    def start(self) -> float:
        return float(self.log.start)

    @property
    def end(self) -> float:
        return float(self.log.end)

    @property
    def kinks(self) -> Array:
        return np.asarray(self.log.tau)

    @property
    def interrupted(self) -> bool:
        return bool(self.log.interrupted)

    @property
    def drift(self) -> float:
        """How far margins moved by rounding between two fresh solutions, relative: the precision of the path."""
        return float(self.log.drift) / self.problem.unit

    @property
    def converged(self) -> bool:
        return not self.interrupted and self.drift <= PRECISION

    @property
    def n_iter(self) -> int:
        return len(self.kinks)

    def models(self, tau: ArrayLike) -> Array:
        """One model a row: w, or the coefficients on the kept rows for a kernel."""
        wanted = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        return np.asarray(self.problem.on.recover(self.log, wanted))

    def stretches(self) -> Iterator[tuple[Array, Array, Array]]:
        knots = np.r_[self.start, self.kinks, self.end]
        size = max(2, STRETCH // self.problem.model_size)
        for first in range(0, len(knots) - 1, size - 1):
            tau = knots[first : first + size]
            w, speed = map(np.asarray, self.problem.on.walk(self.log, first, first + len(tau)))
            yield tau, w, moved(w) if self.problem.kernel is None else np.r_[0.0, np.cumsum(speed[:-1] * np.diff(tau))]

    def audit(self, every: int = 1) -> float:
        """The largest violation of the optimality conditions at every so many kinks, for targets without perturbation.

        In margins, relative to a target: how far a margin is on the wrong side of it, and how far any margin is from
        that of ``sum a_i z_i`` with multipliers inside their boxes (`src/core/path/audit.hpp`).
        """
        p = self.problem
        original = np.ascontiguousarray(p.target - p.unit * _perturbation(len(p.sign)))
        return float(p.on.audit(self.log, original, p.unit, every))


def moved(w: Array) -> Array:
    """How far each model is from the first, along the path."""
    return np.asarray(np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(w, axis=0), axis=1))])


def trace(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    kernel: PathKernel | None = None,
) -> ExactPath:
    """The exact cost path; `y` is -1 or 1, and rows of weight 0 must have been left out.

    >>> import numpy as np
    >>> X = np.array([[2.0], [1.0], [-1.0], [0.5]])
    >>> path = trace(np.c_[X, np.ones(4)], [1, 1, -1, -1], C=1.0)
    >>> len(path.kinks), np.round(path.models(0.5), 3).tolist()
    (7, [[0.75, -0.25]])
    """
    rows, sign, weight, kept = _merged(X, y, sample_weight, _labels, kernel)
    _check(C, tau_range)
    box = np.zeros((rows.n_rows, 4))
    full = 2.0 * C * weight
    positive = sign > 0
    box[:, 2] = np.where(positive, full, 0.0)
    box[:, 3] = np.where(positive, -full, full)
    target = 1.0 + _perturbation(rows.n_rows)
    return _trace(PathProblem(rows, sign, target, box, 1.0, kernel, kept), tau_range, seed)


def trace_quantiles(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    kernel: PathKernel | None = None,
) -> ExactPath:
    """The exact path of linear quantile regression over the quantile tau (the paper's section 5)."""
    rows, value, weight, kept = _merged(X, y, sample_weight, _values, kernel)
    _check(C, tau_range)
    full = C * weight
    box = np.ascontiguousarray(np.column_stack([-full, full, np.zeros_like(full), full]))
    unit = float(np.abs(value).max()) or 1.0
    target = value + unit * _perturbation(rows.n_rows)
    return _trace(PathProblem(rows, np.ones(rows.n_rows), target, box, unit, kernel, kept), tau_range, seed)


def float64_rows(X: Any) -> _Rows:
    """The rows as the core's exact path takes them."""
    rows = _rows(X)
    return _Rows(rows.values.astype(np.float64, copy=False), rows.columns, rows.starts, rows.n_rows, rows.n_cols)


def _merged(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    labels: Callable[[ArrayLike, int], Array],
    kernel: PathKernel | None,
) -> tuple[_Rows, Array, Array, NDArray[np.int64]]:
    """Rows, labels and weights, with equal rows as one of their summed weight: the same problem, and fewer ties."""
    rows = float64_rows(X)
    label, weight = labels(y, rows.n_rows), _weights(sample_weight, rows.n_rows)
    first = np.asarray(equal_rows(rows.values, rows.columns, rows.starts, rows.n_cols, label), dtype=np.int64)
    kept = np.flatnonzero(first == np.arange(rows.n_rows)).astype(np.int64)
    if len(kept) == rows.n_rows:
        return rows, label, weight, kept
    summed = np.bincount(first, weight, rows.n_rows).astype(np.float64)
    precomputed = kernel is not None and kernel.name == "precomputed"
    rows = float64_rows(X[kept][:, kept]) if precomputed else _take(rows, kept)
    return rows, label[kept], summed[kept], kept


def _take(rows: _Rows, kept: NDArray[np.int64]) -> _Rows:
    if rows.columns is None or rows.starts is None:
        return _Rows(rows.values[kept], None, None, len(kept), rows.n_cols)
    size = np.diff(rows.starts)[kept]
    starts = np.r_[0, np.cumsum(size)].astype(np.int32)
    entry = np.repeat(rows.starts[kept] - starts[:-1], size) + np.arange(starts[-1])
    return _Rows(rows.values[entry], rows.columns[entry], starts, len(kept), rows.n_cols)


def _values(y: ArrayLike, n_rows: int) -> Array:
    value = np.ascontiguousarray(y, dtype=np.float64)
    if value.shape != (n_rows,) or not np.isfinite(value).all():
        raise ValueError(f"y must be {n_rows} finite numbers; got shape {value.shape}")
    return value


def _trace(problem: PathProblem, tau_range: tuple[float, float], seed: int) -> ExactPath:
    start, end = map(float, tau_range)
    log = problem.on.trace(start, end, seed % 2**63)
    if log.n_checkpoints == 0:
        raise KeyboardInterrupt("interrupted before the first solution of the path was found: nothing to keep")
    return ExactPath(problem, log)


def _perturbation(n_rows: int) -> Array:
    """The same for the same number of rows; its values only have to differ."""
    return PERTURBATION * np.random.default_rng(0).random(n_rows)


def _check(C: float, tau_range: tuple[float, float]) -> None:
    if not 0.0 < C < np.inf:
        raise ValueError(f"C must be positive and finite; got {C!r}")
    check_range(tau_range)


def check_range(tau_range: Any) -> tuple[float, float]:
    try:
        low, high = map(float, tau_range)
    except (TypeError, ValueError):
        raise ValueError(f"tau_range is a pair of numbers such as (0.0, 1.0); got {tau_range!r}") from None
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(f"tau_range must satisfy 0 <= low < high <= 1; got {tau_range!r}")
    return low, high
