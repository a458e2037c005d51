"""A grid of cost-sensitive problems whose rows are elsewhere, in a tensor or in partitions, solved where they are.

Of the solvers of `cost_sensitive` two need sums over the rows and nothing else. Newton in lockstep on a sample, with
one pass over all rows that certifies every pair (`steelyard.elsewhere.newton`), is what "auto" takes up to as many
columns as a Hessian is worth; beyond, and by name, it is the bundle (`bundle`, with the rows' own `class_risks`).
Coordinate descent goes from row to row, which GPUs and clusters are bad at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...elsewhere import is_dask, last_step
from ...elsewhere.models import Source
from ...elsewhere.newton import Best, Lockstep
from ..status import SOLVED, Ended, Status
from .bundle import OVERFLOWS, PASSES_A_ROUND, BundleOptions, solve_lockstep

Array = NDArray[np.float64]
# w, objective, gap, passes, status and history of one problem
Ending = tuple[Array, float, float, float, Status, Array]

NEWTON_COLUMNS = 1_000  # nine Hessians of so many are 72 MB, and each of their factors takes less than a pass
SHORT = Status(Ended.LIMIT, "the rounds of Newton are used up")


@dataclass(frozen=True, eq=False)
class Grid:
    """Pairs (c_pos, c_neg) and Cs, ascending, that have been checked."""

    pairs: Array
    Cs: Array
    loss: str
    tol: float
    max_passes: float
    seed: int = 0
    start: Array | None = None  # a row for each pair, near the solution for the first C


def solve(
    grid: Grid, X: Any, y: Any, sample_weight: Any, solver: str, options: BundleOptions
) -> tuple[str, list[Ending]]:
    """The solver's name, and how every problem ended, pair-major."""
    if solver not in ("auto", "newton", "newton_first", "bundle"):
        raise ValueError(
            f"solver={solver!r} goes from row to row; rows in a tensor or in partitions have 'auto', 'newton' and "
            "'bundle'"
        )
    data = _source(X, y, sample_weight)
    if solver == "bundle" or (solver == "auto" and data.n_cols > NEWTON_COLUMNS):
        return "bundle", _by_bundle(grid, data, options)
    return "newton", _by_newton(grid, data)


def _source(X: Any, y: Any, sample_weight: Any) -> Source:
    """Neither torch nor Dask is imported before there is something of theirs."""
    if is_dask(X) or hasattr(X, "rounds"):
        from ...distributed.table import signed

        return signed(X, y, sample_weight)
    from ...tensors.rows import SignedRows, TensorRows
    from ...tensors.source import OnDevice

    return OnDevice(SignedRows.of(TensorRows.of(X), y, sample_weight))


def _by_newton(grid: Grid, data: Source) -> list[Ending]:
    pairs = np.ascontiguousarray(grid.pairs[:, ::-1])
    found = Lockstep(data, grid.loss, grid.tol, grid.max_passes, grid.seed).solve(pairs, grid.Cs, grid.start)
    if last_step.is_worth_it(grid.loss, grid.tol):
        _to_the_last_digits(grid, data, pairs, [one for each in found for one in each])
    return [
        (one.w, one.primal, one.gap, one.passes, _status(one, grid.tol), np.empty(0)) for each in found for one in each
    ]


def _to_the_last_digits(grid: Grid, data: Source, pairs: Array, found: list[Best]) -> None:
    rows, solved = data.whole(), [j for j, one in enumerate(found) if one.gap <= grid.tol]
    if rows is None or not solved:
        return
    caps = np.array([C * pair for pair in pairs for C in grid.Cs])
    w, dual = np.array([found[j].w for j in solved]), np.array([found[j].dual for j in solved])
    with data.exactly():
        w, primal, _ = last_step.take(rows, grid.loss, caps[solved], w, dual)
    for j, one_w, value in zip(solved, w, primal, strict=True):
        found[j].w, found[j].primal = one_w, float(value)
        found[j].passes += last_step.PASSES


def _status(one: Any, tol: float) -> Status:
    if not np.isfinite(one.primal):
        return OVERFLOWS
    return SOLVED if one.gap <= tol else SHORT


def _by_bundle(grid: Grid, data: Source, options: BundleOptions) -> list[Ending]:
    risks = data.class_risks(grid.loss)
    with data.exactly():
        found = solve_lockstep(risks, grid.pairs, grid.Cs, tol=grid.tol, max_passes=grid.max_passes, options=options)
    endings = []
    for k in range(len(grid.pairs)):
        for tracks in found:
            one = tracks[k]
            passes = float(PASSES_A_ROUND * len(one.history))
            endings.append((one.w, one.objective, one.gap, passes, one.status, one.history))
    return endings
