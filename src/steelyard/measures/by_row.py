"""Measures of several labels a row, averaged over the rows ("example-based", "samples" in scikit-learn).

With L labels each row has a TPR (the share of its labels that were called), a TNR and a prevalence of its own, and
`by_row(f)` is the mean of f over the rows. It is no function of the rates of the labels, so its value comes from
whoever has the rows (`row_means`); 0/0 is 0, so that a row without labels has recall 0 and F1 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .expression import Array, Measure, Point
from .lifted import Lift
from .several import OF_ONE_LABEL


class ByRow(Lift):
    word = "by_row"
    needs_rows = True

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        if point.given is None or self not in point.given:
            raise ValueError(
                f"{self!r} is a mean over rows with several labels: use score(Y_true, Y_pred) of indicator matrices"
            )
        return point.given[self][..., None]

    def _differentiate(self, point: Point, memo: dict[int, tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        raise ValueError(f"{self!r} has no gradient in the rates of the labels")


def by_row(measure: Measure) -> ByRow:
    """The mean over the rows of a measure of each row's labels, for several labels a row.

    >>> import steelyard.measures as m
    >>> round(m.by_row(m.FBeta(1)).score([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]]), 4)
    0.6667
    """
    return ByRow(measure)


def nodes_by_row(measure: Measure) -> Iterator[ByRow]:
    if isinstance(measure, ByRow):
        yield measure
    for arg in measure.args:
        yield from nodes_by_row(arg)


def value_of_rows(node: ByRow, hits: Array, called: Array, held: Array, n_labels: int) -> Array:
    """The measure of each row, from how many of its labels were called rightly, were called, and are there."""
    absent, n = n_labels - held, float(n_labels)
    tpr = np.divide(hits, held, out=np.zeros(np.broadcast_shapes(hits.shape, held.shape)), where=held > 0)
    right = absent - (called - hits)
    tnr = np.divide(right, absent, out=np.zeros(np.broadcast_shapes(right.shape, absent.shape)), where=absent > 0)
    return np.asarray(node.args[0](tpr, tnr, np.broadcast_to(held / n, tpr.shape), sample_size=n_labels))


def row_means(
    measure: Measure, truth: NDArray[np.bool_], called: NDArray[np.bool_], weight: Array | None
) -> dict[Measure, Array]:
    """The values of all `by_row` in an expression."""
    hits, calls, held = ((part).sum(axis=1).astype(float) for part in (truth & called, called, truth))
    found: dict[Measure, Array] = {}
    for node in nodes_by_row(measure):
        found[node] = np.asarray(np.average(value_of_rows(node, hits, calls, held, truth.shape[1]), weights=weight))
    return found


def refuse_one_label(measure: Measure) -> None:
    """What speaks of the one class of a row means nothing where a row has several labels."""
    if isinstance(measure, OF_ONE_LABEL):
        raise ValueError(
            f"{measure!r} is about rows of one class each; for several labels a row take macro(f), micro(f), by_row(f)"
        )
    for arg in measure.args:
        refuse_one_label(arg)


def label_rates(
    truth: NDArray[np.bool_], called: NDArray[np.bool_], weight: Array | None
) -> tuple[Array, Array, Array]:
    """TPR, TNR and prevalence of every label, NaN where it has no rows."""
    mass = np.ones(len(truth)) if weight is None else weight
    held, calls, hits = (mass @ part for part in (truth, called, truth & called))
    rest = mass.sum() - held
    with np.errstate(invalid="ignore"):
        return hits / held, (rest - (calls - hits)) / rest, held / mass.sum()


def score_labels(measure: Measure, y_true: Any, y_pred: Any, sample_weight: Any) -> float:
    """The measure of indicator matrices."""
    truth, called = np.asarray(y_true) != 0, np.asarray(y_pred) != 0
    if truth.shape != called.shape:
        raise ValueError(f"y_true has shape {truth.shape} and y_pred {called.shape}")
    refuse_one_label(measure)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    tpr, tnr, prevalence = label_rates(truth, called, weight)
    # A rate of no rows is 0, as in scikit-learn, where it is 0/0.
    where: dict[str, Any] = {"tpr": np.nan_to_num(tpr), "tnr": np.nan_to_num(tnr), "prevalence": prevalence}
    given = row_means(measure, truth, called, weight)
    return float(measure(**where, sample_size=len(truth), given=given))
