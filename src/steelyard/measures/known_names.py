"""Measures by the names that people bring from scikit-learn and imbalanced-learn, alone or in an expression."""

from __future__ import annotations

from collections.abc import Callable

from .classification import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    FBeta,
    GMean,
    Jaccard,
    Precision,
    Recall,
    Specificity,
)
from .expression import Measure
from .lifted import macro, micro

# scikit-learn's names for `scoring=`, as far as they are of labels, and those of imbalanced-learn.
BY_NAME: dict[str, Callable[[], Measure]] = {
    "accuracy": Accuracy,
    "balanced_accuracy": BalancedAccuracy,
    "f1": lambda: FBeta(1),
    "f2": lambda: FBeta(2),
    "f0.5": lambda: FBeta(0.5),
    "precision": Precision,
    "recall": Recall,
    "sensitivity": Recall,
    "specificity": Specificity,
    "jaccard": Jaccard,
    "matthews_corrcoef": MCC,
    "mcc": MCC,
    "geometric_mean": GMean,
    "g_mean": GMean,
    "f1_macro": lambda: macro(FBeta(1)),
    "f1_micro": lambda: micro(FBeta(1)),
    "precision_macro": lambda: macro(Precision()),
    "recall_macro": lambda: macro(Recall()),
    "jaccard_macro": lambda: macro(Jaccard()),
}
