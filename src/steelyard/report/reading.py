"""What a report has to know of a model: how it scores rows, where it stands itself, and how to write it down.

Given a fitted classifier, a pipeline that ends in one, a `CostPath` or the file of a model, and labelled rows. Comes
back: the operating points on these rows, the point that the model itself takes, what it was trained for and what it
promised, and the line of Python that makes it a classifier at another threshold.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .. import saving
from ..estimators._binary import encode_labels
from ..estimators._scored_rows import positive_scores
from ..estimators.cost_path import CostPath
from ..estimators.threshold import ThresholdClassifier
from ..labels import plain_labels
from ..measures import Measure, Recall, fpr, measure_of
from ..measures.constraints import Constraint, as_constraints
from ..measures.labels import positive_of
from ..statistics.promises.promise import Promise
from ..statistics.promises.trials import Caps
from .points import Points, by_path, by_scores

Array = NDArray[np.float64]
OWN = "own"  # the name of the threshold at which the model itself decides
SCORES = ("predict_proba", "decision_function", "tau")  # what a threshold can be of
HALF = {"predict_proba": 0.5, "decision_function": 0.0}  # where scikit-learn's classifiers decide


@dataclass(frozen=True, eq=False)
class Reading:
    """A model on labelled rows."""

    model: Any
    last: Any  # of a pipeline the last step, else the model
    is_positive: NDArray[np.bool_]
    classes: tuple[Any, Any]  # the other one, the positive one
    points: Points
    scale: str  # one of SCORES
    own: int | None  # the point of the model's own predictions, if it is one
    shift: float  # what `decision_function` of the model is less than the score
    file: str | None = None  # that it was loaded from

    def line(self) -> tuple[str, str]:
        """What comes before, and the line that makes the model a classifier at ``{threshold}``."""
        before, name = [], "path" if self.last is self.model and self.scale == "tau" else "model"
        if self.scale != "tau":
            positive = self.classes[1].item() if isinstance(self.classes[1], np.generic) else self.classes[1]
            how = f'threshold={{threshold}}, pos_label={positive!r}, response_method="{self.scale}"'
            line = f"clf = FixedThresholdClassifier(FrozenEstimator(model), {how})"
            before += ["from sklearn.frozen import FrozenEstimator"]
            before += ["from sklearn.model_selection import FixedThresholdClassifier"]
        elif name == "path":
            line = "clf = path.at({threshold})"
        else:
            line = "clf = make_pipeline(model[:-1], model[-1].at({threshold}))"
            before += ["from sklearn.pipeline import make_pipeline"]
        if self.file is not None:
            before += ["import steelyard as sy", "", f"{name} = sy.load({self.file!r})"]
        return "\n".join(before), line


def read(model: Any, X: Any, y: Any, pos_label: Any) -> Reading:
    """The model on these rows; a path to a file is loaded first."""
    if isinstance(model, (str, os.PathLike)):
        return replace(read(saving.load(model), X, y, pos_label), file=os.fspath(model))
    check_is_fitted(model)
    front, last = (model[:-1], model[-1]) if isinstance(model, Pipeline) else (None, model)
    _refuse(last)
    _, is_positive, positive = encode_labels(plain_labels(y), positive_of(model) if pos_label is None else pos_label)
    known = np.asarray(model.classes_).tolist()
    if len(known) != 2 or positive not in known:
        raise ValueError(f"the model knows the classes {known}; the positive label here is {positive!r}")
    both = (known[0] if known[1] == positive else known[1], positive)
    if is_positive.all() or not is_positive.any():
        raise ValueError(f"a report needs rows of both classes; all {len(is_positive)} rows are of one")
    inside = X if front is None or not len(front) else front.transform(X)
    if isinstance(last, CostPath):
        points, _ = by_path(last._sign_changes(_rows(last, inside)), is_positive, {})
        return Reading(model, last, is_positive, both, points, "tau", None, 0.0)
    if isinstance(last, ThresholdClassifier):
        scale = "predict_proba" if hasattr(last, "predict_proba") else "decision_function"
        named = {OWN: last.best_threshold_, **_promised_thresholds(last)}
        points, places = by_scores(np.asarray(last._scores(inside)), is_positive, named)
        shift = last.best_threshold_ if scale == "decision_function" else 0.0
        return Reading(model, last, is_positive, both, points, scale, places[OWN], shift)
    return _plain(model, last, X, is_positive, both)


def _refuse(last: Any) -> None:
    for name, why in (
        ("offsets_", "one of several classes has no threshold; sy.ClassFrontierDisplay draws it"),
        ("label_thresholds_", "several labels a row have a threshold each; report on one label at a time"),
        ("best_thresholds_", "a model with a threshold for each group has no single one; report on its `estimator_`"),
        ("predict_interval", "what counts rows labels none; give its classifier"),
    ):
        if hasattr(last, name):
            raise ValueError(f"a report is about two classes and one threshold: {why}")


def _rows(path: CostPath, X: Any) -> Any:
    from ..estimators._border import rows_to_score

    return rows_to_score(path, X)


def _plain(model: Any, last: Any, X: Any, is_positive: NDArray[np.bool_], both: tuple[Any, Any]) -> Reading:
    """A classifier with scores; its own threshold is where its predictions say it is."""
    called = np.asarray(model.predict(X)) == both[1]
    scored = {scale: positive_scores(model, X, scale, both[1]) for scale in HALF if hasattr(model, scale)}
    if not scored:
        raise TypeError(f"{type(last).__name__} has no predict_proba or decision_function, so no threshold to move")
    for scale, scores in scored.items():
        if np.array_equal(scores > HALF[scale], called):
            points, places = by_scores(scores, is_positive, {OWN: HALF[scale]})
            return Reading(model, last, is_positive, both, points, scale, places[OWN], 0.0)
    scale, scores = next(iter(scored.items()))
    return Reading(model, last, is_positive, both, by_scores(scores, is_positive, {})[0], scale, None, 0.0)


# -- what it was trained for ---------------------------------------------------------------------------------------
def goal_of(last: Any, measure: Any, subject_to: Any) -> tuple[Measure, tuple[Constraint, ...]]:
    """The measure and the constraints: the caller's, else the model's own, else F1."""
    cap = getattr(last, "max_fpr", None)  # Neyman-Pearson classifiers have this goal
    given = measure if measure is not None else getattr(last, "measure", None)
    asked = subject_to if subject_to is not None else getattr(last, "subject_to", None)
    if given is None:
        given = "f1" if cap is None else Recall()
    if asked is None and cap is not None:
        asked = fpr <= float(cap)
    found = measure_of(given)
    constraints = as_constraints(asked, groups=True)
    if subject_to is not None and any(one.needs_groups for one in constraints):
        raise ValueError(
            "a report looks for the best point of all rows, and keeps no limit within groups: give `slices` to see "
            "every group at each point, or a ThresholdClassifier that was fitted under this limit"
        )
    if found.is_lifted:
        raise ValueError(f"a report is about two classes; {found!r} is of several")
    return found, constraints


def promise_of(last: Any) -> Promise | None:
    return getattr(last, "promise_", None)


def _promised_thresholds(last: ThresholdClassifier) -> dict[str, float]:
    """Those for which the promise was made one by one, with a name each; a cap promises all on one side instead."""
    promise = promise_of(last)
    if promise is None or isinstance(promise.trial, Caps):
        return {}
    passed = promise.trial.thresholds[promise.trial.passed(promise.goal)]
    return {f"promised {k}": float(threshold) for k, threshold in enumerate(np.unique(passed))}


def promised_points(reading: Reading) -> list[int] | tuple[int, int] | None:
    """The points at which the promise holds: a stretch where it is one of caps, else a list."""
    promise = promise_of(reading.last)
    if promise is None:
        return None
    if not isinstance(reading.last, ThresholdClassifier) or reading.own is None:
        return None if reading.own is None else [reading.own]
    if not isinstance(promise.trial, Caps):
        return sorted({*reading.points.exact})
    passed = promise.trial.thresholds[promise.trial.passed(promise.goal)]
    rising = {question.keeps_above for question in promise.goal.questions}
    # Any threshold between two that pass does too, and beyond them on the side to which the rate falls.
    inside = reading.points.thresholds
    first = int(np.searchsorted(inside, passed.min(), side="left")) if True in rising else 0
    end = int(np.searchsorted(inside, passed.max(), side="right")) if False in rising else len(inside)
    return (min(first, reading.own), max(end - 1, reading.own))
