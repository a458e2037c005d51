"""`ThresholdClassifier` for several classes: one offset for each, where two classes have one threshold.

Given a classifier and a measure that is lifted to several classes, find offsets o for the rule "the class with the
largest log-probability + o". Scores are those of rows that the model was not fitted on; the search over offsets is
`statistics.offsets`, steadied where few rows decide by `statistics.class_shrinkage`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ..rows import refuse_masked
from ..statistics import class_shrinkage, class_weights, frontier, offsets
from ..statistics.offsets import Goal, Offsets, ScoredClasses
from ._binary import one_kind
from ._left_out import scored_in_turn
from ._scored_rows import resolve_response
from ._splits import Splits
from ._users import Classifier, RowNumbers, part_of, parts_of

Array = NDArray[np.float64]

LEAST = 1e-12  # a probability: trees and small forests say 0, and no offset should have to be infinite to call a row


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """The classes, and the code of every row."""

    classes: NDArray[Any]
    codes: NDArray[np.intp]

    @classmethod
    def of(cls, y: Any) -> ClassLabels:
        column = one_kind(y)
        assert_all_finite(column, input_name="y")
        check_classification_targets(column)
        classes, codes = np.unique(column, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y holds only one class, {classes.tolist()[0]!r}: a classifier needs rows of two classes or more"
                if len(classes)
                else "y is empty: a classifier needs rows of two classes or more"
            )
        return cls(classes, codes.astype(np.intp))


@dataclass(frozen=True, eq=False)
class ClassTable:
    """The data of one fit, and the parameters that go along with it to the classifier's."""

    X: Any
    y: NDArray[Any]
    labels: ClassLabels
    weight: Array | None
    fit_params: dict[str, Any]

    def fit(self, model: Classifier, train: RowNumbers | None = None) -> Classifier:
        if train is None:
            return model.fit(self.X, self.y, **self.fit_params)
        return model.fit(part_of(self.X, train), self.y[train], **parts_of(self.fit_params, train, len(self.y)))

    def scored(self, scores: Array, which: RowNumbers) -> ScoredClasses:
        weight = None if self.weight is None else self.weight[which]
        return ScoredClasses.of(scores, self.labels.codes[which], self.labels.classes.tolist(), weight)


def class_scores(model: Classifier, X: Any, response_method: str, classes: NDArray[Any]) -> Array:
    """Log-probabilities or scores, a column for each of `classes`; one that the model has not seen is least likely."""
    refuse_masked(X)
    method = resolve_response(model, response_method)
    out = np.asarray(getattr(model, method)(X), dtype=np.float64)
    if out.ndim == 1:
        out = np.column_stack([np.zeros(len(out)), out])
    if method == "predict_proba":
        out = np.log(np.maximum(out, LEAST))
    known = np.asarray(model.classes_).tolist()
    if out.shape[1] != len(known):
        raise ValueError(
            f"{type(model).__name__}.{method} has {out.shape[1]} columns for {len(known)} classes: no score of each "
            "class to add an offset to. Use a model with predict_proba, or decision_function_shape='ovr'"
        )
    if known == classes.tolist():
        return out
    least = float(out.min(initial=np.log(LEAST)))
    full = np.full((len(out), len(classes)), least)
    for column, label in enumerate(known):
        full[:, classes.tolist().index(label)] = out[:, column]
    return full


def score_classes(
    estimator: Classifier, table: ClassTable, splits: Splits, n_jobs: int | None, response_method: str, verbose: int
) -> tuple[Classifier, ScoredClasses]:
    """The final model, and the scores of rows that a model has not seen, as `_scored_rows` has them for two classes."""
    classes, every = table.labels.classes, np.arange(len(table.y))
    if splits.prefit:
        check_is_fitted(estimator)
        unknown = set(classes.tolist()) - set(np.asarray(estimator.classes_).tolist())
        if unknown:
            raise ValueError(f"y has labels {sorted(unknown)} that the fitted model does not know")
        return estimator, table.scored(class_scores(estimator, table.X, response_method, classes), every)

    def score(model: Classifier, test: RowNumbers) -> Array:
        return class_scores(model, part_of(table.X, test), response_method, classes)

    model, parts, tests = scored_in_turn(estimator, table.fit, score, splits, n_jobs, verbose)
    return model, table.scored(np.concatenate(parts), np.concatenate(tests))


def score_fitted_classes(
    estimator: Classifier, model: Classifier, table: ClassTable, train: RowNumbers, response_method: str
) -> ScoredClasses:
    """Scores of the rows that `model` was fitted on, by itself and by two models that each saw one half: they lay the
    path of a promise and promise nothing (`_scored_rows.score_fitted`, for several classes)."""
    classes, codes = table.labels.classes, table.labels.codes[train]
    parts, which = [class_scores(model, part_of(table.X, train), response_method, classes)], [train]
    if np.bincount(codes, minlength=len(classes)).min() >= 2:
        for one, other in StratifiedKFold(2, shuffle=True, random_state=0).split(codes, codes):
            half = table.fit(clone(estimator), train[one])
            parts.append(class_scores(half, part_of(table.X, train[other]), response_method, classes))
            which.append(train[other])
    return table.scored(np.concatenate(parts), np.concatenate(which))


def check_scored(scored: ScoredClasses) -> None:
    frontier.check_scores(scored.scores.ravel())
    missing = [c for c, mass in zip(scored.classes, scored.labels.sum(axis=0), strict=True) if not mass > 0.0]
    if missing:
        raise ValueError(f"none of the {len(scored.scores)} scored rows is of class {missing[0]!r} (with weight)")


def choose(scored: ScoredClasses, goal: Goal, rule: str) -> Offsets:
    """The offsets, with the value that they have on the scored rows."""
    check_scored(scored)
    if rule == "exact" or goal.constraints:
        return class_weights.search(scored, goal)
    found = class_weights.search(class_shrinkage.shrunk(scored), goal)
    found = offsets.judge(scored, goal, found.offsets)
    plain = offsets.judge(scored, goal, np.zeros(len(scored.classes)))
    return found if found.beats(plain) and class_shrinkage.worth_it(scored, goal, found) else plain
