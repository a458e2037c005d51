"""The best threshold of a classifier that the user already has, for any measure and any constraints.

Given a scikit-learn classifier with scores, a measure and constraints, find t for the rule "positive if score > t".
Scores come from rows that the model was not fitted on: out-of-fold, or from one held-out part. The search over
thresholds is `statistics.frontier` (every distinct one, one sort); where few rows decide it is steadied by
`statistics.shrinkage` or `statistics.resampling`; the promise on unseen data, when `delta` is given, is made by
`statistics.promises`. Which rows are scored by which model is decided in `_scored_rows`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, indexable

from ..elsewhere import is_elsewhere, is_tensor
from ..labels import plain_labels
from ..measures import FBeta, Measure
from ..measures.constraints import Constraint, as_constraints
from ..statistics import frontier, shrinkage
from ..statistics.frontier import Choice, Frontier
from ..statistics.group_thresholds import GroupChoice
from ..statistics.promises.promise import Asked, Promise, asked_of
from ..statistics.reporting import Figures
from ..statistics.resampling import Draws, Goal, settled
from . import _classes, _labels, _on_tensors, _per_group, _threshold_on_tensors
from ._binary import Labels, check_weight
from ._border import as_before, check_form
from ._lazy import lazily
from ._offsets import class_scores
from ._parameters import ANY_MEASURE, ANYTHING, CV, FLAG, NOTHING, POSITIVE, RANDOM, THREADS, A, Checked, Number, Words
from ._parameters import Table as Parameters
from ._promised import earlier, promised, refuse_refit
from ._scored_rows import ScoredRows, Table, positive_scores, resolve_response, score_left_out, score_prefit
from ._slices import best_in_groups, read_slices, report_on
from ._splits import Splits, Stratum, read_cv
from ._users import Classifier
from ._wrapper import WrapperMixin, route_fit, router_of, show_features

Array = NDArray[np.float64]
RULES = ("exact", "shrunk", "settled")
DRAWN_BY = 0  # the seed of the bootstrap: the same rows have the same threshold
# What `delta` may be, with its meaning in the message.
DELTA = Number(0.0, 1.0, low_too=False, high_too=False, meaning="the probability that the promise fails")


def _scores_are_probabilities(self: ThresholdClassifier) -> bool:
    estimator = getattr(self, "estimator_", self.estimator)
    return estimator is None or resolve_response(estimator, self.response_method) == "predict_proba"


class ThresholdClassifier(Checked, WrapperMixin, BaseEstimator):
    """The best threshold of any classifier, for any measure and any constraints.

    Every distinct threshold is tried, placed in the middle of its gap, on scores of rows that the model was not
    fitted on. A row is called positive when its score is strictly above `best_threshold_`. Where few rows decide, the
    best point of the sample is noise, and `rule` says what is done about it.

    Parameters
    ----------
    estimator : classifier
        Anything with `decision_function` or `predict_proba`. It validates X itself, so text pipelines and trees that
        take NaN work.
    measure : Measure, default=FBeta(1)
        What to maximise: a measure of `steelyard.measures` or an expression of them.
    subject_to : Constraint or list of them, default=None
        Such as ``fpr <= 0.01``. Infeasible constraints raise, with the closest reachable point.
    delta : float, default=None
        If given, all constraints together hold on *unseen* data with probability ``1 - delta``. They are linear over
        linear in the rates: caps and floors on a rate, precision, F-beta, accuracy and so on. Needs ``cv`` to be a
        held-out share or "prefit"; nothing is refitted. Where too few rows are held out the error says what they
        could promise, and how many it takes.
    max_weight : float, default=None
        With `delta` and ``fit(X, y, sample_weight)``: weights by design, such as a survey's, and the largest that any
        row can have. It is known beforehand, not read off these rows. The promise is then about the weighted rows.
    rule : {"auto", "exact", "shrunk", "settled"}, default="auto"
        "exact" is the best point on the scored rows. "shrunk" is the best one when labels are shrunk towards the
        probabilities that the scores imply, the more so the fewer rows there are. "settled" is the point nearest to
        the mean threshold of bootstrap draws, which meets constraints with a margin where few rows decide. "auto" is
        "shrunk", under constraints "settled", and "exact" for a fitted model, `delta`, `per_group` and many rows.
    per_group : bool, default=False
        A threshold for each group of ``fit(X, y, slices=...)``, chosen together for the measure of all rows; then
        ``predict(X, slices=...)``. Otherwise one threshold keeps the constraints of all groups.
    cv : int, float, splitter or "prefit", default=5
        Folds: out-of-fold scores, then a refit on all rows; with `groups`, whole groups are left out. A share such as
        0.3: fitted on the rest, threshold set on the share, no refit. "prefit" (or a `FrozenEstimator`): no fit.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from; "auto" takes the first that the estimator has.
    pos_label : label, default=None
        The positive class; the larger label by default.
    n_jobs : int, default=None
        Folds fitted in parallel.
    random_state : int or RandomState, default=None
        Draws the held-out share.
    verbose : int, default=0
        1 shows which fold is fitted, and the time left.

    Attributes
    ----------
    best_threshold_, best_score_ : float
        The threshold, and the measure there on the scored rows.
    groups_, best_thresholds_ : ndarray of shape (n_groups,)
        With `per_group`, in place of `best_threshold_`: the groups, and the threshold of each.
    promise_ : Promise or None
        With `delta`: what was promised, on how many rows, with what p-value, and `attainable(delta)`.
    frontier_ : Frontier
        `thresholds`, `tpr`, `tnr` of every operating point.
    estimator_ : classifier
        The fitted model.
    offsets_ : ndarray of shape (n_classes,)
        In place of the threshold, for a measure of several classes: `predict` takes the largest of log-probability
        plus offset.
    label_thresholds_ : ndarray of shape (n_labels,)
        In place of it, where y is an indicator matrix: a threshold for each label.
    classes_ : ndarray of shape (n_classes,)

    See Also
    --------
    MeasureClassifier : A linear model trained for the measure, not only its threshold.
    Watch : Whether what was promised still holds.
    FrontierDisplay : Every operating point, drawn.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> plain = LogisticRegression().fit(X[:2000], y[:2000])
    >>> tuned = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(X[:2000], y[:2000])
    >>> round(m.FBeta(1).score(y[2000:], plain.predict(X[2000:])), 2)
    0.06
    >>> round(m.FBeta(1).score(y[2000:], tuned.predict(X[2000:])), 2)
    0.37
    """

    def __init__(
        self,
        estimator: Any = None,
        measure: Measure = FBeta(1),
        *,
        subject_to: Constraint | list[Constraint] | None = None,
        delta: float | None = None,
        max_weight: float | None = None,
        rule: str = "auto",
        per_group: bool = False,
        cv: Any = 5,
        response_method: str = "auto",
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.subject_to = subject_to
        self.delta = delta
        self.max_weight = max_weight
        self.rule = rule
        self.per_group = per_group
        self.cv = cv
        self.response_method = response_method
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    offsets_: Array
    promise_: Promise | None = None  # models of files from before there were any have none

    _parameters: ClassVar[Parameters] = {
        "estimator": (A("a classifier", having=("fit",)), NOTHING),
        "measure": (ANY_MEASURE,),
        "subject_to": (ANYTHING,),  # read by as_constraints
        "delta": (DELTA, NOTHING),
        "max_weight": (POSITIVE, NOTHING),
        "rule": (Words("auto", *RULES),),
        "per_group": (FLAG,),
        "cv": (CV,),
        "response_method": (Words("auto", "predict_proba", "decision_function"),),
        "pos_label": (ANYTHING,),
        "n_jobs": (THREADS,),
        "random_state": (RANDOM,),
        "verbose": (ANYTHING,),
    }

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, slices: Any = None, **params: Any
    ) -> ThresholdClassifier:
        """Fit the model and set the threshold.

        `sample_weight` weighs rows in the measure, and in the model's fit if it takes weights. `slices` is the group of
        each row, for constraints such as ``within("a", fpr) <= 0.05``. `groups` goes to the splitter, other parameters
        to the model's fit; with metadata routing enabled they go where requested.
        """
        self._check_parameters()
        constraints = as_constraints(self.subject_to, groups=slices is not None)
        if is_elsewhere(X):
            if params or slices is not None or self.per_group:
                said = sorted(params) or "groups"
                raise ValueError(f"on tensors and Dask collections fit takes sample_weight alone; got {said}")
            return self._fit_elsewhere(X, y, sample_weight, constraints)
        check_form(X)
        X, y = indexable(X, plain_labels(y))
        if self.measure.is_lifted and _labels.is_indicator(y):
            _labels.fit(self, X, y, sample_weight, params, constraints)
            return self
        if self.measure.is_lifted:
            _classes.fit(self, X, y, sample_weight, params, constraints)
            return self
        labels = Labels.of(y, self.pos_label)
        weight = check_weight(sample_weight, X, labels.is_positive)
        estimator = self._inner()
        routed = route_fit(self, "estimator", estimator, weight, params, only_for="the threshold")
        asked = asked_of(constraints, self.measure, self.delta, weight, self.max_weight)
        splits = self._splits(estimator, X, labels, dict(routed.splitter), asked)
        table = Table(X, np.asarray(y).ravel(), labels, weight, routed.model, read_slices(slices, y))
        if splits.prefit:
            model, scored = estimator, score_prefit(estimator, table, self.response_method)
        else:
            model, scored = score_left_out(estimator, table, splits, self.n_jobs, self.response_method, self.verbose)
        found = frontier.scan(scored.scores, scored.is_positive, scored.weight)
        rule, promise = self._rule(constraints, splits), None
        choice: Choice | GroupChoice
        if self.per_group:
            before = None if asked is None else earlier(self, asked, model, table, splits)
            promise, choice = _per_group.choose(scored, before, asked, self.measure, constraints)
        elif asked is not None:
            promise, choice = promised(self, asked, scored, model, table, splits)
        else:
            choice = self._choose(found, scored, constraints, rule)
        with as_before(self):
            _classes.forget(self, "offsets_", "label_thresholds_", "best_threshold_", "best_thresholds_", "groups_")
            self._take_labels(labels)
            self.estimator_, self.frontier_ = model, found
            if isinstance(choice, GroupChoice):
                self.groups_, self.best_thresholds_ = choice.groups, choice.thresholds
            else:
                self.best_threshold_ = choice.threshold
            self.best_score_, self.promise_ = choice.value, promise
            show_features(self, model)
        return self

    def _fit_elsewhere(
        self, X: Any, y: Any, sample_weight: Any, constraints: tuple[Constraint, ...]
    ) -> ThresholdClassifier:
        if is_tensor(X):
            _threshold_on_tensors.fit(self, X, y, sample_weight, constraints)
        else:
            from . import _threshold_on_dask

            _threshold_on_dask.fit(self, X, y, sample_weight, constraints)
        return self

    def _splits(
        self, estimator: Classifier, X: Any, labels: Labels, params: dict[str, Any], asked: Asked | None
    ) -> Splits:
        if isinstance(estimator, FrozenEstimator):
            return Splits(())
        groups = params.pop("groups", None)
        if groups is not None and isinstance(self.cv, float):
            raise ValueError("groups need a splitter that keeps them together, such as GroupKFold; a share does not")
        rows = Stratum.of(labels.is_positive, groups, X, plain=asked is not None and not asked.by_class)
        splits = read_cv(self.cv, rows, self.random_state, split_params=params)
        if asked is not None and splits.refits:
            refuse_refit(self.cv)
        return splits

    # -- the point that is taken --------------------------------------------------------------------------------
    def _rule(self, constraints: tuple[Constraint, ...], splits: Splits) -> str:
        if self.rule == "shrunk" and constraints:
            raise ValueError("rule='shrunk' has no margin for constraints; take rule='settled', or 'exact'")
        if self.rule not in ("auto", "exact") and (self.per_group or self.delta is not None):
            raise ValueError(f"delta and per_group set the threshold otherwise; rule={self.rule!r} has no say in it")
        if self.rule != "auto":
            return self.rule
        if splits.prefit or self.per_group or self.delta is not None:
            return "exact"
        return "settled" if constraints else "shrunk"

    def _choose(self, found: Frontier, scored: ScoredRows, constraints: tuple[Constraint, ...], rule: str) -> Choice:
        if any(constraint.needs_groups for constraint in constraints):
            return best_in_groups(found, scored, self.measure, constraints)
        rows = scored.scores, scored.is_positive, scored.weight
        if rule == "shrunk":
            is_probability = resolve_response(self._inner(), self.response_method) == "predict_proba"
            evidence = shrinkage.log_odds(scored.scores) if is_probability else scored.scores
            return shrinkage.best_point(found, *rows, evidence, self.measure)
        best = frontier.best_point(found, self.measure, constraints)
        if rule == "exact":
            return best
        goal = Goal(self.measure, constraints)
        verdict = Draws(scored.is_positive, scored.weight, DRAWN_BY).judge(scored.scores, found, goal)
        return settled(verdict, found, best, goal)

    # -- prediction ---------------------------------------------------------------------------------------------
    @lazily
    def decision_function(self, X: Any, slices: Any = None) -> Any:
        """The model's score minus `best_threshold_`: above 0 is what `predict` calls ``classes_[1]``.

        With `per_group`, `slices` is the group of each row. For several classes log-probabilities plus `offsets_`, a
        column for each; `predict` takes the largest. For several labels a row, scores minus `label_thresholds_`."""
        check_is_fitted(self)
        if hasattr(self, "label_thresholds_"):
            return self._label_scores(X) - self.label_thresholds_
        if hasattr(self, "offsets_"):
            found = self._with_offsets(X)
            return np.asarray(found[:, 1] - found[:, 0]) if found.shape[1] == 2 else found
        scores = self._scores(X)
        return (scores - _per_group.thresholds_of(self, slices, len(scores))) * self._sign

    @lazily
    def predict(self, X: Any, slices: Any = None) -> Any:
        """Labels: the positive class where the score is strictly above `best_threshold_`, with `per_group` that of the
        row's group in `slices`; of several classes the one with the largest log-probability plus offset."""
        check_is_fitted(self)
        if hasattr(self, "label_thresholds_"):
            return (self._label_scores(X) > self.label_thresholds_).astype(np.int64)
        if hasattr(self, "offsets_"):
            return np.asarray(self.classes_[self._with_offsets(X).argmax(axis=1)])
        scores = self._scores(X)
        return self._labels(scores > _per_group.thresholds_of(self, slices, len(scores)))

    @available_if(_scores_are_probabilities)
    @lazily
    def predict_proba(self, X: Any) -> Any:
        """The model's own probabilities, whatever the threshold: what is built on them (calibration, counting) needs
        them as they are. `predict` decides at `best_threshold_`, not at 1/2."""
        check_is_fitted(self)
        model: Any = self.estimator_
        if hasattr(self, "label_thresholds_"):
            return model.predict_proba(X)  # a matrix or a list of them, as the model says it
        if hasattr(self, "offsets_"):
            return np.asarray(model.predict_proba(X))
        return self._probabilities(self._scores(X))

    def _with_offsets(self, X: Any) -> Array:
        return class_scores(self.estimator_, X, self.response_method, self.classes_) + self.offsets_

    def _label_scores(self, X: Any) -> Array:
        return _labels.label_scores(self.estimator_, X, self.response_method, len(self.classes_))

    def _scores(self, X: Any) -> Any:
        check_is_fitted(self)
        if is_tensor(X):
            return _on_tensors.positive_scores(self.estimator_, X, self.response_method, self._positive)
        scores = positive_scores(self.estimator_, X, self.response_method, self._positive)
        frontier.check_scores(scores)
        return scores

    def report(self, X: Any, y: Any, *, slices: Any = None, confidence: float = 0.95) -> Figures:
        """Rates, precision, the measure and what the constraints bound, on labelled rows, each with an interval.

        Give rows that neither fitted the model nor set the threshold: on those the figures are flattered. `slices`,
        their groups, adds what is bound within groups.
        """
        if hasattr(self, "offsets_") or hasattr(self, "label_thresholds_"):
            raise ValueError(
                "report is for two classes; of several, measures.class_rates(y, predict(X)) has the rates of each, and "
                "measure.score(y, predict(X)) the value"
            )
        scores = self._scores(X)
        at = _per_group.thresholds_of(self, slices if hasattr(self, "groups_") else None, len(scores))
        return report_on(self, y, scores > at, read_slices(slices, y), confidence)

    # -- scikit-learn's contract --------------------------------------------------------------------------------
    def get_metadata_routing(self) -> MetadataRouter:
        return router_of(self, "estimator", self.estimator, self.cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        lifted = isinstance(self.measure, Measure) and self.measure.is_lifted
        inner = get_tags(self._inner()).classifier_tags
        tags.classifier_tags.multi_class = lifted
        tags.classifier_tags.multi_label = lifted and self.delta is None and inner is not None and inner.multi_label
        return tags
