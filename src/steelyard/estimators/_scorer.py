"""A measure as a scorer of scikit-learn: for ``scoring=``, `TunedThresholdClassifierCV` and metadata routing.

The base of scikit-learn's own scorers is used, which has no public name: what asks a scorer for its function or its
routing (`from_scorer`, `set_score_request`) asks for that one. `measures` does without scikit-learn, so the class is
here and `Measure.scorer` loads it by name.
"""

from __future__ import annotations

from typing import Any

from sklearn.metrics._scorer import _BaseScorer

from ..measures import Measure
from ..measures.labels import Scorer


class MeasureFunction:
    """``f(y_true, y_pred)`` as the functions of `sklearn.metrics` are."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure

    def __call__(self, y_true: Any, y_pred: Any, *, sample_weight: Any = None, pos_label: Any = None) -> float:
        return self.measure.score(y_true, y_pred, sample_weight=sample_weight, pos_label=pos_label)

    def __repr__(self) -> str:
        return f"{self.measure!r}.score"


class MeasureScorer(_BaseScorer):
    """``scorer(estimator, X, y)``; the estimator's own positive label if it has one (`measures.labels.Scorer`)."""

    def __init__(self, measure: Measure, pos_label: Any = None) -> None:
        super().__init__(MeasureFunction(measure), 1, {} if pos_label is None else {"pos_label": pos_label}, "predict")
        self._plain = Scorer(measure, pos_label)

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> float:
        return self._plain.of(estimator, method_caller(estimator, "predict", X), y_true, kwargs.get("sample_weight"))

    def __repr__(self) -> str:
        return repr(self._plain)
