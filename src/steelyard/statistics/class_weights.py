"""Starts for the search over offsets: Frank-Wolfe over class weights, with a multiplier for each constraint.

The rates of K classes are linear along any mixture of rules, so that the gradient of a measure psi of them at the
present mixture says what a row of class i is worth when it is called j: with ``P_k``, ``N_k`` the rates and ``p_k`` the
prevalences

    G_ii = (d psi / d P_i) / p_i,     G_ij = -(d psi / d N_j) / (1 - p_j)  for i != j.

The best rule for these gains calls the class j of largest ``sum_i eta_i G_ij``, given probabilities eta of the classes
(Narasimhan, Tavker et al., arXiv 2210.09695, algorithm 1). The mixture moves towards it by 2 / (t + 2), and the next
gradient is taken there. For concave psi the mixture's value comes within O(1/t) of the best of all rules. A constraint
``slack >= 0`` adds ``lam * slack`` to psi; lam grows while the mixture misses it, by a factor, since the multipliers of
caps on rare mistakes are of any size.

Mixtures are no rule of offsets. Up to the constant of each column the gains are weights ``G_jj - G_ij`` on the classes,
and the offsets their logarithms. The gains are averaged like the mixture: at a kink, such as the least of K recalls has
where they are equal, the single ones look at one class each and only their mean is of use (fictitious play). Those
that did best on the rows are handed to the climb, which ends at the best of one class at a time. So this decides where
to climb from, no more, and a start that leads nowhere costs its time only.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures.rules import IS_CONCAVE
from .class_shrinkage import calibrated
from .offsets import Goal, Offsets, ScoredClasses, judge, sample
from .offsets import search as climbed

Array = NDArray[np.float64]

STEPS = 40  # of Frank-Wolfe: the mixture is then within a twentieth of where it began
INSIDE = 1e-3  # rates are taken so far inside the unit square: a geometric mean has infinite slopes at 0
FASTEST = 1.5  # the logarithm of a multiplier's first step; the t-th is by its square root smaller
LEAST = 1e-9  # of the largest weight: a class that is worth nothing is not called, at a finite offset
ROWS = 5_000  # are enough to decide where to climb from: rates to within a hundredth


def is_for(goal: Goal) -> bool:
    """Concave measures and constraints; not where a table of costs leaves the rates of the classes."""
    if goal.needs_confusion:
        return False
    return bool(goal.constraints) or goal.measure.curvature in IS_CONCAVE


def search(rows: ScoredClasses, goal: Goal) -> Offsets:
    """`offsets.search`, with these starts beside its own where they are of use."""
    return climbed(rows, goal, further=starts if is_for(goal) else None)


def starts(rows: ScoredClasses, goal: Goal) -> list[Array]:
    """The offsets that did best on the way, and the last ones."""
    rows = sample(rows, 0, ROWS)
    eta, at = calibrated(rows), rows.at(np.zeros(len(rows.classes)))
    mixture, multipliers, squares = (at.tpr, at.tnr), np.ones(len(goal.constraints)), np.zeros(len(goal.constraints))
    best: Offsets | None = None
    offsets, mean_gains = np.zeros(len(rows.classes)), np.zeros((len(rows.classes), len(rows.classes)))
    for t in range(STEPS):
        inside = tuple(np.clip(rate, INSIDE, 1.0 - INSIDE) for rate in mixture)
        where: dict[str, Any] = {"tpr": inside[0], "tnr": inside[1], "prevalence": at.prevalence}
        where |= {"sample_size": rows.n_rows, "classes": rows.classes}
        gains = _gains(goal, multipliers, where)
        hits, right = _rates_of((eta @ gains).argmax(axis=1), rows)
        step = 2.0 / (t + 2.0)
        mean_gains = (1.0 - step) * mean_gains + step * gains
        offsets = _offsets_of(mean_gains)
        found = judge(rows, goal, offsets)
        best = found if best is None or found.beats(best) else best
        mixture = (1.0 - step) * mixture[0] + step * hits, (1.0 - step) * mixture[1] + step * right
        where |= {"tpr": mixture[0], "tnr": mixture[1]}
        missed = np.array([-float(constraint.slack(**where)) for constraint in goal.constraints])
        squares += missed**2
        size = np.sqrt(squares / (t + 1.0)) + np.finfo(float).tiny
        multipliers = multipliers * np.exp(FASTEST / np.sqrt(t + 1.0) * missed / size)
    assert best is not None
    return [best.offsets, offsets]


def _gains(goal: Goal, multipliers: Array, where: dict[str, Any]) -> Array:
    """What a row of class i (rows) is worth when it is called j (columns)."""
    p = where["prevalence"]
    d_tpr, d_tnr = goal.measure.gradient(**where)
    # The multipliers are in units of the measure's slope, which may be anything.
    unit = max(float(np.abs(np.nan_to_num(d_tpr)).max()), float(np.abs(np.nan_to_num(d_tnr)).max())) or 1.0
    for constraint, multiplier in zip(goal.constraints, multipliers, strict=True):
        slopes = constraint.cleared.gradient(**where)
        d_tpr, d_tnr = d_tpr + unit * multiplier * slopes.tpr, d_tnr + unit * multiplier * slopes.tnr
    right, wrong = np.nan_to_num(d_tpr) / p, -np.nan_to_num(d_tnr) / (1.0 - p)
    gains = np.tile(wrong, (len(p), 1))
    np.fill_diagonal(gains, right)
    return gains


def _offsets_of(gains: Array) -> Array:
    k = len(gains)
    apart = gains.diagonal() - (gains.sum(axis=0) - gains.diagonal()) / (k - 1)
    weights = np.maximum(apart, LEAST * max(float(apart.max()), LEAST))
    return np.asarray(np.log(weights) - np.log(weights).mean())


def _rates_of(called: NDArray[np.intp], rows: ScoredClasses) -> tuple[Array, Array]:
    k = len(rows.classes)
    cells = np.array([np.bincount(called, weights=mass, minlength=k) for mass in rows.labels.T])
    mass, hits = cells.sum(axis=1), cells.diagonal()
    return hits / mass, np.clip(1.0 - (cells.sum(axis=0) - hits) / (mass.sum() - mass), 0.0, 1.0)
