"""The approximate cost path of rows elsewhere, in a tensor or in partitions.

It is `src/core/path/approximate.hpp` with its knots in lockstep. The certificate between two knots is the same: primal
and a feasible dual value are bounded by parabolas in the share l between them, known from each knot's model w, its
class risks, and the mass and the pull v of its multipliers, which a pass over the rows gives
(`steelyard.elsewhere.newton`). Here all stretches that need a knot get one in the same generation, so that a pass
serves all of them.

On rows in a tensor the share of tau at which a score is positive is found where the rows are, knot by knot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...elsewhere.models import Source
from ...elsewhere.newton import Lockstep
from ..status import SOLVED, Ended, Status
from .approximate import ApproximatePath
from .problem import Callback, ModelPath, State

Array = NDArray[np.float64]
Tensor = Any


@dataclass(frozen=True)
class Course:
    """`inner`, `good` and `narrowest` are those of approximate.hpp: what a knot takes of tol, from where on it has met
    the engine's limit, and the narrowest stretch. The path begins with `first` knots, as many as one pass serves."""

    inner: float = 0.25
    good: float = 0.5
    narrowest: float = 1e-6
    coarse: float = 1.0 / 16
    first: int = 9


COURSE = Course()


@dataclass(frozen=True, eq=False)
class Knot:
    """A solution at tau with what its multipliers prove."""

    tau: float
    w: Array
    risk: Array
    mass: float
    v: Array
    C: float

    def bounds(self, other: Knot, share: float) -> tuple[float, float]:
        """An upper bound of the primal and a lower one of the dual, at a share of the way to another knot."""
        tau = self.tau + share * (other.tau - self.tau)
        w, v = (1 - share) * self.w + share * other.w, (1 - share) * self.v + share * other.v
        negative, positive = (1 - share) * self.risk + share * other.risk
        upper = 0.5 * w @ w + 2.0 * self.C * (tau * negative + (1 - tau) * positive)
        return float(upper), float((1 - share) * self.mass + share * other.mass - 0.5 * v @ v)

    def gap(self, other: Knot, tol: float) -> float:
        return certified_gap([self.bounds(other, share) for share in (0.0, 0.5, 1.0)], tol)


def certified_gap(at: list[tuple[float, float]], tol: float) -> float:
    """The smallest t, to a hundredth of tol, with ``(1 - t) U(l) <= D(l)`` on [0, 1], given both at 0, 1/2 and 1.

    >>> certified_gap([(1.0, 1.0), (1.0, 0.9995), (1.0, 1.0)], 1e-3) < 6e-4
    True
    """
    if not np.isfinite(at).all():
        return 1.0

    def holds(t: float) -> bool:
        f = [(1.0 - t) * upper - lower for upper, lower in at]
        b, a = -3 * f[0] + 4 * f[1] - f[2], 2 * f[0] - 4 * f[1] + 2 * f[2]
        top = -b / (2 * a) if a < 0 else 0.0
        return f[0] <= 0 and f[2] <= 0 and (top <= 0 or top >= 1 or f[0] + b * top / 2 <= 0)

    low, high = (0.0, tol) if holds(tol) else (tol, 1.0)
    while high - low > 0.01 * tol:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def trace(
    data: Source,
    C: float,
    tau_range: tuple[float, float],
    tol: float,
    seed: int = 0,
    callback: Callback | None = None,
) -> ApproximatePath:
    """The path for signed rows, wherever they are, certified."""
    engine, passes = Lockstep(data, "hinge", COURSE.inner * tol, seed=seed), 0.0

    def solve(taus: list[float], start: Array | None) -> list[Knot]:
        nonlocal passes
        pairs = np.array([(2.0 * tau, 2.0 * (1.0 - tau)) for tau in taus])
        found = engine.solve(pairs, np.array([C]), start)
        passes += max(each[0].passes for each in found)
        made = [each[0] for each in engine.knots]
        return [Knot(t, one.w, one.risk, one.mass, one.v, C) for t, one in zip(taus, made, strict=True)]

    knots = solve(np.linspace(*tau_range, COURSE.first).tolist(), None)
    while True:
        split = [k for k in range(len(knots) - 1) if _is_worth_splitting(knots[k], knots[k + 1], tau_range, tol)]
        if not split:
            break
        if callback is not None:  # knots come in everywhere at once: the share that is done need not begin at its start
            open_ = sum(knots[k + 1].tau - knots[k].tau for k in split) / (tau_range[1] - tau_range[0])
            callback(State(knots[split[0]].tau, 1.0 - open_, len(knots)))
        middles = [(knots[k].tau + knots[k + 1].tau) / 2 for k in split]
        start = np.array([(knots[k].w + knots[k + 1].w) / 2 for k in split])
        knots = sorted([*knots, *solve(middles, start)], key=lambda knot: knot.tau)
    gaps = [left.gap(right, tol) for left, right in pairwise(knots)]
    worst = int(np.argmax(gaps))
    where = f"the relative gap is {gaps[worst]:.2g} near tau = {knots[worst].tau:.4g}, above tol = {tol:g}"
    status = SOLVED if gaps[worst] <= tol else Status(Ended.LIMIT, where)
    tau, w = np.array([knot.tau for knot in knots]), np.array([knot.w for knot in knots])
    return ApproximatePath(tau, w, gaps[worst], tol, passes, status)


def _is_worth_splitting(left: Knot, right: Knot, tau_range: tuple[float, float], tol: float) -> bool:
    if left.gap(right, tol) <= tol:
        return False
    both = max(left.gap(left, tol), right.gap(right, tol)) <= COURSE.good * tol
    return right.tau - left.tau > (COURSE.narrowest if both else COURSE.coarse * (tau_range[1] - tau_range[0]))


def share_positive(path: ModelPath, rows: Any) -> Tensor:
    """The share of tau in [0, 1] at which a score is positive; below the path's start all are, above its end none."""
    share = rows.X.new_full((rows.n_rows,), path.start)
    for tau, w, _ in path.stretches():
        before = rows.scores(w[0])
        for k in range(1, len(tau)):
            after = rows.scores(w[k])
            high, low = before.clamp(min=0), after.clamp(min=0)
            reached = (before - after).abs().clamp(min=1e-30)
            both = (before > 0) & (after > 0)
            share += float(tau[k] - tau[k - 1]) * both.to(share.dtype).where(both, (high + low) / reached).clamp(max=1)
            before = after
    return share
