"""The weight of a row of each class, from a measure of several classes linearised at the rates that were reached.

To first order a row of class j that is called l, not j, costs the measure

    c(j, l) = (dM/dP_j) / p_j + (dM/dN_l) / (1 - p_l)      (over n, the same for all)

with P, N the rates of each class against the rest and p the prevalences. A model that is trained with a weight for each
row can take one number for each class, so that of class j is the mean of c(j, l) over the classes l that its rows are
wrongly called: two classes have the usual pair of costs. (Of a measure that the rates do not decide, a table of costs,
c(j, l) is found by moving a little mass from one cell to the other.) Weights are 1 in the mean over the rows, so that
C keeps its meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from .offsets import ClassPoints, Goal

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rails:
    """The figures of two classes: those of `stream/class_weights.hpp`, and `steepest` of `solvers.search.models`."""

    floor: float = 0.25  # the least weight of a class that is not ignored
    clip: float = 1e-4  # rates stay so far from 0 and 1, where roots and logarithms have slopes
    power: float = 0.75  # where the measure falls in a rate, classes weigh by their shares to this power
    steepest: float = 20.0  # times plain or balanced weights, whichever are larger


RAILS = Rails()
MOVED = 1e-6  # of all mass, so much a class: little, and far above rounding
STEEPEST = 1e6  # a slope without end counts as this: it outweighs any other


def row_weights(measure: Measure, confusion: Array, classes: Sequence[Any], n_rows: float) -> Array:
    """A weight for the rows of each class; `confusion` has the mass of class j (rows) that is called l (columns).

    >>> from steelyard.measures import macro, Recall
    >>> row_weights(macro(Recall()), np.array([[70.0, 10.0], [5.0, 15.0]]), "ab", 100)
    array([0.625, 2.5  ])
    """
    if measure.needs_confusion:
        return _by_moving(measure, confusion, classes, n_rows)
    mass = confusion.sum(axis=1)
    p = np.clip(mass / mass.sum(), 1e-12, 1.0 - 1e-12)
    hits, calls = np.diagonal(confusion), confusion.sum(axis=0)
    safe = np.where(mass > 0.0, mass, 1.0)
    rest = np.where(mass < mass.sum(), mass.sum() - mass, 1.0)
    tpr, tnr = np.where(mass > 0.0, hits / safe, 0.5), 1.0 - (calls - hits) / rest
    inside = np.clip(tpr, RAILS.clip, 1.0 - RAILS.clip), np.clip(tnr, RAILS.clip, 1.0 - RAILS.clip)
    slopes = measure.gradient(*inside, p, sample_size=max(n_rows, 1.0), classes=tuple(classes))
    if not (np.nan_to_num(slopes.tpr) >= 0.0).all() or not (np.nan_to_num(slopes.tnr) >= 0.0).all():
        return _bounded(p**RAILS.power, p)
    own, called = (np.nan_to_num(part, nan=0.0, posinf=STEEPEST) for part in (slopes.tpr, slopes.tnr))
    return _bounded(own + p * (_errors(confusion, p) @ (called / (1.0 - p))), p)


def value_of(measure: Measure, tables: Array, classes: Sequence[Any], n_rows: float) -> Array:
    """The measure at tables of confusions, along the last two axes; every class has mass."""
    return Goal(measure).judge(ClassPoints.of(tables, max(n_rows, 1.0), classes))[0]


def _by_moving(measure: Measure, confusion: Array, classes: Sequence[Any], n_rows: float) -> Array:
    k = len(confusion)
    table = confusion / confusion.sum() + MOVED / k
    p = table.sum(axis=1)
    moved = np.broadcast_to(table, (k, k, k, k)).copy()
    j, other = np.indices((k, k))
    moved[j, other, j, j] -= MOVED / k
    moved[j, other, j, other] += MOVED / k
    costs = (value_of(measure, table, classes, n_rows) - value_of(measure, moved, classes, n_rows)) * (k / MOVED)
    mean = (_errors(confusion, p) * costs).sum(axis=1)
    return _bounded(p * mean, p) if np.isfinite(mean).all() and (mean >= 0.0).all() else _bounded(p**RAILS.power, p)


def _errors(confusion: Array, p: Array) -> Array:
    """What the wrongly called rows of each class are called, as shares; one row's worth is as the prevalences say."""
    wrong = confusion + p
    np.fill_diagonal(wrong, 0.0)
    return np.asarray(wrong / wrong.sum(axis=1, keepdims=True))


def _bounded(share: Array, p: Array) -> Array:
    """From the shares of the classes to weights of their rows, within the rails."""
    share = share / share.sum() if share.sum() > 0.0 else p
    share = np.maximum(share, RAILS.floor * p)
    weight = share / share.sum() / p
    weight = np.minimum(weight, RAILS.steepest * np.maximum(1.0, 1.0 / (len(p) * p)))
    return np.asarray(weight / (weight @ p))
