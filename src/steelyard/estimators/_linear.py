"""A linear model of two classes once it is fitted: scores, labels and tags.

    score = x.coef_ + intercept_,  above 0 for classes_[1]

A row is called positive where the score of the positive class is strictly above 0, whichever label that is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..rows import Rows
from ..tensors import is_elsewhere
from . import _on_tensors as on_tensors
from ._binary import BinaryMixin
from ._border import rows_to_score


class LinearMixin(BinaryMixin):
    """For classifiers whose `fit` sets ``coef_`` and ``intercept_``, dense or sparse rows alike."""

    def _set_model(self, w: np.ndarray, intercept: float) -> None:
        """Take the model ``x.w + intercept`` of the positive class."""
        self.coef_ = self._sign * w.reshape(1, -1)
        self.intercept_ = np.array([self._sign * intercept])

    def decision_function(self, X: Any) -> Any:
        """``X coef_ + intercept_``: above 0 is what `predict` calls ``classes_[1]``; of a tensor a tensor."""
        if is_elsewhere(X):
            return on_tensors.linear_scores(self, X, self.coef_[0], float(self.intercept_[0]))
        rows = rows_to_score(self, X)
        return np.asarray(rows.scores(self.coef_[0], rows.cores) + self.intercept_[0])

    def predict(self, X: Any) -> np.ndarray:
        """Labels: the positive class where its score is strictly above 0."""
        return self._labels(self.decision_function(X) * self._sign > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def typical_norm(rows: Rows, weight: np.ndarray | None) -> float:
    """Root mean square length of a row: a constant column of this size neither dominates nor is regularised away."""
    norm = float(np.sqrt(np.average(rows.squared_norms(), weights=weight)))
    return norm if 0.0 < norm < np.inf else 1.0
