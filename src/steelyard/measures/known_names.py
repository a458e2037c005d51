"""Measures by the names that people bring from scikit-learn and imbalanced-learn, alone or in an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

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

# scikit-learn's names for `scoring=`, as far as they are of labels (with or without "_score"), and imbalanced-learn's.
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


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The name that is nearest, whatever its capitals, in brackets for a message; "" where none is near.

    >>> did_you_mean("Fbeta", ["FBeta", "GMean"]), did_you_mean("x", ["FBeta"])
    (' (did you mean FBeta?)', '')
    """
    by_small = {one.lower(): one for one in known}
    found = get_close_matches(name.lower(), by_small, n=1)
    return f" (did you mean {by_small[found[0]]}?)" if found else ""
