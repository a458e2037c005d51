"""Linear models for given misclassification costs, certified, and whole grids of them for the price of a few.

For each pair of costs and each C::

    min over w   1/2 |w|^2 + C (c_pos sum_{y=+1} s_i loss(x_i.w) + c_neg sum_{y=-1} s_i loss(-x_i.w))

with the hinge, the squared hinge or the logistic loss and sample weights s. There is no intercept at this level:
append a column of ones, or move the threshold afterwards. What comes back is certified: ``gap`` bounds ``(objective -
optimum) / objective`` by a feasible point of the dual problem.

Three solvers stand behind it. ``coordinate`` is dual coordinate descent with shrinking (Hsieh et al. 2008),
``newton`` a primal Newton method for few columns with the hinge rounded to the wanted gap, ``bundle`` is BM-ls-CS of
Cheng et al. (2016) with all cost pairs in lockstep on one pool of cuts; it needs passes over the data and nothing
else. On a grid every problem starts from its neighbour's solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from ..._core import solve_cost_grid

LOSSES = ("hinge", "squared_hinge", "logistic")
SOLVERS = ("auto", "coordinate", "newton", "bundle")
SPARSE_BELOW = 0.15  # share of non-zeros under which a dense matrix is faster as CSR
NEWTON_FIRST = {"hinge": 32, "squared_hinge": 300, "logistic": 300}  # up to so many columns Newton is faster
ROWS_A_COLUMN = (
    8  # with fewer rows than this many times the columns (above 64 of them) sweeps are cheaper than Hessians
)
NEWTON_AT_ALL = 300  # and up to so many it helps where coordinate descent is slow: both from benchmarks/batch.py


@dataclass(frozen=True, eq=False)
class CostSensitiveResult:
    """One solution: ``gap`` bounds ``(objective - optimum) / objective``; ``n_passes`` counts passes over the rows."""

    w: NDArray[np.float64]
    objective: float
    gap: float
    n_passes: float
    converged: bool
    c_pos: float
    c_neg: float
    C: float
    loss: str
    solver: str
    history: NDArray[np.float64]  # of the bundle: the objective after each round

    @property
    def n_iter(self) -> int:
        return int(np.ceil(self.n_passes))


@dataclass(frozen=True)
class BundleOptions:
    """How the bundle works: cuts at ``(1 - mu) w_best + mu w_t``, line search (003, Algorithm 2), one pool of cuts."""

    mu: float = 0.1
    line_search: bool = True
    share_cuts: bool = True


def solve(
    X: Any,
    y: ArrayLike,
    c_pos: float = 1.0,
    c_neg: float = 1.0,
    C: float = 1.0,
    tol: float = 1e-3,
    loss: str = "hinge",
    solver: str = "auto",
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> CostSensitiveResult:
    """The model for one pair of costs and one C; `y` is -1 or 1. See `solve_grid` for the options.

    >>> import numpy as np
    >>> X = np.array([[2.0], [1.0], [-1.0], [-2.0]])
    >>> found = solve(X, [1, 1, -1, -1], C=10.0, tol=1e-6)
    >>> round(float(found.w[0]), 3), bool(found.gap <= 1e-6)
    (1.0, True)
    """
    costs, Cs = [(c_pos, c_neg)], [C]
    return solve_grid(X, y, costs, Cs, tol, loss=loss, solver=solver, sample_weight=sample_weight, **options)[0]


def solve_grid(
    X: Any,
    y: ArrayLike,
    costs: Iterable[tuple[float, float]],
    Cs: Iterable[float],
    tol: float = 1e-3,
    *,
    loss: str = "hinge",
    solver: str = "auto",
    sample_weight: ArrayLike | None = None,
    n_jobs: int = 1,
    max_passes: float = 10_000,
    seed: int = 0,
    bundle: BundleOptions | None = None,
) -> list[CostSensitiveResult]:
    """Every pair ``(c_pos, c_neg)`` with every C, pair-major; each started from its neighbour, each certified.

    `tol` is on the relative gap, `n_jobs` the number of threads (the bits are the same for any), `max_passes` the
    passes over the data that each problem may take; a result that ran out of them has ``converged=False`` and its
    honest gap.
    """
    rows = _rows(X)
    signs, weight = _labels(y, rows.n_rows), _weights(sample_weight, rows.n_rows)
    pairs, order, ascending = _costs(costs), *_regularisation(Cs)
    _check(tol, loss, solver, n_jobs)
    how = bundle or BundleOptions()
    chosen = choose_solver(loss, rows.n_rows, rows.n_cols) if solver == "auto" else solver
    found = solve_cost_grid(
        rows.values, rows.columns, rows.starts, rows.n_cols, signs, weight, pairs, ascending, loss, chosen, float(tol),
        float(max_passes), int(seed), int(n_jobs), float(how.mu), bool(how.line_search), bool(how.share_cuts),
    )  # fmt: skip
    back = np.argsort(order, kind="stable")  # from ascending C to the caller's order
    results = []
    for k, (c_pos, c_neg) in enumerate(pairs):
        for position in back:
            w, objective, _, gap, passes, converged, history = found[k * len(ascending) + position]
            point = (float(c_pos), float(c_neg), float(ascending[position]))
            results.append(CostSensitiveResult(w, objective, gap, passes, converged, *point, loss, chosen, history))
    return results


def choose_solver(loss: str, n_rows: int, n_cols: int) -> str:
    """The solver that was fastest in `benchmarks/batch.py` for data of this shape.

    >>> shapes = [("logistic", 9_000, 16), ("logistic", 900, 256), ("hinge", 9_000, 54), ("hinge", 9_000, 5_000)]
    >>> [choose_solver(*shape) for shape in shapes]
    ['newton_first', 'coordinate_first', 'coordinate_first', 'coordinate']
    """
    if n_cols <= NEWTON_FIRST[loss] and (n_cols <= 64 or n_rows >= ROWS_A_COLUMN * n_cols):
        return "newton_first"
    return "coordinate_first" if n_cols <= NEWTON_AT_ALL else "coordinate"


@dataclass(frozen=True)
class _Rows:
    values: NDArray[Any]
    columns: NDArray[np.int32] | None
    starts: NDArray[np.int32] | None
    n_rows: int
    n_cols: int


def _rows(X: Any) -> _Rows:
    """Dense or CSR in float32 or float64 as the core takes it; mostly-zero dense data becomes CSR."""
    if not sp.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns; got shape {X.shape}")
        if X.size and np.count_nonzero(X) < SPARSE_BELOW * X.size:
            X = sp.csr_matrix(X)
    kind = np.float32 if X.dtype == np.float32 else np.float64
    if not sp.issparse(X):
        values = np.ascontiguousarray(X, dtype=kind)
        _check_finite(values)
        return _Rows(values, None, None, *values.shape)
    X = X.tocsr().astype(kind, copy=False)
    if X.nnz >= 2**31 or X.shape[1] >= 2**31:
        raise ValueError(f"X has {X.nnz} stored values; the batch solvers take up to 2^31: train on a part of the rows")
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    _check_finite(X.data)
    columns, starts = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    return _Rows(X.data, columns, starts, *X.shape)


def _check_finite(values: NDArray[Any]) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(np.dot(values.ravel(), values.ravel()).astype(np.float64)) if values.size else 0.0
    if np.isfinite(square):
        return
    if not np.isfinite(values).all():
        raise ValueError("X has NaN or infinite values: impute or drop them first")
    if values.dtype == np.float64:
        raise ValueError(
            f"X has values up to {np.abs(values).max():.3g}, whose squares overflow: scale the columns (StandardScaler)"
        )


def _labels(y: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    signs = np.ascontiguousarray(y, dtype=np.float64)
    if signs.shape != (n_rows,):
        raise ValueError(f"y has shape {signs.shape}; X has {n_rows} rows, so y must have shape ({n_rows},)")
    if not (np.abs(signs) == 1.0).all():
        raise ValueError(f"y must be -1 or 1 at this level; got {np.unique(signs)[:5]}")
    return signs


def _weights(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64]:
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.ascontiguousarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; X has {n_rows} rows")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all()):
        raise ValueError(f"sample_weight must be finite and not negative; its smallest value is {weight.min()}")
    return weight


def _costs(costs: Iterable[tuple[float, float]]) -> NDArray[np.float64]:
    pairs = np.array(list(costs), dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"costs is a list of pairs (c_pos, c_neg); got an array of shape {pairs.shape}")
    if not (np.isfinite(pairs).all() and (pairs >= 0.0).all()):
        raise ValueError(f"costs must be finite and not negative; got {pairs.min()}")
    return pairs


def _regularisation(Cs: Iterable[float]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    given = np.array(list(Cs), dtype=np.float64)
    if given.ndim != 1 or not len(given) or not (np.isfinite(given).all() and (given > 0.0).all()):
        raise ValueError(f"C must be positive and finite; got {given}")
    order = np.argsort(given, kind="stable")
    return order, given[order]


def _check(tol: float, loss: str, solver: str, n_jobs: int) -> None:
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {LOSSES}; got {loss!r}")
    if solver not in SOLVERS:
        raise ValueError(f"solver must be one of {SOLVERS}; got {solver!r}")
    if not tol > 0:
        raise ValueError(f"tol must be positive: it is the relative duality gap; got {tol!r}")
    if n_jobs < 1:
        raise ValueError(f"n_jobs is a number of threads, at least 1; got {n_jobs!r}")
