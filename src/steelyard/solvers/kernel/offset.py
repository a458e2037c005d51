"""Where to set the offset of scores under a cap: the rule "positive if score > threshold" on rows that judge it.

The rows that judge were not trained on, if the cap is to hold on others: held out, or left out in turn. `at_cap` is the
best threshold whose rate on these rows is within the cap; `promised` one whose true rate is within it with probability
``1 - delta`` (`statistics.order_statistic`). Scores of rows left out in turn come from several models, and
`on_one_scale` brings them to the scale of the one that the threshold is for.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...measures import Recall, fpr
from ...statistics import frontier, order_statistic

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
RowNumbers = NDArray[np.intp]

HAIR = 1e-6  # of the largest score: sums of some hundred kernel values, each rounded to 6e-8
FLAT = 1e-9  # a spread that is rounding: a model that scores all rows alike


def at_cap(scores: Array, is_positive: Flags, weight: Array, cap: float) -> frontier.Choice:
    """The threshold with the largest TPR among those whose false-alarm rate on these rows is within the cap."""
    points = frontier.scan(scores, is_positive, weight)
    return frontier.best_point(points, Recall(), (fpr <= cap,))


def promised(scores: Array, is_positive: Flags, cap: float, delta: float) -> float:
    """The lowest order statistic of the negatives whose rate is above the cap with probability at most `delta`."""
    negative = scores[~is_positive]
    k = order_statistic.rank(len(negative), cap, delta)
    return float(np.partition(negative, k - 1)[k - 1])


def a_hair_above(threshold: float, scores: Array) -> float:
    """Kernels are trained on in single precision: a row must not pass the score that it tied with."""
    return threshold + HAIR * (1.0 + float(np.abs(scores).max()))


def on_one_scale(own: Array, others: Iterable[tuple[RowNumbers, Array]], weight: Array) -> Array:
    """Scores of the rows of every fold by a model that did not see them, on the scale of the model that did.

    `own` are the scores of that model, `others` each fold with all rows' scores by the model without it. Two machines
    need not agree on where zero is or how large a score is, least of all weak ones. So each fold's scores are shifted
    and scaled until their mean and spread over the rows that both models were trained on are the same. Rows in no fold
    have no score (NaN).
    """
    scores = np.full(len(own), np.nan)
    for fold, without in others:
        common = weight.copy()
        common[fold] = 0.0
        (mean, spread), (their_mean, their_spread) = (_moments(s, common) for s in (own, without))
        scale = spread / their_spread if their_spread > FLAT * (1.0 + abs(their_mean)) else 0.0
        scores[fold] = mean + scale * (without[fold] - their_mean)
    return scores


def _moments(scores: Array, weight: Array) -> tuple[float, float]:
    mean = float(np.average(scores, weights=weight))
    return mean, float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))
