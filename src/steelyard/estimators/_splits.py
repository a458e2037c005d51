"""`cv`: which rows a model is fitted on and which it is judged by, read in one way by every estimator.

- a number of folds: each row is left out once, and the final model is fitted on all rows. Folds are stratified and
  take the rows as they come, as scikit-learn's do, so that a fit is the same every time; give a splitter with
  ``shuffle=True`` for rows in an order that matters. With `groups`, whole groups are left out.
- a share such as 0.3: that part of the rows, stratified and drawn by `random_state`, is held out; the model fitted on
  the rest is the final one.
- a splitter or a list of ``(train, test)``: as they say; the final model is fitted on all rows.
- "prefit": the model is fitted already and all rows judge it.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

RowNumbers = NDArray[np.intp]
NO_PREFIT = "MeasureClassifier trains its own models, so there is nothing 'prefit'; use ThresholdClassifier"
WHAT = "cv is a number of folds, a held-out share in (0, 1), a splitter, a list of splits or 'prefit'"


@dataclass(frozen=True)
class Splits:
    """Pairs (train, test) of row numbers, none for "prefit"; `held_out` says that the one pair is a held-out share."""

    pairs: tuple[tuple[RowNumbers, RowNumbers], ...]
    held_out: bool = False

    @property
    def prefit(self) -> bool:
        return not self.pairs

    @property
    def refits(self) -> bool:
        """Whether the final model is fitted on all rows."""
        return bool(self.pairs) and not self.held_out

    @property
    def tests(self) -> tuple[RowNumbers, ...]:
        return tuple(test for _, test in self.pairs)


@dataclass(frozen=True)
class Stratum:
    """What a splitter needs to know of the rows: their class codes, the classes' names for messages, their groups, and
    X for splitters of the user's that look at it. A promise about both classes needs a `plain` sample."""

    codes: NDArray[Any]
    names: Sequence[Any] = ("negative", "positive")
    groups: Any = None
    X: Any = None
    plain: bool = False  # a share is drawn without regard to the classes

    @classmethod
    def of(cls, is_positive: NDArray[np.bool_], groups: Any = None, X: Any = None, *, plain: bool = False) -> Stratum:
        return cls(is_positive.astype(np.int8), groups=groups, X=X, plain=plain)

    def rarest(self) -> tuple[int, str]:
        """How many rows the rarest class has, and its name."""
        counts = np.bincount(self.codes, minlength=len(self.names))
        k = int(counts.argmin())
        return int(counts[k]), str(self.names[k])


def read_cv(cv: Any, rows: Stratum, random_state: Any = None, *, split_params: Any = None) -> Splits:
    """The splits that `cv` asks for; see the top of this file. Every part to fit on has rows of every class."""
    if isinstance(cv, str):
        if cv != "prefit":
            raise ValueError(f"{WHAT}; got {cv!r}")
        return Splits(())
    if isinstance(cv, numbers.Real) and not isinstance(cv, (bool, np.bool_)):
        fewest, rarest = rows.rarest()
        if fewest < 2:
            raise ValueError(
                f"there is only one {rarest} row: nothing is left to judge a model by once it is fitted on it"
            )
        if isinstance(cv, numbers.Integral):
            return _checked(_folds(int(cv), rows, fewest, rarest), rows)
        return _checked((_held_out(float(cv), rows, random_state),), rows, held_out=True)
    if hasattr(cv, "split"):
        params = {} if rows.groups is None else {"groups": rows.groups}
        X = np.zeros(len(rows.codes)) if rows.X is None else rows.X
        return _checked(cv.split(X, rows.codes, **{**params, **(split_params or {})}), rows)
    if hasattr(cv, "__iter__"):
        return _checked(cv, rows)
    raise ValueError(f"{WHAT}; got {cv!r}")


def reshuffled(cv: Any, rows: Stratum, random_state: Any) -> Splits:
    """Other folds than `read_cv` gives for a number of them: for judging what those have chosen."""
    if isinstance(cv, numbers.Integral) and rows.groups is None:
        number = min(int(cv), rows.rarest()[0])
        folds = StratifiedKFold(number, shuffle=True, random_state=random_state)
        return _checked(folds.split(np.zeros(len(rows.codes)), rows.codes), rows)
    return read_cv(cv, rows, random_state)


def among(used: RowNumbers, tests: Sequence[RowNumbers], n_rows: int) -> tuple[RowNumbers, ...]:
    """Rows by their numbers among those `used` (rising) of `n_rows`; others drop out."""
    place = np.full(n_rows, -1, dtype=np.intp)
    place[used] = np.arange(len(used))
    return tuple(place[test][place[test] >= 0] for test in tests)


def _folds(number: int, rows: Stratum, fewest: int, rarest: str) -> Any:
    if number < 2:
        raise ValueError(
            f"cv={number} leaves nothing to judge by: use at least 2 folds, or a held-out share such as cv=0.3"
        )
    place = np.zeros(len(rows.codes))
    if rows.groups is not None:
        return GroupKFold(number).split(place, rows.codes, rows.groups)
    if fewest < number:
        warnings.warn(f"there are {fewest} {rarest} rows, so {fewest} folds are used instead of {number}", stacklevel=5)
    return StratifiedKFold(min(number, fewest)).split(place, rows.codes)


def _held_out(share: float, rows: Stratum, random_state: Any) -> tuple[RowNumbers, RowNumbers]:
    if not 0.0 < share < 1.0:
        raise ValueError(f"a held-out share lies strictly between 0 and 1; got cv={share!r}")
    n, classes = len(rows.codes), len(rows.names)
    held = int(np.ceil(share * n))
    if min(held, n - held) < classes:
        raise ValueError(
            f"cv={share!r} of {n} rows holds out {held} and fits on {n - held}: both parts need a row of each of the "
            f"{classes} classes"
        )
    draw = (ShuffleSplit if rows.plain else StratifiedShuffleSplit)(1, test_size=share, random_state=random_state)
    train, test = next(draw.split(np.zeros(n), rows.codes))
    return np.sort(train), np.sort(test)


def _checked(pairs: Any, rows: Stratum, held_out: bool = False) -> Splits:
    found = tuple((np.asarray(train), np.asarray(test)) for train, test in pairs)
    if not any(len(test) for _, test in found):
        raise ValueError("cv made no split with rows to judge by")
    for k, (train, _) in enumerate(found, start=1):
        missing = sorted(set(range(len(rows.names))) - set(np.unique(rows.codes[train]).tolist()))
        if missing:
            raise ValueError(
                f"fold {k} of {len(found)} has no {rows.names[missing[0]]} row to fit on; use a stratified splitter "
                "or fewer folds"
            )
    return Splits(found, held_out)
