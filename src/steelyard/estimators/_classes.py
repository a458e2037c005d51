"""The fit of a `ThresholdClassifier` to several classes: an offset for each, in place of the one threshold.

Which rows are scored by which model, and the choice, are in `_offsets`; a promise about single classes is made by
`statistics.promises.by_class`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from ..measures.by_row import nodes_by_row
from ..measures.constraints import Constraint
from ..statistics.offsets import Goal
from ..statistics.promises.by_class import keep_classes
from ..statistics.promises.promise import Asked, asked_of
from ._binary import check_weight
from ._border import as_before
from ._offsets import ClassLabels, ClassTable, check_scored, choose, score_classes, score_fitted_classes
from ._promised import refuse_refit
from ._splits import Splits, Stratum, read_cv
from ._users import Classifier
from ._wrapper import route_fit, show_features


def fit(
    wrapper: Any, X: Any, y: Any, sample_weight: Any, params: dict[str, Any], constraints: tuple[Constraint, ...]
) -> None:
    _refuse(wrapper)
    for part in (wrapper.measure, *(constraint.body for constraint in constraints)):
        for node in nodes_by_row(part):
            raise ValueError(f"{node!r} is a mean over rows of several labels each; y has one label a row")
    labels = ClassLabels.of(y)
    weight = check_weight(sample_weight, X)
    estimator = wrapper._inner()
    routed = route_fit(wrapper, "estimator", estimator, weight, params, only_for="the offsets")
    asked = asked_of(constraints, wrapper.measure, wrapper.delta, weight)
    splits = _splits(wrapper, estimator, X, labels, dict(routed.splitter), asked)
    table = ClassTable(X, np.asarray(y).ravel(), labels, weight, routed.model)
    model, scored = score_classes(estimator, table, splits, wrapper.n_jobs, wrapper.response_method, wrapper.verbose)
    promise = None
    if asked is None:
        rule = wrapper.rule if wrapper.rule != "auto" else "exact" if splits.prefit else "shrunk"
        choice = choose(scored, Goal(wrapper.measure, constraints), rule)
    else:
        check_scored(scored)
        before = None
        if not splits.prefit:
            before = score_fitted_classes(estimator, model, table, splits.pairs[0][0], wrapper.response_method)
        promise, choice = keep_classes(scored, before, asked)
    with as_before(wrapper):
        forget(wrapper, "_positive", "frontier_", "best_threshold_", "best_thresholds_", "groups_", "label_thresholds_")
        wrapper.classes_, wrapper.promise_ = labels.classes, promise
        wrapper.estimator_, wrapper.offsets_, wrapper.best_score_ = model, choice.offsets, choice.value
        show_features(wrapper, model)


def _splits(
    wrapper: Any, estimator: Classifier, X: Any, labels: ClassLabels, params: dict[str, Any], asked: Asked | None
) -> Splits:
    if isinstance(estimator, FrozenEstimator):
        return Splits(())
    # A test on the rows of one class conditions on their number, and others need a plain sample.
    of_class = asked is None or all(
        question.payments is not None and question.payments.side == "positive"
        for question in asked.goal(labels.classes.tolist()).questions
    )
    rows = Stratum(labels.codes, labels.classes.tolist(), params.pop("groups", None), X, plain=not of_class)
    splits = read_cv(wrapper.cv, rows, wrapper.random_state, split_params=params)
    if asked is not None and splits.refits:
        refuse_refit(wrapper.cv)
    return splits


def _refuse(wrapper: Any) -> None:
    if wrapper.per_group:
        raise ValueError(f"per_group sets thresholds for two classes; {wrapper.measure!r} is about several")
    if wrapper.max_weight is not None:
        raise ValueError("max_weight is for promises on two classes; with several they are for unweighted rows")
    if wrapper.delta is not None and wrapper.rule not in ("auto", "exact"):
        raise ValueError(f"delta sets the offsets otherwise; rule={wrapper.rule!r} has no say in it")
    if wrapper.pos_label is not None:
        raise ValueError(
            f"pos_label={wrapper.pos_label!r} names one of two classes, and {wrapper.measure!r} is about several: of("
            f"{wrapper.pos_label!r}, measure) is a measure of that class"
        )


def forget(model: Any, *attributes: str) -> None:
    """What a fit to another number of classes may have left."""
    for name in attributes:
        model.__dict__.pop(name, None)
