"""The linear SVM for every misclassification cost at once, exactly (Yu, Vishwanathan and Zhang 2009, DPF).

For each tau, the cost of a false positive over the sum of both costs::

    min over w   1/2 |w|^2 + C sum_i s_i(tau) hinge(y_i x_i.w),     s = 2 (1 - tau) for positives, 2 tau for negatives

times the row's weight. The solution is piecewise linear in tau; `trace` finds every kink. There is no intercept at this
level: give rows with a constant column (`Rows.with_constant`). The same path over another pair of bounds is quantile
regression, `trace_quantiles`::

    min over w   1/2 |w|^2 + C sum_i max(tau r_i, (tau - 1) r_i),   r_i = y_i - x_i.w

With a `PathKernel` the rows are functions ``k(x_i, .)``, and a model ``sum_i c_i k(x_i, .)`` is its coefficients: the
path is then followed in the dual form, on rows of the kernel matrix that are computed when needed and cached.

What is kept are events and checkpoints, O(K + sqrt(K) d) numbers for K kinks; any tau is replayed from the rows and the
nearest checkpoint. A walk along the whole path takes a good part of the time of tracing it, so the models of the first
walk are kept for the next, where they are not too many. Margin targets carry a perturbation of 1e-9, so that rows that
depend on each other are never on the margin together. Where all of a class is on the margin, thousands of kinks are
the perturbation's alone: multipliers move from row to row, and the model goes straight on. Such a stretch may be left
out: two legs end there with a straight line between them, which is proven by its ends. A path is followed from the
middle both ways, so it comes in two legs and more (`src/core/path/trace.hpp`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._core import PathLog
from ..linear.cost_sensitive import labels_of
from ..status import SOLVED, Ended, Status
from .problem import (
    Array,
    Callback,
    PathKernel,
    PathProblem,
    check_C,
    check_range,
    merged,
    moved,
    perturbation,
    told,
    values_of,
)

# How far margins may have drifted, relative, for the path to be called solved: objectives are then right to about as
# many digits, which is what the comparisons with LIBLINEAR ask for (tests/solvers/test_cost_path_data.py).
PRECISION = 1e-6
STRETCH = 2**20  # numbers in one stretch of models: 8 MB, and a hundred rows replayed for each time it is begun anew


KEPT = 2**23  # numbers of all models of a path that are kept once they were made: 64 MB, as the linear engine may hold

Stretch = tuple[Array, Array, Array]  # see ModelPath.stretches


@dataclass(frozen=True, eq=False)
class ExactPath:
    """Every kink, and the model at any tau; `status` says whether rounding has left enough digits.

    Where rounding has won, the path ends before `until`, and is not there at all if it has won at the start. `log` is
    its first leg; between two legs the model is a straight line.
    """

    problem: PathProblem
    log: PathLog
    until: float = 1.0
    further: tuple[PathLog, ...] = ()

    @property
    def legs(self) -> tuple[PathLog, ...]:
        return (self.log, *self.further)

    @property
    def start(self) -> float:
        return float(self.log.start)

    @property
    def end(self) -> float:
        return float(self.legs[-1].end)

    @property
    def kinks(self) -> Array:
        return np.concatenate([np.asarray(leg.tau) for leg in self.legs])

    @property
    def gap(self) -> float:
        """0: the path is exact; infinite where rounding has left too few digits to say so."""
        return 0.0 if self.status.solved else np.inf

    @property
    def drift(self) -> float:
        """How far margins moved by rounding between two fresh solutions, relative: the precision of the path."""
        return max(float(leg.drift) for leg in self.legs) / self.problem.unit

    @property
    def precise(self) -> bool:
        """Whether rounding has left enough digits as far as the path goes."""
        return self.drift <= PRECISION

    @property
    def complete(self) -> bool:
        return self.log.n_checkpoints > 0 and self.end >= self.until

    @property
    def status(self) -> Status:
        if not self.complete:
            return Status(Ended.TROUBLE, f"rounding leaves rows that tie at tau = {self.end:.6g} undecided")
        if self.precise:
            return SOLVED
        return Status(Ended.TROUBLE, f"margins are known to {self.drift:.1g} only")

    @property
    def converged(self) -> bool:
        return self.status.solved

    @property
    def n_iter(self) -> int:
        return len(self.kinks)

    def models(self, tau: ArrayLike) -> Array:
        """One model a row: w, or the coefficients on the kept rows for a kernel."""
        wanted = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        legs, found = self.legs, np.empty((len(wanted), self.problem.model_size))
        number = np.maximum(np.searchsorted([leg.start for leg in legs], wanted, "right") - 1, 0)
        between = (wanted > np.array([leg.end for leg in legs])[number]) & (number < len(legs) - 1)
        for k, leg in enumerate(legs):
            mine = number == k
            found[mine & ~between] = self.problem.on.recover(leg, wanted[mine & ~between])
            if (mine & between).any():
                ends, w = self._bridge(k)
                share = ((wanted[mine & between] - ends[0]) / (ends[1] - ends[0]))[:, None]
                found[mine & between] = (1.0 - share) * w[0] + share * w[1]
        return found

    def _bridge(self, k: int) -> tuple[Array, Array]:
        """The tau at which leg `k` ends and the next begins, and the models there."""
        tau = np.array([self.legs[k].end, self.legs[k + 1].start])
        w = [self.problem.on.recover(leg, tau[i : i + 1]) for i, leg in enumerate(self.legs[k : k + 2])]
        return tau, np.concatenate(w)

    def stretches(self) -> Iterator[Stretch]:
        small = (len(self.kinks) + 2 * len(self.legs)) * self.problem.model_size <= KEPT
        return iter(self._walked) if small else self._walk()

    @cached_property
    def _walked(self) -> tuple[Stretch, ...]:
        return tuple(self._walk())

    def _walk(self) -> Iterator[Stretch]:
        for k, leg in enumerate(self.legs):
            yield from self._walk_along(leg)
            if k + 1 < len(self.legs) and leg.end < self.legs[k + 1].start:
                tau, w = self._bridge(k)
                yield tau, w, moved(w)

    def _walk_along(self, leg: PathLog) -> Iterator[Stretch]:
        knots = np.r_[leg.start, np.asarray(leg.tau), leg.end]
        size = max(2, STRETCH // self.problem.model_size)
        for first in range(0, len(knots) - 1, size - 1):
            tau = knots[first : first + size]
            w, speed = map(np.asarray, self.problem.on.walk(leg, first, first + len(tau)))
            yield tau, w, moved(w) if self.problem.kernel is None else np.r_[0.0, np.cumsum(speed[:-1] * np.diff(tau))]

    def __getstate__(self) -> dict[str, Any]:
        """The log as its parts, since skops takes no objects of the core."""
        held = {name: value for name, value in self.__dict__.items() if name != "_walked"}
        first, *further = (tuple(leg.__getstate__()) for leg in self.legs)
        return held | {"log": first, "further": tuple(further)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        first, *further = (_log_of(leg) for leg in (state["log"], *state.get("further", ())))
        self.__dict__.update(state, log=first, further=tuple(further))

    def audit(self, every: int = 1) -> float:
        """The largest violation of the optimality conditions at every so many kinks, for targets without perturbation.

        In margins, relative to a target: how far a margin is on the wrong side of it, and how far any margin is from
        that of ``sum a_i z_i`` with multipliers inside their boxes (`src/core/path/audit.hpp`). Between two legs it is
        what it is at their ends, or how far rows are from their targets there that are not on one side at both.
        """
        p = self.problem
        original = np.ascontiguousarray(p.target - p.unit * perturbation(len(p.sign)))
        at_kinks = [float(p.on.audit(leg, original, p.unit, every)) for leg in self.legs]
        return max(at_kinks + [self._off_between(k, original) for k in range(len(self.further))])

    def _off_between(self, k: int, original: Array) -> float:
        sides = np.stack([_sides(self.legs[k], at_end=True), _sides(self.legs[k + 1], at_end=False)])
        moves = (sides[0] != sides[1]) | (sides == MEMBER).any(axis=0)
        margins = self.problem.sign * self.problem.rows.scores(self._bridge(k)[1]).T
        return float(np.abs(margins - original)[:, moves].max(initial=0.0)) / self.problem.unit


MEMBER = 1  # of the margin, as in src/core/path/problem.hpp


def _sides(leg: PathLog, at_end: bool) -> NDArray[np.int8]:
    """Of every row, where the leg begins or where it ends."""
    _, _, row, _, to, side, *_ = leg.__getstate__()
    found = np.array(side)
    if at_end:
        found[row] = to  # the last one of those that name a row counts
    return found


def _log_of(state: Any) -> PathLog:
    log = PathLog.__new__(PathLog)
    log.__setstate__(tuple(state))
    return log


def trace(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    kernel: PathKernel | None = None,
    callback: Callback | None = None,
    n_jobs: int = 1,
) -> ExactPath:
    """The exact cost path; `y` is -1 or 1, and rows of weight 0 must have been left out. Without a kernel two threads
    share the work, if there are so many, with the same bits.

    >>> from steelyard.rows import Rows
    >>> rows = Rows.of([[2.0], [1.0], [-1.0], [0.5]]).with_constant()
    >>> path = trace(rows, [1, 1, -1, -1], C=1.0)
    >>> len(path.kinks), path.models(0.5).round(3).tolist()
    (7, [[0.75, -0.25]])
    """
    C, tau_range = check_C(C), check_range(tau_range)
    rows, sign, weight, kept = merged(X, y, sample_weight, labels_of)
    full = 2.0 * C * weight
    positive = sign > 0
    box = np.zeros((rows.n_rows, 4))
    box[:, 2] = np.where(positive, full, 0.0)
    box[:, 3] = np.where(positive, -full, full)
    problem = PathProblem(rows, sign, 1.0 + perturbation(rows.n_rows), box, 1.0, kernel, kept)
    middle = float(weight[positive].sum() / weight.sum())  # both classes cost the same
    first, *further = problem.on.trace(tau_range, seed % 2**63, told(callback, tau_range), middle, n_jobs)
    return ExactPath(problem, first, tau_range[1], tuple(further))


def trace_quantiles(
    X: Any,
    y: ArrayLike,
    C: float = 1.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    sample_weight: ArrayLike | None = None,
    seed: int = 0,
    kernel: PathKernel | None = None,
    callback: Callback | None = None,
    n_jobs: int = 1,
) -> ExactPath:
    """The exact path of linear quantile regression over the quantile tau (the paper's section 5)."""
    C, tau_range = check_C(C), check_range(tau_range)
    rows, value, weight, kept = merged(X, y, sample_weight, values_of)
    full = C * weight
    box = np.ascontiguousarray(np.column_stack([-full, full, np.zeros_like(full), full]))
    unit = float(np.abs(value).max()) or 1.0
    target = value + unit * perturbation(rows.n_rows)
    problem = PathProblem(rows, np.ones(rows.n_rows), target, box, unit, kernel, kept)
    first, *further = problem.on.trace(tau_range, seed % 2**63, told(callback, tau_range), 0.5, n_jobs)
    return ExactPath(problem, first, tau_range[1], tuple(further))
