"""The prevalence of the classes in a batch, by any classifier, adjusted for what the classifier gets wrong.

Given labelled rows and an unlabelled batch whose class balance may be another one (prior shift: within a class, rows
are as they were), estimate the prevalence ``p`` of the population that the batch came from, with an interval. Models
and the labelled rows that judge them are in `_crossfit`, the mathematics in `statistics.prevalence`.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, indexable

from ..elsewhere import is_dask
from ..estimators._binary import check_weight, one_kind
from ..estimators._border import as_before, check_form
from ..estimators._parameters import ANYTHING, CV, NOTHING, RANDOM, THREADS, A, Checked, Table, Words
from ..estimators._splits import Stratum, read_cv
from ..estimators._users import Classifier, n_rows
from ..estimators._wrapper import route_fit, router_of, show_features
from ..statistics import prevalence
from ..statistics.region import Evidence, PrevalenceRegion
from . import errors
from ._counting import METHODS, PLAIN, Counted, Judged, count
from ._crossfit import LabelledRows, ScoredBatch, cross_fit
from .protocols import UPP

Array = NDArray[np.float64]

AUTO, AUTO_OF_SEVERAL = "aemq", "blend"  # chosen on sets that no comparison shows (docs/counting.md)


class Quantifier(Checked, MetaEstimatorMixin, BaseEstimator):
    """How many rows of a batch belong to each class, also when the class balance has moved since training.

    Counting predictions miscounts as soon as the balance moves, however good the classifier. Adjusted methods correct
    the count by what the classifier gets wrong on labelled rows that it was not fitted on. Each of the `cv` models
    counts the batch, so labelled rows and batch are scored alike.

    Parameters
    ----------
    classifier : classifier, default=None
        Any with `decision_function` or `predict_proba`; logistic regression if None. One that knows two classes only is
        used one against the rest.
    method : {"auto", "cc", "pcc", "acc", "pacc", "emq", "aemq", "blend", "ms", "kdey", "edy", "dys"}, default="auto"
        "cc" counts predictions and "pcc" sums probabilities; "acc" and "pacc" are these, adjusted; "emq" is the
        prevalence of largest likelihood; "ms" the median of "acc" over all thresholds; "aemq" is "pacc" with the
        probabilities at the prevalence that "emq" found; "blend" goes from "emq" towards "aemq" as far as held-out rows
        speak against "emq". "kdey", "edy" and "dys" match the distribution of the probabilities, by kernel densities,
        energy distance and histograms. Probabilities are calibrated on held-out scores. "auto" stands for "aemq" with
        two classes and for "blend" with more.
    cv : int, float, splitter or "prefit", default=5
        Folds, each with a model of its own; a held-out share; or a fitted classifier, with new rows to judge it by.
        Folds take the rows as they come: give a splitter with ``shuffle=True`` for rows in an order that matters.
    random_state : int or RandomState, default=None
        Draws a held-out share.
    n_jobs : int, default=None
        Models fitted at once; None is one, -1 all cores. The result is the same.
    verbose : int, default=0
        1 shows how many models are fitted, and the time left.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    prevalence_ : ndarray of shape (n_classes,)
        Of the labelled rows. Returned for every batch when held-out rows of all classes are scored alike
        (`informative_` is False; `fit` warns), by all methods but "cc" and "pcc".
    method_ : str
    informative_ : bool
    n_features_in_, feature_names_in_
        As the models know them.

    See Also
    --------
    StreamQuantifier : The same on a stream, with an alarm.
    steelyard.quantification.protocols.APP : Batches at known prevalences, to judge by.
    DiagonalDisplay : Estimated against true prevalence.

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

    def __init__(
        self,
        classifier: Any = None,
        *,
        method: str = "auto",
        cv: Any = 5,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.classifier = classifier
        self.method = method
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _parameters: ClassVar[Table] = {
        "classifier": (A("a classifier", having=("fit",)), NOTHING),
        "method": (Words("auto", *METHODS),),
        "cv": (CV,),
        "random_state": (RANDOM,),
        "n_jobs": (THREADS,),
        "verbose": (ANYTHING,),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Quantifier:
        """Fit the models, and learn from held-out rows what they get wrong.

        `sample_weight` weighs rows in the models' fit, if they take weights, and among the rows that judge them;
        intervals take weighted rows for as many of equal weight as would tell as much. `groups` goes to the splitter,
        other parameters to the models' fit; with metadata routing enabled they go where requested.
        """
        self._check_parameters()
        check_form(X)
        (X,) = indexable(X)
        y = _labels(X, y)
        classes, codes = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"y holds only one class, {classes.tolist()}: there is nothing to tell apart")
        weight = check_weight(sample_weight, X)
        mass = np.bincount(codes, weight, minlength=len(classes))
        if not (mass > 0.0).all():
            raise ValueError(f"no row of class {classes.tolist()[int(mass.argmin())]!r} has weight")
        classifier = self._classifier()
        routed = route_fit(self, "classifier", classifier, weight, params, only_for="the adjustment")
        stratum = Stratum(
            codes, [f"class {label!r}" for label in classes.tolist()], X=X, groups=routed.splitter.get("groups")
        )
        splits = read_cv(self.cv, stratum, self.random_state, split_params=routed.splitter)
        rows = LabelledRows(X, y, codes, classes, weight, routed.model)
        held = cross_fit(classifier, rows, splits, self.n_jobs, self.verbose)
        unseen = sorted(set(range(len(classes))) - set(np.unique(held.y).tolist()))
        if unseen:
            raise ValueError(
                f"no held-out row is of class {classes.tolist()[unseen[0]]!r}: nothing says how such rows are "
                "scored. Use a stratified splitter, or more rows"
            )
        self._take(classes, mass / mass.sum(), Judged.of(held, len(classes)))
        return self

    def _take(self, classes: NDArray[Any], shares: Array, judged: Judged) -> None:
        """All that is learned, at once."""
        auto = AUTO if len(classes) == 2 else AUTO_OF_SEVERAL
        method = auto if self.method == "auto" else self.method
        means = judged.calls if method in ("cc", "acc") else judged.means_at(judged.likelihood.prevalence)
        with as_before(self):
            self.method_, self.classes_, self.prevalence_ = method, classes, shares
            self._judged, self.informative_ = judged, means.informative
            show_features(self, judged.held.models[0].classifier)
            if method not in PLAIN:
                self._warn(means)  # may be an error, where warnings are

    def _warn(self, means: prevalence.ClassMeans) -> None:
        if not means.informative:
            warnings.warn(
                "held-out rows of different classes are scored alike, so a batch says nothing of its prevalence: "
                "that of the labelled rows is returned",
                stacklevel=4,
            )
        elif means.alike:
            first, second = (self.classes_.tolist()[c] for c in means.alike[0])
            warnings.warn(
                f"held-out rows of the classes {first!r} and {second!r} are scored alike: a batch hardly says how many "
                "of them are of one and how many of the other, as their intervals show",
                stacklevel=4,
            )

    def _classifier(self) -> Classifier:
        used: Classifier = LogisticRegression() if self.classifier is None else self.classifier
        return used

    def predict(self, X: Any) -> Array:
        """The prevalence of each class in the population that the batch came from, in the order of ``classes_``; of a
        Dask collection too."""
        if is_dask(X):
            from . import _on_dask

            check_is_fitted(self)
            return _on_dask.predict(self, X)
        return self._count(self._score(X)).estimate

    def predict_interval(self, X: Any, confidence: float = 0.95) -> Array:
        """Low and high for each class, (2, n_classes): the prevalences that a test at ``1 - confidence`` keeps.

        They account for the rows of the batch and for the held-out rows of the adjustment. For "cc" and "pcc" too: the
        plain count, which no interval makes right, may lie outside.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
        return self._interval(self._score(X), confidence)

    def predict_region(self, X: Any, confidence: float = 0.95) -> PrevalenceRegion:
        """The vectors of prevalences, all classes together, that a test at ``1 - confidence`` keeps.

        Intervals hold each its own class; the region holds all at once: ``p in q.predict_region(batch)``.
        """
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
        return self._region(self._score(X), confidence)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """How well batches drawn from these rows are counted: 1 is perfect, 0 as wrong as can be.

        The mean of ``1 - nae`` over 100 batches of 100 rows with prevalences uniform on the simplex (the protocol UPP,
        the same draws each time). One batch of all rows would praise whoever returns the training balance, so this is
        what a search should look at. Rows of weight count for so many in a batch and in its true prevalence.
        """
        scored, y = self._score(X), _labels(X, y)
        if not np.isin(y, self.classes_).all():
            strange = sorted(set(y.tolist()) - set(self.classes_.tolist()))
            raise ValueError(f"y has labels {strange} that are not among the classes {self.classes_.tolist()}")
        weight = check_weight(sample_weight, X)
        weight = np.ones(len(y)) if weight is None else weight
        kept = np.flatnonzero(weight > 0.0)
        truth = np.eye(len(self.classes_))[np.searchsorted(self.classes_, y)]
        drawn = (
            [rows for rows, _ in UPP(kept, y[kept]).indices()]
            if len(np.unique(y[kept])) > 1
            else [np.arange(len(kept))]
        )
        found = []
        for rows in drawn:
            of = weight[kept[rows]]
            estimate = self._count(scored.part(kept[rows]), of).estimate
            found.append(errors.nas(of @ truth[kept[rows]] / of.sum(), estimate))
        return float(np.mean(found))

    def _score(self, X: Any) -> ScoredBatch:
        check_is_fitted(self)
        if n_rows(X) == 0:
            raise ValueError("the batch is empty: a prevalence needs at least one row")
        return self._judged.held.score(X)

    def _interval(self, scored: ScoredBatch, confidence: float, weight: Array | None = None) -> Array:
        k = len(self.classes_)
        if not self.informative_:
            return np.repeat([[0.0], [1.0]], k, axis=1)
        found = self._count(scored, weight)
        centre = prevalence.adjusted(found.batch.mean, found.means)
        ends = [prevalence.interval(found.batch, found.means, centre, c, confidence) for c in range(k)]
        return np.column_stack(ends)

    def _region(self, scored: ScoredBatch, confidence: float, weight: Array | None = None) -> PrevalenceRegion:
        found = self._count(scored, weight)
        if not self.informative_:
            return PrevalenceRegion(found.estimate, confidence, None)
        centre = prevalence.adjusted(found.batch.mean, found.means)
        return PrevalenceRegion(centre, confidence, Evidence.of(found.batch, found.means))

    def _count(self, scored: ScoredBatch, weight: Array | None = None) -> Counted:
        found = count(self.method_, self._judged, scored, self.prevalence_, weight)
        if self.informative_ or self.method_ in PLAIN:
            return found
        return replace(found, estimate=self.prevalence_.copy())

    def get_metadata_routing(self) -> MetadataRouter:
        return router_of(self, "classifier", self.classifier, self.cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._classifier()).input_tags
        tags.target_tags.required = True
        return tags


def _labels(X: Any, y: Any) -> NDArray[Any]:
    """y as one column of labels of one kind, one for each row."""
    y = one_kind(y)
    if len(y) == 0:
        raise ValueError("there are no labelled rows to fit on")
    check_classification_targets(y)
    if n_rows(X) != len(y):
        raise ValueError(f"X has {n_rows(X)} rows and y has {len(y)}")
    labels: NDArray[Any] = y
    return labels
