"""Structural SVMs for a loss of the confusion matrix, by cutting planes, certified.

Given rows ``x_i``, labels ``y_i`` in {-1, 1}, a loss L in percent (`solvers.structural.confusion`) and C::

    min over w   1/2 |w|^2 + C xi,   xi >= L(y') - (100/n) sum of y_i x_i.w over flipped rows,  for all label vectors y'

This is SVMperf's problem with its scaling, so C means what its ``-c`` means (Joachims 2005). With ``zero_one`` it is
the linear SVM whose hinge losses have the weight ``100 C / n``. An intercept is a column of ones, regularised like the
others.

Each step solves the small problem over the cuts so far (the master problem of the batch engine), scores the rows,
sorts them, finds the most violated confusion matrix exactly, and adds its cut. What comes back is certified: ``gap``
bounds ``(objective - optimum) / objective``. A step takes one product with X, one sort and one sum of rows: O(n d + n
log n) at worst for the losses that `confusion` lists with a fast search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...measures import Measure
from ...rows import Rows
from ..status import SOLVED, Ended, Status
from .confusion import ConfusionLoss, resolve

Array = NDArray[np.float64]


@dataclass(frozen=True)
class StructuralOptions:
    """How the cuts are made. Figures: cuts to a gap of 1e-4 for four losses and two Cs on the data of part 1 of
    `benchmarks/structural.py` and 10,000 rows of ijcnn1 and letter.

    ``smallest_mu`` is the shortest step towards the master's answer: 0.01 to 0.1 differ by 2 % in cuts, 0.2 needs 11 %
    more and 0.5 81 % more. ``slack`` is how far from its optimum that answer may be, as a share of the gap that is
    wanted: 0.01 to 0.5 differ by 1 %. A cut that the master has not used for `idle` steps is dropped: 5 needs 2 % more
    cuts than 20, and with none dropped there are as many. ``max_pivots`` ends the work on one master; from 30 up
    nothing changed, since no master needed more.
    """

    smallest_mu: float = 0.05
    slack: float = 0.05
    idle: int = 20
    max_pivots: int = 100


DEFAULTS = StructuralOptions()


@dataclass(frozen=True)
class State:
    """What a callback sees after each cut."""

    n_iter: int
    objective: float
    bound: float

    @property
    def gap(self) -> float:
        """Bounds ``(objective - optimum) / objective``; inf where nothing is certified."""
        if not (math.isfinite(self.objective) and math.isfinite(self.bound)):
            return math.inf
        return max(0.0, (self.objective - self.bound) / self.objective) if self.objective > 0.0 else 0.0


@dataclass(frozen=True, eq=False)
class StructuralResult:
    """The best model found: ``score = x.coef + intercept``, positive if above 0.

    For losses of rankings (``prbep rec@K prec@K``) the intercept is set to call as many training rows as the loss says;
    `objective` and `gap` are those of the problem, before that.
    """

    coef: Array
    intercept: float
    objective: float
    gap: float
    n_iter: int
    status: Status
    loss: ConfusionLoss

    @property
    def converged(self) -> bool:
        return self.status.solved


def solve(
    X: Any,
    is_positive: NDArray[np.bool_],
    loss: str | Measure = "kld",
    C: float = 1.0,
    tol: float = 1e-3,
    *,
    fit_intercept: bool = True,
    max_iter: int = 2000,
    n_threads: int = 1,
    search: str | None = None,
    options: StructuralOptions = DEFAULTS,
    callback: Callable[[State], None] | None = None,
) -> StructuralResult:
    """The model of smallest regularised loss, to a relative gap of `tol` or until `max_iter` cuts.

    `search` overrides how the confusion matrices are searched ("table" is the textbook way); the result is the same.

    >>> X = np.array([[2.0], [1.0], [-1.0], [-2.0]])
    >>> found = solve(X, np.array([True, True, False, False]), "f1", C=10.0, fit_intercept=False, tol=1e-9)
    >>> found.converged, round(found.objective, 4)
    (True, 0.8889)
    """
    positive = np.ascontiguousarray(is_positive, dtype=np.bool_)
    n_pos = int(np.count_nonzero(positive))
    bound_loss = resolve(loss, n_pos, len(positive) - n_pos)
    if search is not None:
        bound_loss = replace(bound_loss, search=search)
    if not (np.isfinite(C) and C > 0.0):
        raise ValueError(f"C must be positive and finite; got {C!r}")
    if n_threads < 1:
        raise ValueError(f"n_threads is at least 1; got {n_threads!r}")
    given = Rows.of(X, check="columns")
    rows = given.with_constant(1.0 if fit_intercept else 0.0)
    svm = _core.StructuralSvm(rows.core, positive, bound_loss.core(), _in_core(options, float(C), int(n_threads)))
    try:
        state, status = _cut(svm, tol, options.slack * tol, max_iter, callback)
    except ValueError:
        given.checked()  # where a number is not finite, that is what is wrong
        raise
    if not svm.looked:  # a fit of one cut
        given.checked()
    w = np.asarray(svm.weights())
    coef, intercept = (w[:-1], float(w[-1])) if fit_intercept else (w, 0.0)
    if fit_intercept and bound_loss.calls is not None:
        intercept = -threshold_of(rows.with_constant(0.0).scores(coef, int(n_threads)), bound_loss.calls)
    return StructuralResult(coef, intercept, state.objective, state.gap, state.n_iter, status, bound_loss)


def _in_core(options: StructuralOptions, C: float, n_threads: int) -> _core.StructuralOptions:
    return _core.StructuralOptions(
        C,
        smallest_mu=options.smallest_mu,
        idle=options.idle,
        max_pivots=options.max_pivots,
        n_threads=n_threads,
    )


def _cut(
    svm: _core.StructuralSvm, tol: float, share: float, max_iter: int, callback: Callable[[State], None] | None
) -> tuple[State, Status]:
    """Cuts until the gap is small enough."""
    state = State(0, math.inf, 0.0)
    while state.n_iter < max_iter:
        slack = share * state.objective if state.n_iter else 0.0
        objective, bound, ended, where = svm.step(slack)
        state = State(state.n_iter + 1, objective, bound)
        if callback is not None:
            callback(state)
        if ended == Ended.TROUBLE:
            return replace(state, bound=0.0), Status.of(ended, where)
        if state.gap <= tol:
            return state, SOLVED
    return state, Status(Ended.LIMIT, f"{state.n_iter} cuts, with a relative gap of {state.gap:.2g}")


def threshold_of(scores: Array, calls: int) -> float:
    """The middle of the gap below the `calls` highest scores; where scores tie across it, fewer lie above.

    >>> threshold_of(np.array([3.0, 1.0, 2.0, 0.0]), 2)
    1.5
    """
    falling = np.sort(scores)[::-1]
    last = float(falling[calls - 1])
    if calls == len(falling):
        return float(np.nextafter(last, -np.inf))
    below = float(falling[calls])
    middle = below + (last - below) / 2.0
    return middle if below < middle < last else below
