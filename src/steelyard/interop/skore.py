"""Checks for skore's reports (extra `skore`): is the threshold left untuned, is the cap only hoped for?

Given a report of `skore.evaluate`, ``report.checks.add(checks(measure, subject_to=...))`` puts two checks beside those
of skore, and ``report.checks.summarize()`` runs them on the report's test rows:

    SY001 threshold untuned    the measure rises when the threshold is moved: chosen on one half of the test rows and
                               judged on the other, over and over
    SY002 cap not promised     on the test rows the limit is broken, or kept on too few of them to count on it

They are about two classes, and about one model or each model of a cross-validation.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedShuffleSplit

from ..estimators._scored_rows import positive_scores
from ..estimators._slices import kinds
from ..measures import FBeta
from ..measures.constraints import as_constraints
from ..measures.given import measure_of
from ..statistics import frontier
from ..statistics.reporting import report as figures_of

try:
    from skore import Check, CheckNotApplicable
except ImportError as error:
    raise ImportError(
        f'{error}. Checks for its reports need the extra skore: pip install "steelyard[skore]"'
    ) from error

HALVINGS = 20  # of the test rows: their mean then varies by less than a quarter of what one varies by
FEWEST = 10  # rows of each class in a half: with fewer the best threshold is noise
SURE = 2.0  # standard deviations of the gain over the halvings, which is more than its standard error


def checks(measure: Any = None, subject_to: Any = None, *, delta: float = 0.05) -> list[Any]:
    """Our checks for a measure and limits, to be added to a report of skore.

    Parameters
    ----------
    measure : Measure, name or function, default=FBeta(1)
        What you report.
    subject_to : Constraint or list of them, default=None
        What must hold, such as ``fpr <= 0.01``; without it there is no check of a cap.
    delta : float, default=0.05
        The probability with which a promise may fail.

    Examples
    --------
    >>> import skore
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from steelyard.interop.skore import checks
    >>> from steelyard.measures import fpr
    >>> X, y = make_classification(4000, weights=[0.95], flip_y=0.05, random_state=0)
    >>> report = skore.evaluate(LogisticRegression(), X, y, splitter=0.5)
    >>> report.checks.add(checks("f1", fpr <= 0.01))
    >>> len(report.checks.summarize(fast_mode=True).frame().query("code.str.startswith('SY')"))
    2
    """
    chosen = FBeta(1) if measure is None else measure_of(measure)
    limits = as_constraints(subject_to)
    return [ThresholdUntuned(chosen), *([CapNotPromised(limits, delta)] if limits else [])]


class _TestRowsCheck(Check):
    """A check of the model or models of a report, each on its own test rows."""

    report_types: ClassVar[list[str]] = ["estimator", "cross-validation"]
    docs_url = None
    severity = "issue"
    slow = False

    def check_function(self, report: Any) -> str | None:
        if report.ml_task != "binary-classification":
            raise CheckNotApplicable(f"it is about two classes; this is {report.ml_task}")
        found = [self._found(one) for one in getattr(report, "reports_", [report])]
        said = [text for text in found if text is not None]
        if 2 * len(said) <= len(found):  # of a cross-validation most folds must say so
            return None
        return said[0] if len(found) == 1 else f"in {len(said)} of {len(found)} folds; in the first of them {said[0]}"

    def _found(self, report: Any) -> str | None:
        raise NotImplementedError


class ThresholdUntuned(_TestRowsCheck):
    """SY001: the measure that is reported would be larger at another threshold of the same model."""

    code = "SY001"
    title = "Threshold untuned"

    def __init__(self, measure: Any) -> None:
        self.measure = measure

    def _found(self, report: Any) -> str | None:
        is_positive, called, positive = _on_test_rows(report)
        try:
            scores = positive_scores(report.estimator_, report.X_test, "auto", positive)
        except TypeError as error:
            raise CheckNotApplicable(str(error)) from error
        if min(is_positive.sum(), (~is_positive).sum()) < 2 * FEWEST:
            raise CheckNotApplicable(f"it needs {2 * FEWEST} test rows of each class")
        gains, halves = [], StratifiedShuffleSplit(HALVINGS, test_size=0.5, random_state=0)
        for one, other in halves.split(scores, is_positive):
            t = frontier.best_point(frontier.scan(scores[one], is_positive[one]), self.measure).threshold
            tuned = self.measure.score(is_positive[other], scores[other] > t)
            gains.append(tuned - self.measure.score(is_positive[other], called[other]))
        gain, spread = float(np.mean(gains)), float(np.std(gains))
        if not gain > SURE * spread:
            return None
        return (
            f"{self.measure!r} rises by {gain:.3f} (standard deviation {spread:.3f}) when the threshold is chosen on "
            f"half of the test rows and judged on the other: ThresholdClassifier(model, {self.measure!r}) chooses it "
            "in training"
        )


class CapNotPromised(_TestRowsCheck):
    """SY002: a limit is broken on the test rows, or they are too few to count on it."""

    code = "SY002"
    title = "Cap not promised"

    def __init__(self, constraints: Any, delta: float) -> None:
        self.constraints, self.delta = constraints, delta

    def _found(self, report: Any) -> str | None:
        is_positive, called, _ = _on_test_rows(report)
        bodies = tuple(constraint.body for constraint in self.constraints)
        lefts = tuple(constraint.left for constraint in self.constraints)
        # Both ends of this interval are missed with probability delta each: only the one matters.
        figures = figures_of(*kinds(is_positive, called), (*lefts, *bodies), confidence=1.0 - 2.0 * self.delta)
        for constraint in self.constraints:
            body, left = figures[repr(constraint.body)], figures[repr(constraint.left)]
            if body.low >= 0.0 or _is_promised(report.estimator_, constraint, self.delta):
                continue
            how = "is broken" if body.value < 0.0 else f"is kept, but not surely enough for delta={self.delta:g}"
            return (
                f"{constraint!r} {how} on {figures.n_rows} test rows: {constraint.left!r} is {left.value:.4g}, between "
                f"{left.low:.4g} and {left.high:.4g}. ThresholdClassifier(model, measure, subject_to={constraint!r}, "
                f"delta={self.delta:g}, cv=0.3) promises it on unseen rows, or says how many it takes"
            )
        return None


def _on_test_rows(report: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Any]:
    """Which test rows are positive, which are called so, and the positive label: the one named, or the last."""
    classes = np.asarray(report.estimator_.classes_)
    positive = (
        report.pos_label if report.pos_label is not None else getattr(report.estimator_, "pos_label_", classes[1])
    )
    is_positive = np.asarray(report.y_test).ravel() == positive
    if not 0 < is_positive.sum() < len(is_positive):
        raise CheckNotApplicable("the test rows are of one class")
    return is_positive, np.asarray(report.estimator_.predict(report.X_test)) == positive, positive


def _is_promised(model: Any, constraint: Any, delta: float) -> bool:
    last = model[-1] if hasattr(model, "steps") else model
    promise = getattr(last, "promise_", None)
    return promise is not None and promise.delta <= delta and constraint in promise.constraints
