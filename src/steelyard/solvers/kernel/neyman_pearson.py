"""Nonconvex Neyman-Pearson machines with kernels: as few misses as possible under a cap on false alarms.

    min over f   1/2 |f|^2 + 2 eta C sum_pos r(y f)   subject to   mean over negatives of r(y f) <= rho

with the ramp ``r(z) = clip((eta - z) / (2 eta), 0, 1)``, which tends to the 0-1 loss with eta (Gasso et al., eq. 5 and
6). For a multiplier of the constraint this is an SVM whose negatives cost `ratio` times what positives do, with a ramp
in place of the hinge. DC programming gives up the rows behind the ramp (``y f < -eta``) and solves a convex SVM
in which their boxes are shifted, ``-beta c <= a <= (1 - beta) c``, until the same rows are given up again (Algorithm 2,
`dc`).

`solve` moves the ratio (`multiplier`) after every such round ("annealed", Algorithm 3) or after each whole `dc`
("uzawa", Algorithms 1 and 2), until the surrogate rate is at the cap. A run that does not settle ends at the best
machine seen: within the cap, or else nearest to it. `cost_grid` is the convex machine at a grid of ratios (AC-SVM), and
`best_of_grid` the one that rows left out speak for.

C is the box of a positive row, as in an SVM: the paper's C is ``2 eta C n+``. Rows of weight 0 take no part, but are
scored. That is how folds are left out: all of them share one kernel cache, in which nearly every row is then known,
where a fold of its own would compute its rows again.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..status import SOLVED, Ended, Status
from . import smo
from .multiplier import Multiplier, MultiplierRule
from .offset import at_cap
from .smo import Kernel, SmoResult

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
RowNumbers = NDArray[np.intp]

METHODS = ("annealed", "uzawa", "dc", "cost-grid")
RATIOS = np.logspace(-2, 2, 17)  # of the cost grid: a factor 1.8 apart, around where annealed runs end (`multiplier`)


@dataclass(frozen=True)
class Effort:
    """How exactly the convex machines on the way are solved."""

    # Times tol, while the ratio is still far from where it ends: a quarter of the time of 1, and as many runs settle
    # from 1 to 30 (counted as in `multiplier`).
    loose: float = 10.0
    # Of SMO in a round: about a minute on thousands of rows, where scaled features need 1 to 10 steps a row. Features
    # of very unequal scale would take hours, and the status says so instead.
    most_steps: int = 2_000_000
    steps_a_row: int = 100

    def steps(self, n_rows: int) -> int:
        return max(self.most_steps, self.steps_a_row * n_rows)


@dataclass(frozen=True, eq=False)
class NeymanPearsonProblem:
    """The training rows (labels -1 and 1) and what is asked of the machine."""

    kernel: Kernel
    y: Array
    weight: Array
    cap: float
    C: float = 1.0
    ramp: float = 1.0
    tol: float = 1e-3
    max_iter: int = 100
    method: str = "annealed"
    given_up: Flags | None = None  # at the start: the paper's first beta
    rule: MultiplierRule = MultiplierRule()  # noqa: RUF009  (frozen)
    effort: Effort = Effort()

    def without(self, rows: RowNumbers) -> NeymanPearsonProblem:
        """The same problem with these rows left out."""
        weight = self.weight.copy()
        weight[rows] = 0.0
        return dataclasses.replace(self, weight=weight)

    def boxes(self, ratio: float, given_up: Flags | None) -> tuple[Array, Array]:
        """The bounds of a, shifted for the rows given up."""
        box = self.weight * np.where(self.y > 0, self.C, self.C * ratio)
        beta = np.zeros(len(self.y)) if given_up is None else given_up.astype(np.float64)
        return -beta * box, (1.0 - beta) * box

    def machine(self, dual: SmoResult, ratio: float, given_up: Flags | None) -> Machine:
        """What a convex machine says: the rows behind the ramp, and whether they are those given up already."""
        behind = (self.y * dual.scores < -self.ramp) & (self.weight > 0)
        same = not behind.any() if given_up is None else bool((behind == given_up).all())
        if dual.converged:
            status = SOLVED if same else Status(Ended.LIMIT, "the rows given up still change")
        else:
            status = Status(Ended.TROUBLE, f"the convex machine is not optimal ({dual.status})")
        objective = self.objective(dual.scores, float(dual.signed @ dual.products), ratio=0.0)
        return Machine(dual, ratio, behind, self.false_alarms(dual.scores), objective, 1, status)

    def false_alarms(self, scores: Array) -> float:
        """The surrogate rate: the mean ramp over the negatives."""
        negative = self.y < 0
        ramp = np.clip((self.ramp + scores[negative]) / (2.0 * self.ramp), 0.0, 1.0)
        return float(np.average(ramp, weights=self.weight[negative]))

    def meets_cap(self, rate: float) -> bool:
        return rate <= self.cap * math.exp(self.rule.precision)

    def objective(self, scores: Array, norm: float, ratio: float) -> float:
        """``1/2 |f|^2`` plus what the ramps cost: what `dc` decreases; with ratio 0 what is minimised under the cap."""
        ramp = np.clip((self.ramp - self.y * scores) / (2.0 * self.ramp), 0.0, 1.0)
        cost = self.weight * np.where(self.y > 0, self.C, self.C * ratio)
        return 0.5 * norm + 2.0 * self.ramp * float(cost @ ramp)


@dataclass(frozen=True, eq=False)
class Machine:
    """A solution: ``f = dual.scores`` on all rows, the cost ratio it was found at, and the rows given up."""

    dual: SmoResult
    ratio: float
    given_up: Flags
    false_alarms: float
    objective: float
    n_iter: int
    status: Status

    @property
    def scores(self) -> Array:
        return self.dual.scores

    @property
    def converged(self) -> bool:
        return self.status.solved


Watch = Callable[[Machine], None]


def solve(problem: NeymanPearsonProblem, watch: Watch | None = None) -> Machine:
    """The machine at the cap: Algorithm 3, or Algorithms 1 and 2 for the method "uzawa"."""
    multiplier = Multiplier(problem.cap, problem.rule)
    given_up, tol = problem.given_up, problem.effort.loose * problem.tol
    machine = best = None
    for n_iter in range(1, problem.max_iter + 1):
        if problem.method == "uzawa":
            machine = dc(dataclasses.replace(problem, tol=tol), multiplier.ratio, machine, given_up)
        else:
            dual = smo.solve(
                problem.kernel, problem.y, problem.ramp, *problem.boxes(multiplier.ratio, given_up),
                tol=tol * problem.ramp, max_iter=problem.effort.steps(len(problem.y)),
                start=None if machine is None else machine.dual,
            )  # fmt: skip
            machine = problem.machine(dual, multiplier.ratio, given_up)
        machine, given_up = dataclasses.replace(machine, n_iter=n_iter), machine.given_up
        if best is None or _standing(problem, machine) < _standing(problem, best):
            best = machine
        if watch is not None:
            watch(machine)
        if machine.status.ended is Ended.TROUBLE:
            break
        miss = multiplier.miss(machine.false_alarms)
        if arrived := abs(miss) <= problem.rule.precision:
            ends = True
        else:
            move = multiplier.next_move(miss, n_iter)
            if multiplier.has_run_away(move) and given_up[problem.y < 0].any():
                given_up = given_up & (problem.y > 0)
                multiplier.take_back()
                continue
            ends = not multiplier.move(move)
        if ends and machine.converged and tol == problem.tol:
            if arrived or miss < 0.0:
                return machine
            break
        tol = problem.tol if ends else tol
    assert best is not None
    assert machine is not None
    return _unsettled(problem, best, machine)


def dc(
    problem: NeymanPearsonProblem, ratio: float = 1.0, start: Machine | None = None, given_up: Flags | None = None
) -> Machine:
    """Algorithm 2: the nonconvex machine at fixed costs. `given_up` is the first beta, that of the problem unless
    said."""
    given_up = problem.given_up if given_up is None else given_up
    machine = start
    for n_iter in range(1, problem.max_iter + 1):
        dual = smo.solve(
            problem.kernel, problem.y, problem.ramp, *problem.boxes(ratio, given_up), tol=problem.tol * problem.ramp,
            max_iter=problem.effort.steps(len(problem.y)), start=None if machine is None else machine.dual,
        )  # fmt: skip
        machine = dataclasses.replace(problem.machine(dual, ratio, given_up), n_iter=n_iter)
        given_up = machine.given_up
        if machine.status.ended is not Ended.LIMIT:
            break
    assert machine is not None
    return machine


def cost_grid(problem: NeymanPearsonProblem, ratios: Iterable[float]) -> list[Machine]:
    """AC-SVM: the convex machine, no row given up, at each ratio; each starts from the one before."""
    found: list[Machine] = []
    nobody = np.zeros(len(problem.y), dtype=np.bool_)
    for ratio in ratios:
        dual = smo.solve(
            problem.kernel, problem.y, problem.ramp, *problem.boxes(ratio, nobody), tol=problem.tol * problem.ramp,
            max_iter=problem.effort.steps(len(problem.y)), start=found[-1].dual if found else None,
        )  # fmt: skip
        machine = problem.machine(dual, ratio, nobody)
        status = SOLVED if dual.converged else machine.status
        found.append(dataclasses.replace(machine, given_up=nobody, status=status))
    return found


def best_of_grid(problem: NeymanPearsonProblem, folds: Sequence[RowNumbers]) -> Machine:
    """The convex machine at the ratio with the fewest misses at the cap among scores of rows left out."""
    scores = np.empty((len(problem.y), len(RATIOS)))
    for fold in folds:
        for k, machine in enumerate(cost_grid(problem.without(fold), RATIOS)):
            scores[fold, k] = machine.scores[fold]
    used = np.concatenate(list(folds))
    used = used[problem.weight[used] > 0]
    positive, weight = problem.y[used] > 0, problem.weight[used]
    recall = [at_cap(scores[used, k], positive, weight, problem.cap).tpr for k in range(len(RATIOS))]
    return cost_grid(problem, [float(RATIOS[int(np.argmax(recall))])])[0]


def left_out(problem: NeymanPearsonProblem, machine: Machine, rows: RowNumbers) -> Machine:
    """The machine at the same costs that did not see these rows, starting from the one that did."""
    if problem.method == "cost-grid":
        return cost_grid(problem.without(rows), [machine.ratio])[0]
    return dc(problem.without(rows), machine.ratio, machine, machine.given_up)


def _standing(problem: NeymanPearsonProblem, machine: Machine) -> tuple[bool, float]:
    """Smaller is better: within the cap before above it; then the objective of the problem, or else the rate."""
    within = problem.meets_cap(machine.false_alarms)
    return not within, machine.objective if within else machine.false_alarms


def _unsettled(problem: NeymanPearsonProblem, best: Machine, last: Machine) -> Machine:
    """The best machine seen, and why it is no better."""
    rate = best.false_alarms
    if last.status.ended is Ended.TROUBLE:
        status = Status(Ended.TROUBLE, f"in round {last.n_iter} {last.status.where}")
    elif problem.meets_cap(rate):
        kept = f"kept is the best machine seen within the cap, at a surrogate rate of {rate:.3g}"
        status = Status(Ended.LIMIT, f"not settled at the cap {problem.cap:g} after {last.n_iter} rounds: {kept}")
    else:
        kept = f"no machine seen was within the cap, and kept is the nearest, at a surrogate rate of {rate:.3g}"
        status = Status(Ended.LIMIT, f"not settled at the cap {problem.cap:g} after {last.n_iter} rounds: {kept}")
    return dataclasses.replace(best, n_iter=last.n_iter, status=status)
