"""Nonconvex Neyman-Pearson machines with kernels: as few misses as possible under a cap on false alarms.

    min over f   1/2 |f|^2 + 2 eta C sum_pos r(y f)   subject to   mean over negatives of r(y f) <= rho

with the ramp ``r(z) = clip((eta - z) / (2 eta), 0, 1)``, which tends to the 0-1 loss with eta (002, eq. 5 and 6). For a
multiplier of the constraint this is an SVM whose negatives cost `ratio` times what positives do, with a ramp in place
of the hinge. DC programming gives up the rows behind the ramp (``y f < -eta``) and solves a convex SVM in which their
boxes are shifted, ``-beta c <= a <= (1 - beta) c``, until the same rows are given up again (Algorithm 2, `dc`).

`annealed` (Algorithm 3) adjusts the ratio after every such round, `uzawa` (Algorithms 1 and 2) after each whole `dc`;
both start at ratio 1 (the paper's lambda = C n-/n+) and multiply, by ``(surrogate rate / rho)^gain``: to first order
the paper's ``1 + nu (rate - rho)`` with nu = gain / rho, but a factor 2 too high and too low are answered alike. The
gain follows the slope seen between the last two rounds, and late steps are smaller, since the rows given up lag behind
the ratio. A run that does not settle ends at the best machine seen: within the cap, or else nearest to it. `cost_grid`
is the convex machine at a grid of ratios (AC-SVM).

C is the box of a positive row, as in an SVM: the paper's C is ``2 eta C n+``. Rows of weight 0 take no part, but are
scored: that is how folds share one kernel cache.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import smo
from .smo import Kernel, SmoResult

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

PRECISION = 0.05  # how close to the cap the surrogate rate ends, relative to it
LEAST_RATIO, MOST_RATIO = 1e-4, 1e4
LEAST_GAIN, MOST_GAIN = 0.2, 3.0
LARGEST_MOVE = np.log(4.0)
RUNAWAY = 30.0  # a ratio that is reached where the cap cannot be
RECLAIMS = 3  # times that negatives given up are taken back there
PATIENCE = 12  # rounds after which the steps shrink like 1/n: else the ratio and the rows given up may chase each other
LOOSE = 10.0  # times tol, while the ratio is still far from where it ends
MOST_STEPS = 2_000_000  # of SMO in a round, or a hundred a row: features of very unequal scale would take hours


@dataclass(frozen=True)
class Task:
    """The training rows (labels -1 and 1) and what is asked of the machine."""

    kernel: Kernel
    y: Array
    weight: Array
    cap: float
    C: float = 1.0
    ramp: float = 1.0
    tol: float = 1e-3
    max_iter: int = 100

    def without(self, rows: NDArray[np.intp]) -> Task:
        """The same task with these rows left out."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        return dataclasses.replace(self, weight=weight)

    def false_alarms(self, scores: Array) -> float:
        """The surrogate rate: the mean ramp over the negatives."""
        negative = self.y < 0
        ramp = np.clip((self.ramp + scores[negative]) / (2.0 * self.ramp), 0.0, 1.0)
        return float(np.average(ramp, weights=self.weight[negative]))

    def meets_cap(self, rate: float) -> bool:
        return bool(rate <= self.cap * np.exp(PRECISION))

    def objective(self, scores: Array, norm: float, ratio: float) -> float:
        """``1/2 |f|^2`` plus what the ramps cost: what `dc` decreases."""
        ramp = np.clip((self.ramp - self.y * scores) / (2.0 * self.ramp), 0.0, 1.0)
        cost = self.weight * np.where(self.y > 0, self.C, self.C * ratio)
        return 0.5 * norm + 2.0 * self.ramp * float(cost @ ramp)


@dataclass(frozen=True)
class Machine:
    """A solution: ``f = dual.scores`` on all rows, the cost ratio it was found at, and the rows given up."""

    dual: SmoResult
    ratio: float
    given_up: Flags
    false_alarms: float
    n_iter: int
    converged: bool
    exact: bool = True  # every convex problem was solved to its tolerance

    @property
    def scores(self) -> Array:
        return self.dual.scores


Watch = Callable[[Machine], None]


def dc(task: Task, ratio: float = 1.0, start: Machine | None = None, given_up: Flags | None = None) -> Machine:
    """Algorithm 2: the nonconvex machine at fixed costs. `given_up` is the first beta, all False unless said."""
    machine = _round(task, ratio, given_up, start)
    for n_iter in range(2, task.max_iter + 1):
        if machine.converged or not machine.exact:
            break
        machine = dataclasses.replace(_round(task, ratio, machine.given_up, machine), n_iter=n_iter)
    return machine


def annealed(task: Task, given_up: Flags | None = None, watch: Watch | None = None) -> Machine:
    """Algorithm 3: the ratio moves after every round until the surrogate rate is at the cap and no row changes."""
    return _anneal(task, lambda ratio, machine, tol: _next_round(task, ratio, machine, tol, given_up), watch)


