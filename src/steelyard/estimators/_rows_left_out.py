"""Rows that are not trained on: held out for a promise, or left out in turn, and what a rate seen on them says."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta as beta_distribution
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from ..statistics import order_statistic
from ._np_learners import Rows

FOLDS = 5


@dataclass(frozen=True)
class Promise:
    """A cap on false alarms that fails with probability at most `delta`, from a share of the rows."""

    max_fpr: float
    delta: float
    share: float


def hold_out(y: np.ndarray, promise: Promise, random: np.random.RandomState) -> np.ndarray:
    """The rows that set the offset; too few negatives (y < 0) among them are refused before anything is trained."""
    needed = order_statistic.needed(promise.max_fpr, promise.delta)
    split = StratifiedShuffleSplit(1, test_size=promise.share, random_state=random.randint(2**31))
    n_negative = int((y < 0).sum())
    try:
        _, held = next(split.split(np.zeros(len(y)), y))
        given = int((y[held] < 0).sum())
    except ValueError:  # a class with one row, or a share of less than a row
        given, held = int(promise.share * n_negative), np.array([], dtype=int)
    if given < needed or len(held) == 0:
        raise ValueError(
            f"max_fpr={promise.max_fpr} with delta={promise.delta} needs {needed} held-out negatives; {given} were "
            f"given (a share cv={promise.share} of {n_negative}). Hold out more rows, or loosen the cap or delta"
        )
    return np.asarray(held)


def make_folds(cv: Any, rows: Rows, weight: np.ndarray, random: np.random.RandomState) -> list[np.ndarray]:
    """Numbers of the rows with weight in each fold: `cv` folds, those of a splitter, or `FOLDS`."""
    used = np.flatnonzero(weight)
    fewest = int(min((rows.y[used] > 0).sum(), (rows.y[used] < 0).sum()))
    if fewest < 2:
        which = "positive" if (rows.y[used] > 0).sum() == fewest else "negative"
        raise ValueError(
            f"there is only one {which} row to train on: folds need two of each class; offset='train' needs one"
        )
    if isinstance(cv, numbers.Real):
        k = int(cv) if isinstance(cv, numbers.Integral) else FOLDS
        split = StratifiedKFold(min(k, fewest), shuffle=True, random_state=random.randint(2**31))
        return [used[test] for _, test in split.split(used, rows.y[used])]
    given = cv.split(rows.X, rows.y) if hasattr(cv, "split") else cv
    folds = [test[weight[test] > 0] for _, test in given]
    if not any(len(fold) for fold in folds):
        raise ValueError(f"{cv!r} made no folds with rows to score")
    return folds


def clopper_pearson(hits: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share of which `hits` of `n` were seen.

    >>> [round(limit, 3) for limit in clopper_pearson(0, 20)]
    [0.0, 0.168]
    """
    tail = (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else float(beta_distribution.ppf(tail, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta_distribution.ppf(1.0 - tail, hits + 1, n - hits))
    return low, high
