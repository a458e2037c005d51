"""Counting false discoveries with decoys: q-values, thresholds, and the chance that a target is right.

Given scores of targets and of decoys, where a decoy stands for a wrong target, the share of wrong ones among the
targets at or above a threshold is estimated by ``(1 + decoys) / targets`` at or above it. The 1 makes the estimate hold
for the list that is reported, not only in the long run; mokapot counts so too. The q-value of a row is the smallest
such estimate among the thresholds that accept the row::

    q(s) = min over thresholds u <= s of  (1 + D(u)) / max(1, T(u))

with T(u) and D(u) the targets and decoys scored u or higher. Where a wrong target comes with d decoys on average, and
not with one, a decoy stands for 1/d wrong targets, and the rate is ``(1 + D(u)) / (d max(1, T(u)))``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import isotonic_regression

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def q_values(scores: ArrayLike, is_target: ArrayLike, *, decoys_per_target: float = 1.0) -> Array:
    """The q-value of every row by target-decoy competition: accept the targets with a q-value up to the rate you allow.

    ``(1 + decoys) / max(1, targets)`` at or above a score, made monotone from the worst score up. Rows with equal
    scores share a value, a higher score is better. Decoys get a value too, the one a target with their score would
    have. An estimate may exceed 1: then there are more decoys than targets, and nothing is to be accepted.

    Parameters
    ----------
    scores : array of shape (n,)
    is_target : array of bool of shape (n,)
        True for a target, False for a decoy; 1 and 0 will do.
    decoys_per_target : float, default=1.0
        How many decoys there are for each wrong target: 2 where a match competes with two decoys, or where two decoy
        lists are searched. The estimate is divided by it.

    Examples
    --------
    >>> import steelyard as sy
    >>> sy.q_values([9.0, 8.0, 7.0, 6.0, 5.0], [True, True, False, True, True])
    array([0.5, 0.5, 0.5, 0.5, 0.5])
    >>> sy.q_values([9.0, 8.0, 7.0, 6.0], [True, True, False, False])
    array([0.5, 0.5, 1. , 1.5])
    >>> sy.q_values([9.0, 8.0, 7.0, 6.0], [True, True, False, False], decoys_per_target=2)
    array([0.25, 0.25, 0.5 , 0.75])
    """
    values, target = _checked(scores, is_target)
    if not (np.isfinite(decoys_per_target) and decoys_per_target > 0):
        raise ValueError(f"decoys_per_target must be a finite number above 0; got {decoys_per_target!r}")
    return weighted_q_values(values, target, np.ones(len(values)), float(decoys_per_target))


def weighted_q_values(scores: Array, is_target: Mask, weight: Array, decoys_per_target: float = 1.0) -> Array:
    """`q_values` where a row counts as often as its weight says; nothing is checked."""
    order = np.argsort(-scores)
    found = Counts.of(scores[order], is_target[order], weight[order], decoys_per_target)
    out = np.empty(len(scores))
    out[order] = np.minimum.accumulate(found.rate[::-1])[::-1]
    return out


@dataclass(frozen=True)
class Counts:
    """Targets and decoys at or above each of the scores given, highest first; `rate` is inf inside a run of ties."""

    targets: Array
    decoys: Array
    rate: Array

    @classmethod
    def of(cls, scores: Array, is_target: Mask, weight: Array, decoys_per_target: float = 1.0) -> Counts:
        targets = np.cumsum(np.where(is_target, weight, 0.0))
        decoys = np.cumsum(np.where(is_target, 0.0, weight))
        rate = (1.0 + decoys) / (decoys_per_target * np.maximum(1.0, targets))
        if len(scores):
            rate[:-1][scores[1:] == scores[:-1]] = np.inf
        return cls(targets, decoys, rate)


@dataclass(frozen=True)
class Cut:
    """Where a list ends: scores of at least `threshold` are accepted, `targets` of them right or wrong.

    `threshold` is inf if no list is short enough."""

    threshold: float
    targets: float


def cut(scores: Array, is_target: Mask, weight: Array, max_q: float, decoys_per_target: float = 1.0) -> Cut:
    """The longest list whose estimated rate is at most `max_q`."""
    order = np.argsort(-scores)
    found = Counts.of(scores[order], is_target[order], weight[order], decoys_per_target)
    good = np.flatnonzero((found.rate <= max_q) & (found.targets > 0))
    if not len(good):
        return Cut(np.inf, 0.0)
    return Cut(float(scores[order][good[-1]]), float(found.targets[good[-1]]))


def chance_right(scores: Array, is_target: Mask, weight: Array) -> Array:
    """For every row, the estimated chance that a target with its score is right, between 0 and 1, rising in the score.

    ``1 - (decoys per target near the score)``, from the share of targets as a monotone step function of the score.
    """
    order = np.argsort(scores)
    tie = np.cumsum(np.diff(scores[order], prepend=-np.inf) > 0) - 1
    mass = np.bincount(tie, weight[order])
    targets = np.bincount(tie, np.where(is_target, weight, 0.0)[order])
    held = mass > 0
    share = np.zeros(len(mass))
    if held.any():
        share[held] = isotonic_regression(targets[held] / mass[held], weights=mass[held]).x
        share = np.maximum.accumulate(share)
    out = np.empty(len(scores))
    out[order] = np.clip(1.0 - (1.0 - share) / np.maximum(share, 1e-12), 0.0, 1.0)[tie]
    return out


def _checked(scores: ArrayLike, is_target: ArrayLike) -> tuple[Array, Mask]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores must have one dimension; got shape {values.shape}")
    return values, check_targets(is_target, _finite(values))


def _finite(values: Array) -> int:
    if np.isnan(values).any():
        raise ValueError(f"scores hold {int(np.isnan(values).sum())} NaN: a row without a score has no place in a list")
    return len(values)


def check_targets(is_target: Any, n: int) -> Mask:
    """`is_target` as n booleans; only True, False, 1 and 0 mean something here."""
    given = np.asarray(is_target)
    if given.shape != (n,):
        raise ValueError(f"is_target has shape {given.shape}; there are {n} scores, so it must have shape ({n},)")
    if given.dtype != bool:
        if not np.isin(given, (0, 1)).all():
            raise ValueError(f"is_target must be True or False (or 1 and 0); got {np.unique(given)[:5].tolist()}")
        given = given.astype(bool)
    return given
