"""What every classifier here does with labels, weights, `n_jobs` and tags, once: two classes, one of them positive."""

from __future__ import annotations

import numbers
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight

from ..elsewhere import is_tensor
from ..labels import check_one_kind, is_object, plain_labels, refuse_columns, refuse_no_numbers
from ..measures import Measure
from ..measures.constraints import as_constraints
from ..measures.labels import is_symmetric
from ..rows import refuse_masked
from ..threads import available_cores
from . import _on_tensors as on_tensors


class BinaryMixin(ClassifierMixin):
    """For classifiers whose `fit` sets ``classes_`` and ``_positive``: what is said of the positive class becomes what
    scikit-learn wants to hear of ``classes_[1]``."""

    classes_: np.ndarray
    _positive: Any

    def _take_labels(self, labels: Labels | on_tensors.TensorLabels) -> None:
        if "_positive" not in vars(self):
            say_positive(self, labels.classes, labels.positive)
        self.classes_, self._positive = labels.classes, labels.positive

    @property
    def pos_label_(self) -> Any:
        """The label of the positive class."""
        return self._positive

    @property
    def _sign(self) -> float:
        return 1.0 if self._positive == self.classes_[1] else -1.0

    def _labels(self, called: np.ndarray) -> np.ndarray:
        """The positive class where `called`, the other elsewhere; for a tensor a tensor beside it."""
        if is_tensor(called):
            other = self.classes_[int(self._sign < 0)]
            found: np.ndarray = on_tensors.either(called, self._positive, other)
            return found
        return np.asarray(self.classes_[(called == (self._sign > 0)).astype(int)])

    def _probabilities(self, positive: np.ndarray) -> np.ndarray:
        """The columns of `predict_proba`."""
        if is_tensor(positive):
            columns = [1.0 - positive, positive][:: int(self._sign)]
            found: np.ndarray = on_tensors.beside(columns)
            return found
        return np.column_stack([1.0 - positive, positive][:: int(self._sign)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(frozen=True)
class Labels:
    """Two classes, which of them is positive, and which rows are."""

    classes: np.ndarray
    positive: Any
    is_positive: np.ndarray

    @classmethod
    def of(cls, y: Any, pos_label: Any = None, measure: Measure | None = None) -> Labels:
        """`measure`, of who takes several classes under another one, is named where there are more than two."""
        classes, is_positive, positive = encode_labels(y, pos_label, measure)
        return cls(classes, positive, is_positive)

    @property
    def signs(self) -> np.ndarray:
        """1.0 for the positive class and -1.0 for the other."""
        return np.where(self.is_positive, 1.0, -1.0)


HEAVIEST = 1e100  # a sum of weights: its square, times what a row can add, is still a number
LIGHTEST = 1e-300  # the largest weight of a class: shares of it, down to the rounding of sums, are numbers of 64 bits


def one_kind(y: Any) -> np.ndarray:
    """y as one column of labels that can be compared with each other, none of them missing."""
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    column: np.ndarray = column_or_1d(refuse_columns(plain_labels(y)), warn=True)
    refuse_no_numbers(column)
    check_one_kind(column)
    return column


def encode_labels(y: Any, pos_label: Any = None, measure: Measure | None = None) -> tuple[np.ndarray, np.ndarray, Any]:
    """``(classes, is_positive, positive label)``; the larger label is positive unless `pos_label` says otherwise."""
    if (found := _two_numbers(y)) is not None:
        classes, is_high = found
        positive = positive_label(classes, pos_label)
        return classes, is_high if positive == classes[1] else ~is_high, positive
    y = one_kind(y)
    assert_all_finite(y, input_name="y")
    classes = np.unique(y)
    check_classification_targets(classes)
    kind = type_of_target(classes, input_name="y")
    if kind != "binary":
        instead = "take ThresholdClassifier with a measure of several classes, such as macro(FBeta(1))"
        raise ValueError(
            f"Only binary classification is supported. The type of the target is {kind}. "
            f"y holds {len(classes)} classes: say which one is positive (y == label), or "
            + (instead if measure is None else several_instead(measure))
        )
    if len(classes) < 2:
        raise ValueError(
            f"y holds only one class, {classes.tolist()[0]!r}: a classifier needs rows of both classes to learn from"
            if len(classes)
            else "y is empty: a classifier needs rows of two classes"
        )
    positive = positive_label(classes, pos_label)
    return classes, y == positive, positive


def _two_numbers(y: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Two whole numbers, and which rows have the larger one: two passes over y; to sort it takes a millisecond for
    100,000 rows."""
    if type(y) is not np.ndarray or y.ndim != 1 or y.dtype.kind not in "iub" or not len(y):
        return None
    is_one = y == y[0]
    one, other = y[0], y[is_one.argmin()]
    is_other = y == other
    if one == other or np.count_nonzero(is_one) + np.count_nonzero(is_other) != len(y):
        return None
    low, high = min(one, other), max(one, other)
    return np.array([low, high]), is_one if one == high else is_other


def several_instead(measure: Measure) -> str:
    return f"give a measure of several classes in place of {measure!r}: macro({measure!r}), worst({measure!r}), ..."


def positive_label(classes: np.ndarray, pos_label: Any) -> Any:
    if pos_label is None:
        return classes[1]
    if pos_label not in classes.tolist():
        raise ValueError(f"pos_label={pos_label!r} is not one of the classes in y, {classes.tolist()}")
    return pos_label


def say_positive(model: Any, classes: Any, positive: Any) -> None:
    """Warn where nobody said which of two words is positive, and the other choice would be another problem."""
    if getattr(model, "pos_label", None) is not None or not isinstance(positive, str):
        return
    measure = getattr(model, "measure", None)
    bounded = any(not is_symmetric(one.left) for one in as_constraints(getattr(model, "subject_to", None), groups=True))
    if bounded or hasattr(model, "max_fpr") or (isinstance(measure, Measure) and not is_symmetric(measure)):
        warnings.warn(
            f"{str(positive)!r} is taken as the positive class, as the last of {classes.tolist()} in order. Say so "
            f"with pos_label={str(positive)!r}, or name the other one",
            stacklevel=4,
        )


def check_weight(sample_weight: Any, X: Any, is_positive: np.ndarray | None = None) -> np.ndarray | None:
    """None stays None; otherwise float64, finite, not negative, and with mass in both classes when labels are given."""
    if sample_weight is None:
        return None
    _check_form_of_weight(sample_weight)
    weight: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        raise ValueError(
            f"sample_weight must not be negative; the smallest is {weight.min()}, in row {weight.argmin()}"
        )
    if weight.max(initial=0.0) * len(weight) > HEAVIEST:
        raise ValueError(
            f"sample_weight is too large to compute with: the largest is {weight.max():g}. Divide it by its mean"
        )
    parts = [weight] if is_positive is None else [weight[is_positive], weight[~is_positive]]
    largest = [part.max(initial=0.0) for part in parts]
    if is_positive is not None and not all(largest):
        raise ValueError("sample_weight leaves only one class with weight: a classifier needs rows of both classes")
    if 0 < min(largest) < LIGHTEST:
        raise ValueError(
            f"sample_weight is too small to compute with: the largest of a class is {min(largest):g}. Divide it by "
            "its mean"
        )
    return weight


def _check_form_of_weight(sample_weight: Any) -> None:
    """What scikit-learn reads as something else, or refuses in words about something else."""
    refuse_masked(sample_weight, "sample_weight")
    column = sample_weight if sp.issparse(sample_weight) else np.asarray(sample_weight)
    if isinstance(sample_weight, (str, bytes)):
        raise ValueError(f"sample_weight is a number for each row; got {sample_weight!r}")
    if column.dtype.kind in "mM" or (column.ndim == 0 and column.dtype.kind == "O"):
        what = f"dates or durations ({column.dtype})" if column.ndim else f"a {type(sample_weight).__name__}"
        raise ValueError(f"sample_weight is a number for each row; got {what}")
    if column.ndim == 1 and len(column) == 0:
        raise ValueError("sample_weight is empty: it is a number for each row")
    with suppress(TypeError, ValueError):  # None is not a number, and becomes NaN
        column = column.astype(np.float64) if is_object(column.dtype) else column
    refuse_no_numbers(column, "sample_weight")


def check_measure(measure: Any) -> Measure:
    if not isinstance(measure, Measure):
        raise TypeError(
            f"measure must be a measure such as steelyard.measures.FBeta(1) or an expression of them; got {measure!r}"
        )
    return measure


def threads(n_jobs: int | None) -> int:
    """The number of threads that `n_jobs` asks for; None is all cores, as the answer has the same bits for any."""
    if n_jobs is None:
        return available_cores()
    if not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs is a number of threads, None or -1 for all cores; got {n_jobs!r}")
    return int(n_jobs) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))
