"""From labels to rates: what a measure is of, when all one has are true and predicted labels.

Given ``y_true`` and ``y_pred`` with two labels and weights, `rates` returns the weighted TPR, TNR and prevalence. A
rate without rows (one class only) is undefined, and `score` then asks whether the measure needs it at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .expression import Measure


class Rates(NamedTuple):
    tpr: float | None
    tnr: float | None
    prevalence: float
    n_rows: int


def rates(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None, pos_label: Any = None) -> Rates:
    """Weighted TPR, TNR and prevalence; a rate is None where its class does not occur.

    >>> rates([0, 0, 1, 1], [0, 1, 1, 1])
    Rates(tpr=1.0, tnr=0.5, prevalence=0.5, n_rows=4)
    """
    truth, called = _column(y_true, "y_true"), _column(y_pred, "y_pred")
    if len(truth) != len(called):
        raise ValueError(f"y_true has {len(truth)} labels and y_pred {len(called)}")
    if not len(truth):
        raise ValueError("y_true is empty: a measure needs labelled rows")
    positive = _positive_label(truth, called, pos_label)
    weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != truth.shape:
        raise ValueError(f"sample_weight has shape {weight.shape}; expected {truth.shape}")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all()) or not weight.any():
        raise ValueError(
            f"sample_weight must be finite, not negative and not all 0; its smallest value is {weight.min()}"
        )
    is_positive, is_called = truth == positive, called == positive
    mass_positive, mass_negative = float(weight[is_positive].sum()), float(weight[~is_positive].sum())
    return Rates(
        float(weight[is_positive & is_called].sum()) / mass_positive if mass_positive else None,
        float(weight[~is_positive & ~is_called].sum()) / mass_negative if mass_negative else None,
        mass_positive / (mass_positive + mass_negative),
        int(np.count_nonzero(weight)),
    )


def score(
    measure: Measure, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> float:
    found = rates(y_true, y_pred, sample_weight, pos_label)
    unknown = "tpr" if found.tpr is None else "tnr" if found.tnr is None else None
    low, high = (
        measure(
            fill if found.tpr is None else found.tpr,
            fill if found.tnr is None else found.tnr,
            found.prevalence,
            sample_size=found.n_rows,
        )
        for fill in (0.0, 1.0)
    )
    if unknown and low != high:
        which = "positives" if unknown == "tpr" else "negatives"
        raise ValueError(
            f"y_true has no {which}, so {unknown} is undefined and {measure!r} depends on it; "
            "score on rows of both classes (stratified folds keep them), or on more rows"
        )
    return float(low)


class Scorer:
    """``scorer(estimator, X, y)`` for scikit-learn's ``scoring=``; the estimator's own positive label if it has one."""

    def __init__(self, measure: Measure, pos_label: Any = None) -> None:
        self.measure, self.pos_label = measure, pos_label

    def __call__(self, estimator: Any, X: Any, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        pos_label = self.pos_label
        if pos_label is None:
            pos_label = getattr(estimator, "pos_label", None)
        if pos_label is None and hasattr(estimator, "classes_"):
            pos_label = estimator.classes_[-1]
        return self.measure.score(y_true, estimator.predict(X), sample_weight=sample_weight, pos_label=pos_label)

    def __repr__(self) -> str:
        return f"{self.measure!r}.scorer({'' if self.pos_label is None else f'pos_label={self.pos_label!r}'})"


def _column(y: ArrayLike, name: str) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise ValueError(f"{name} must be one column of labels; got shape {labels.shape}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError(f"{name} has {int(np.isnan(labels).sum())} missing labels (NaN); drop those rows")
    return labels


def _positive_label(truth: NDArray[Any], called: NDArray[Any], pos_label: Any) -> Any:
    labels = sorted(set(np.unique(truth).tolist()) | set(np.unique(called).tolist()))
    if pos_label is not None:
        labels = sorted({*labels, pos_label})
    if len(labels) > 2:
        raise ValueError(f"a measure of two rates needs two labels; y_true and y_pred have {labels}")
    if pos_label is not None:
        return pos_label
    # One label only: 1, True, or the only one there is; {0}, {-1} and {False} are then a sample of negatives.
    return labels[-1] if len(labels) == 2 or labels[0] not in (0, -1, False) else 1
