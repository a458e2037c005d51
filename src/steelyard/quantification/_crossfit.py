"""Models and the rows that judge them: which model scores which labelled rows, and how a batch is scored the same way.

The adjustment of a count rests on scores of labelled rows that the model has not seen, and on the batch being scored as
those rows were. A model fitted on all rows is not the one that scored the folds; on few rows it separates them better,
and the adjustment is then biased. So the fold models themselves are kept, and each scores the batch: a batch's scores,
pooled over the models, are then distributed exactly as the pooled out-of-fold scores are.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted

CLIP = 1e-6  # probabilities of 0 and 1, which forests give, as log-odds


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows as the models see them: the class each model calls (models, n), and scores (models, n, d)."""

    called: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted classifier, with its scores on one scale: models that chose their own C have margins of any size."""

    classifier: Any
    classes: np.ndarray
    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, classifier: Any, classes: np.ndarray, X: Any) -> Model:
        scores = _responses(classifier, X, classes)[1]
        return cls(classifier, classes, scores.mean(axis=0), np.maximum(scores.std(axis=0), 1e-12))

    def responses(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        called, scores = _responses(self.classifier, X, self.classes)
        return called, (scores - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Fitted models, and the labelled rows that they were not fitted on; `y` holds codes of the classes."""

    models: tuple[Model, ...]
    classes: np.ndarray
    scores: np.ndarray
    called: np.ndarray
    y: np.ndarray

    def score(self, X: Any) -> Scored:
        parts = [model.responses(X) for model in self.models]
        return Scored(np.stack([called for called, _ in parts]), np.stack([scores for _, scores in parts]))


def cross_fit(classifier: Any, X: Any, y: np.ndarray, classes: np.ndarray, cv: Any, random_state: Any) -> CrossFit:
    """Fit one model to each split of `cv`, or take the fitted one for "prefit"."""
    codes = np.searchsorted(classes, y)
    if isinstance(cv, str):
        if cv != "prefit":
            raise ValueError(f"cv is a number of folds, a held-out share, a splitter or 'prefit'; got {cv!r}")
        check_is_fitted(classifier)
        model = Model.of(classifier, classes, X)
        called, scores = model.responses(X)
        return CrossFit((model,), classes, scores, called, codes)
    if len(classes) > 2 and not get_tags(classifier).classifier_tags.multi_class:
        classifier = OneVsRestClassifier(classifier)
    models, judged = [], []
    for k, (train, test) in enumerate(_splits(cv, X, codes, classes, random_state), start=1):
        missing = sorted(set(range(len(classes))) - set(codes[train].tolist()))
        if missing:
            label = classes.tolist()[missing[0]]
            raise ValueError(
                f"fold {k} has no row of class {label!r} to fit on; use a stratified splitter or fewer folds"
            )
        rows = _safe_indexing(X, train)
        models.append(Model.of(clone(classifier).fit(rows, y[train]), classes, rows))
        judged.append((*models[-1].responses(_safe_indexing(X, test)), codes[test]))
    called, scores, truth = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    return CrossFit(tuple(models), classes, scores, called, truth)


def _splits(cv: Any, X: Any, codes: np.ndarray, classes: np.ndarray, random_state: Any) -> Iterable[Any]:
    if hasattr(cv, "split"):
        return list(cv.split(np.zeros(len(codes)), codes))
    if isinstance(cv, numbers.Real) and not isinstance(cv, bool):
        counts = np.bincount(codes)
        fewest, rarest = int(counts.min()), classes.tolist()[int(counts.argmin())]
        if fewest < 2:
            raise ValueError(
                f"there is one row of class {rarest!r}: nothing is left to judge the model by once it is fitted on it"
            )
        if isinstance(cv, numbers.Integral) and cv >= 2:
            if fewest < cv:
                warnings.warn(
                    f"there are {fewest} rows of class {rarest!r}, so {fewest} folds are used, not {cv}", stacklevel=4
                )
            folds = StratifiedKFold(min(int(cv), fewest), shuffle=True, random_state=random_state)
            return folds.split(np.zeros(len(codes)), codes)
        if 0.0 < cv < 1.0:
            held, k = int(np.ceil(float(cv) * len(codes))), len(counts)
            if min(held, len(codes) - held) < k:
                raise ValueError(
                    f"cv={cv!r} of {len(codes)} rows holds out {held} and fits on {len(codes) - held}: both parts need "
                    f"a row of each of the {k} classes"
                )
            share = StratifiedShuffleSplit(1, test_size=float(cv), random_state=random_state)
            return share.split(np.zeros(len(codes)), codes)
    elif hasattr(cv, "__iter__"):
        return list(cv)
    raise ValueError(f"cv is two or more folds, a held-out share in (0, 1), a splitter or 'prefit'; got {cv!r}")


def _responses(model: Any, X: Any, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the classes called (n,), and scores (n, 1) of the second of two classes or (n, K)."""
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_ after fit: a classifier is needed")
    known = np.asarray(model.classes_)
    if not np.array_equal(known, classes):
        raise ValueError(f"the classifier knows the classes {known.tolist()}, the rows {classes.tolist()}")
    called = np.searchsorted(classes, model.predict(X))
    # Margins before probabilities: they are not rounded to 0 and 1. For logistic regression both say the same.
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        return called, scores.reshape(len(called), -1)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba: no scores to count by"
        )
    proba = np.clip(np.asarray(model.predict_proba(X), dtype=np.float64), CLIP, 1.0 - CLIP)
    return called, (np.log(proba[:, 1:] / proba[:, :1]) if len(classes) == 2 else np.log(proba))
