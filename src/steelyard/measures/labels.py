"""From labels to rates: what a measure is of, when all one has are true and predicted labels.

Given ``y_true`` and ``y_pred`` with two labels and weights, `rates` returns the weighted TPR, TNR and prevalence. A
rate without rows (one class only) is undefined, and `score` then asks whether the measure needs it at all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
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
    truth, called, weight = _columns(y_true, y_pred, sample_weight)
    positive = _positive_label(truth, called, pos_label)
    is_positive, is_called = truth == positive, called == positive
    mass_positive, mass_negative = float(weight[is_positive].sum()), float(weight[~is_positive].sum())
    return Rates(
        float(weight[is_positive & is_called].sum()) / mass_positive if mass_positive else None,
        float(weight[~is_positive & ~is_called].sum()) / mass_negative if mass_negative else None,
        mass_positive / (mass_positive + mass_negative),
        int(np.count_nonzero(weight)),
    )


class ClassRates(NamedTuple):
    """Rates of each class against the rest; NaN where they have no rows."""

    classes: tuple[Any, ...]
    tpr: NDArray[np.float64]
    tnr: NDArray[np.float64]
    prevalence: NDArray[np.float64]
    n_rows: int
    confusion: NDArray[np.float64]  # shares of rows, by true and called class


def class_rates(y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None = None) -> ClassRates:
    """The rates of every class that occurs, in the order of the labels.

    >>> found = class_rates(["a", "b", "c", "c"], ["a", "b", "c", "b"])
    >>> found.classes, found.tpr.tolist(), found.prevalence.tolist()
    (('a', 'b', 'c'), [1.0, 1.0, 0.5], [0.25, 0.25, 0.5])
    """
    truth, called, weight = _columns(y_true, y_pred, sample_weight)
    classes, codes = np.unique(np.concatenate([truth, called]), return_inverse=True)
    n, k = len(truth), len(classes)
    true, seen = codes[:n], codes[n:]
    mass, calls, hits = (
        np.bincount(which, weights=weight * keep, minlength=k)
        for which, keep in ((true, 1.0), (seen, 1.0), (true, true == seen))
    )
    rest = weight.sum() - mass
    with np.errstate(invalid="ignore"):
        tpr, tnr = hits / mass, np.clip((rest - (calls - hits)) / rest, 0.0, 1.0)
    cells = np.bincount(true * k + seen, weights=weight, minlength=k * k).reshape(k, k) / weight.sum()
    return ClassRates(tuple(classes.tolist()), tpr, tnr, mass / weight.sum(), int(np.count_nonzero(weight)), cells)


def score_of_classes(measure: Measure, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None) -> float:
    found = class_rates(y_true, y_pred, sample_weight)
    if len(found.classes) < 2:
        raise ValueError(f"{measure!r} compares classes, and y_true and y_pred have only {found.classes[0]!r}")
    low, high = (
        measure(
            np.where(np.isnan(found.tpr), fill, found.tpr),
            np.where(np.isnan(found.tnr), fill, found.tnr),
            found.prevalence,
            sample_size=found.n_rows,
            classes=found.classes,
            confusion=found.confusion,
        )
        for fill in (0.0, 1.0)
    )
    if low != high:
        missing = [label for label, rate in zip(found.classes, found.tpr, strict=True) if np.isnan(rate)]
        raise ValueError(
            f"y_true has no rows of {missing}, so their rates are undefined and {measure!r} depends on them; score on "
            "rows of every class (stratified folds keep them), or on more rows"
        )
    return float(low)


def score(
    measure: Measure, y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> float:
    if measure.is_lifted and np.ndim(y_true) == 2 and np.shape(y_true)[1] > 1:
        from .by_row import score_labels

        return score_labels(measure, y_true, y_pred, sample_weight)
    if measure.is_lifted:
        return score_of_classes(measure, y_true, y_pred, sample_weight)
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
    """``scorer(estimator, X, y)`` for scikit-learn's ``scoring=``; the estimator's own positive label if it has one.

    Pipelines, searches and other estimators around it are looked through. Where nobody says which label is positive it
    is the larger one, with a warning unless the labels are {0, 1}, {-1, 1} or booleans.
    """

    def __init__(self, measure: Measure, pos_label: Any = None) -> None:
        self.measure, self.pos_label = measure, pos_label

    def __call__(self, estimator: Any, X: Any, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        return self.of(estimator, estimator.predict(X), y_true, sample_weight)

    def of(self, estimator: Any, called: Any, y_true: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """The score of what the estimator has predicted."""
        if self.measure.is_lifted:
            return self.measure.score(y_true, called, sample_weight=sample_weight)
        pos_label = positive_of(estimator) if self.pos_label is None else self.pos_label
        if pos_label is None:
            pos_label = self._guess(estimator, y_true, called)
        return self.measure.score(y_true, called, sample_weight=sample_weight, pos_label=pos_label)

    def _guess(self, estimator: Any, y_true: ArrayLike, called: Any) -> Any:
        known = _classes(estimator)
        labels = known or sorted({*np.unique(np.asarray(y_true)).tolist(), *np.unique(np.asarray(called)).tolist()})
        if not any(set(labels) <= usual for usual in ({0, 1}, {-1, 1})) and len(labels) == 2:
            warnings.warn(
                f"nothing says which of {labels} is positive: {self.measure!r} is scored for {labels[-1]!r}, the "
                f"larger label. Say so with scorer(pos_label={labels[-1]!r})",
                stacklevel=3,
            )
        return labels[-1] if known else None

    def __repr__(self) -> str:
        return f"{self.measure!r}.scorer({'' if self.pos_label is None else f'pos_label={self.pos_label!r}'})"


def is_symmetric(measure: Measure) -> bool:
    """Whether it is the same for either class as the positive one (seen at some points, not proven).

    >>> from steelyard.measures import Accuracy, FBeta
    >>> is_symmetric(Accuracy()), is_symmetric(FBeta(1))
    (True, False)
    """
    if measure.is_lifted:
        return True
    pos, neg, share = np.random.default_rng(0).random((3, 8))
    return bool(np.allclose(measure(pos, neg, share), measure(neg, pos, 1.0 - share), equal_nan=True))


def positive_of(estimator: Any) -> Any:
    """The label that a fitted classifier calls positive, or None if it does not say.

    Estimators here have ``pos_label_``; others may have a parameter `pos_label`. Where the estimator itself has
    neither, those inside it are asked (the last step of a pipeline, the best of a search, the model of a wrapper, the
    members of an ensemble), as far as they know the same classes: one that was fitted to other labels, as those of
    `OneVsRestClassifier` are, speaks of others.
    """
    classes = _classes(estimator)
    found = {}
    for inner in _inside(estimator, depth=5):
        label = getattr(inner, "pos_label_", None)
        label = getattr(inner, "pos_label", None) if label is None else label
        if inner is estimator and label is not None:
            return label
        if label is not None and classes and _classes(inner) == classes:
            found[label] = True
    if len(found) > 1:
        raise ValueError(
            f"the models inside {type(estimator).__name__} have different positive labels, {sorted(found)}: say which "
            "one to score, with scorer(pos_label=...)"
        )
    return next(iter(found), None)


def _inside(estimator: Any, depth: int) -> Iterator[Any]:
    """An estimator and the fitted ones in it. (Parameters that were cloned before fitting do not count.)"""
    yield estimator
    if depth == 0:
        return
    held = vars(estimator) if hasattr(estimator, "__dict__") else {}
    steps = held.get("steps")
    parts = [steps[-1][1]] if steps else []
    for name, value in held.items():
        if name == "estimator" or (name.endswith("_") and not name.startswith("_")):
            parts += value if isinstance(value, (list, tuple)) else [value]
    for part in parts:
        if hasattr(part, "predict"):
            yield from _inside(part, depth - 1)
        elif hasattr(part, "estimator"):  # a member of CalibratedClassifierCV
            yield from _inside(part.estimator, depth - 1)


def _classes(estimator: Any) -> list[Any]:
    try:
        classes = np.asarray(estimator.classes_)
    except Exception:  # a property of what is not fitted may raise anything
        return []
    return list(classes.tolist()) if classes.ndim == 1 else []


def _columns(
    y_true: ArrayLike, y_pred: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64]]:
    """True and predicted labels and the weight of each row, all of one length."""
    truth, called = _column(y_true, "y_true"), _column(y_pred, "y_pred")
    if len(truth) != len(called):
        raise ValueError(f"y_true has {len(truth)} labels and y_pred {len(called)}")
    if not len(truth):
        raise ValueError("y_true is empty: a measure needs labelled rows")
    weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != truth.shape:
        raise ValueError(f"sample_weight has shape {weight.shape}; expected {truth.shape}")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all()) or not weight.any():
        raise ValueError(
            f"sample_weight must be finite, not negative and not all 0; its smallest value is {weight.min()}"
        )
    return truth, called, weight


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
        raise ValueError(
            f"a measure of two rates needs two labels; y_true and y_pred have {labels}. Lift it to several classes, "
            "each against the rest: macro(measure), worst(measure), of(label, measure)"
        )
    if pos_label is not None:
        return pos_label
    # One label only: 1, True, or the only one there is; {0}, {-1} and {False} are then a sample of negatives.
    return labels[-1] if len(labels) == 2 or labels[0] not in (0, -1, False) else 1
