"""The two class risks of rows in partitions, at the points of many tracks: what the bundle asks (`ClassRisks` in
solvers/linear/bundle.py).

The tracks' points are known here by their w; partitions make the margins of a round from them and keep nothing, so that
a partition that is computed again knows as much as one that was not.

The line search of the hinge is exact. Along ``w + l p`` the slope is ``w.p + l p.p - sum of c_i s_i over rows inside
the margin``, and row i enters or leaves at its kink ``l_i = (1 - m_i) / s_i``, where the slope goes up by ``c_i
|s_i|``. So the step is where a rising sum of kinks reaches a line: found by bins of l whose sums are known, the one in
question cut into `BINS` again, until it has one kink or none inside. Smooth losses have slopes only, which are sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..elsewhere.line_search import flat_point
from ..elsewhere.losses import share_of, value_of
from ..elsewhere.part import Fold, Part, by_class, ray_force

if TYPE_CHECKING:
    from .rows import DaskRows

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
BINS = 1024  # of a track in a round, 16 kB of answers: each round leaves a thousandth of the kinks in question
MOST = 40  # rounds of a search: each cuts a bin into a thousand, and floats have 64 bits
FLAT = 1e-3  # of the slope at the start, what a smooth loss may have left: cuts certify the gap wherever the step ends


class DaskClassRisks:
    """See the top of this file; the calls are those of the protocol."""

    def __init__(self, rows: DaskRows, loss: str) -> None:
        self.rows, self.loss = rows, loss

    @property
    def n_cols(self) -> int:
        return self.rows.n_cols

    def begin(self, n_tracks: int) -> None:
        self.w = np.zeros((n_tracks, self.n_cols))
        self.ahead, self.cuts = self.w.copy(), self.w.copy()

    def look(self, tracks: Numbers, W: Array) -> None:
        self.ahead[tracks] = W

    def risks(self, tracks: Numbers, at: Array) -> Array:
        return self._risks(self._between(tracks, at))

    def search(self, tracks: Numbers, caps: Array, wp: Array, pp: Array) -> Array:
        W, P = self.w[tracks], self.ahead[tracks] - self.w[tracks]
        if self.loss != "hinge":

            def slope(at: Array) -> Array:
                (force,) = self.rows.ask(ray_force, self.loss, caps, W, P, at, None)
                return np.asarray(wp + at * pp - force)

            return flat_point(slope, slope(np.zeros(len(wp))), FLAT)
        return _exact_steps(self.rows, caps, W, P, wp, pp)

    def move(self, tracks: Numbers, best: Array, cut: Array) -> Array:
        to_best, to_cut = self._between(tracks, best), self._between(tracks, cut)
        self.w[tracks], self.cuts[tracks] = to_best, to_cut
        return self._risks(to_best)

    def cut(self, tracks: Numbers) -> tuple[Array, Array]:
        g, h = self.rows.ask(_cuts, self.loss, self.cuts[tracks])
        return np.ascontiguousarray(g.reshape(-1, self.n_cols)), np.ascontiguousarray(h.ravel())

    def _between(self, tracks: Numbers, at: Array) -> Array:
        return np.asarray(self.w[tracks] + at[:, None] * (self.ahead[tracks] - self.w[tracks]))

    def _risks(self, W: Array) -> Array:
        (found,) = self.rows.ask(_risks_at, self.loss, W)
        return np.asarray(found)


# -- of one partition -------------------------------------------------------------------------------------------------
def _risks_at(part: Part, fold: Fold | None, loss: str, W: Array) -> tuple[Array]:
    found = np.zeros((len(W), 2))
    for block in part.kept(fold).blocks(len(W)):
        found += by_class(block, value_of(loss, block.slacks(W)))
    return (found,)


def _cuts(part: Part, fold: Fold | None, loss: str, W: Array) -> tuple[Array, Array]:
    """``g = -sum s b y x`` and ``h = sum s (loss + b m)`` of each class, negative first: (k, 2, d) and (k, 2)."""
    g, h = np.zeros((len(W), 2, W.shape[1])), np.zeros((len(W), 2))
    for block in part.kept(fold).blocks(len(W)):
        z = block.slacks(W)
        share = share_of(loss, z)
        h += by_class(block, value_of(loss, z) + share * (1.0 - z))
        weight = np.ones(block.n) if block.weight is None else block.weight
        for side, of_class in enumerate((block.y < 0, block.y > 0)):
            g[:, side] -= block.pull(share * (weight * of_class))
    return g, h


# -- the exact step of the hinge --------------------------------------------------------------------------------------
def _kinks(part: Part, fold: Fold | None, caps: Array, W: Array, P: Array, edges: Array) -> tuple[Array, Array, Array]:
    """For each track: ``sum c_i s_i`` of rows inside the margin just after 0, and of the kinks above 0 between edges
    (k, bins + 1): by how much the slope goes up there, and their number."""
    k, bins = edges.shape
    inside, rise, count = np.zeros(k), np.zeros((k, bins + 1)), np.zeros((k, bins + 1))
    for block in part.kept(fold).blocks(2 * len(W)):
        m, s = np.split(block.margins(np.concatenate([W, P])), 2)
        pull = block.costs(caps) * s
        inside += np.where((m < 1.0) | ((m == 1.0) & (s < 0.0)), pull, 0.0).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            at = (1.0 - m) / s
        for j in range(k):
            ahead = np.flatnonzero((at[j] > 0.0) & np.isfinite(at[j]) & (pull[j] != 0.0))
            place = np.searchsorted(edges[j], at[j, ahead], side="left")
            rise[j] += np.bincount(place, np.abs(pull[j, ahead]), bins + 1)
            count[j] += np.bincount(place, minlength=bins + 1)
    return inside, rise, count


def _exact_steps(rows: DaskRows, caps: Array, W: Array, P: Array, wp: Array, pp: Array) -> Array:
    """The l >= 0 at which the slope ``wp + l pp - inside + (kinks up to l)`` changes its sign."""
    k = len(wp)
    low, high = np.zeros(k), np.full(k, np.inf)  # the step is in [low, high]
    before = np.zeros(k)  # what the kinks up to `low` have added to the slope
    step, done = np.zeros(k), np.zeros(k, dtype=bool)
    for _ in range(MOST):
        edges = np.stack([_edges(low[j], high[j]) for j in range(k)])
        inside, rise, count = rows.ask(_kinks, caps, W, P, edges)
        for j in np.flatnonzero(~done):
            base = wp[j] - inside[j]
            if base >= 0.0:  # it rises from the start
                step[j], done[j] = 0.0, True
                continue
            up = before[j] + np.cumsum(_within(rise[j], edges[j], low[j]))
            slope_at = base + edges[j] * pp[j] + up[:-1]  # just after each edge
            over = int(np.searchsorted(slope_at >= 0.0, True))
            if over == len(edges[j]):
                step[j], done[j] = max(0.0, (-base - up[-1]) / pp[j]) if pp[j] > 0 else edges[j][-1], True
                continue
            start = low[j] if over == 0 else edges[j][over - 1]
            known = before[j] if over == 0 else up[over - 1]
            flat = (-base - known) / pp[j] if pp[j] > 0 else np.inf
            low[j], high[j], before[j] = start, edges[j][over], known
            kinks_here = count[j][over]
            if kinks_here == 0 or np.nextafter(start, np.inf) >= high[j]:
                step[j], done[j] = min(max(flat, start), high[j]), True
        if done.all():
            break
    return np.where(done, step, low)


def _within(rise: Array, edges: Array, low: float) -> Array:
    """The first bin reaches down to 0: what it holds below `low` is known already."""
    found = rise.copy()
    if low > 0.0:
        found[0] = 0.0
    return found


def _edges(low: float, high: float) -> Array:
    """The first is `low`, so that what lies before it is a bin of its own; without a `high` they grow by factors."""
    if np.isinf(high):
        return np.concatenate([[low], np.geomspace(1e-6, 1e6, BINS - 1)])
    share = np.linspace(0.0, 1.0, BINS)
    found: Any = low * (1.0 - share) + high * share
    found[-1] = high
    return np.asarray(found)
