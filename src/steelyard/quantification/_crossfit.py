"""Models and the rows that judge them: which model scores which labelled rows, and how a batch is scored the same way.

The adjustment of a count rests on scores of labelled rows that the model has not seen, and on the batch being scored as
those rows were. A model fitted on all rows is not the one that scored the folds; on few rows it separates them better,
and the adjustment is then biased. So the fold models themselves are kept, and each scores the batch: a batch's scores,
pooled over the models, are then distributed exactly as the pooled out-of-fold scores are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier
from sklearn.utils import get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from ..estimators._border import check_form
from ..estimators._progress import Steps
from ..estimators._splits import Splits
from ..estimators._users import Classifier, RowNumbers, part_of, parts_of

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# Probabilities of 0 and 1, which forests give, as log-odds of +-14: for a forest of 50 trees 1e-3 to 1e-12 move an
# estimate by 0.0007, a thirtieth of its interval.
CLIP = 1e-6


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The data of one fit: X as it came, labels as codes of the classes too, weights, and what goes to the models."""

    X: Any
    y: NDArray[Any]
    codes: Codes
    classes: NDArray[Any]
    weight: Array | None
    fit_params: dict[str, Any]


@dataclass(frozen=True, eq=False)
class ScoredBatch:
    """Rows as the models see them: the class each model calls (models, n), and scores (models, n, d)."""

    called: Codes
    scores: Array

    def part(self, rows: RowNumbers) -> ScoredBatch:
        return ScoredBatch(self.called[:, rows], self.scores[:, rows])


@dataclass(frozen=True, eq=False)
class ScaledClassifier:
    """A fitted classifier, with its scores on one scale: models that chose their own C have margins of any size."""

    classifier: Classifier
    classes: NDArray[Any]
    centre: Array
    scale: Array

    @classmethod
    def of(cls, classifier: Classifier, classes: NDArray[Any], X: Any) -> ScaledClassifier:
        scores = _responses(classifier, X, classes)[1]
        centre, scale = scores.mean(axis=0), scores.std(axis=0)
        if len(classes) > 2:  # one for all, so that scores of the classes keep their proportions
            centre, scale = np.full_like(centre, centre.mean()), np.full_like(scale, np.sqrt((scale**2).mean()))
        # A model that gives one score to all rows keeps it: 1e-12 is below the rounding of any score that varies.
        return cls(classifier, classes, centre, np.maximum(scale, 1e-12))

    def responses(self, X: Any) -> tuple[Codes, Array]:
        called, scores = _responses(self.classifier, X, self.classes)
        return called, (scores - self.centre) / self.scale


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Fitted models, and the labelled rows that they were not fitted on; `y` holds codes of the classes."""

    models: tuple[ScaledClassifier, ...]
    scores: Array
    called: Codes
    y: Codes
    weight: Array | None

    def score(self, X: Any) -> ScoredBatch:
        parts = [model.responses(X) for model in self.models]
        return ScoredBatch(np.stack([called for called, _ in parts]), np.stack([scores for _, scores in parts]))


def cross_fit(
    classifier: Classifier, rows: LabelledRows, splits: Splits, n_jobs: int | None = None, verbose: int = 0
) -> CrossFit:
    """Fit one model to each split, so many at once, or take the fitted one for "prefit"."""
    if splits.prefit:
        check_is_fitted(classifier)
        model = ScaledClassifier.of(classifier, rows.classes, rows.X)
        called, scores = model.responses(rows.X)
        return CrossFit((model,), scores, called, rows.codes, rows.weight)
    if len(rows.classes) > 2 and not get_tags(classifier).classifier_tags.multi_class:
        classifier = OneVsRestClassifier(classifier)
    pairs = [(train, test) for train, test in splits.pairs if len(test)]
    jobs = (delayed(_fitted)(clone(classifier), rows, train) for train, _ in pairs)
    made, name = [], type(classifier).__name__
    how = {"return_as": "generator"} if verbose else {}  # as they come, for who watches
    with Steps(verbose, total=len(pairs)) as steps:
        for model in Parallel(n_jobs=n_jobs, **how)(jobs):
            made.append(model)
            steps.step(f"{name} without part {len(made)} of {len(pairs)}")
    models = tuple(made)
    judged = [model.responses(part_of(rows.X, test)) for model, (_, test) in zip(models, pairs, strict=True)]
    left_out = np.concatenate([test for _, test in pairs])
    called, scores = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    weight = None if rows.weight is None else rows.weight[left_out]
    return CrossFit(models, scores, called, rows.codes[left_out], weight)


def _fitted(classifier: Classifier, rows: LabelledRows, train: RowNumbers) -> ScaledClassifier:
    """Its copy of the rows is gone when the next model is fitted."""
    part = part_of(rows.X, train)
    params = parts_of(rows.fit_params, train, len(rows.y))
    return ScaledClassifier.of(classifier.fit(part, rows.y[train], **params), rows.classes, part)


def _responses(model: Classifier, X: Any, classes: NDArray[Any]) -> tuple[Codes, Array]:
    """Codes of the classes called (n,), and scores (n, 1) of the second of two classes or (n, K)."""
    check_form(X)
    if not hasattr(model, "classes_"):
        raise TypeError(f"{type(model).__name__} has no classes_ after fit: a classifier is needed")
    known = np.asarray(model.classes_)
    if not np.array_equal(known, classes):
        raise ValueError(f"the classifier knows the classes {known.tolist()}, the rows {classes.tolist()}")
    called = np.searchsorted(classes, model.predict(X))
    # Margins before probabilities: they are not rounded to 0 and 1. For logistic regression both say the same.
    if hasattr(model, "decision_function"):
        scores: Array = np.asarray(model.decision_function(X), dtype=np.float64)
        return called, scores.reshape(len(called), -1)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba: no scores to count by"
        )
    proba = np.clip(np.asarray(model.predict_proba(X), dtype=np.float64), CLIP, 1.0 - CLIP)
    return called, (np.log(proba[:, 1:] / proba[:, :1]) if len(classes) == 2 else np.log(proba))
