"""Logistic regression of several classes, certified.

    min over W   J(W) = 1/2 |W|^2 + C sum_i s_i (log sum_k exp(x_i.w_k) - x_i.w_(y_i))

for K models w_k and row weights s, which carry the weights of the classes. There is no intercept at this level, as in
`cost_sensitive`. The method is L-BFGS; J is strongly convex with modulus 1, so that ``J - J* <= |J'|^2 / 2``
wherever it stops: that over J is the `gap`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ...rows import Rows
from ..status import SOLVED, Ended, Status

Array = NDArray[np.float64]

MEMORY = 20  # pairs that L-BFGS keeps: 10 took a quarter to a third more passes on 4,000 rows of satimage and covertype
ROOM = 2**23  # numbers that the pairs may hold, twice: fewer pairs, but five, where there are more than 400,000 weights
OUT_OF_STEPS = Status(Ended.LIMIT, "the steps of L-BFGS are used up")
STUCK = Status(Ended.TROUBLE, "L-BFGS finds no better point: the numbers are too coarse for this tolerance")
OVERFLOWS = Status(Ended.TROUBLE, "the objective overflows at W = 0: C times the sample weights is too large")


@dataclass(frozen=True, eq=False)
class SoftmaxResult:
    """K models, `n_iter` passes over the rows; ``gap`` bounds ``(objective - optimum) / objective``."""

    W: Array
    objective: float
    gap: float
    n_iter: int
    status: Status

    @property
    def converged(self) -> bool:
        return self.status.solved


class _Objective:
    """J and its gradient; the best point seen, by its certificate."""

    def __init__(self, rows: Rows, codes: NDArray[np.intp], n_classes: int, scale: Array, n_threads: int) -> None:
        self.rows, self.codes, self.scale, self.n_threads = rows.check_squares(), codes, scale, n_threads
        self.shape = (n_classes, rows.n_cols)
        self.each = np.arange(len(codes))

    def __call__(self, flat: Array) -> tuple[float, Array]:
        W = flat.reshape(self.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = np.ascontiguousarray(self.rows.scores(W, self.n_threads).T)  # by class: sums run along the rows
            scores -= scores.max(axis=0)
            own = scores[self.codes, self.each]
            pull = np.exp(scores, out=scores)
            total = pull.sum(axis=0)
            loss = float(self.scale @ (np.log(total) - own))
            pull *= self.scale / total
            pull[self.codes, self.each] -= self.scale
            slope = self.rows.sums(pull, self.n_threads) + W
        return loss + 0.5 * float(flat @ flat), slope.ravel()


def solve(
    rows: Rows,
    codes: NDArray[np.intp],
    n_classes: int,
    C: float = 1.0,
    tol: float = 1e-3,
    weight: Array | None = None,
    *,
    start: Array | None = None,
    max_iter: int = 1000,
    n_jobs: int = 1,
    callback: Callable[[float], None] | None = None,
) -> SoftmaxResult:
    """The K models for one C, from `start` (K x d) if it is given; `codes` are 0, ..., K - 1. A callback is told about
    what share is done: the passes, or the logarithm of the gap on its way to `tol`.

    >>> found = solve(Rows.of([[2.0], [1.0], [-1.0], [-2.0]]), np.array([0, 0, 1, 1]), 2, C=10.0, tol=1e-8)
    >>> found.W.round(2).ravel().tolist(), bool(found.gap <= 1e-8)
    ([1.37, -1.37], True)
    """
    scale = np.full(rows.n_rows, float(C)) if weight is None else C * weight
    objective = _Objective(rows, codes, n_classes, scale, n_jobs)
    flat = np.zeros(n_classes * rows.n_cols) if start is None else np.ascontiguousarray(start, dtype=np.float64).ravel()
    value, slope = objective(flat)
    if not np.isfinite(value) or not np.isfinite(slope @ slope):
        return SoftmaxResult(np.zeros(objective.shape), np.inf, np.inf, 0, OVERFLOWS)
    best, passes, ended = (_gap(value, slope), flat, value), 1, SOLVED
    first = min(best[0], 1.0)  # the certificate says nothing above, and gets there in a few passes

    def watched(at: Array) -> tuple[float, Array]:
        nonlocal best, passes
        passes += 1
        value, slope = objective(at)
        gap = _gap(value, slope)
        if gap < best[0]:
            best = gap, at.copy(), value
        if best[0] <= tol:
            raise _NearEnough
        if callback is not None:
            callback(max(passes / max_iter, np.log(first / best[0]) / np.log(first / tol)))
        return value, slope

    if best[0] > tol:
        how: dict[str, Any] = {"jac": True, "method": "L-BFGS-B"}
        options = {
            "maxcor": int(np.clip(ROOM // flat.size, 5, MEMORY)),
            "maxiter": max_iter,
            "maxfun": max_iter,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        with suppress(_NearEnough):
            ended = OUT_OF_STEPS if minimize(watched, flat, **how, options=options).status == 1 else STUCK
    gap, flat, value = best
    return SoftmaxResult(flat.reshape(objective.shape), value, gap, passes, ended)


class _NearEnough(Exception):  # noqa: N818 - it is no error
    """The certificate is as small as it was to be: scipy has no such stop of its own."""


def _gap(value: float, slope: Array) -> float:
    return 0.5 * float(slope @ slope) / value if value > 0.0 and np.isfinite(value) else np.inf
