"""The best threshold of a classifier that the user already has, for any measure and any constraints.

Given a scikit-learn classifier with scores, a measure and constraints, find t for the rule "positive if score > t".
Scores come from rows that the model was not fitted on: out-of-fold, or from one held-out part. The search over
thresholds is `statistics.frontier` (every distinct one, one sort); where few rows decide it is steadied by
`statistics.shrinkage` or `statistics.resampling`; the promise on unseen data, when `delta` is given, is
`statistics.order_statistic`. Which rows are scored by which model is decided in `_scored_rows`.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, indexable

from ..measures import FBeta, Measure
from ..measures.constraints import Constraint, as_constraints
from ..statistics import frontier, order_statistic, shrinkage
from ..statistics.frontier import Frontier
from ..statistics.resampling import Draws, Goal, settled
from ._binary import Labels, check_weight
from ._border import as_before, check_form
from ._parameters import ANYTHING, CV, MEASURE, NOTHING, RANDOM, THREADS, A, Checked, Number, Words
from ._parameters import Table as Parameters
from ._scored_rows import ScoredRows, Table, positive_scores, resolve_response, score_left_out, score_prefit
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
        If given, the one constraint ``fpr <= a`` (or ``fnr <= a``) holds on *unseen* data with probability
        ``1 - delta``. Needs ``cv`` to be a held-out share or "prefit", enough held-out rows of that class, and no
        sample weights; nothing is refitted.
    rule : {"auto", "exact", "shrunk", "settled"}, default="auto"
        "exact" is the best point on the scored rows. "shrunk" is the best one when labels are shrunk towards the
        probabilities that the scores imply, the more so the fewer rows there are. "settled" is the point nearest to
        the mean threshold of bootstrap draws, which meets constraints with a margin where few rows decide. "auto" is
        "shrunk", under constraints "settled", and "exact" for a fitted model, with `delta`, and where rows are many.
    cv : int, float, splitter or "prefit", default=5
        Folds: out-of-fold scores, then `estimator` is refitted on all rows; with `groups`, whole groups are left out.
        A share such as 0.3: fitted on the rest, threshold set on the share, no refit. "prefit" (or a
        `FrozenEstimator`): X and y only set the threshold.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Where scores come from; "auto" takes the first that the estimator has.
    pos_label : label, default=None
        The positive class; the larger label by default.
    n_jobs : int, default=None
        Folds fitted in parallel.
    random_state : int or RandomState, default=None
        Draws the held-out share.

    Attributes
    ----------
    best_threshold_, best_score_ : float
        The threshold, and the measure there on the scored rows.
    frontier_ : Frontier
        `thresholds`, `tpr`, `tnr` of every operating point.
    estimator_ : classifier
        The fitted model.
    classes_ : ndarray of shape (2,)

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
        rule: str = "auto",
        cv: Any = 5,
        response_method: str = "auto",
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.measure = measure
        self.subject_to = subject_to
        self.delta = delta
        self.rule = rule
        self.cv = cv
        self.response_method = response_method
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    _parameters: ClassVar[Parameters] = {
        "estimator": (A("a classifier", having=("fit",)), NOTHING),
        "measure": (MEASURE,),
        "subject_to": (ANYTHING,),  # read by as_constraints
        "delta": (DELTA, NOTHING),
        "rule": (Words("auto", *RULES),),
        "cv": (CV,),
        "response_method": (Words("auto", "predict_proba", "decision_function"),),
        "pos_label": (ANYTHING,),
        "n_jobs": (THREADS,),
        "random_state": (RANDOM,),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> ThresholdClassifier:
        """Fit the model and set the threshold.

        `sample_weight` weighs rows in the measure, and in the model's fit if it takes weights. `groups` goes to the
        splitter, other parameters to the model's fit; with metadata routing enabled they go where requested.
        """
        self._check_parameters()
        constraints = as_constraints(self.subject_to)
        check_form(X)
        X, y = indexable(X, y)
        labels = Labels.of(y, self.pos_label)
        weight = check_weight(sample_weight, X, labels.is_positive)
        estimator = self._inner()
        routed = route_fit(self, "estimator", estimator, weight, params, only_for="the threshold")
        splits = self._splits(estimator, X, labels, dict(routed.splitter))
        if self.delta is not None:
            self._check_promise(constraints, splits, weight)
        table = Table(X, np.asarray(y).ravel(), labels, weight, routed.model)
        if splits.prefit:
            model, scored = estimator, score_prefit(estimator, table, self.response_method)
        else:
            model, scored = score_left_out(estimator, table, splits, self.n_jobs, self.response_method)
        found = frontier.scan(scored.scores, scored.is_positive, scored.weight)
        choice = self._choose(found, scored, constraints, self._rule(constraints, splits))
        with as_before(self):
            self._take_labels(labels)
            self.estimator_, self.frontier_ = model, found
            self.best_threshold_, self.best_score_ = choice.threshold, choice.value
            show_features(self, model)
        return self

    def _splits(self, estimator: Classifier, X: Any, labels: Labels, params: dict[str, Any]) -> Splits:
        if isinstance(estimator, FrozenEstimator):
            return Splits(())
        groups = params.pop("groups", None)
        if groups is not None and isinstance(self.cv, float):
            raise ValueError("groups need a splitter that keeps them together, such as GroupKFold; a share does not")
        rows = Stratum.of(labels.is_positive, groups, X)
        return read_cv(self.cv, rows, self.random_state, split_params=params)

    # -- the point that is taken --------------------------------------------------------------------------------
    def _rule(self, constraints: tuple[Constraint, ...], splits: Splits) -> str:
        if self.rule == "shrunk" and constraints:
            raise ValueError("rule='shrunk' has no margin for constraints; take rule='settled', or 'exact'")
        if self.rule not in ("auto", "exact") and self.delta is not None:
            raise ValueError(f"delta sets the threshold by an order statistic; rule={self.rule!r} has no say in it")
        if self.rule != "auto":
            return self.rule
        if splits.prefit or self.delta is not None:
            return "exact"
        return "settled" if constraints else "shrunk"

    def _choose(
        self, found: Frontier, scored: ScoredRows, constraints: tuple[Constraint, ...], rule: str
    ) -> frontier.Choice:
        if self.delta is not None:
            return frontier.best_point(found, self.measure, allowed=self._promised(found, scored, constraints[0]))
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

    # -- the promise on unseen data -----------------------------------------------------------------------------
    def _check_promise(self, constraints: tuple[Constraint, ...], splits: Splits, weight: Array | None) -> None:
        if len(constraints) != 1 or _capped_rate(constraints[0]) is None:
            raise ValueError(
                "delta promises one cap on one error rate, subject_to=fpr <= a or subject_to=fnr <= a; "
                f"got {self.subject_to!r}"
            )
        if splits.refits:
            raise ValueError(
                "delta needs rows that the one fitted model has not seen: cv=0.3 holds out a share, cv='prefit' takes "
                f"a fitted model; got cv={self.cv!r}. Out-of-fold scores with a refit do not carry the promise"
            )
        if weight is not None:
            raise ValueError("the order-statistic promise is for unweighted rows; drop sample_weight or delta")

    def _promised(self, found: Frontier, scored: ScoredRows, constraint: Constraint) -> NDArray[np.bool_]:
        """Which thresholds keep the cap on unseen data with probability 1 - delta."""
        capped = _capped_rate(constraint)
        assert capped is not None
        assert self.delta is not None
        which, cap = capped
        # A false negative is a false alarm of the mirrored problem.
        error_side = scored.scores[~scored.is_positive] if which == "fpr" else -scored.scores[scored.is_positive]
        try:
            k = order_statistic.rank(len(error_side), cap, self.delta)
        except ValueError as error:
            kind = "negatives" if which == "fpr" else "positives"
            if not 0.0 < cap < 1.0:
                raise ValueError(f"a promise needs a cap strictly between 0 and 1; got {constraint!r}") from error
            needed = order_statistic.needed(cap, self.delta)
            raise ValueError(
                f"{constraint!r} with delta={self.delta} needs {needed} held-out {kind}; {len(error_side)} were given. "
                "Hold out more rows, or loosen the cap or delta"
            ) from error
        bound = np.partition(error_side, k - 1)[k - 1]
        keeps: NDArray[np.bool_] = found.thresholds >= bound if which == "fpr" else found.thresholds < -bound
        return keeps

    # -- prediction ---------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> Array:
        """The model's score minus `best_threshold_`: above 0 is what `predict` calls ``classes_[1]``."""
        return (self._scores(X) - self.best_threshold_) * self._sign

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels: the positive class where the score is strictly above `best_threshold_`."""
        return self._labels(self._scores(X) > self.best_threshold_)

    @available_if(_scores_are_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """The model's own probabilities, whatever the threshold: what is built on them (calibration, counting) needs
        them as they are. `predict` decides at `best_threshold_`, not at 1/2."""
        return self._probabilities(self._scores(X))

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        scores = positive_scores(self.estimator_, X, self.response_method, self._positive)
        frontier.check_scores(scores)
        return scores

    # -- scikit-learn's contract --------------------------------------------------------------------------------
    def get_metadata_routing(self) -> MetadataRouter:
        return router_of(self, "estimator", self.estimator, self.cv)


def _capped_rate(constraint: Constraint) -> tuple[str, float] | None:
    """``("fpr", a)`` or ``("fnr", a)`` if the constraint is a cap on one of them, however it was written."""
    if not constraint.is_linear or constraint.cleared.needs_prevalence:
        return None
    a, b, c = constraint.coefficients()
    if a == 0.0 and b > 0.0:
        return "fpr", 1.0 + c / b
    return ("fnr", 1.0 + c / a) if b == 0.0 and a > 0.0 else None
