"""The decision-theoretic rule for F-beta: fit probabilities, and label each batch for the largest expected F-beta.

Given a classifier with calibrated probabilities, `measures.expected_fbeta_labels` finds the label set of a batch
exactly. With logistic regression this is LR-ML^E of Ye et al. (2012), the baseline of Cheng et al. (2016).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ..labels import plain_labels
from ..measures import expected_fbeta_labels
from ._binary import Labels, check_weight
from ._border import as_before, check_form
from ._parameters import ANYTHING, NOT_NEGATIVE, NOTHING, A, Checked, Table
from ._scored_rows import positive_scores
from ._wrapper import WrapperMixin, show_features


class ExpectedFBetaClassifier(Checked, WrapperMixin, BaseEstimator):
    """Labels each batch for the largest expected F-beta, from the probabilities of a classifier.

    `predict` answers for the batch it is given: a row's label depends on the rows it comes with, and rows predicted
    one at a time are called positive above 1/2. That is the rule, and why scikit-learn's check that a part of the rows
    gets a part of the labels fails by design. For labels that do not depend on the batch use `ThresholdClassifier`. The
    rule is optimal when the probabilities are right; wrap a poorly calibrated model in `CalibratedClassifierCV`.

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
        The fitted model; `predict_proba` passes its probabilities through.
    classes_ : ndarray of shape (2,)

    See Also
    --------
    ThresholdClassifier : One threshold, fixed in `fit`.
    steelyard.measures.expected_fbeta_labels : The rule itself.

    Examples
    --------
    >>> import numpy as np, steelyard as sy, steelyard.measures as m
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 5)); y = X[:, 0] + 1.5 * rng.normal(size=4000) > 2.5
    >>> rule = sy.ExpectedFBetaClassifier().fit(X[:2000], y[:2000])
    >>> called = rule.predict(X[2000:])
    >>> float(rule.estimator_.predict_proba(X[2000:])[called, 1].min().round(2))
    0.2
    >>> plain = rule.estimator_.predict(X[2000:])
    >>> [round(m.FBeta(1).score(y[2000:], guess), 2) for guess in (plain, called)]
    [0.15, 0.32]
    """

    def __init__(self, estimator: Any = None, beta: float = 1, *, pos_label: Any = None) -> None:
        self.estimator = estimator
        self.beta = beta
        self.pos_label = pos_label

    _parameters: ClassVar[Table] = {
        "estimator": (A("a classifier", having=("fit",)), NOTHING),
        "beta": (NOT_NEGATIVE,),
        "pos_label": (ANYTHING,),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExpectedFBetaClassifier:
        """Fit the model; `sample_weight` goes to it."""
        self._check_parameters()
        estimator = clone(self._inner())
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"{type(estimator).__name__} has no predict_proba, and expected F-beta needs probabilities; "
                "wrap it in CalibratedClassifierCV"
            )
        check_form(X)
        y = plain_labels(y)
        labels = Labels.of(y, self.pos_label)
        params = {}
        if sample_weight is not None:
            if not has_fit_parameter(estimator, "sample_weight"):
                raise TypeError(f"{type(estimator).__name__}.fit takes no sample_weight, so it has nowhere to go")
            check_weight(sample_weight, X, labels.is_positive)
            params["sample_weight"] = sample_weight
        estimator.fit(X, y, **params)
        with as_before(self):
            self._take_labels(labels)
            self.estimator_ = estimator
            show_features(self, estimator)
        return self

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The model's own probabilities, for what is built on them; `predict` does not go by 1/2."""
        check_is_fitted(self)
        model: Any = self.estimator_
        return np.asarray(model.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of largest expected F-beta for this batch."""
        check_is_fitted(self)
        proba = positive_scores(self.estimator_, X, "predict_proba", self._positive)
        return self._labels(expected_fbeta_labels(proba, self.beta))
