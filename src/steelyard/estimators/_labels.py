"""The fit of a `ThresholdClassifier` to several labels a row: y is an indicator matrix, and each label has a threshold.

Scores are those of rows that the model was not fitted on, as for one label; the search over thresholds is
`statistics.label_thresholds`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..measures.by_row import refuse_one_label
from ..measures.constraints import Constraint
from ..rows import refuse_masked
from ..statistics import frontier
from ..statistics.label_thresholds import LabelledRows, search
from ..statistics.offsets import Goal
from ._binary import check_weight
from ._border import as_before
from ._classes import forget
from ._left_out import scored_in_turn
from ._scored_rows import resolve_response
from ._splits import Splits, Stratum, read_cv
from ._users import Classifier, RowNumbers, part_of, parts_of
from ._wrapper import route_fit, show_features

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


def is_indicator(y: Any) -> bool:
    """Whether y has a column for each of two or more labels."""
    shape = getattr(y, "shape", None)
    if shape is None:
        shape = np.shape(y)
    return len(shape) == 2 and shape[1] > 1


def fit(
    wrapper: Any, X: Any, y: Any, sample_weight: Any, params: dict[str, Any], constraints: tuple[Constraint, ...]
) -> None:
    _refuse(wrapper)
    refuse_one_label(wrapper.measure)
    Y = _read(y)
    weight = check_weight(sample_weight, X)
    estimator = wrapper._inner()
    routed = route_fit(wrapper, "estimator", estimator, weight, params, only_for="the thresholds")
    splits = Splits(())
    if not isinstance(estimator, FrozenEstimator):
        split_params = dict(routed.splitter)
        groups = split_params.pop("groups", None)
        rows = Stratum(np.zeros(len(Y), dtype=np.int8), ("labelled",), groups, X, plain=True)
        splits = read_cv(wrapper.cv, rows, wrapper.random_state, split_params=split_params)
    model, scored = _scored(wrapper, estimator, X, Y, weight, routed.model, splits)
    method = resolve_response(model, wrapper.response_method)
    shrink = wrapper.rule != "exact" and not splits.prefit
    own = 0.5 if method == "predict_proba" else 0.0
    found = search(scored, Goal(wrapper.measure, constraints), own=own, shrink=shrink)
    with as_before(wrapper):
        forget(wrapper, "_positive", "frontier_", "best_threshold_", "best_thresholds_", "groups_", "offsets_")
        wrapper.classes_, wrapper.promise_ = np.arange(Y.shape[1]), None
        wrapper.estimator_, wrapper.label_thresholds_ = model, found.thresholds
        wrapper.best_score_ = found.value
        show_features(wrapper, model)


def _scored(
    wrapper: Any,
    estimator: Classifier,
    X: Any,
    Y: NDArray[Any],
    weight: Array | None,
    fit_params: dict[str, Any],
    splits: Splits,
) -> tuple[Classifier, LabelledRows]:
    """The final model, and the scores of rows that a model has not seen."""
    n, n_labels, respond = *Y.shape, wrapper.response_method
    if splits.prefit:
        check_is_fitted(estimator)
        return estimator, LabelledRows(label_scores(estimator, X, respond, n_labels), Y != 0, weight)

    def fit(model: Classifier, train: RowNumbers | None) -> Classifier:
        if train is None:
            return model.fit(X, Y, **fit_params)
        return model.fit(part_of(X, train), Y[train], **parts_of(fit_params, train, n))

    def score(model: Classifier, test: RowNumbers) -> Array:
        return label_scores(model, part_of(X, test), respond, n_labels)

    model, parts, tests = scored_in_turn(estimator, fit, score, splits, wrapper.n_jobs, wrapper.verbose)
    which = np.concatenate(tests)
    return model, LabelledRows(np.concatenate(parts), Y[which] != 0, None if weight is None else weight[which])


def label_scores(model: Classifier, X: Any, response_method: str, n_labels: int) -> Array:
    """A score for each label: a column of `decision_function`, or the probability that a row has the label.

    Models say probabilities as one matrix (one-vs-rest, neural networks), or as a list with a matrix for each label
    (trees, neighbours), which has one column only where all rows that were fitted on agree.
    """
    refuse_masked(X)
    method = resolve_response(model, response_method)
    out: Any = getattr(model, method)(X)
    if isinstance(out, list):
        known = [np.asarray(classes).tolist() for classes in model.classes_]
        columns = [
            np.asarray(part)[:, classes.index(1)] if 1 in classes else np.zeros(len(part))
            for part, classes in zip(out, known, strict=True)
        ]
        out = np.column_stack(columns)
    scores = np.asarray(out, dtype=np.float64)
    if scores.ndim != 2 or scores.shape[1] != n_labels:
        raise ValueError(
            f"{type(model).__name__}.{method} has shape {scores.shape} for {n_labels} labels: wrap the model in "
            "OneVsRestClassifier, which has a column for each"
        )
    frontier.check_scores(scores.ravel())
    return scores


def _read(y: Any) -> NDArray[Any]:
    Y = y.toarray() if sp.issparse(y) else np.asarray(y)
    if type_of_target(Y) != "multilabel-indicator":
        raise ValueError(
            f"y has {Y.shape[1]} columns: several labels a row are given as an indicator matrix of 0 and 1 "
            "(sklearn.preprocessing.MultiLabelBinarizer makes one)"
        )
    return Y.astype(np.int64)


def _refuse(wrapper: Any) -> None:
    given = {"per_group": wrapper.per_group, "delta": wrapper.delta, "pos_label": wrapper.pos_label}
    for name, value in given.items():
        if value not in (None, False):
            raise ValueError(f"{name}={value!r} is for one label a row; y is an indicator matrix of several")