def uzawa(task: Task, given_up: Flags | None = None, watch: Watch | None = None) -> Machine:
    """Algorithms 1 and 2: the ratio moves after the nonconvex machine is solved at each one."""

    def minimise(ratio: float, machine: Machine | None, tol: float) -> Machine:
        beta = given_up if machine is None else machine.given_up
        return dc(dataclasses.replace(task, tol=tol), ratio, machine, beta)

    return _anneal(task, minimise, watch)


def cost_grid(task: Task, ratios: Iterable[float]) -> list[Machine]:
    """AC-SVM: the convex machine, no row given up, at each ratio; each starts from the one before."""
    found: list[Machine] = []
    for ratio in ratios:
        nobody = np.zeros(len(task.y), dtype=bool)
        machine = _round(task, ratio, nobody, found[-1] if found else None)
        found.append(dataclasses.replace(machine, given_up=nobody, converged=machine.dual.converged))
    return found


def left_out(task: Task, machine: Machine, rows: NDArray[np.intp], convex: bool = False) -> Machine:
    """The machine at the same costs that did not see these rows, starting from the one that did."""
    if convex:
        return cost_grid(task.without(rows), [machine.ratio])[0]
    return dc(task.without(rows), machine.ratio, machine, machine.given_up)


def _anneal(task: Task, minimise: Callable[[float, Machine | None, float], Machine], watch: Watch | None) -> Machine:
    ratio, gain, taken_back = 1.0, 1.0, 0
    machine: Machine | None = None
    best: Machine | None = None
    tol = LOOSE * task.tol
    seen: list[tuple[float, float]] = []  # log ratio, log rate
    for n_iter in range(1, task.max_iter + 1):
        machine = dataclasses.replace(minimise(ratio, machine, tol), n_iter=n_iter)
        if best is None or _standing(task, machine) < _standing(task, best):
            best = machine
        if watch is not None:
            watch(machine)
        if not machine.exact:
            break
        miss = float(np.log(max(machine.false_alarms, 1e-3 * task.cap) / task.cap))
        if abs(miss) <= PRECISION:
            if machine.converged and tol == task.tol:
                return machine
            tol = task.tol
            continue
        seen.append((float(np.log(ratio)), miss))
        gain = _gain(seen, gain)
        move = float(np.clip(gain * miss * min(1.0, PATIENCE / n_iter), -LARGEST_MOVE, LARGEST_MOVE))
        if move > 0.0 and ratio > RUNAWAY and taken_back < RECLAIMS and machine.given_up[task.y < 0].any():
            # Negatives given up while they were cheap keep the rate above the cap at any price: take them back.
            machine = dataclasses.replace(machine, given_up=machine.given_up & (task.y > 0))
            taken_back, seen = taken_back + 1, []
            continue
        stopped_at, ratio = ratio, float(np.clip(ratio * np.exp(move), LEAST_RATIO, MOST_RATIO))
        if ratio == stopped_at:  # negatives cost next to nothing, or next to everything: the cap cannot be met exactly
            if machine.converged and tol == task.tol:
                if miss < 0.0:
                    return machine
                break
            tol = task.tol
    assert best is not None
    assert machine is not None
    return dataclasses.replace(best, n_iter=n_iter, converged=False, exact=machine.exact)


def _standing(task: Task, machine: Machine) -> tuple[bool, float]:
    """Smaller is better: within the cap before above it; then the objective of the problem, or else the rate."""
    if not task.meets_cap(machine.false_alarms):
        return True, machine.false_alarms
    norm = float(machine.dual.signed @ machine.dual.products)
    return False, task.objective(machine.scores, norm, ratio=0.0)


def _gain(seen: list[tuple[float, float]], gain: float) -> float:
    """What a secant through the last two rounds says."""
    if len(seen) < 2:
        return gain
    (ratio_before, miss_before), (ratio, miss) = seen[-2:]
    if ratio != ratio_before and (miss - miss_before) * (ratio - ratio_before) < 0.0:
        return float(np.clip((ratio - ratio_before) / (miss_before - miss), LEAST_GAIN, MOST_GAIN))
    return gain


def _next_round(task: Task, ratio: float, machine: Machine | None, tol: float, given_up: Flags | None) -> Machine:
    beta = given_up if machine is None else machine.given_up
    return _round(dataclasses.replace(task, tol=tol), ratio, beta, machine)


def _round(task: Task, ratio: float, given_up: Flags | None, start: Machine | None) -> Machine:
    """One convex problem with the boxes of the rows given up shifted; `converged` says that the same are given up."""
    beta = np.zeros(len(task.y)) if given_up is None else given_up.astype(float)
    box = task.weight * np.where(task.y > 0, task.C, task.C * ratio)
    dual = smo.solve(
        task.kernel, task.y, task.ramp, -beta * box, (1.0 - beta) * box, tol=task.tol * task.ramp,
        max_iter=max(MOST_STEPS, 100 * len(box)), start=None if start is None else start.dual,
    )  # fmt: skip
    behind = (task.y * dual.scores < -task.ramp) & (task.weight > 0)
    settled = bool((behind == (beta > 0)).all()) and dual.converged
    return Machine(dual, ratio, behind, task.false_alarms(dual.scores), 1, settled, dual.converged)
