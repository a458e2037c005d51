"""The promise of a `ThresholdClassifier`: which rows make it, and which other rows fix the order of thresholds."""

from __future__ import annotations

from typing import Any

from ..statistics.frontier import Choice
from ..statistics.promises.counts import Scored
from ..statistics.promises.promise import Asked, Promise, keep
from ..statistics.promises.weighted import keep_weighted
from ._scored_rows import ScoredRows, Table, score_fitted
from ._splits import Splits
from ._users import Classifier


def refuse_refit(cv: Any) -> None:
    raise ValueError(
        "delta needs rows that the one fitted model has not seen: cv=0.3 holds out a share, cv='prefit' takes "
        f"a fitted model; got cv={cv!r}. Out-of-fold scores with a refit do not carry the promise"
    )


def promised(
    wrapper: Any, asked: Asked, scored: ScoredRows, model: Classifier, table: Table, splits: Splits
) -> tuple[Promise, Choice]:
    """The promise and its point."""
    rows = Scored(scored.scores, scored.is_positive, scored.slices, scored.weight)
    before = None if asked.only_floors and scored.weight is None else earlier(wrapper, asked, model, table, splits)
    if scored.weight is not None:
        return keep_weighted(rows, before, asked, wrapper.max_weight)
    prevalence = None if splits.prefit else float(table.labels.is_positive[splits.pairs[0][0]].mean())
    return keep(rows, before, asked, prevalence=prevalence)


def earlier(wrapper: Any, asked: Asked, model: Classifier, table: Table, splits: Splits) -> Scored | None:
    """The rows that were fitted on, where an order is needed."""
    needed = not asked.only_caps or table.weight is not None or (wrapper.per_group and asked.on_all)
    if splits.prefit or not needed:
        return None
    fitted = score_fitted(wrapper._inner(), model, table, splits.pairs[0][0], wrapper.response_method)
    return Scored(fitted.scores, fitted.is_positive, fitted.slices, fitted.weight)
