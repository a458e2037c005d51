"""Linear models for given misclassification costs, certified, and whole grids of them for the price of a few.

For each pair of costs and each C::

    min over w   1/2 |w|^2 + C (c_pos sum_{y=+1} s_i loss(x_i.w) + c_neg sum_{y=-1} s_i loss(-x_i.w))

with the hinge, the squared hinge or the logistic loss and sample weights s. There is no intercept at this level: give
rows with a constant column (`Rows.with_constant`), or move the threshold afterwards. What comes back is certified:
``gap`` bounds ``(objective - optimum) / objective`` by a feasible point of the dual problem.

Three solvers stand behind it. ``coordinate`` is dual coordinate descent with shrinking (Hsieh et al. 2008),
``newton`` a primal Newton method for few columns on few rows (those near the margin, or a sample), with all cost pairs
in lockstep: one pass over all rows certifies every pair. ``bundle`` is BM-ls-CS of Cheng et al. (2016), also in
lockstep, on one pool of cuts; it needs passes over the data and nothing else. ``newton_first`` and
``coordinate_first`` try one of the first two for a while and then the other. On a grid every problem starts from its
neighbour's solution.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._core import CostGrid, solve_cost_grid
from ...elsewhere import is_elsewhere, last_step
from ...elsewhere.part import Part
from ...elsewhere.rays import InMemory
from ...rows import Rows
from ..abilities import Abilities, Wanted, choose
from ..status import Status
from . import elsewhere
from .bundle import PASSES_A_ROUND, AnswersClassRisks, BundleOptions, class_risks, solve_lockstep

LOSSES = ("hinge", "squared_hinge", "logistic")


@dataclass(frozen=True)
class NewtonReach:
    """Where Newton is worth its Hessians, by the times of `benchmarks/batch.py` (grids and single fits).

    Up to so many columns it is faster than sweeps from the start; for the hinge, of which it packs rows near the
    margin, up to fewer: a9a, CSR of 123 columns, is faster by sweeps. A Hessian costs ``n d^2``: above `few` columns,
    with fewer than `rows_a_column` rows for each, sweeps are cheaper. Up to `at_all` columns it still helps where
    sweeps are slow, as the second of two. Of sparse rows it is the factorisation that costs, and entries a row squared
    for the rest: grids of logistic models on w8a, 12 entries in 301 columns, are three to seven times faster by Newton
    than by sweeps with 1,700 to 40,000 rows (one model there, and the squared hinge, are level to twice as fast); made
    tables of 500 columns are level, of 1,000 slower.
    """

    hinge: int = 64
    smooth: int = 300
    few: int = 64
    rows_a_column: int = 8
    at_all: int = 300
    smooth_sparse: int = 512
    rows_a_column_sparse: int = 4

    def is_first(self, wanted: Wanted) -> bool:
        if wanted.loss == "hinge":
            most, rows_a_column = self.hinge, self.rows_a_column
        elif wanted.sparse:
            most, rows_a_column = self.smooth_sparse, self.rows_a_column_sparse
        else:
            most, rows_a_column = self.smooth, self.rows_a_column
        return wanted.n_cols <= most and (wanted.n_cols <= self.few or wanted.n_rows >= rows_a_column * wanted.n_cols)

    def is_second(self, wanted: Wanted) -> bool:
        return wanted.n_cols <= self.at_all


NEWTON = NewtonReach()
SOLVERS = (
    Abilities("newton_first", LOSSES, suits=NEWTON.is_first),
    Abilities("coordinate_first", LOSSES, suits=NEWTON.is_second),
    Abilities("coordinate", LOSSES),
    Abilities("bundle", LOSSES, passes_only=True),
    Abilities("newton", LOSSES),
)
NAMES = ("auto", *(one.name for one in SOLVERS))


@dataclass(frozen=True, eq=False)
class CostSensitiveResult:
    """One solution: ``gap`` bounds ``(objective - optimum) / objective``; ``n_passes`` counts passes over the rows.

    ``status`` says how it ended. Where nothing could be certified the gap is infinite, and `w` is 0 or the best seen.
    """

    w: NDArray[np.float64]
    objective: float
    gap: float
    n_passes: float
    status: Status
    c_pos: float
    c_neg: float
    C: float
    loss: str
    solver: str
    history: NDArray[np.float64]  # of the bundle: the objective after each round

    @property
    def converged(self) -> bool:
        return self.status.solved

    @property
    def n_iter(self) -> int:
        return int(np.ceil(self.n_passes))


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
    start: ArrayLike | None = None,
) -> list[CostSensitiveResult]:
    """Every pair ``(c_pos, c_neg)`` with every C, pair-major; each started from its neighbour, each certified.

    `X` is a table, a torch tensor or a Dask collection (`elsewhere`), `Rows`, or whatever else can make its own
    `ClassRisks` (`bundle`).
    `tol` is on the relative gap, `n_jobs` the number of threads (the bits are the same for any), `max_passes` the
    passes over the data that each problem may take; a result that ran out of them says so in its `status` and has its
    honest gap. `start` has a row for every pair: a model near the solution for its smallest C, where Newton begins. At
    a `tol` of 1e-7 and below smooth fits in few columns end with a Newton step on all rows (`elsewhere.last_step`): a
    gap of 1e-8 alone leaves the fifth digit of w open.
    """
    pairs, order, ascending = _costs(costs), *_regularisation(Cs)
    _check(tol, loss, n_jobs)
    back = np.argsort(order, kind="stable")  # from ascending C to the caller's order
    if is_elsewhere(X):
        near = None if start is None else np.asarray(start, dtype=np.float64)
        there = elsewhere.Grid(pairs, ascending, loss, float(tol), float(max_passes), seed, near)
        found = _elsewhere(there, X, y, sample_weight, solver, bundle or BundleOptions())
        return [found[k * len(ascending) + position] for k in range(len(pairs)) for position in back]
    rows = _rows_of(X)
    signs, weight = labels_of(y, rows.n_rows), weights_of(sample_weight, rows.n_rows)
    in_memory = isinstance(rows, Rows)
    wanted = Wanted(
        rows.n_rows, rows.n_cols, loss, weights=weight is not None, sparse=isinstance(rows, Rows) and rows.is_sparse,
        passes_only=not in_memory,
    )  # fmt: skip
    chosen = choose(SOLVERS, wanted, solver).name
    problem = _Problem(rows, signs, weight, pairs, ascending, loss, float(tol), float(max_passes), int(n_jobs))
    found = (
        problem.by_bundle(bundle or BundleOptions()) if chosen == "bundle" else problem.by_chains(chosen, seed, start)
    )
    if last_step.is_worth_it(loss, float(tol)) and in_memory and NEWTON.is_second(wanted):
        found = [problem.to_the_last_digits(one) for one in found]
    return [found[k * len(ascending) + position] for k in range(len(pairs)) for position in back]


def choose_solver(loss: str, n_rows: int, n_cols: int, sparse: bool = False) -> str:
    """The solver that was fastest in `benchmarks/batch.py` for data of this shape.

    >>> shapes = [("hinge", 9_000, 54), ("logistic", 900, 256), ("hinge", 9_000, 123), ("hinge", 9_000, 5_000)]
    >>> [choose_solver(*shape) for shape in shapes]
    ['newton_first', 'coordinate_first', 'coordinate_first', 'coordinate']
    """
    return choose(SOLVERS, Wanted(n_rows, n_cols, loss, sparse=sparse)).name


@dataclass(frozen=True, eq=False)
class _Problem:
    """A grid that has been checked, Cs ascending. Both ways to solve it give pair-major results."""

    rows: Rows | AnswersClassRisks
    y: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    pairs: NDArray[np.float64]
    Cs: NDArray[np.float64]
    loss: str
    tol: float
    max_passes: float
    n_jobs: int

    def by_chains(self, solver: str, seed: int, start: ArrayLike | None) -> list[CostSensitiveResult]:
        assert isinstance(self.rows, Rows)
        grid = CostGrid()
        grid.costs, grid.C = [(float(p), float(n)) for p, n in self.pairs], [float(C) for C in self.Cs]
        grid.loss, grid.solver, grid.seed = self.loss, solver, int(seed)
        grid.tol, grid.max_passes, grid.n_threads = self.tol, self.max_passes, self.n_jobs
        given = None if start is None else np.ascontiguousarray(start, dtype=np.float64)
        found = solve_cost_grid(self.rows.core, self.y, self.weight, grid, given)
        points = ((float(p), float(n), float(C)) for p, n in self.pairs for C in self.Cs)
        return [
            CostSensitiveResult(w, objective, gap, passes, Status.of(*ended), *point, self.loss, solver, np.empty(0))
            for point, (w, objective, gap, passes, *ended) in zip(points, found, strict=True)
        ]

    def by_bundle(self, options: BundleOptions) -> list[CostSensitiveResult]:
        risks = class_risks(self.rows, self.y, self.weight, self.loss, self.n_jobs)
        found = solve_lockstep(
            risks, self.pairs, self.Cs, tol=self.tol, max_passes=self.max_passes, options=options, n_threads=self.n_jobs
        )
        results = []
        for k, (c_pos, c_neg) in enumerate(self.pairs):
            for C, tracks in zip(self.Cs, found, strict=True):
                one, point = tracks[k], (float(c_pos), float(c_neg), float(C))
                passes = float(PASSES_A_ROUND * len(one.history))
                ended = (one.objective, one.gap, passes, one.status)
                results.append(CostSensitiveResult(one.w, *ended, *point, self.loss, "bundle", one.history))
        return results

    def to_the_last_digits(self, one: CostSensitiveResult) -> CostSensitiveResult:
        """With one more Newton step on all rows."""
        assert isinstance(self.rows, Rows)
        if not one.converged:
            return one
        rows = InMemory(Part(self.rows, self.y.astype(np.int8), self.weight, 0), True)
        caps, dual = one.C * np.array([[one.c_neg, one.c_pos]]), np.array([one.objective * (1.0 - one.gap)])
        w, objective, gap = last_step.take(rows, self.loss, caps, one.w[None], dual)
        passes = one.n_passes + last_step.PASSES
        return replace(one, w=w[0], objective=float(objective[0]), gap=float(gap[0]), n_passes=passes)


def _elsewhere(
    grid: elsewhere.Grid, X: Any, y: Any, sample_weight: Any, solver: str, options: BundleOptions
) -> list[CostSensitiveResult]:
    """Pair-major results for rows in a tensor or in partitions."""
    name, found = elsewhere.solve(grid, X, y, sample_weight, solver, options)
    points = [(float(p), float(n), float(C)) for p, n in grid.pairs for C in grid.Cs]
    return [
        CostSensitiveResult(w, objective, gap, passes, status, *point, grid.loss, name, history)
        for point, (w, objective, gap, passes, status, history) in zip(points, found, strict=True)
    ]


def _rows_of(X: Any) -> Rows | AnswersClassRisks:
    """Rows as they are; a table becomes rows, as CSR if it is mostly zero."""
    if isinstance(X, Rows):
        return X
    if hasattr(X, "class_risks"):
        elsewhere: AnswersClassRisks = X
        return elsewhere
    return Rows.of(X).packed()


def labels_of(y: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """-1 or 1 for every row."""
    signs = np.ascontiguousarray(y, dtype=np.float64)
    if signs.shape != (n_rows,):
        raise ValueError(f"y has shape {signs.shape}; X has {n_rows} rows, so y must have shape ({n_rows},)")
    if not (np.abs(signs) == 1.0).all():
        raise ValueError(f"y must be -1 or 1 at this level; got {np.unique(signs)[:5]}")
    return signs


def weights_of(sample_weight: ArrayLike | None, n_rows: int) -> NDArray[np.float64] | None:
    """Finite and not negative, one for every row; None are ones."""
    if sample_weight is None:
        return None
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


def _check(tol: float, loss: str, n_jobs: int) -> None:
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {LOSSES}; got {loss!r}")
    if not tol > 0:
        raise ValueError(f"tol must be positive: it is the relative duality gap; got {tol!r}")
    if n_jobs < 1:
        raise ValueError(f"n_jobs is a number of threads, at least 1; got {n_jobs!r}")
