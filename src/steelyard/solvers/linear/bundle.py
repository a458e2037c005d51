"""BM-ls-CS (Cheng et al. 2016, Algorithm 1 with the line search of its section 3.3) for many cost pairs at once.

For each pair k with the caps ``cap_c = C c_c``::

    min over w   J(w) = 1/2 |w|^2 + cap_0 R_0(w) + cap_1 R_1(w),     R_c = sum over class c of s_i loss(y_i x_i.w)

A round, all pairs in lockstep, each on its *track*: its master problem gives w_t; one product with the rows gives all
margins; each track searches the ray from its best point through w_t exactly (eq. 11); the cut is taken at
``(1 - mu) w_best + mu w_t`` (eq. 12); one product back gives both class pieces of all cuts. The cuts of every track go
into one pool that all masters see. A track is done when ``J(w_best) - J_t <= tol J`` (eq. 13). Without line search the
cut is at w_t and the best w_t seen is kept (BM-nls-CS).

Of the data the loop asks only what `ClassRisks` says: margins, one number a row, never leave them. Rows in memory
answer it compiled (`src/core/linear/class_risks.hpp`); whoever else answers it, on a GPU or a cluster, can be trained
on with no other change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..._core import ClassRisks as ClassRisksInMemory
from ..._core import Masters
from ...rows import Rows
from ..status import SOLVED, Ended, Status

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]


class ClassRisks(Protocol):
    """The two class risks of some rows, at the points of several tracks; negative class first.

    A track has a best point w and, once looked at, a point w_t ahead of it; both are known by their margins only. In
    every call `tracks` says which tracks it is about, and all else has one entry or one row for each of them.
    """

    @property
    def n_cols(self) -> int: ...
    def begin(self, n_tracks: int) -> None:
        """So many tracks, each with ``w = 0`` as its best point."""
        ...

    def look(self, tracks: Numbers, W: Array) -> None:
        """Remember the margins of each track's w_t."""
        ...

    def risks(self, tracks: Numbers, at: Array) -> Array:
        """``(R_0, R_1)`` at ``w + at (w_t - w)``."""
        ...

    def search(self, tracks: Numbers, caps: Array, wp: Array, pp: Array) -> Array:
        """The step ``l >= 0`` with the least ``1/2 |w + l p|^2 + caps . R(w + l p)``, ``p = w_t - w``.

        `wp` and `pp` are ``w.p`` and ``p.p``. Exact for the hinge: the slope is a sum over rows, and the step a
        weighted selection by rank among the rows' kinks.
        """
        ...

    def move(self, tracks: Numbers, best: Array, cut: Array) -> Array:
        """The best point goes to ``w + best p``, the next cut will be at ``w + cut p``. The risks at the former."""
        ...

    def cut(self, tracks: Numbers) -> tuple[Array, Array]:
        """Two rows of g and entries of h a track, with ``R_c(w') >= g.w' + h`` for every w'."""
        ...


