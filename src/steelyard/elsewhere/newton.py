"""Newton on chosen rows for many cost pairs at once, and one pass over all rows that certifies them: `lockstep.hpp` for
rows elsewhere, which answer by sums (`Source` in `models`).

    for each pair, C after C:   min over w  1/2 |w|^2 + C sum_i c_i loss(m_i)

A round: Newton on a sample moves each track's w; one pass (`models`) gives every track its objective and a dual point.
The sample stands for all rows, and as the sum of forces of all rows is known from the pass before, what the sample has
wrong of it is put right by a linear term: a round is exact to first order, and its error is that of the sample's
Hessian. A track whose gap is small enough goes on to its next C at once, from the same pass. What is not at the gap
after a few rounds gets a sample eight times as large, up to all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .line_search import flat_point
from .models import Models, Reading, Sample, Source

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rounds:
    """What steers the rounds; where there is the same in `track.hpp` and `newton.hpp`, its value is from there.

    The sample begins with `sample` rows, or `a_column` for each column, and grows by `larger` to at most `most_numbers`
    numbers (1 GB of float32) when a round leaves more than `good` of ``|w - v|^2``. A problem that is not at its gap
    after `most` rounds is left with the gap that it has.
    """

    sample: int = 1 << 19
    a_column: int = 256
    larger: int = 8
    most_numbers: int = 1 << 28
    good: float = 0.1
    most: int = 30
    steps: int = 60
    first_tol: float = 1e-2
    cold: float = 0.5  # mu from w = 0
    enough: float = 0.75  # of the gap, what the chosen rows alone may leave
    slope_left: float = 0.1
    budget: float = 0.5
    narrowest: float = 0.02
    widest: float = 8.0
    patience: int = 12  # steps with one mu that leave nine tenths of the least rest: float32 is then at its end
    noise: float = 0.1  # of the gap that is wanted: an objective that rises by less has not risen


ROUNDS = Rounds()


@dataclass
class Best:
    """The best of one problem so far."""

    w: Array
    primal: float
    dual: float = 0.0
    passes: float = 0.0

    @property
    def gap(self) -> float:
        if not np.isfinite(self.primal):
            return np.inf
        return float(max(0.0, 1.0 - self.dual / self.primal)) if self.primal > 0.0 else 0.0


@dataclass
class Knot:
    """What a pass has said of one problem's w: class risks, the mass and the pull of its multipliers (with C)."""

    w: Array
    risk: Array
    mass: float
    v: Array


@dataclass(frozen=True)
class Proof:
    """Multipliers by their mass and pull, without C: ``C mass - C^2 |v|^2 / 2`` is below the optimum, for every C.

    Any mean of multipliers is as good as they are, so what passes have proved is joined: near the end w moves by less
    than float32 can tell, and the errors of v in several passes cancel.
    """

    mass: float
    v: Array

    def value(self, C: float) -> float:
        return C * self.mass - 0.5 * C**2 * float(self.v @ self.v)

    def joined(self, other: Proof, C: float) -> Proof:
        """The best of all means of both."""
        way, gain = other.v - self.v, other.mass - self.mass
        length = float(way @ way)
        if not np.isfinite(length) or length == 0.0:
            return other if other.value(C) > self.value(C) else self
        share = min(max((gain / C - float(self.v @ way)) / length, 0.0), 1.0)
        return Proof(self.mass + share * gain, self.v + share * way)


