"""A threshold for each group of rows: chosen at `fit`, and looked up at `predict` by the groups given there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..measures import Measure
from ..measures.constraints import Constraint
from ..statistics import group_thresholds
from ..statistics.group_thresholds import GroupChoice
from ..statistics.promises.by_group import keep_by_group
from ..statistics.promises.counts import Scored
from ..statistics.promises.promise import Asked, Promise
from ._scored_rows import ScoredRows

Array = NDArray[np.float64]


def choose(
    scored: ScoredRows,
    before: Scored | None,
    asked: Asked | None,
    measure: Measure,
    constraints: tuple[Constraint, ...],
) -> tuple[Promise | None, GroupChoice]:
    """The best thresholds of the scored rows, or with a promise those that keep it."""
    if scored.slices is None:
        raise ValueError("per_group=True sets a threshold for each group: give the group of each row, slices=...")
    if scored.weight is not None:
        raise ValueError("a threshold for each group is for unweighted rows; drop sample_weight")
    rows = Scored(scored.scores, scored.is_positive, scored.slices)
    if asked is not None:
        return keep_by_group(rows, before, asked)
    return None, group_thresholds.choose(rows, measure, constraints)


def thresholds_of(model: Any, slices: Any, n_rows: int) -> Any:
    """The threshold of each row: one for all, or that of its group."""
    groups = getattr(model, "groups_", None)
    if groups is None:
        if slices is not None:
            raise ValueError(
                "this model has one threshold for all groups, so slices has no say; per_group=True has more"
            )
        return model.best_threshold_
    if slices is None:
        raise ValueError("this model has a threshold for each group: give the group of each row, slices=...")
    names: NDArray[Any] = column_or_1d(np.asarray(slices))
    check_consistent_length(names, np.empty(n_rows))
    found, which = np.unique(names, return_inverse=True)
    known = dict(zip(groups.tolist(), model.best_thresholds_.tolist(), strict=True))
    unknown = [name for name in found.tolist() if name not in known]
    if unknown:
        raise ValueError(f"slices has groups that the model has no threshold for: {unknown}; it has {list(known)}")
    return np.array([known[name] for name in found.tolist()])[which]
