"""A linear model once it is fitted: scores, labels and tags.

    score = x.coef_ + intercept_,  above 0 for classes_[1]

A row is called positive where the score of the positive class is strictly above 0, whichever label that is. Several
classes have a score each, and the largest is called.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..elsewhere import is_elsewhere
from ..measures import Measure
from ..rows import Rows
from . import _on_tensors as on_tensors
from ._binary import BinaryMixin
from ._border import rows_to_score
from ._lazy import lazily


class LinearMixin(BinaryMixin):
    """For classifiers whose `fit` sets ``coef_`` and ``intercept_``, dense or sparse rows alike."""

    def _set_model(self, w: np.ndarray, intercept: float) -> None:
        """Take the model ``x.w + intercept`` of the positive class."""
        self.coef_ = self._sign * w.reshape(1, -1)
        self.intercept_ = np.array([self._sign * intercept])

    def _set_class_models(self, W: np.ndarray, intercepts: np.ndarray) -> None:
        """Take a model for each class; of two the difference."""
        if len(W) == 2:
            self._positive = self.classes_[1]
            self._set_model(W[1] - W[0], float(intercepts[1] - intercepts[0]))
        else:
            self.coef_, self.intercept_ = np.ascontiguousarray(W), np.asarray(intercepts, dtype=np.float64)

    @lazily
    def decision_function(self, X: Any) -> Any:
        """``X coef_ + intercept_``: above 0 is what `predict` calls ``classes_[1]``; of a tensor a tensor. Of several
        classes a column for each, and `predict` takes the largest."""
        if is_elsewhere(X):
            return on_tensors.linear_scores(self, X, self.coef_[0], float(self.intercept_[0]))
        rows = rows_to_score(self, X)
        if len(self.classes_) > 2:
            return np.asarray(rows.scores(self.coef_, rows.cores) + self.intercept_)
        return np.asarray(rows.scores(self.coef_[0], rows.cores) + self.intercept_[0])

    @lazily
    def predict(self, X: Any) -> np.ndarray:
        """Labels: the positive class where its score is strictly above 0; of several the one with the largest."""
        scores = self.decision_function(X)
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[scores.argmax(axis=1)])
        return self._labels(scores * self._sign > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        measure = getattr(self, "measure", None)
        tags.classifier_tags.multi_class = isinstance(measure, Measure) and measure.is_lifted
        return tags


def typical_norm(rows: Rows, weight: np.ndarray | None) -> float:
    """Root mean square length of a row: a constant column of this size neither dominates nor is regularised away."""
    norm = float(np.sqrt(np.average(rows.squared_norms(), weights=weight)))
    return norm if 0.0 < norm < np.inf else 1.0
