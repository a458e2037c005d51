"""The prevalence of the classes in a batch, by any classifier, adjusted for what the classifier gets wrong.

Given labelled rows and an unlabelled batch whose class balance may be another one (prior shift: within a class, rows
are as they were), estimate the prevalence ``p`` of the population that the batch came from, with an interval. Models
and the labelled rows that judge them are in `_crossfit`, the mathematics in `statistics.prevalence`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_random_state, column_or_1d, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_is_fitted

from ..statistics import prevalence
from ._crossfit import Scored, cross_fit

METHODS = ("cc", "pcc", "acc", "pacc", "emq", "aemq", "ms")
AUTO = "aemq"


class Quantifier(MetaEstimatorMixin, BaseEstimator):
    """How many rows of a batch belong to each class, also when the class balance has moved since training.

    Counting predictions miscounts as soon as the balance moves, however good the classifier. Adjusted methods correct
    the count by what the classifier gets wrong on labelled rows that it was not fitted on. Each of the `cv` models
    counts the batch, so labelled rows and batch are scored alike.

    Parameters
    ----------
    classifier : classifier, default=None
        Any with `decision_function` or `predict_proba`; logistic regression if None. One that knows two classes only is
        used one against the rest.
    method : {"auto", "cc", "pcc", "acc", "pacc", "emq", "aemq", "ms"}, default="auto"
        "cc" counts predictions and "pcc" sums probabilities; "acc" and "pacc" are these, adjusted; "emq" is the
        prevalence of largest likelihood; "ms" the median of "acc" over all thresholds; "aemq" is "pacc" with the
        probabilities at the prevalence that "emq" found, and "auto" stands for it. Probabilities are calibrated on
        held-out scores.
    cv : int, float, splitter or "prefit", default=5
        Folds, each with a model of its own; a held-out share; or a fitted classifier, with new rows to judge it by.
    random_state : int or RandomState, default=None
        Deals the rows to the folds.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    prevalence_ : ndarray of shape (n_classes,)
        Of the labelled rows. Returned for every batch when held-out rows of two classes are scored alike
        (`informative_` is False; `fit` warns), by all methods but "cc" and "pcc".
    method_ : str
    informative_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> import steelyard as sy
    >>> X, y = make_classification(6000, weights=[0.7], flip_y=0.1, class_sep=0.7, random_state=0)
    >>> batch = np.r_[X[3000:][y[3000:] == 1][:400], X[3000:][y[3000:] == 0][:100]]  # 80 % positive, no longer 30 %
    >>> for method in ("cc", "auto"):
    ...     q = sy.Quantifier(method=method, random_state=0).fit(X[:3000], y[:3000])
    ...     print(method, q.predict(batch).round(2))
    cc [0.51 0.49]
    auto [0.17 0.83]
    >>> q.predict_interval(batch)[:, 1].round(2)
    array([0.76, 0.9 ])
    """

    def __init__(self, classifier: Any = None, *, method: str = "auto", cv: Any = 5, random_state: Any = None) -> None:
        self.classifier = classifier
        self.method = method
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Quantifier:
        """Fit the models, and learn from held-out rows what they get wrong."""
        if self.method not in ("auto", *METHODS):
            raise ValueError(f"method is 'auto' or one of {', '.join(METHODS)}; got {self.method!r}")
        y = column_or_1d(y, warn=True)
        if len(y) == 0:
            raise ValueError("there are no labelled rows to fit on")
        kinds = sorted({type(label).__name__ for label in y.tolist()}) if y.dtype == object else []
        if len(kinds) > 1:
            raise ValueError(f"labels are of one kind; got {', '.join(kinds)}. Are some missing?")
        check_classification_targets(y)
        if _num_samples(X) != len(y):
            raise ValueError(f"X has {_num_samples(X)} rows and y has {len(y)}")
        self.method_ = AUTO if self.method == "auto" else self.method
        self.classes_, counts = np.unique(y, return_counts=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y holds only one class, {self.classes_.tolist()}: there is nothing to tell apart")
        self.prevalence_ = counts / len(y)
        splitting = check_random_state(self.random_state)
        classifier = LogisticRegression() if self.classifier is None else self.classifier
        held = cross_fit(classifier, X, y, self.classes_, self.cv, splitting)
        unseen = sorted(set(range(len(self.classes_))) - set(held.y.tolist()))
        if unseen:
            raise ValueError(
                f"no held-out row is of class {self.classes_.tolist()[unseen[0]]!r}: nothing says how such rows are "
                "scored. Use a stratified splitter, or more rows"
            )
        self._crossfit = held
        self._likelihood = prevalence.Likelihood.fit(held.scores, held.y, len(self.classes_))
        self._log_f = self._likelihood(held.scores)
        self._calls = prevalence.Rates.of(np.eye(len(self.classes_))[held.called], held.y)
        judged = self._calls if self.method_ in ("cc", "acc") else self._rates_at(self._likelihood.prevalence)
        self.informative_ = judged.informative
        if not self.informative_ and self.method_ not in ("cc", "pcc"):
            warnings.warn(
                "held-out rows of different classes are scored alike, so a batch says nothing of its prevalence: "
                "that of the labelled rows is returned",
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The prevalence of each class in the population that the batch came from, in the order of ``classes_``."""
        return self._count(self._score(X))[0]

    def predict_interval(self, X: Any, confidence: float = 0.95) -> np.ndarray:
        """Low and high for each class, (2, n_classes): the prevalences that a test at ``1 - confidence`` keeps.

        They account for the rows of the batch and for the held-out rows of the adjustment. For "cc" and "pcc" too: the
        plain count, which no interval makes right, may lie outside.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
        return self._interval(self._score(X), confidence)

    def _score(self, X: Any) -> Scored:
        check_is_fitted(self)
        if _num_samples(X) == 0:
            raise ValueError("the batch is empty: a prevalence needs at least one row")
        return self._crossfit.score(X)

    def _interval(self, scored: Scored, confidence: float, weight: np.ndarray | None = None) -> np.ndarray:
        k = len(self.classes_)
        if not self.informative_:
            return np.repeat([[0.0], [1.0]], k, axis=1)
        _, batch, rates = self._count(scored, weight)
        centre = prevalence.adjusted(batch.mean, rates)
        ends = [prevalence.interval(batch, rates, centre, c, confidence) for c in range(k)]
        return np.column_stack(ends)

    def _rates_at(self, prevalence: np.ndarray) -> prevalence.Rates:
        return prevalence.Rates.of(prevalence.posteriors(self._log_f, prevalence), self._crossfit.y)

    def _count(
        self, scored: Scored, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, prevalence.Batch, prevalence.Rates]:
        """The estimate, with the memberships of the batch and their rates, on which an interval rests."""
        method, k = self.method_, len(self.classes_)
        n_models, n = scored.called.shape
        weight = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        estimate = None
        if method in ("cc", "acc"):
            memberships, rates = np.eye(k)[scored.called], self._calls
        else:
            log_f = self._likelihood(scored.scores)
            at = self._likelihood.prevalence
            if method in ("emq", "aemq"):
                estimate = prevalence.most_likely(log_f.reshape(-1, k), np.tile(weight / n_models, n_models))
                at = prevalence.inside(estimate)
            elif method == "ms":
                estimate = self._sweep(scored, log_f)
            memberships, rates = prevalence.posteriors(log_f, at), self._rates_at(at)
        batch = prevalence.Batch(memberships, weight)
        if method in ("cc", "pcc"):
            estimate = batch.mean
        elif not self.informative_:
            estimate = self.prevalence_.copy()
        elif method in ("acc", "pacc", "aemq"):
            estimate = prevalence.adjusted(batch.mean, rates)
        return estimate, batch, rates

    def _sweep(self, scored: Scored, log_f: np.ndarray) -> np.ndarray:
        """Median sweep: on the scores of two classes, on the posterior of each class against the rest of several."""
        held, k = self._crossfit, len(self.classes_)
        if k == 2:
            share = prevalence.median_sweep(held.scores[:, 0], held.y == 1, scored.scores)
            return self.prevalence_.copy() if share is None else np.array([1.0 - share, share])
        ours, theirs = (prevalence.posteriors(f, self._likelihood.prevalence) for f in (self._log_f, log_f))
        shares = [prevalence.median_sweep(ours[:, c], held.y == c, theirs[..., c]) for c in range(k)]
        return prevalence.one_or_nothing([self.prevalence_[c] if s is None else s for c, s in enumerate(shares)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(LogisticRegression() if self.classifier is None else self.classifier)
        tags.input_tags = inner.input_tags
        tags.target_tags.required = True
        return tags
