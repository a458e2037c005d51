"""`ThresholdClassifier` of a fitted model on the partitions of a Dask collection.

Every partition is scored by the model where it is, and the scores stay there; the exact best threshold is found by bins
of them that are made finer (`statistics.bins`). A promise (`delta`) is made in memory, by the scores of up to
`HOST_ROWS` rows. The model validates X itself, so pipelines take frames of whatever columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ..distributed import thresholds
from ..distributed.table import How, Table
from ..distributed.thresholds import Scored as ScoredPart
from ..measures.constraints import Constraint
from ..statistics import frontier
from ..statistics.promises.counts import Scored
from ..statistics.promises.promise import asked_of, keep
from ._border import as_before
from ._dask_table import labels_of
from ._on_tensors import HOST_ROWS
from ._scored_rows import positive_scores
from ._wrapper import show_features


def fit(wrapper: Any, X: Any, y: Any, sample_weight: Any, constraints: tuple[Constraint, ...]) -> None:
    """Sets the threshold of a model that is fitted."""
    model = wrapper._inner()
    prefit = isinstance(model, FrozenEstimator) or (isinstance(wrapper.cv, str) and wrapper.cv == "prefit")
    if not prefit:
        raise ValueError(
            "on a Dask collection the model comes fitted: cv='prefit', or FrozenEstimator(model); MeasureClassifier "
            f"trains on one. Got cv={wrapper.cv!r}"
        )
    if wrapper.measure.is_lifted:
        raise ValueError(f"{wrapper.measure!r} is about several classes; on Dask collections there are two")
    if wrapper.rule not in ("auto", "exact"):
        raise ValueError(f"rule={wrapper.rule!r} reads the scores in memory; on a Dask collection it is 'exact'")
    check_is_fitted(model)
    table = Table(X, y, sample_weight, numbers=False)
    labels = labels_of(table, wrapper.pos_label)
    unknown = set(labels.classes.tolist()) - set(np.asarray(model.classes_).tolist())
    if unknown:
        raise ValueError(f"y has labels {sorted(unknown)} that the fitted model does not know: {model.classes_}")
    asked = asked_of(constraints, wrapper.measure, wrapper.delta, sample_weight)
    if asked is not None and table.n_rows > HOST_ROWS:
        raise ValueError(f"delta promises by up to {HOST_ROWS} rows; got {table.n_rows}: give a part of them")
    rounds = table.each(_scored, model, wrapper.response_method, labels.positive, persist=True)
    promise = None
    if asked is None:
        search = thresholds.search(
            lambda function, *given, **how: rounds.ask(function, None, *given, **how), len(rounds.parts)
        )
        choice, found = search.best(wrapper.measure, constraints), search.coarse
    else:
        scores, is_positive = (np.concatenate(part) for part in zip(*rounds.ask(_here), strict=True))
        found = frontier.scan(scores, is_positive)
        promise, choice = keep(Scored(scores, is_positive, None), None, asked)
    with as_before(wrapper):
        wrapper.__dict__.pop("offsets_", None)
        wrapper._take_labels(labels)
        wrapper.promise_, wrapper.estimator_, wrapper.frontier_ = promise, model, found
        wrapper.best_threshold_, wrapper.best_score_ = choice.threshold, choice.value
        show_features(wrapper, model)


def _scored(
    number: int, X: Any, y: Any, weight: Any, how: How, model: Any, response_method: str, positive: Any
) -> ScoredPart:
    scores = positive_scores(model, X, response_method, positive)
    try:
        frontier.check_scores(scores)
    except ValueError as error:
        raise ValueError(f"partition {number}: {error}") from error
    return ScoredPart(scores, np.asarray(y).ravel() == positive, None if weight is None else np.asarray(weight))


def _here(part: ScoredPart) -> list[tuple[Any, Any]]:
    return [(part.scores, part.is_positive)]