class AnswersClassRisks(Protocol):
    """Rows that are not in this process's memory, and make their own `ClassRisks`."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    def class_risks(self, y: Array, weight: Array | None, loss: str) -> ClassRisks: ...


def class_risks(
    rows: Rows | AnswersClassRisks, y: Array, weight: Array | None, loss: str, n_threads: int = 1
) -> ClassRisks:
    """The class risks of rows, wherever they are; `y` is -1 or 1."""
    if not isinstance(rows, Rows):
        return rows.class_risks(y, weight, loss)
    return ClassRisksInMemory(rows.check_squares().core, y, weight, loss, n_threads)


@dataclass(frozen=True)
class BundleOptions:
    """How the bundle works. The figures are of the grid of `benchmarks/batch.py` up to C = 0.7, on 20,000 rows of
    letter, ijcnn1 and a9a.

    ``mu`` is where the cut is taken between the best point and the master's (eq. 12; the paper tries 0.1 to 1): 0.02 to
    0.2 differ by a tenth in rounds, 0.5 needs half as many again. ``slack`` is how far from its optimum a master's
    answer may be, as a share of the gap that is wanted: what it gives away stays far below that gap, and 0.01 to 0.2
    need the same rounds. A track that has not brought its gap down by a tenth in `patience` rounds is given up: its
    cuts are too steep for the arithmetic. The longest such wait was 4 rounds (9 with mu = 0.5). A cut that no master
    has used for `idle` rounds is dropped: with 20 there are as many rounds as without dropping and half the cuts, with
    5 up to 7 % more.
    """

    mu: float = 0.1
    line_search: bool = True
    share_cuts: bool = True
    slack: float = 0.05
    patience: int = 100
    idle: int = 20


@dataclass(frozen=True, eq=False)
class Track:
    """Where one pair ended, for one C."""

    w: Array
    objective: float
    gap: float
    status: Status
    history: Array  # the objective after each round; without line search at w_t


OVERFLOWS = Status(Ended.TROUBLE, "the objective overflows at w = 0: C times costs and sample weights is too large")
STUCK = Status(Ended.TROUBLE, "the bundle's gap has stopped shrinking: its cuts are too steep for the arithmetic")
STEEP = Status(Ended.TROUBLE, "the bundle's cuts overflow")
OUT_OF_PASSES = Status(Ended.LIMIT, "the passes over the rows are used up")
PASSES_A_ROUND = 2  # one to look, one for the cuts


class Lockstep:
    """All tracks, round by round."""

    def __init__(self, risks: ClassRisks, n_tracks: int, options: BundleOptions, n_threads: int = 1) -> None:
        self.data, self.options, self.n_threads = risks, options, n_threads
        self.masters = Masters(n_tracks, risks.n_cols, options.share_cuts, options.idle)
        risks.begin(n_tracks)
        every = np.arange(n_tracks)
        self.w = np.zeros((n_tracks, risks.n_cols))
        self.risks = np.asarray(risks.risks(every, np.zeros(n_tracks)))
        self.restart(np.ones((n_tracks, 2)))

    def restart(self, caps: Array) -> None:
        """New caps. Best points, cuts and the masters' weights stay."""
        n = len(self.w)
        self.caps = caps
        self.primal, self.dual = self._objective(np.arange(n), self.w, self.risks), np.zeros(n)
        self.status: list[Status | None] = [None if np.isfinite(one) else OVERFLOWS for one in self.primal]
        self.masters.set_caps(np.where(np.isfinite(self.primal)[:, None], caps, 0.0))
        self.history: list[list[float]] = [[] for _ in range(n)]
        self._progress, self._since = np.full(n, np.inf), np.zeros(n, dtype=int)

    def run(self, tol: float, max_passes: float) -> list[Track]:
        """All tracks to the tolerance, or to where they get no further."""
        rounds = int(np.ceil(max_passes / PASSES_A_ROUND))
        for _ in range(rounds):
            busy = self._busy()
            if not len(busy):
                break
            self._round(busy, tol)
        return [self._track(k) for k in range(len(self.w))]

    # -- one round ----------------------------------------------------------------------------------------------
    def _round(self, busy: Numbers, tol: float) -> None:
        values, ahead = self.masters.propose(busy, self.options.slack * tol * self.primal[busy], self.n_threads)
        busy, (values, ahead) = self._sound(busy, values, ahead)
        if not len(busy):
            return
        self.dual[busy] = np.maximum(self.dual[busy], values)
        self.data.look(busy, ahead)
        if self.options.line_search:
            self._search(busy, ahead)
        else:
            self._keep_better(busy, ahead)
        self._judge(busy, tol)
        busy = self._busy()
        if len(busy):
            busy, (g, h) = self._sound(busy, *_by_track(*self.data.cut(busy)))
            if len(busy):
                self.masters.add(busy, np.ascontiguousarray(g.reshape(-1, self.data.n_cols)), h.ravel())

    def _search(self, busy: Numbers, ahead: Array) -> None:
        best = self.w[busy]
        p = ahead - best
        step = self.data.search(busy, self.caps[busy], _dots(best, p), _dots(p, p))
        self.risks[busy] = self.data.move(busy, step, step + self.options.mu * (1.0 - step))
        self.w[busy] += step[:, None] * p
        self.primal[busy] = self._objective(busy, self.w[busy], self.risks[busy])
        self._remember(busy, self.primal[busy])

    def _keep_better(self, busy: Numbers, ahead: Array) -> None:
        ones = np.ones(len(busy))
        there = np.asarray(self.data.risks(busy, ones))
        objective = self._objective(busy, ahead, there)
        better = objective < self.primal[busy]
        self.data.move(busy, better.astype(np.float64), ones)
        moved = busy[better]
        self.w[moved], self.risks[moved], self.primal[moved] = ahead[better], there[better], objective[better]
        self._remember(busy, objective)

    def _judge(self, busy: Numbers, tol: float) -> None:
        for k in busy:
            gap = self.primal[k] - self.dual[k]
            if not np.isfinite(gap):
                self.status[k] = STEEP
            elif gap <= tol * self.primal[k]:
                self.status[k] = SOLVED
            elif gap < 0.9 * self._progress[k]:
                self._progress[k], self._since[k] = gap, 0
            else:
                self._since[k] += 1
                self.status[k] = STUCK if self._since[k] > self.options.patience else None

    # -- small things -------------------------------------------------------------------------------------------
    def _busy(self) -> Numbers:
        return np.array([k for k, status in enumerate(self.status) if status is None], dtype=np.int64)

    def _sound(self, busy: Numbers, *parts: Array) -> tuple[Numbers, list[Array]]:
        """The tracks for which all these numbers are finite; the others end here."""
        good = np.ones(len(busy), dtype=bool)
        for part in parts:
            good &= np.isfinite(part.reshape(len(busy), -1)).all(axis=1)
        for k in busy[~good]:
            self.status[k] = STEEP
        return busy[good], [part[good] for part in parts]

    def _objective(self, tracks: Numbers, w: Array, risks: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(_dots(w, w) / 2.0 + _dots(self.caps[tracks], risks))

    def _remember(self, busy: Numbers, objective: Array) -> None:
        for k, value in zip(busy, objective, strict=True):
            self.history[k].append(float(value))

    def _track(self, k: int) -> Track:
        primal, dual = float(self.primal[k]), float(self.dual[k])
        if not np.isfinite(primal):
            gap = np.inf
        else:
            gap = max(0.0, (primal - dual) / primal) if primal > 0.0 else 0.0
        status = self.status[k] or OUT_OF_PASSES
        return Track(self.w[k].copy(), primal, gap, status, np.array(self.history[k]))


def solve_lockstep(
    risks: ClassRisks,
    costs: Array,
    Cs: Array,
    *,
    tol: float,
    max_passes: float,
    options: BundleOptions,
    n_threads: int = 1,
) -> list[list[Track]]:
    """One C (ascending) after the other, all pairs ``(c_pos, c_neg)`` in lockstep: a list of tracks for each C."""
    lockstep = Lockstep(risks, len(costs), options, n_threads)
    found = []
    for C in Cs:
        with np.errstate(over="ignore"):
            lockstep.restart(np.ascontiguousarray(C * costs[:, ::-1]))
        found.append(lockstep.run(tol, max_passes))
    return found


def _dots(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("kj,kj->k", a, b))


def _by_track(g: Array, h: Array) -> tuple[Array, Array]:
    return g.reshape(len(h) // 2, 2, -1), h.reshape(-1, 2)
