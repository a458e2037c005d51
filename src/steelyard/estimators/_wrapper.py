"""A two-class classifier around another one, which checks X itself: what of the inner model shows on the outside."""

from __future__ import annotations

from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags

from ._binary import BinaryMixin


class WrapperMixin(BinaryMixin, MetaEstimatorMixin):
    """For classifiers with a parameter `estimator`, logistic regression if None, and its fitted ``estimator_``."""

    estimator: Any

    def _inner(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def _show_features(self) -> None:
        """Take over what the fitted model knows of its columns."""
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, attribute):
                setattr(self, attribute, getattr(self.estimator_, attribute))

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._inner())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        return tags
