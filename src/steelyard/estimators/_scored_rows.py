"""Scores of rows that the model was not fitted on: out-of-fold, from a held-out share, or from a fitted model.

Given a classifier and rows, each function returns scores with labels and weights, ready for the search over
thresholds. A score is larger for rows more likely positive, whichever label that is. X is never looked into: it is
indexed by rows and handed to the estimator.
"""

from __future__ import annotations

import numbers
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted


@dataclass(frozen=True)
class Rows:
    """The data of one fit, and the parameters that go along with it."""

    X: Any
    y: np.ndarray
    is_positive: np.ndarray
    weight: np.ndarray | None
    fit_params: dict[str, Any]
    split_params: dict[str, Any]


@dataclass(frozen=True)
class ScoredRows:
    scores: np.ndarray
    is_positive: np.ndarray
    weight: np.ndarray | None


def check_cv(cv: Any, is_positive: np.ndarray) -> Any:
    """A splitter, a share in (0, 1) as a float, or "prefit"."""
    if isinstance(cv, str):
        if cv != "prefit":
            raise ValueError(f"cv is a number of folds, a held-out share, a splitter or 'prefit'; got {cv!r}")
        return cv
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        return _folds(int(cv), is_positive)
    if isinstance(cv, numbers.Real) and not isinstance(cv, bool):
        if not 0.0 < cv < 1.0:
            raise ValueError(f"a held-out share lies strictly between 0 and 1; got cv={cv!r}")
        return float(cv)
    if hasattr(cv, "split"):
        return cv
    if hasattr(cv, "__iter__"):
        return list(cv)
    raise ValueError(f"cv is a number of folds, a held-out share, a splitter or 'prefit'; got {cv!r}")


def _folds(k: int, is_positive: np.ndarray) -> StratifiedKFold:
    if k < 2:
        raise ValueError(f"cv={k} leaves nothing to score: use at least 2 folds, or a held-out share such as cv=0.3")
    positives = int(np.count_nonzero(is_positive))
    fewest, kind = min((positives, "positive"), (len(is_positive) - positives, "negative"))
    if fewest < 2:
        raise ValueError(f"there is only one {kind} row: nothing is left to score once it is used for fitting")
    if fewest < k:
        warnings.warn(f"there are {fewest} {kind} rows, so {fewest} folds are used instead of {k}", stacklevel=4)
    return StratifiedKFold(min(k, fewest))


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


def positive_scores(estimator: Any, X: Any, response_method: str, positive: Any) -> np.ndarray:
    """One score a row, larger for the positive class."""
    method = resolve_response(estimator, response_method)
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) != 2 or positive not in classes:
        raise ValueError(f"the model knows the classes {classes}; the positive label here is {positive!r}")
    out = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    if out.ndim == 2:
        return out[:, classes.index(positive)]
    return out if classes[1] == positive else -out


def score_prefit(estimator: Any, rows: Rows, response_method: str, positive: Any) -> ScoredRows:
    check_is_fitted(estimator)
    if rows.fit_params.keys() - {"sample_weight"}:
        raise ValueError(f"a fitted model is not fitted again, so {sorted(rows.fit_params)} have nowhere to go")
    unknown = set(np.unique(rows.y).tolist()) - set(np.asarray(estimator.classes_).tolist())
    if unknown:
        raise ValueError(f"y has labels {sorted(unknown)} that the fitted model does not know: {estimator.classes_}")
    return ScoredRows(positive_scores(estimator, rows.X, response_method, positive), rows.is_positive, rows.weight)


def score_heldout(
    estimator: Any, rows: Rows, share: float, random_state: Any, response_method: str, positive: Any
) -> tuple[Any, ScoredRows]:
    """The model fitted on the rest, and the scores of the share."""
    if rows.split_params:
        raise ValueError("groups need a splitter that keeps them together, such as GroupKFold; a share does not")
    splitter = StratifiedShuffleSplit(1, test_size=share, random_state=random_state)
    train, test = next(splitter.split(np.zeros(len(rows.y)), rows.is_positive))
    _fit(estimator, rows, train)
    return estimator, _scored(estimator, rows, test, response_method, positive)


def score_out_of_fold(
    estimator: Any, rows: Rows, cv: Any, n_jobs: int | None, response_method: str, positive: Any
) -> ScoredRows:
    """The scores of every test fold, pooled; a row that is tested twice counts twice."""
    splits = list(cv.split(rows.X, rows.is_positive, **rows.split_params)) if hasattr(cv, "split") else cv
    if not splits:
        raise ValueError(f"{cv!r} made no folds")

    def one(k: int, train: np.ndarray, test: np.ndarray) -> ScoredRows:
        for name, part in (("fit", train), ("score", test)):
            if len(part) == 0:
                raise ValueError(
                    f"fold {k} of {len(splits)} has no rows to {name}; check the splitter or use fewer folds"
                )
        if rows.is_positive[train].all() or not rows.is_positive[train].any():
            raise ValueError(
                f"fold {k} of {len(splits)} trains on one class only, {rows.y[train].tolist()[0]!r}; "
                "use a stratified splitter"
            )
        model = clone(estimator)
        _fit(model, rows, train)
        return _scored(model, rows, test, response_method, positive)

    parts = Parallel(n_jobs=n_jobs)(delayed(one)(k, train, test) for k, (train, test) in enumerate(splits, start=1))
    weight = None if rows.weight is None else np.concatenate([part.weight for part in parts])
    scores, is_positive = (np.concatenate([getattr(p, name) for p in parts]) for name in ("scores", "is_positive"))
    return ScoredRows(scores, is_positive, weight)


def _fit(model: Any, rows: Rows, train: np.ndarray) -> None:
    params = _check_method_params(rows.X, rows.fit_params, indices=train)
    model.fit(_safe_indexing(rows.X, train), rows.y[train], **params)


def _scored(model: Any, rows: Rows, test: np.ndarray, response_method: str, positive: Any) -> ScoredRows:
    scores = positive_scores(model, _safe_indexing(rows.X, test), response_method, positive)
    return ScoredRows(scores, rows.is_positive[test], None if rows.weight is None else rows.weight[test])
