"""The rule for the offset of `NeymanPearsonClassifier`: which rows judge the scores, and where the threshold is set.

- ``offset="train"``: on the training rows themselves.
- a number of folds, a splitter: on all rows, each scored by a model that was trained without it. These rows stay in the
  training problem, with weight 0, since all folds share one kernel cache: see `solvers.kernel.neyman_pearson`.
- a share: on rows held out. They are no part of the training problem, which sees a view of the rest. With `delta` the
  threshold is an order statistic of theirs, so that the cap is promised for unseen data.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Recall, fpr
from ..solvers.kernel.offset import a_hair_above, at_cap, on_one_scale, promised
from ..statistics import order_statistic
from ..statistics.promises.counts import Scored
from ..statistics.promises.promise import Promise, asked_of, keep
from ._np_learners import Finished, Learner, SignedRows
from ._splits import Stratum, among, read_cv, reshuffled

Array = NDArray[np.float64]
RowNumbers = NDArray[np.intp]

Told = Callable[[int, int], None]  # how many folds are done, of how many

FOLDS = 5  # scikit-learn's default
HELD_OUT = 0.3  # of the rows: 200 of each class promise a cap of 0.05 at delta = 0.05 (59 negatives are needed)


@dataclass(frozen=True, eq=False)
class Judged:
    """Scores of the rows that set the offset."""

    scores: Array
    is_positive: NDArray[np.bool_]
    weight: Array


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows given and those to train on (`used` are their numbers), the ones held out, and the folds, by their
    numbers among those to train on."""

    given: SignedRows
    training: SignedRows
    used: RowNumbers
    held: RowNumbers
    folds: tuple[RowNumbers, ...] = ()

    def held_out(self, finished: Finished) -> Judged:
        """By the one model that did not see them."""
        rows = self.given.rows.take(self.held)
        return Judged(finished.score(rows), self.given.y[self.held] > 0, self.given.weight[self.held])

    def left_out(self, learner: Learner, trained: Any, told: Told) -> Judged:
        """Each by a model that did not see it; who watches is told of every fold."""

        def others() -> Iterator[tuple[RowNumbers, Array]]:
            for k, fold in enumerate(self.folds):
                yield fold, learner.without(trained, fold)
                told(k + 1, len(self.folds))

        scores = on_one_scale(learner.scores(trained), others(), self.training.weight)
        seen = np.concatenate(self.folds)
        return Judged(scores[seen], self.training.y[seen] > 0, self.training.weight[seen])


@dataclass(frozen=True)
class OffsetRule:
    """What `offset`, `cv` and `delta` ask for."""

    cap: float
    offset: str
    cv: Any
    delta: float | None

    @property
    def share(self) -> float | None:
        """The share of the rows that is held out, if any is."""
        if self.cv is None:
            return None if self.delta is None else HELD_OUT
        is_share = isinstance(self.cv, numbers.Real) and not isinstance(self.cv, numbers.Integral)
        return float(self.cv) if is_share and (self.delta is not None or self.offset == "folds") else None

    @property
    def leaves_out(self) -> bool:
        """Whether rows are left out in turn to set the offset."""
        return self.offset == "folds" and self.share is None

    def check(self) -> None:
        if isinstance(self.cv, str):
            raise ValueError("cv='prefit' needs a model that is fitted already; this classifier fits its own")
        if self.delta is not None and self.share is None:
            raise ValueError(
                "with delta, cv is a held-out share in (0, 1), since the promise is of one model and of rows that it "
                f"has not seen; got cv={self.cv!r}"
            )

    # -- rows ---------------------------------------------------------------------------------------------------
    def split(self, given: SignedRows, random: np.random.RandomState) -> Parts:
        """Which rows are trained on, and which are held out; those without weight take no part."""
        used, held = np.flatnonzero(given.weight), np.array([], dtype=np.intp)
        if self.share is not None:
            held = self._hold_out(given, used, self.share, random)
            used = np.setdiff1d(used, held, assume_unique=True)
        training = given if len(used) == len(given.y) else given.take(used)
        return Parts(given, training, used, held)

    def _hold_out(self, given: SignedRows, used: RowNumbers, share: float, random: np.random.RandomState) -> RowNumbers:
        """For a promise, too few negatives are refused before anything is trained."""
        rows, seed = Stratum.of(given.y[used] > 0), random.randint(2**31)
        if self.delta is None:
            return used[read_cv(share, rows, seed).tests[0]]
        needed, n_negative = order_statistic.needed(self.cap, self.delta), int((given.y[used] < 0).sum())
        try:
            held = used[read_cv(share, rows, seed).tests[0]]
            n_held = int((given.y[held] < 0).sum())
        except ValueError:  # a class with one row, or a share of less than a row
            held, n_held = used[:0], int(share * n_negative)
        if n_held < needed or len(held) == 0:
            raise ValueError(
                f"max_fpr={self.cap} with delta={self.delta} needs {needed} held-out negatives; {n_held} were given (a "
                f"share cv={share} of {n_negative}). Hold out more rows, or loosen the cap or delta"
            )
        return held

    def with_folds(self, parts: Parts, random: np.random.RandomState, again: bool = False) -> Parts:
        """The training rows to leave out in turn; `again` asks for others than the first ones."""
        cv = FOLDS if self.cv is None or self.share is not None else self.cv
        if isinstance(cv, numbers.Real):
            read = reshuffled if again else read_cv
            folds = read(cv, Stratum.of(parts.training.y > 0), random.randint(2**31)).tests
            return dataclasses.replace(parts, folds=folds)
        given = parts.given
        tests = read_cv(cv, Stratum.of(given.y > 0, X=given.rows.source)).tests
        return dataclasses.replace(parts, folds=among(parts.used, tests, len(given.y)))

    # -- the threshold ------------------------------------------------------------------------------------------
    def judged(self, parts: Parts, learner: Learner, trained: Any, finished: Finished, told: Told) -> Judged:
        """The scores that set the offset."""
        if self.share is not None:
            return parts.held_out(finished)
        if self.leaves_out:
            return parts.left_out(learner, trained, told)
        return Judged(learner.scores(trained), parts.training.y > 0, parts.training.weight)

    def promise(self, judged: Judged) -> Promise | None:
        """What `delta` promises."""
        asked = asked_of((fpr <= self.cap,), Recall(), self.delta, None)
        return None if asked is None else keep(Scored(judged.scores, judged.is_positive), None, asked)[0]

    def threshold(self, judged: Judged) -> float:
        if self.delta is None:
            found = at_cap(judged.scores, judged.is_positive, judged.weight, self.cap).threshold
        else:
            found = promised(judged.scores, judged.is_positive, self.cap, self.delta)
        return a_hair_above(found, judged.scores)
