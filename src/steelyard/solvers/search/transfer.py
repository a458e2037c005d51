"""The threshold of the folds' models, on the scale of the final one.

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

import numpy as np
from numpy.typing import NDArray

from ...statistics.shrinkage import count_of
from .exploration import Candidate, Exploration
from .models import Labelled, quantiles, units_of

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
