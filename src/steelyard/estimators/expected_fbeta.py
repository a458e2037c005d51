"""The decision-theoretic rule for F-beta: fit probabilities, and label each batch for the largest expected F-beta.

Given a classifier with calibrated probabilities, `measures.expected_fbeta_labels` finds the label set of a batch
exactly. With logistic regression this is LR-ML^E of Ye et al. (2012), the baseline of Cheng et al. (2016).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..measures import expected_fbeta_labels
from ..measures.expression import check_number
from ._binary import check_weight, encode_labels
from ._scored_rows import positive_scores


class ExpectedFBetaClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Labels each batch for the largest expected F-beta, from the probabilities of a classifier.

    `predict` answers for the batch it is given: a row's label depends on the rows it comes with, and rows predicted
    one at a time are called positive above 1/2. For labels that do not depend on the batch use `ThresholdClassifier`.
    The rule is optimal when the probabilities are right; wrap a poorly calibrated model in `CalibratedClassifierCV`.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `predict_proba`; logistic regression if None.
    beta : float, default=1
        Weight of recall against precision.
    pos_label : label, default=None
        The positive class; the larger label by default.

    Attributes
    ----------
    estimator_ : classifier
        The fitted model, with its probabilities at ``estimator_.predict_proba``.
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> plain = LogisticRegression().fit(X[:2000], y[:2000])
    >>> batch = sy.ExpectedFBetaClassifier(LogisticRegression()).fit(X[:2000], y[:2000])
    >>> round(m.FBeta(1).score(y[2000:], plain.predict(X[2000:])), 3)
    0.056
    >>> round(m.FBeta(1).score(y[2000:], batch.predict(X[2000:])), 3)
    0.385
    """

    def __init__(self, estimator: Any = None, beta: float = 1, *, pos_label: Any = None) -> None:
        self.estimator = estimator
        self.beta = beta
        self.pos_label = pos_label

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExpectedFBetaClassifier:
        """Fit the model; `sample_weight` goes to it."""
        check_number(self.beta, "beta", low=0.0)
        estimator = LogisticRegression() if self.estimator is None else clone(self.estimator)
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"{type(estimator).__name__} has no predict_proba, and expected F-beta needs probabilities; "
                "wrap it in CalibratedClassifierCV"
            )
        self.classes_, is_positive, self._positive = encode_labels(y, self.pos_label)
        params = {}
        if sample_weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise TypeError(f"{type(estimator).__name__}.fit takes no sample_weight, so it has nowhere to go")
            check_weight(sample_weight, X, is_positive)
            params["sample_weight"] = sample_weight
        self.estimator_ = estimator.fit(X, y, **params)
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, attribute):
                setattr(self, attribute, getattr(self.estimator_, attribute))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The labels of largest expected F-beta for this batch."""
        check_is_fitted(self)
        proba = positive_scores(self.estimator_, X, "predict_proba", self._positive)
        called = expected_fbeta_labels(proba, self.beta)
        return self.classes_[(called == (self._positive == self.classes_[1])).astype(int)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags = get_tags(LogisticRegression() if self.estimator is None else self.estimator).input_tags
        return tags
