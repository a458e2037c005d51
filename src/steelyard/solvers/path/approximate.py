"""The cost path at scale: few models, and a certified duality gap for every cost between them.

The problem is that of `solvers.path.exact`. Knots are placed by bisection until linear interpolation between neighbours
has a relative duality gap of at most `tol` at **every** tau, not only at the knots: between two knots the primal and a
feasible dual value are bounded by parabolas, whose difference is checked exactly (`src/core/path/approximate.hpp`). The
knots are solved by the linear engine, each started from its neighbour.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._core import trace_approximately
from ...rows import Rows
from ..linear.cost_sensitive import choose_solver, labels_of, weights_of
from ..status import SOLVED, Ended, Status
from .problem import Array, Callback, check_C, check_range, moved, told


@dataclass(frozen=True, eq=False)
class ApproximatePath:
    """Knots ``tau`` and their models ``w``, linear between; ``gap`` bounds (objective - optimum) / objective."""

    tau: Array
    w: Array
    gap: float
    tol: float
    n_passes: float
    status: Status

    @property
    def start(self) -> float:
        return float(self.tau[0])

    @property
    def end(self) -> float:
        return float(self.tau[-1])

    @property
    def kinks(self) -> Array:
        return self.tau

    @property
    def converged(self) -> bool:
        return self.status.solved

    @property
    def n_iter(self) -> int:
        return int(np.ceil(self.n_passes))

    def models(self, tau: ArrayLike) -> Array:
        wanted = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        left = np.clip(np.searchsorted(self.tau, wanted, side="right") - 1, 0, max(len(self.tau) - 2, 0))
        right = np.minimum(left + 1, len(self.tau) - 1)
        width = self.tau[right] - self.tau[left]
        share = np.divide(wanted - self.tau[left], width, out=np.zeros_like(width), where=width > 0)[:, None]
        return np.asarray((1.0 - share) * self.w[left] + share * self.w[right])

    def stretches(self) -> Iterator[tuple[Array, Array, Array]]:
        yield self.tau, self.w, moved(self.w)


def trace(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    tol: float = 1e-3,
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    callback: Callback | None = None,
) -> ApproximatePath:
    """The approximate cost path, certified; `y` is -1 or 1.

    >>> from steelyard.rows import Rows
    >>> rows = Rows.of([[2.0], [1.0], [-1.0], [0.5]]).with_constant()
    >>> path = trace(rows, [1, 1, -1, -1], tol=1e-3)
    >>> path.gap <= 1e-3, path.models(0.5).round(2).tolist()
    (True, [[0.75, -0.25]])
    """
    C, tau_range = check_C(C), check_range(tau_range)
    if not 0.0 < tol < 1.0:
        raise ValueError(f"tol is a relative duality gap, between 0 and 1; got {tol!r}")
    rows = Rows.of(X).packed()
    sign, weight = labels_of(y, rows.n_rows), weights_of(sample_weight, rows.n_rows)
    tau, w, gap, passes, ended, where = trace_approximately(
        rows.core,
        sign,
        weight,
        C,
        tau_range,
        float(tol),
        choose_solver("hinge", *rows.shape, rows.is_sparse),
        seed % 2**63,
        told(callback, tau_range),
    )
    short = Status.of(ended, f"the relative gap is {gap:.2g} near tau = {where:.4g}, above tol = {tol:g}")
    return ApproximatePath(np.asarray(tau), np.asarray(w), gap, tol, passes, short if ended != Ended.SOLVED else SOLVED)
