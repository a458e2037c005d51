"""Offsets of several classes from few rows: labels shrunk towards the probabilities that the scores imply.

The same as `shrinkage`, for K classes. The probabilities are a softmax over the scores, stretched by one number and
shifted by one for each class (vector scaling with one scale: Guo et al., ICML 2017), fitted to the labels. A row counts
in class k as

    w [y = k] + (1 - w) p_k,     w = m / (m + PRIOR),     m the rows of the smallest class,

so that offsets of a class of thirty rows follow its probabilities, and those of thousands its labels.

`worth_it` compares offsets with the plain argmax by the bootstrap: a gain that is within its own noise is left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from .offsets import Goal, Offsets, ScoredClasses
from .shrinkage import ENOUGH, PRIOR, count_of

Array = NDArray[np.float64]

# Of the draws, that may have no gain: as many as a normal one of more than a standard error has. (The standard error
# itself misleads where the argmax all but misses a class: a geometric mean that is 0 now and then gains unevenly.)
DOUBT = 0.159
DRAWS = 200  # of the bootstrap: a standard error of a twentieth of itself
RIDGE = 1e-3  # on the shifts, in rows' worth: keeps them finite where a class is kept apart from all others


def shrunk(rows: ScoredClasses) -> ScoredClasses:
    """The rows with shrunk labels; as they are where every class has rows enough."""
    fewest = min(count_of(column[column > 0.0]) for column in rows.labels.T)
    trust = fewest / (fewest + PRIOR)
    if trust > ENOUGH:
        return rows
    mass = rows.labels.sum(axis=1, keepdims=True)
    return replace(rows, labels=trust * rows.labels + (1.0 - trust) * mass * calibrated(rows))


def calibrated(rows: ScoredClasses) -> Array:
    """The probabilities of every class, (n, K)."""
    share = rows.labels / rows.labels.sum()
    of_row = share.sum(axis=1)
    n_classes = share.shape[1]
    centred = rows.scores - rows.scores.mean(axis=1, keepdims=True)
    spread = float(np.sqrt((of_row @ np.square(centred)).sum()))
    x = centred / spread if spread > 0.0 else centred

    def loss(curve: Array) -> tuple[float, Array]:
        log_p = log_softmax(curve[0] * x + curve[1:], axis=1)
        off = np.exp(log_p) * of_row[:, None] - share
        penalty = RIDGE / rows.n_rows * curve[1:]
        slopes = np.r_[(off * x).sum(), off.sum(axis=0) + penalty]
        return float(-(share * log_p).sum() + 0.5 * curve[1:] @ penalty), slopes

    start = np.r_[spread, np.zeros(n_classes)]
    bounds = [(0.0, None), *[(None, None)] * n_classes]
    curve = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(np.exp(log_softmax(curve[0] * x + curve[1:], axis=1)))


def worth_it(rows: ScoredClasses, goal: Goal, found: Offsets, seed: int = 0) -> bool:
    """Whether draws of the rows have a gain over the plain argmax, but for few of them."""
    n_classes = len(rows.classes)
    plain, tuned = rows.scores.argmax(axis=1), (rows.scores + found.offsets).argmax(axis=1)
    main = rows.labels.argmax(axis=1)
    cell, where = np.unique((main * n_classes + plain) * n_classes + tuned, return_inverse=True)
    mass = np.bincount(where, weights=rows.labels.sum(axis=1))
    count = np.bincount(where)
    truth, called = cell // n_classes**2, (cell // n_classes % n_classes, cell % n_classes)
    # A cell of c rows with mass m has, in a draw of the rows, as many as chance gives it, each of the mean mass.
    drawn = np.random.default_rng(seed).poisson(count, (DRAWS, len(cell))) * (mass / count)
    drawn = drawn[(_by_class(drawn, truth, n_classes) > 0.0).all(axis=1)]
    values = [_values(drawn, truth, calls, rows, goal) for calls in called]
    with np.errstate(invalid="ignore"):
        gain = values[1] - values[0]
    gain = gain[np.isfinite(gain)]
    return len(gain) < DRAWS // 2 or bool(np.quantile(gain, DOUBT) > 0.0)


def _by_class(mass: Array, classes: NDArray[np.intp], n_classes: int) -> Array:
    return np.stack([mass[:, classes == k].sum(axis=1) for k in range(n_classes)], axis=1)


def _values(drawn: Array, truth: NDArray[np.intp], called: NDArray[np.intp], rows: ScoredClasses, goal: Goal) -> Array:
    n_classes = len(rows.classes)
    mass, calls = _by_class(drawn, truth, n_classes), _by_class(drawn, called, n_classes)
    hits = _by_class(drawn * (truth == called), truth, n_classes)
    whole = mass.sum(axis=1, keepdims=True)
    tpr, tnr = hits / mass, np.clip(1.0 - (calls - hits) / (whole - mass), 0.0, 1.0)
    cells = None
    if goal.measure.needs_confusion:
        both = _by_class(drawn, truth * n_classes + called, n_classes**2)
        cells = both.reshape(-1, n_classes, n_classes) / whole[..., None]
    at: dict[str, Any] = {"sample_size": rows.n_rows, "classes": rows.classes, "confusion": cells}
    return np.asarray(goal.measure(tpr, tnr, mass / whole, **at))
