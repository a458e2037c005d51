"""A threshold from few rows: labels shrunk towards the probabilities that the scores themselves imply.

Given scores of n rows with labels y in {0, 1}, the best threshold on those very rows follows single labels near it.
But a score says more about its row's label than whether it lies above the threshold: with p = P(positive | score),

    TPR(t) = sum of p_i over s_i > t / sum of p_i,     and TNR(t) likewise with 1 - p_i,

are the same rates with less noise, as every row counts on both sides by how likely it is there; maximising a measure of
them is the plug-in rule, exact for any measure if p is. p is estimated as Platt (1999) does, by a logistic curve over
the evidence in the score. It is smooth and a little wrong, where labels are noisy and right. So each row counts as

    l = w y + (1 - w) p,     w = m / (m + PRIOR),     m the rows of the smaller class,

and every threshold is tried on these labels. With few rows that is the plug-in rule, with many the exact one
(benchmarks/threshold_rules.py compares them, and others).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from ..measures import Measure
from . import frontier
from .frontier import Choice, Frontier

Array = NDArray[np.float64]

PRIOR = 1000.0  # rows that the curve is worth: benchmarks/threshold_rules.py, flat from 300 upwards
ENOUGH = 0.9  # a weight of the labels above this is 1
CERTAIN = 1e-3  # probabilities nearer to 0 or 1 are no stronger evidence: trees and small forests say 0 lightly


def log_odds(probability: Array) -> Array:
    """What a probability says, on the scale on which a logistic curve over it is a calibrated one."""
    return np.asarray(logit(np.clip(probability, CERTAIN, 1.0 - CERTAIN)))


def best_point(
    found: Frontier,
    scores: Array,
    is_positive: NDArray[np.bool_],
    weight: Array | None,
    evidence: Array,
    measure: Measure,
) -> Choice:
    """The point of `found` with the largest value on shrunk labels; `evidence` rises with the scores."""
    exact = frontier.best_point(found, measure)
    mass = np.ones(len(scores)) if weight is None else weight
    rows = min(count_of(mass[is_positive]), count_of(mass[~is_positive]))
    trust = rows / (rows + PRIOR)
    if trust > ENOUGH:
        return exact
    label = trust * is_positive + (1.0 - trust) * calibrated(evidence, is_positive, mass)
    both = np.repeat([True, False], len(scores))
    shrunk = frontier.scan(np.tile(scores, 2), both, np.concatenate([mass * label, mass * (1.0 - label)]))
    index = frontier.best_point(replace(shrunk, n_rows=found.n_rows), measure).index
    of_sample: dict[str, Any] = {"prevalence": found.prevalence, "sample_size": found.n_rows}
    value = float(measure(found.tpr[index], found.tnr[index], **of_sample))
    if np.isnan(value):
        return exact
    return Choice(index, float(found.thresholds[index]), float(found.tpr[index]), float(found.tnr[index]), value)


def calibrated(evidence: Array, is_positive: NDArray[np.bool_], mass: Array) -> Array:
    """P(positive | evidence) by Platt's logistic curve, never falling.

    Labels are smoothed as he does, ``(n + 1) / (n + 2)`` for the positives, so that classes that are kept apart have a
    curve too.
    """
    n_pos, n_neg = count_of(mass[is_positive]), count_of(mass[~is_positive])
    target = np.where(is_positive, (n_pos + 1.0) / (n_pos + 2.0), 1.0 / (n_neg + 2.0))
    share = mass / mass.sum()
    center = float(share @ evidence)
    spread = float(np.sqrt(share @ np.square(evidence - center)))
    prevalence = float(share @ target)
    if not spread > 0.0:
        return np.full(len(evidence), prevalence)
    x = (evidence - center) / spread

    def loss(curve: Array) -> tuple[float, Array]:
        z = curve[0] * x + curve[1]
        off = share * (expit(z) - target)
        return float(share @ (np.logaddexp(0.0, z) - target * z)), np.array([off @ x, off.sum()])

    start = np.array([1.0, float(logit(prevalence))])
    slope, offset = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]).x
    curve = np.clip(expit(slope * x + offset), np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
    return np.asarray(curve, dtype=np.float64)


def count_of(mass: Array) -> float:
    """How many rows these weights stand for: they may be counts of rows, or shares of a whole."""
    total, squares = float(mass.sum()), float(np.square(mass).sum())
    return max(total, total**2 / squares) if squares > 0.0 else 0.0
