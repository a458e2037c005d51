"""One fit for all who need it: a model as it comes and the same model with our threshold, on K folds.

The model without fold k labels the rows of k, which judges it as it comes, and scores them. The threshold that is
judged on k is set on the scores of all other folds, each row's from the model that has not seen it. So K fits are
enough for both contenders, where folds of their own would take 7 K.

What is not nested: the models that score the other folds were fitted with the rows of k among theirs, which tells the
threshold nothing about where the model without k puts these rows. Fits without two folds at a time, K (K - 1) / 2 more,
would leave them out; docs/results/comparing.md has what that changes.

`Known` is the model as a contender: its X are numbers of rows, and its scores are known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import PredefinedSplit
from sklearn.utils.metaestimators import available_if

RowNumbers = NDArray[np.intp]
Folds = list[tuple[RowNumbers, RowNumbers]]  # to fit on, and left out


@dataclass(frozen=True, eq=False)
class Scores:
    """What a model says about rows: `response` is the method, and `values` what it returned for `classes`."""

    response: str
    classes: NDArray[Any]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, model: Any, X: Any) -> Scores:
        response = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        return cls(response, np.asarray(model.classes_), np.asarray(getattr(model, response)(X)))


def joined(parts: list[tuple[RowNumbers, Scores]], n: int) -> Scores:
    """The scores of all rows, from those of each fold."""
    _, first = parts[0]
    if any(part.response != first.response or not np.array_equal(part.classes, first.classes) for _, part in parts):
        raise ValueError("a class has rows in one fold only, so that the models of the folds know different classes")
    values = np.empty((n, *first.values.shape[1:]))
    for rows, part in parts:
        values[rows] = part.values
    return Scores(first.response, first.classes, values)


def _says(response: str) -> Any:
    return available_if(lambda known: known.scores.response == response)


class Known(ClassifierMixin, BaseEstimator):
    """A model whose rows are numbers, and which scores each as the model that was fitted without its fold does."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores

    def __sklearn_clone__(self) -> Known:
        return Known(self.scores)

    def fit(self, X: RowNumbers, y: Any = None) -> Known:
        self.seen_, self.classes_ = X[:, 0], self.scores.classes
        return self

    def _about(self, X: RowNumbers) -> NDArray[np.float64]:
        if np.isin(X[:, 0], self.seen_).any():
            raise ValueError("a model is asked only about rows that it has not seen")
        return self.scores.values[X[:, 0]]

    @_says("predict_proba")
    def predict_proba(self, X: RowNumbers) -> NDArray[np.float64]:
        return self._about(X)

    @_says("decision_function")
    def decision_function(self, X: RowNumbers) -> NDArray[np.float64]:
        return self._about(X)


def fold_numbers(folds: Folds, n: int) -> NDArray[np.intp] | None:
    """The fold that each row is left out in, or None where the splits are no such folds (or so few that nothing is left
    without two of them)."""
    fold_of = np.full(n, -1)
    for k, (train, test) in enumerate(folds):
        if len(train) + len(test) != n or np.any(fold_of[test] >= 0) or np.intersect1d(train, test).size:
            return None
        fold_of[test] = k
    return fold_of if len(folds) > 2 and np.all(fold_of >= 0) else None


def rounds_of(folds: Folds, n: int) -> list[Folds]:
    """The splits as rounds, in each of which every row is left out once; if they are not such, all in one round."""
    rounds: list[Folds] = [[]]
    left = 0
    for fold in folds:
        if left >= n:
            rounds.append([])
            left = 0
        rounds[-1].append(fold)
        left += len(fold[1])
    return rounds if all(fold_numbers(one, n) is not None for one in rounds) else [folds]


def called_by_threshold(
    model: Any, scores: Scores, y: NDArray[Any], fold_of: NDArray[np.intp], rows: RowNumbers
) -> NDArray[Any]:  # fmt: skip
    """The labels of a fold's rows by a `ThresholdClassifier` whose threshold is set on the rows of all other folds."""
    numbers, train = np.arange(len(y))[:, None], fold_of != fold_of[rows[0]]
    tuned = clone(model).set_params(estimator=Known(scores), cv=PredefinedSplit(fold_of[train]))
    return np.asarray(tuned.fit(numbers[train], y[train]).predict(numbers[rows]))
