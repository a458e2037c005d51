"""Labelled rows in the partitions of a Dask collection, as `_measure_elsewhere` asks for them.

Everything that has a number a row stays in its partition; what comes here is one sample. Folds and samples go by the
rows' hashes (`elsewhere.part`), so that a partition which is computed again has the same ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distributed.journal import Journal
from ..distributed.rows import DaskRows
from ..distributed.table import Table
from ..elsewhere.part import Fold, joined
from ..solvers.linear import cost_sensitive
from ..solvers.search.models import CostModel, Labelled
from ..statistics.frontier import Choice, Frontier
from ..statistics.resampling import Goal
from ._binary import encode_labels
from ._measure_elsewhere import restored

Array = NDArray[np.float64]
FOLDS = 0x5EED  # the seed of the folds: they do not depend on random_state, as those of memory do not


@dataclass(frozen=True)
class DaskLabels:
    """Two classes, and which of them is positive."""

    classes: np.ndarray
    positive: Any


def labels_of(table: Table, pos_label: Any) -> DaskLabels:
    """The classes of all partitions; both have weight."""
    classes, _, positive = encode_labels(table.labels(), pos_label)
    if not all(table.of_label(label, "mass") > 0.0 for label in classes):
        raise ValueError("sample_weight leaves only one class with weight: a classifier needs rows of both classes")
    return DaskLabels(classes, positive)


def names_of(table: Table) -> Any:
    """The columns' names, as scikit-learn keeps them: where all are text."""
    names = table.names
    return np.array(names, dtype=object) if names and all(isinstance(name, str) for name in names) else None


def in_memory(table: Table) -> tuple[Any, Any, Any]:
    """X, y and weights here, for who has asked how many rows there are; with names as a frame."""
    X, y, weight = table.in_memory()
    names = names_of(table)
    if names is not None and not hasattr(X, "tocsr"):
        import pandas as pd

        X = pd.DataFrame(X, columns=list(names))
    return X, y, weight


class DaskTable:
    def __init__(self, X: Any, y: Any, sample_weight: Any, problem: str, checkpoint: Any = None) -> None:
        self.table, self.problem, self.checkpoint = Table(X, y, sample_weight), problem, checkpoint
        self.n_rows, self.n_features, self.names = self.table.n_rows, self.table.n_features, names_of(self.table)

    def in_memory(self) -> tuple[Any, Any, Any]:
        return in_memory(self.table)

    def labels(self, pos_label: Any) -> DaskLabels:
        self.found = labels_of(self.table, pos_label)
        return self.found

    def rows(self, fit_intercept: bool) -> RowsInPartitions:
        rows = self.table.signed(self.found.positive, self.table.typical_norm() if fit_intercept else 0.0)
        if self.checkpoint is not None:
            rows.rounds.journal = Journal(self.checkpoint, self.problem + self.table.whose())
        return RowsInPartitions(rows)


@dataclass(eq=False)
class RowsInPartitions:
    """All partitions; once a sample was drawn the fits make do with its rows that are not left out."""

    rows: DaskRows

    @property
    def constant(self) -> float:
        return self.rows.constant

    def draw(self, wanted: Callable[[float], int], seed: int, every: int) -> Labelled:
        negative, positive = self.rows.counts
        shares = wanted(negative) / negative, wanted(positive) / positive
        seen, left_out = (self.rows.of(Fold(every, FOLDS, out)).drawn(shares, seed) for out in (True, False))
        some, self.rows = joined([seen, left_out]), replace(self.rows, here=seen)
        signs, thinning = some.y.astype(np.float64), self.rows.n_rows / some.n
        stands_for = [count / np.count_nonzero(signs == side) for count, side in ((negative, -1.0), (positive, 1.0))]
        counts = restored(np.where(signs > 0, stands_for[1], stands_for[0]) / thinning)
        mass = counts if some.weight is None else counts * some.weight
        return Labelled(some.rows, signs, None if (mass == 1.0).all() else mass, thinning)

    def solve(self, model: CostModel, tol: float, every: int | None, start: Array | None = None) -> Any:
        rows = self.rows if every is None else self.rows.of(Fold(every, FOLDS, out=True))
        return cost_sensitive.solve(rows, (), model.c_pos, model.c_neg, model.C, tol, model.loss, start=start)

    def best_left_out(self, w: Array, every: int, goal: Goal) -> tuple[Choice, Frontier]:
        search = self.rows.of(Fold(every, FOLDS)).thresholds(w)
        return search.best(goal.measure, goal.constraints), search.coarse

    def share_called(self, w: Array, threshold: float, every: int) -> float:
        return self.rows.of(Fold(every, FOLDS, out=True)).share_called(w, threshold)

    def quantile(self, w: Array, share: float) -> float:
        return self.rows.thresholds(w).quantile(share)
