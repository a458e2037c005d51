"""`MeasureClassifier` on rows elsewhere: in a tensor, or in the partitions of a Dask collection.

Up to `HOST_ROWS` rows the fit is the one in memory. Beyond, the search for loss, costs and C runs in memory on a sample
of so many rows of the same shares of the classes (with C in proportion, so that it means the same on all rows), since
which model is best is known long before its last digits; and then, where the rows are:

    the chosen model on all rows but one fold, the exact threshold on those,
    the chosen model on all rows, certified, and the threshold at which it calls the same share of them.

With a held-out share (``cv=0.2``) the first of the two models is the final one. What a table has to answer is `Rows`
below; `_tensor_table` and `_dask_table` do.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..elsewhere import is_dask
from ..solvers.search.exploration import Sample
from ..solvers.search.models import CostModel, Labelled
from ..solvers.search.work import FINAL, State, Work
from ..statistics.frontier import Choice, Frontier
from ..statistics.resampling import Goal
from ._border import as_before
from ._on_tensors import HOST_ROWS
from ._progress import watching

Array = NDArray[np.float64]
OF_A_CLASS = 1 << 14  # rows of each class in the sample, if there are so many: half of those that Newton takes of it


class RowsElsewhere(Protocol):
    """Labelled rows that are not here. `every` says which fold is meant: one row of so many is left out."""

    @property
    def constant(self) -> float: ...
    def draw(self, wanted: Callable[[float], int], seed: int, every: int) -> Labelled:
        """A sample in memory, `wanted` of so many rows of a class, with weights that restore the shares. (`every` is
        for who uses it further: fits without a fold may not know its rows.)"""
        ...

    def solve(self, model: CostModel, tol: float, every: int | None, start: Array | None = None) -> Any:
        """The model on all rows, or on those that are not left out; from a row `start` near it, if there is one."""
        ...

    def best_left_out(self, w: Array, every: int, goal: Goal) -> tuple[Choice, Frontier]: ...
    def share_called(self, w: Array, threshold: float, every: int) -> float:
        """Of the rows that were not left out."""
        ...

    def quantile(self, w: Array, share: float) -> float: ...


class TableElsewhere(Protocol):
    n_rows: int
    n_features: int
    names: Any

    def in_memory(self) -> tuple[Any, Any, Any]: ...
    def labels(self, pos_label: Any) -> Any: ...
    def rows(self, fit_intercept: bool) -> RowsElsewhere: ...


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any, goal: Goal, checkpoint: Any = None) -> Any:
    """The estimator, fitted on rows elsewhere."""
    table = _table(X, y, sample_weight, estimator, checkpoint)
    if table.n_rows <= HOST_ROWS:
        return estimator.fit(*table.in_memory())
    if estimator.delta is not None:
        raise ValueError(
            f"delta is for up to {HOST_ROWS} rows of a tensor or a Dask collection; beyond, fit without it and promise "
            "by ThresholdClassifier(FrozenEstimator(model), ..., delta=...) on rows left out"
        )
    with as_before(estimator), watching(estimator.verbose, type(estimator).__name__, State.told) as watch:
        _every(estimator.cv)
        labels = table.labels(estimator.pos_label)
        estimator.n_features_in_ = table.n_features
        estimator.__dict__.pop("feature_names_in_", None)
        if table.names is not None:
            estimator.feature_names_in_ = table.names
        rows = table.rows(estimator.fit_intercept)
        work = None if watch is None else Work(watch, after=2.0 * FINAL * table.n_rows)
        model = _search(estimator, rows, table.n_rows, goal, work)
        estimator._take_labels(labels)
        _refit(estimator, model, rows, table.n_rows, goal, work)
    estimator._say(model, "on rows left out")
    return estimator


def _table(X: Any, y: Any, sample_weight: Any, estimator: Any, checkpoint: Any) -> TableElsewhere:
    if is_dask(X):
        from ._dask_table import DaskTable

        return DaskTable(X, y, sample_weight, repr(estimator), checkpoint)
    if checkpoint is not None:
        raise ValueError("checkpoint is for fits on Dask collections, whose rounds it keeps; X is none")
    from ._tensor_table import TensorTable

    return TensorTable(X, y, sample_weight)


# -- which model ------------------------------------------------------------------------------------------------------
def _search(estimator: Any, rows: RowsElsewhere, n_rows: int, goal: Goal, work: Work | None) -> CostModel:
    """The model that wins on a sample in memory. (The stream's learner goes from row to row, so it does not run.)"""
    seed = estimator.random_state if isinstance(estimator.random_state, numbers.Integral) else 0

    def wanted(of_class: float) -> int:
        return int(min(of_class, max(OF_A_CLASS, HOST_ROWS * of_class // n_rows)))

    data = rows.draw(wanted, int(seed), _every(estimator.cv)[0])
    found = estimator._search(Sample(data, estimator._splits(data.y > 0, None).pairs), goal, work)
    if isinstance(found.chosen.model, CostModel):
        return found.chosen.model
    ranked = found.exploration.short_list(len(found.exploration.candidates))
    costly = [model for model in ranked if isinstance(model, CostModel)]
    chosen: CostModel = found.exploration.choose(costly[:1]).model
    return chosen


# -- the model on all rows --------------------------------------------------------------------------------------------
def _refit(estimator: Any, model: CostModel, rows: RowsElsewhere, n_rows: int, goal: Goal, work: Work | None) -> None:
    """The second fit begins at the first: on so many rows they are nearly the same, and a pass over all of them
    certifies it. (The first does not begin at what the search has found, which has seen rows that are left out.)"""
    every, keeps = _every(estimator.cv)
    first = rows.solve(model, estimator.tol, every)
    best, points = rows.best_left_out(first.w, every, goal)
    final, threshold = first, best.threshold
    if work is not None:
        work.did(FINAL * n_rows, f"{model} without a fold of the rows", (best.value, model))
    if not keeps:
        final = rows.solve(model, estimator.tol, None, first.w[None])
        share = rows.share_called(first.w, best.threshold, every)
        if 0.0 < share < 1.0:
            threshold = rows.quantile(final.w, 1.0 - share)
    offset = rows.constant * final.w[-1] if estimator.fit_intercept else 0.0
    estimator.C_, estimator.loss_, estimator.costs_ = model.C, model.loss, (model.c_pos, model.c_neg)
    estimator.gap_, estimator.n_iter_, estimator.best_score_ = final.gap, max(1, final.n_iter), best.value
    estimator.frontier_, estimator.promise_ = points, None
    estimator._set_model(final.w[: estimator.n_features_in_], offset - threshold)


def _every(cv: Any) -> tuple[int, bool]:
    """Each which row is left out, and whether the model fitted on the others is kept."""
    if isinstance(cv, numbers.Integral) and int(cv) >= 2:
        return int(cv), False
    if isinstance(cv, numbers.Real) and 0.0 < float(cv) < 1.0:
        return max(2, round(1.0 / float(cv))), True
    raise ValueError(
        f"on a tensor or a Dask collection of more than {HOST_ROWS} rows cv is a number of folds or a held-out share; "
        f"got {cv!r}"
    )


def restored(counts: Array) -> Array:
    """For how many rows each row of a sample stands, relative to their mean; ones where that is all but the same."""
    return np.ones(len(counts)) if np.ptp(counts) < 0.05 else counts
