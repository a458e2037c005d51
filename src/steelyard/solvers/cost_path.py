"""The linear SVM for every misclassification cost at once, exactly (Yu, Vishwanathan and Zhang 2009, DPF).

For each tau, the cost of a false positive over the sum of both costs::

    min over w   1/2 |w|^2 + C sum_i s_i(tau) hinge(y_i x_i.w),     s = 2 (1 - tau) for positives, 2 tau for negatives

times the row's weight. The solution is piecewise linear in tau; `trace` finds every kink. There is no intercept at this
level: append a column of ones. The same path over another pair of bounds is quantile regression, `trace_quantiles`::

    min over w   1/2 |w|^2 + C sum_i max(tau r_i, (tau - 1) r_i),   r_i = y_i - x_i.w

What is kept are events and checkpoints, O(K + sqrt(K) d) numbers for K kinks; any tau is replayed from the rows and the
nearest checkpoint. Equal rows are merged into one of their summed weight, and margin targets carry a perturbation of
1e-9, so that rows that depend on each other are never on the margin together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._core import PathLog, audit_path, equal_rows, recover_path, trace_path, walk_path
from .cost_sensitive import _labels, _Rows, _rows, _weights

Array = NDArray[np.float64]

PERTURBATION = 1e-9
PRECISION = 1e-6
STRETCH = 2**20  # numbers in one stretch of models


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

    def stretches(self) -> Iterator[tuple[Array, Array]]:
        """The knots ``(tau, w)`` in order, a part at a time; each part begins with the last knot of the one before."""
        ...


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Every kink, and the model at any tau. ``interrupted`` says that Ctrl-C ended the trace at ``end``."""

    rows: _Rows
    sign: Array
    target: Array  # perturbed
    box: Array
    log: PathLog
    unit: float  # the size of a target

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
        return float(self.log.drift) / self.unit

    @property
    def converged(self) -> bool:
        return not self.interrupted and self.drift <= PRECISION

    @property
    def n_iter(self) -> int:
        return len(self.kinks)

    def models(self, tau: ArrayLike) -> Array:
        wanted = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        return np.asarray(recover_path(*self._problem(), self.log, wanted))

    def stretches(self) -> Iterator[tuple[Array, Array]]:
        knots = np.r_[self.start, self.kinks, self.end]
        size = max(2, STRETCH // self.rows.n_cols)
        for first in range(0, len(knots) - 1, size - 1):
            last = min(first + size, len(knots))
            yield knots[first:last], np.asarray(walk_path(*self._problem(), self.log, first, last))

    def audit(self, every: int = 1) -> float:
        """The largest violation of the optimality conditions at every so many kinks, for targets without perturbation.

        In margins, relative to a target: how far a margin is on the wrong side of it, and how far any margin is from
        that of ``sum a_i z_i`` with multipliers inside their boxes (`src/core/path_audit.hpp`).
        """
        original = np.ascontiguousarray(self.target - self.unit * _perturbation(len(self.sign)))
        return float(audit_path(*self._problem(), self.log, original, self.unit, every))

    def _problem(self) -> tuple[Any, Any, Any, int, Array, Array, Array]:
        r = self.rows
        return (r.values, r.columns, r.starts, r.n_cols, self.sign, self.target, self.box)


def trace(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
) -> ExactPath:
    """The exact cost path; `y` is -1 or 1, and rows of weight 0 must have been left out.

    >>> import numpy as np
    >>> X = np.array([[2.0], [1.0], [-1.0], [0.5]])
    >>> path = trace(np.c_[X, np.ones(4)], [1, 1, -1, -1], C=1.0)
    >>> len(path.kinks), np.round(path.models(0.5), 3).tolist()
    (7, [[0.75, -0.25]])
    """
    rows, sign, weight = _merged(X, y, sample_weight, _labels)
    _check(C, tau_range)
    box = np.zeros((rows.n_rows, 4))
    full = 2.0 * C * weight
    positive = sign > 0
    box[:, 2] = np.where(positive, full, 0.0)
    box[:, 3] = np.where(positive, -full, full)
    target = 1.0 + _perturbation(rows.n_rows)
    return _trace(rows, sign, target, box, tau_range, seed, 1.0)


def trace_quantiles(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
) -> ExactPath:
    """The exact path of linear quantile regression over the quantile tau (the paper's section 5)."""
    rows, value, weight = _merged(X, y, sample_weight, _values)
    _check(C, tau_range)
    full = C * weight
    box = np.ascontiguousarray(np.column_stack([-full, full, np.zeros_like(full), full]))
    unit = float(np.abs(value).max()) or 1.0
    return _trace(rows, np.ones(rows.n_rows), value + unit * _perturbation(rows.n_rows), box, tau_range, seed, unit)


def float64_rows(X: Any) -> _Rows:
    """The rows as the core's exact path takes them."""
    rows = _rows(X)
    return _Rows(rows.values.astype(np.float64, copy=False), rows.columns, rows.starts, rows.n_rows, rows.n_cols)


def _merged(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, labels: Callable[[ArrayLike, int], Array]
) -> tuple[_Rows, Array, Array]:
    """Rows, labels and weights, with equal rows as one of their summed weight: the same problem, and fewer ties."""
    rows = float64_rows(X)
    label, weight = labels(y, rows.n_rows), _weights(sample_weight, rows.n_rows)
    first = np.asarray(equal_rows(rows.values, rows.columns, rows.starts, rows.n_cols, label), dtype=np.int64)
    kept = np.flatnonzero(first == np.arange(rows.n_rows))
    if len(kept) == rows.n_rows:
        return rows, label, weight
    summed = np.bincount(first, weight, rows.n_rows).astype(np.float64)
    return _take(rows, kept), label[kept], summed[kept]


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


def _trace(
    rows: _Rows, sign: Array, target: Array, box: Array, tau_range: tuple[float, float], seed: int, unit: float
) -> ExactPath:
    start, end = map(float, tau_range)
    log = trace_path(
        rows.values, rows.columns, rows.starts, rows.n_cols, sign, target, box, start, end, seed % 2**63
    )  # fmt: skip
    if log.n_checkpoints == 0:
        raise KeyboardInterrupt("interrupted before the first solution of the path was found: nothing to keep")
    return ExactPath(rows, sign, target, box, log, unit)


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
