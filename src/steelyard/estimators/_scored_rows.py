"""Scores of rows that the model was not fitted on: out-of-fold, from a held-out share, or from a fitted model.

Given a classifier and rows, each function returns scores with labels and weights, ready for the search over
thresholds. A score is larger for rows more likely positive, whichever label that is. X is never looked into: parts of
its rows are handed to the estimator, one part at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from ._binary import Labels
from ._border import check_form
from ._left_out import scored_in_turn
from ._splits import Splits
from ._users import Classifier, RowNumbers, part_of, parts_of

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Table:
    """The data of one fit, and the parameters that go along with it to the classifier's."""

    X: Any
    y: NDArray[Any]
    labels: Labels
    weight: Array | None
    fit_params: dict[str, Any]
    slices: NDArray[Any] | None = None  # the group of each row, for constraints within groups

    def fit(self, model: Classifier, train: RowNumbers | None = None) -> Classifier:
        """The model, fitted to a part of the rows, or to all."""
        if train is None:
            return model.fit(self.X, self.y, **self.fit_params)
        params = parts_of(self.fit_params, train, len(self.y))
        return model.fit(part_of(self.X, train), self.y[train], **params)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    scores: Array
    is_positive: NDArray[np.bool_]
    weight: Array | None
    slices: NDArray[Any] | None = None  # the group of each row


def resolve_response(estimator: Any, response_method: str) -> str:
    """The method that gives the scores; "auto" takes the first of predict_proba and decision_function there is."""
    known = ("predict_proba", "decision_function")
    if response_method not in ("auto", *known):
        raise ValueError(f"response_method is 'auto', 'predict_proba' or 'decision_function'; got {response_method!r}")
    wanted = known if response_method == "auto" else (response_method,)
    method = next((name for name in wanted if hasattr(estimator, name)), None)
    if method is None:
        raise TypeError(f"{type(estimator).__name__} has no {' or '.join(wanted)}, so there is no threshold to set")
    return method


def positive_scores(estimator: Classifier, X: Any, response_method: str, positive: Any) -> Array:
    """One score a row, larger for the positive class."""
    check_form(X)
    method = resolve_response(estimator, response_method)
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) != 2 or positive not in classes:
        raise ValueError(f"the model knows the classes {classes}; the positive label here is {positive!r}")
    out: Array = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    if out.ndim == 2:
        return out[:, classes.index(positive)]
    return out if classes[1] == positive else -out


def score_prefit(estimator: Classifier, table: Table, response_method: str) -> ScoredRows:
    """The scores of all rows by a model that was fitted before."""
    check_is_fitted(estimator)
    if table.fit_params.keys() - {"sample_weight"}:
        raise ValueError(f"a fitted model is not fitted again, so {sorted(table.fit_params)} have nowhere to go")
    known = np.asarray(estimator.classes_)
    unknown = set(table.labels.classes.tolist()) - set(known.tolist())
    if unknown:
        raise ValueError(f"y has labels {sorted(unknown)} that the fitted model does not know: {known}")
    scores = positive_scores(estimator, table.X, response_method, table.labels.positive)
    return ScoredRows(scores, table.labels.is_positive, table.weight, table.slices)


def score_left_out(
    estimator: Classifier, table: Table, splits: Splits, n_jobs: int | None, response_method: str, verbose: int = 0
) -> tuple[Classifier, ScoredRows]:
    """The final model, and the scores of every part that a model has not seen, pooled. A row that is left out twice
    counts twice."""

    def score(model: Classifier, test: RowNumbers) -> ScoredRows:
        scores = positive_scores(model, part_of(table.X, test), response_method, table.labels.positive)
        weight, slices = (None if part is None else part[test] for part in (table.weight, table.slices))
        return ScoredRows(scores, table.labels.is_positive[test], weight, slices)

    model, parts, _ = scored_in_turn(estimator, table.fit, score, splits, n_jobs, verbose)
    return model, _pooled(parts)


def score_fitted(
    estimator: Classifier, model: Classifier, table: Table, train: RowNumbers, response_method: str
) -> ScoredRows:
    """Scores of the rows that `model` was fitted on, by itself and by two models that each saw one half.

    They promise nothing and are on no exact scale, the first too sure and the second too unsure: they only say where to
    begin to look. Pooled they are better for a forest than either alone (docs/promises.md, "What was tried").
    """
    positive, is_positive = table.labels.positive, table.labels.is_positive[train]

    def scored(by: Classifier, rows: RowNumbers) -> ScoredRows:
        scores = positive_scores(by, part_of(table.X, rows), response_method, positive)
        weight, slices = (None if part is None else part[rows] for part in (table.weight, table.slices))
        return ScoredRows(scores, table.labels.is_positive[rows], weight, slices)

    parts = [scored(model, train)]
    if min(is_positive.sum(), (~is_positive).sum()) >= 2:
        for one, other in StratifiedKFold(2, shuffle=True, random_state=0).split(is_positive, is_positive):
            parts.append(scored(table.fit(clone(estimator), train[one]), train[other]))
    return _pooled(parts)


def _pooled(parts: list[ScoredRows]) -> ScoredRows:
    def joined(name: str) -> Any:
        found = [getattr(part, name) for part in parts]
        return None if found[0] is None else np.concatenate(found)

    return ScoredRows(joined("scores"), joined("is_positive"), joined("weight"), joined("slices"))
