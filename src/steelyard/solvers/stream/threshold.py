"""The threshold of a stream's model: the exact best one on its sample, and under a constraint a careful one.

The rates of a sample of n rows of a class are known to about ``sqrt(rate (1 - rate) / n)``. The best threshold that
meets ``fpr <= a`` on the sample lies at its very edge, so that on other rows the cap is exceeded about as often as not,
and with ten rows above the threshold by a third. So of the thresholds that meet the constraint on the sample the one is
taken with the largest

    value - E[excess],    excess = max(0, -S) / (slack of a perfect classifier),    S = the slack on all rows there are.

For ``fpr <= a`` and recall that is the expectation of the score by which Gasso et al. (section 5.1) choose
their models, ``miss + max(0, fpr - a) / a``, with its sign turned. Given the sample, a rate r on n rows has Jeffreys'
posterior, with mean ``m = (n r + 1/2) / (n + 1)`` and variance ``m (1 - m) / (n + 2)``; S is linear in the two rates,
and taken for normal: ``E max(0, -S) = sd phi(mean / sd) - mean Phi(-mean / sd)``. With many rows the margin vanishes.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from ...measures.constraints import Constraint
from ...statistics import frontier
from ..status import Ended, Status
from .problem import Problem

Array = NDArray[np.float64]

AT_THE_END = Status(Ended.LIMIT, "all rows so far have been learned; a stream has no certificate")
ROUNDING = 1e-9  # of rates; the least slack that a perfect classifier may have, and what breaks ties of values


def choose(points: frontier.Frontier, problem: Problem, rows: tuple[float, float]) -> tuple[frontier.Choice, Status]:
    """The best point; under a constraint the careful one, or, where none meets it, the closest, and the words for it.

    `rows` is how many negatives and positives the rates come from.
    """
    constraint = problem.constraint
    if constraint is None:
        return frontier.best_point(points, problem.measure), AT_THE_END
    try:
        best = frontier.best_point(points, problem.measure, (constraint,))
    except frontier.InfeasibleError as error:
        status = Status(Ended.INFEASIBLE, str(error))
        slack = constraint.slack(points.tpr, points.tnr, points.prevalence, sample_size=points.n_rows)
        return _point(points, int(np.argmax(np.asarray(slack))), float("nan")), status
    if not math.isfinite(best.value):
        return best, AT_THE_END
    where = (points.tpr, points.tnr, points.prevalence)
    values = np.asarray(problem.measure(*where, sample_size=points.n_rows), dtype=np.float64)
    allowed = np.asarray(constraint.holds(*where, sample_size=points.n_rows)) & ~np.isnan(values)
    careful = values - expected_excess(points, constraint, rows) + ROUNDING * (points.tpr + points.tnr)
    index = int(np.argmax(np.where(allowed, careful, -np.inf)))
    return _point(points, index, float(values[index])), AT_THE_END


def expected_excess(points: frontier.Frontier, constraint: Constraint, rows: tuple[float, float]) -> Array:
    """By how much each point is expected to miss the constraint on other rows, in units of a perfect one's slack."""
    a, b, c = constraint.coefficients(points.prevalence, sample_size=points.n_rows)
    unit = max(abs(a + b + c), ROUNDING)
    (neg, neg_variance), (pos, pos_variance) = (
        _posterior(rate, n) for rate, n in zip((points.tnr, points.tpr), rows, strict=True)
    )
    mean = a * pos + b * neg + c
    sd = np.sqrt(np.maximum(a * a * pos_variance + b * b * neg_variance, ROUNDING**2))
    z = mean / sd
    return np.asarray(sd * np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) - mean * ndtr(-z)) / unit


def _posterior(rate: Array, n: float) -> tuple[Array, Array]:
    mean = (n * rate + 0.5) / (n + 1.0)
    return mean, mean * (1.0 - mean) / (n + 2.0)


def _point(points: frontier.Frontier, k: int, value: float) -> frontier.Choice:
    return frontier.Choice(k, float(points.thresholds[k]), float(points.tpr[k]), float(points.tnr[k]), value)
