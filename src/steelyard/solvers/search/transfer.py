"""The model of all rows after a choice on folds: the threshold on its scale, and whether it is what was chosen.

A threshold t was chosen on scores of rows left out, each fold's model in units of its own training scores
(`models.units_of`). On the final model, fitted on all rows, it is taken in that model's units. Where the two agree on
how large a share of *their own training rows* lies above it, that is all. Where not, the units mislead: then the
threshold moves to where the final model calls that share, to within the share's standard error.

It is the share of training rows, on both sides, and not that of the rows left out: a model of many columns keeps its
training rows clear of the boundary, so that among these a threshold in between calls the same share wherever it lies,
and is left alone; with many rows and few columns there is no such gap, and the share is the better guide by far
(benchmarks/threshold_transfer.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...statistics.frontier import best_point
from ...statistics.shrinkage import count_of
from .exploration import Candidate, Exploration
from .models import Labelled, Model, quantiles, units_of

Array = NDArray[np.float64]


def transferred(chosen: Candidate, exploration: Exploration, data: Labelled, w: Array) -> float:
    """The threshold on ``x.w`` for the model `w` fitted on `data`."""
    center, scale = (float(part[0]) for part in units_of(data, w[None, :]))
    if not np.isfinite(scale):
        # Constant scores: the threshold, clear of rounding, calls all rows one class.
        return center + 1.0 - 2.0 * chosen.point.tpr
    threshold = center + chosen.point.threshold * scale
    if not np.isfinite(threshold):
        return threshold
    share = exploration.share_called(chosen.model, chosen.point.threshold)
    count = float(data.rows.n_rows) if data.weight is None else count_of(data.weight)
    error = np.sqrt(share * (1.0 - share) / count)
    at = np.clip(1.0 - share + np.array([-error, error]), 0.0, 1.0)
    low, high = quantiles(data.rows.scores(w[None, :]), at, data.weight)[:, 0]
    if share == 0.0 or share == 1.0:  # beyond all training rows: the units are all there is
        return float(max(threshold, high) if share == 0.0 else min(threshold, low))
    return float(min(max(threshold, low), high))


class Fitted(Protocol):
    @property
    def w(self) -> Array: ...


F = TypeVar("F", bound=Fitted)


def refitted(
    chosen: Candidate, exploration: Exploration, data: Labelled, fit: Callable[[Model], F]
) -> tuple[Candidate, F, float]:
    """The chosen model fitted on `data`, with its threshold; or the next best, if that is not what was chosen.

    The minimum of a hinge may be so flat that a fold's model and that of all rows differ in the measure while both are
    solved (covertype's third class: F1 of 0.735 on rows left out, and 0.724 on all). So the latter is looked at on the
    rows that the choice was made on.
    """
    found: list[tuple[float, Candidate, F, float]] = []
    while True:
        final = fit(chosen.model)
        threshold = transferred(chosen, exploration, data, final.w)
        found.append((exploration.value_at(final.w, threshold), chosen, final, threshold))
        tried = {one.model for _, one, *_ in found}
        rest = [model for model in exploration.finalists if model not in tried]
        if not rest or not fell_short(chosen, exploration, final.w):
            return max(found, key=lambda one: one[0])[1:]
        chosen = exploration.choose(rest)


def fell_short(chosen: Candidate, exploration: Exploration, w: Array) -> bool:
    """Whether the model `w` of all rows calls the rows left out worse than the fold's model that was chosen on them, by
    more than the standard error of the difference, each at its best threshold there.

    It is asked where one fold was enough to choose by, so that rows are many: there `w` has the advantage of having
    seen those rows, and no other.
    """
    if len(exploration.sample.splits) > 1 or exploration.goal.constraints:
        return False
    both = [exploration.scores(chosen.model), exploration.left_out(w)]
    points = [best_point(exploration.frontier(scores), exploration.goal.measure) for scores in both]
    calls = np.stack([scores > point.threshold for scores, point in zip(both, points, strict=True)], axis=1)
    values, drawn = exploration.draws.values(calls, exploration.goal, exploration.sample.prevalence)
    error = float(np.nan_to_num((drawn[0] - drawn[1]).std(ddof=1)))
    return bool(values[0] - values[1] > error)
