"""One fit for all who need it: a model as it comes and the same model with our threshold, on K folds.

To judge a threshold on fold k, scores of the other folds are needed from models that saw neither k nor the fold that
they score. The model without folds j and k serves twice, once for the threshold judged on k and once for that on j; and
the model without k alone is both the plain contender and what the threshold is applied to. So K (K + 1) / 2 fits are
enough for both contenders, where folds of their own would take 7 K: 15 for 35. Of a fit only what it says about the
rows that it has not seen is kept, which is all that anybody asks.

`Known` is the model as a contender: its X are numbers of rows, and whatever is asked was computed by `Fits` before.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import PredefinedSplit
from sklearn.utils.metaestimators import available_if

from ..estimators._users import part_of
from ..estimators.threshold import ThresholdClassifier

RowNumbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Said:
    """What a model said about the rows that it was not fitted on, and the seconds of its fit."""

    classes: NDArray[Any]
    rows: RowNumbers  # ascending
    answers: dict[str, NDArray[Any]]
    seconds: float

    def about(self, rows: RowNumbers, question: str) -> NDArray[Any]:
        place = np.searchsorted(self.rows, rows)
        if not np.array_equal(self.rows[np.minimum(place, len(self.rows) - 1)], rows):
            raise ValueError("a model is asked only about rows that it has not seen")
        return self.answers[question][place]


@dataclass(eq=False)
class Fits:
    """The fits of one model without one or two of the folds; `reused` seconds were not spent a second time."""

    model: Any
    X: Any
    y: NDArray[Any]
    fold_of: NDArray[np.intp]
    reused: float = 0.0
    _said: dict[frozenset[int], Said] = field(default_factory=dict)

    def on(self, rows: RowNumbers) -> Said:
        """Fitted on these rows, which are all rows of some of the folds."""
        seen = np.zeros(len(self.y), dtype=bool)
        seen[rows] = True
        without = frozenset(np.unique(self.fold_of[~seen]).tolist())
        if without in self._said:
            self.reused += self._said[without].seconds
        else:
            self._said[without] = self._fit(np.flatnonzero(seen), np.flatnonzero(~seen))
        return self._said[without]

    def _fit(self, seen: RowNumbers, rest: RowNumbers) -> Said:
        start = time.perf_counter()
        model, unseen = clone(self.model).fit(part_of(self.X, seen), self.y[seen]), part_of(self.X, rest)
        answers = {name: np.asarray(getattr(model, name)(unseen)) for name in self.questions}
        return Said(np.asarray(model.classes_), rest, answers, time.perf_counter() - start)

    @property
    def questions(self) -> tuple[str, ...]:
        """What may be asked: labels, and the scores that a threshold is set on."""
        return "predict", "predict_proba" if hasattr(self.model, "predict_proba") else "decision_function"


def _says(question: str) -> Any:
    return available_if(lambda known: question in known.fits.questions)


class Known(ClassifierMixin, BaseEstimator):
    """A model whose rows are numbers, and whose answers are known by `fits`."""

    def __init__(self, fits: Fits) -> None:
        self.fits = fits

    def __sklearn_clone__(self) -> Known:
        return Known(self.fits)

    def fit(self, X: RowNumbers, y: Any = None) -> Known:
        self.said_ = self.fits.on(X[:, 0])
        self.classes_ = self.said_.classes
        return self

    def predict(self, X: RowNumbers) -> NDArray[Any]:
        return self.said_.about(X[:, 0], "predict")

    @_says("predict_proba")
    def predict_proba(self, X: RowNumbers) -> NDArray[Any]:
        return self.said_.about(X[:, 0], "predict_proba")

    @_says("decision_function")
    def decision_function(self, X: RowNumbers) -> NDArray[Any]:
        return self.said_.about(X[:, 0], "decision_function")


def fold_numbers(folds: list[tuple[RowNumbers, RowNumbers]], n: int) -> NDArray[np.intp] | None:
    """The fold that each row is left out in, or None where the splits are no such folds (or so few that nothing is left
    without two of them)."""
    fold_of = np.full(n, -1)
    for k, (train, test) in enumerate(folds):
        if len(train) + len(test) != n or np.any(fold_of[test] >= 0) or np.intersect1d(train, test).size:
            return None
        fold_of[test] = k
    return fold_of if len(folds) > 2 and np.all(fold_of >= 0) else None


def sharing(models: dict[str, Any], plain_of: dict[str, str], X: Any, y: Any, fold_of: Any) -> dict[str, Any]:
    """For every pair of `plain_of` (with our threshold: as it comes) the two as contenders that share their fits."""
    fits = {plain: Fits(models[plain], X, y, fold_of) for plain in plain_of.values()}
    return {plain: Known(one) for plain, one in fits.items()} | {
        name: clone(models[name]).set_params(estimator=Known(fits[plain])) for name, plain in plain_of.items()
    }


def on_folds(model: Any, fold_of: NDArray[np.intp]) -> Any:
    """The contender for rows of all folds but one: its threshold is set by each of these left out in turn."""
    return model.set_params(cv=PredefinedSplit(fold_of)) if isinstance(model, ThresholdClassifier) else model


def reused_by(model: Any) -> float:
    """Seconds that it would have taken alone, besides those that it took."""
    known = getattr(model, "estimator", model)
    return float(known.fits.reused) if isinstance(known, Known) else 0.0