class Lockstep:
    """All pairs (negative, positive cost) with all Cs, ascending; `found[k][c]` is pair k with C number c."""

    def __init__(self, data: Source, loss: str, tol: float, max_passes: float = 1e4, seed: int = 0) -> None:
        self.data, self.loss, self.tol, self.max_passes, self.seed = data, loss, tol, max_passes, seed
        self.size = max(ROUNDS.sample, ROUNDS.a_column * data.n_cols)
        self.sample = data.sample(self.size, seed)

    def solve(self, pairs: Array, Cs: Array, start: Array | None = None) -> list[list[Best]]:
        """From `start`, a row for each pair, if there is one."""
        with self.data.exactly():
            return self._solve(pairs, Cs, start)

    def _solve(self, pairs: Array, Cs: Array, start: Array | None) -> list[list[Best]]:
        k, d = len(pairs), self.data.n_cols
        self.pairs, self.Cs, self.at = pairs, Cs, np.zeros(k, dtype=int)
        self.w = np.zeros((k, d)) if start is None else start.copy()
        self.mu = np.full(k, ROUNDS.cold)
        self.knots = [[Knot(np.zeros(d), np.zeros(2), 0.0, np.zeros(d)) for _ in Cs] for _ in range(k)]
        self.proof = [Proof(0.0, np.zeros(d)) for _ in range(k)]
        self.rounds, self.residual = np.zeros(k, dtype=int), np.full(k, np.inf)
        self.before, self.w_before, self.back = np.full(k, np.inf), self.w.copy(), np.zeros(k, dtype=bool)
        self.found = [[Best(np.zeros(d), np.inf) for _ in Cs] for _ in range(k)]
        self._begin(np.arange(k), start is not None)
        busy, reading = self._first_pass()
        while len(busy):
            busy, reading = self._judge(busy, reading)
            ahead = ~self.back[busy]
            if ahead.any():
                self._newton(busy[ahead], reading.only(ahead), self.tol)
            reading = self.data.read(self.loss, self._models(busy)) if len(busy) else reading
        return self.found

    def _begin(self, tracks: NDArray[np.intp], warm: bool) -> None:
        """From the sample alone: an idea of w, or, of a w that the sample would not better, how to round the hinge."""
        with np.errstate(over="ignore", invalid="ignore"):  # costs that overflow are seen in the first pass
            if warm:
                self._newton(tracks, None, self.tol, ROUNDS.steps if self.sample.is_all else 0)
            else:
                self._newton(tracks, None, max(self.tol, ROUNDS.first_tol))

    def _first_pass(self) -> tuple[NDArray[np.intp], Reading]:
        """What it says of all tracks whose objective is a number, and of w = 0, which is as good as any at first."""
        k, d = self.w.shape
        zero = Models(np.zeros((1, d)), np.ones((1, 2)), np.ones(1))
        reading = self.data.read(self.loss, self._models(np.arange(k)).and_also(zero))
        with np.errstate(over="ignore"):
            at_zero = self.pairs @ reading.risk[k]
            for best, value in zip(self.found, at_zero, strict=True):
                for one, C in zip(best, self.Cs, strict=True):
                    one.primal = float(C * value)
            busy = np.flatnonzero(np.isfinite(at_zero * self.Cs[-1]))
        return busy, reading.only(busy)

    def _models(self, which: NDArray[np.intp]) -> Models:
        return Models(self.w, self.pairs, self.mu).only(which)

    # -- what a pass says ---------------------------------------------------------------------------------------
    def _judge(self, busy: NDArray[np.intp], reading: Reading) -> tuple[NDArray[np.intp], Reading]:
        """Offers the pass to this C of each track and the next ones. Who is left, and what the pass said of them."""
        models, going, slow = self._models(busy), [], False
        for j, k in enumerate(busy):
            self.rounds[k] += 1
            while self.at[k] < len(self.Cs):
                if not self._offer(int(k), j, models, reading):
                    break
                self.at[k] += 1
                self.rounds[k], self.residual[k], self.before[k], self.back[k] = 0, np.inf, np.inf, False
            if self.at[k] == len(self.Cs):
                continue
            going.append(j)
            slow |= self._look_back(int(k), j, models, reading)
        if slow:
            self._enlarge()
        left = np.array(going, dtype=np.intp)
        return busy[left], reading.only(left)

    def _offer(self, k: int, j: int, models: Models, reading: Reading) -> bool:
        """True if this problem is over."""
        C, best = self.Cs[self.at[k]], self.found[k][self.at[k]]
        primal = float(reading.primal_at(models, C)[j])
        self.proof[k] = proof = self.proof[k].joined(Proof(float(reading.dual[j]), reading.v[j]), C)
        dual = proof.value(C)
        best.passes += 1.0
        if np.isfinite(primal) and primal <= best.primal:
            best.primal, best.w = primal, models.w[j].copy()
        if np.isfinite(dual) and dual >= best.dual:
            best.dual = dual
        over = best.gap <= self.tol or best.passes >= self.max_passes or self.rounds[k] >= ROUNDS.most
        if over:
            self.knots[k][self.at[k]] = Knot(models.w[j].copy(), reading.risk[j], C * proof.mass, C * proof.v)
            self.proof[k] = Proof(0.0, np.zeros_like(proof.v))
        return bool(over or not np.isfinite(primal))

    def _look_back(self, k: int, j: int, models: Models, reading: Reading) -> bool:
        """Whether the last round was a poor one: then a larger sample goes on from here. Where there is none, and the
        objective went up, w goes half of the way back."""
        C = self.Cs[self.at[k]]
        primal, residual = float(reading.primal_at(models, C)[j]), float(((models.w[j] - C * reading.v[j]) ** 2).sum())
        slow = self.rounds[k] > 0 and not residual <= ROUNDS.good * self.residual[k]
        rose = primal - self.before[k] > ROUNDS.noise * self.tol * primal
        self.back[k] = slow and rose and not self._can_grow()
        if self.back[k]:
            self.w[k] = 0.5 * (self.w[k] + self.w_before[k])
        else:
            self.before[k], self.residual[k], self.w_before[k] = primal, residual, self.w[k]
        return bool(slow)

    def _can_grow(self) -> bool:
        return not self.sample.is_all and self.size < ROUNDS.most_numbers // self.data.n_cols

    def _enlarge(self) -> None:
        if self._can_grow():
            self.size = min(ROUNDS.larger * self.size, ROUNDS.most_numbers // self.data.n_cols)
            self.sample = self.data.sample(self.size, self.seed)

    # -- Newton on the sample -----------------------------------------------------------------------------------
    def _newton(self, busy: NDArray[np.intp], reading: Reading | None, tol: float, steps: int = ROUNDS.steps) -> None:
        C = self.Cs[self.at[busy]]
        problem = Problem(self.sample, self.loss, C[:, None] * self.pairs[busy], tol)
        if reading is not None:
            problem.v, problem.primal = C[:, None] * reading.v, reading.primal_at(self._models(busy), C)
        self.w[busy], self.mu[busy], taken = problem.solve(self.w[busy], self.mu[busy], steps)
        for k in busy:
            self.found[k][self.at[k]].passes += 2.0 * taken * self.sample.n / self.data.n_rows


@dataclass
class Problem:
    """Some problems on chosen rows, the others held by their tangent: `newton.hpp`, in lockstep."""

    rows: Sample
    loss: str
    caps: Array
    tol: float
    v: Array | None = None  # of all rows, at the start
    primal: Array | None = None
    others: Array = field(init=False)
    base: Array = field(init=False)

    def solve(self, w: Array, mu: Array, steps: int = ROUNDS.steps) -> tuple[Array, Array, int]:
        """w and mu improved in at most so many steps, and their number; with none it is mu alone."""
        self.ray = self.rows.along(self.loss, self.caps)
        self.w, self.mu, start = w.copy(), mu.copy(), w.copy()
        self.ray.at(w)
        self.others, self.base = np.zeros_like(w), np.zeros(len(w))
        self._read()
        if self.v is not None and self.primal is not None:
            self.others = self.v - self.pull
            self._read()
            self.base = self.primal - self._objective()
        fresh, decrement = self.v is not None or steps == 0, np.full(len(w), np.inf)
        self.stale, self.least = np.zeros(len(w), dtype=int), np.full(len(w), np.inf)
        for step in range(steps + 1):
            wanted = self.tol * self._objective()
            self._fit_mu(wanted, fresh, decrement)
            fresh, left = False, ~self._is_enough(wanted) & (wanted > 0.0) & (self.stale < ROUNDS.patience)
            if not left.any() or step == steps:
                break
            moved = self._step(left, decrement)
            if not moved.any():
                break
        bad = ~np.isfinite(self.w).all(1)
        self.w[bad], self.mu[bad] = start[bad], mu[bad]
        return self.w, self.mu, step

    def _read(self) -> None:
        self.risk, self.rounding, pull = self.ray.read(self.mu)
        self.pull = pull + self.others

    def _objective(self) -> Array:
        return np.asarray(self.base + 0.5 * (self.w**2).sum(1) + self.risk - (self.others * self.w).sum(1))

    def _residual(self) -> Array:
        return np.asarray(((self.w - self.pull) ** 2).sum(1))

    def _is_enough(self, wanted: Array) -> NDArray[np.bool_]:
        return np.asarray(self.rounding + 0.5 * self._residual() <= ROUNDS.enough * wanted)

    def _fit_mu(self, wanted: Array, fresh: bool, decrement: Array) -> None:
        """mu to what the gap may still be: once freely at a warm start, later only down (`Rounding` in newton.hpp)."""
        if self.loss != "hinge":
            return
        tiny = np.finfo(np.float64).tiny
        while True:
            budget, rounding = ROUNDS.budget * wanted, np.maximum(self.rounding, tiny)
            if fresh:
                factor = np.clip(np.sqrt(budget / rounding), ROUNDS.narrowest, ROUNDS.widest)
            else:
                solved = np.minimum(0.5 * self._residual(), decrement) < 0.3 * rounding
                factor = np.clip(np.sqrt(0.8 * budget / rounding), 0.1, 0.7)
                factor = np.where(solved & (rounding > 1.2 * budget), factor, 1.0)
            factor = np.where(self._is_enough(wanted) | ~(wanted > 0.0), 1.0, factor)
            if (factor == 1.0).all():
                return
            decrement[factor != 1.0] = self.least[factor != 1.0] = np.inf
            self.stale[factor != 1.0] = 0
            self.mu = self.mu * factor
            fresh = False
            self._read()

    def _step(self, left: NDArray[np.bool_], decrement: Array) -> NDArray[np.bool_]:
        """A Newton step of the problems that are left, with a line search; those that moved."""
        which = np.flatnonzero(left)
        p = np.zeros_like(self.w)
        hessian = self.ray.hessian(self.mu, which)
        p[which] = np.linalg.solve(hessian, (self.pull - self.w)[which][..., None])[..., 0]
        p[~np.isfinite(p).all(1)] = 0.0
        slope = ((self.w - self.pull) * p).sum(1)
        p[~(slope < 0.0)] = 0.0
        t = self._search(p, np.where(slope < 0.0, slope, 0.0))
        self.w = self.w + t[:, None] * p
        self.ray.at(self.w)
        self._read()
        rest = self.rounding + 0.5 * self._residual()
        better = rest < 0.9 * self.least
        self.stale, self.least = np.where(better, 0, self.stale + 1), np.where(better, rest, self.least)
        decrement[:] = np.where((t > 0.5) & (slope < 0.0), -0.5 * slope, np.inf)
        return np.asarray(left & (slope < 0.0) & (t > 0.0))

    def _search(self, p: Array, at_start: Array) -> Array:
        """t with little slope left along p."""
        self.ray.ahead(p)
        wp, pp = ((self.w - self.others) * p).sum(1), (p**2).sum(1)
        return flat_point(lambda t: wp + t * pp - self.ray.force(t, self.mu), at_start, ROUNDS.slope_left)
