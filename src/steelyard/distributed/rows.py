"""All partitions together, as solvers ask for rows elsewhere (`Source` in elsewhere/models.py).

Newton works on a sample, which is drawn by the rows' hashes and comes here, of one size whatever many rows there are.
Where that is not enough it works on all rows by sums over partitions, its Hessians too. A `DaskRows` may be that of a
fold (`part.Fold`): the rows outside have weight 0.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elsewhere import part as sums
from ..elsewhere.models import Models, Reading
from ..elsewhere.newton import ROUNDS
from ..elsewhere.part import Fold, Part
from ..elsewhere.rays import Ask, InMemory, SumsRay
from ..statistics.bins import Search
from . import thresholds
from .rounds import Rounds, add

Array = NDArray[np.float64]
# Rows of the sample that comes to the client, or so many for each column, if they are not too many numbers (32 MB):
# twice as many take the client twice as long, and save few rounds. Of rows that are here already it is so many numbers:
# at 2,000,000 x 50 (docs/scale.md) a fit has 14 rounds by them, and some 20 by 32,768 rows.
SAMPLE, A_COLUMN, NUMBERS = 1 << 15, 256, 1 << 22


@dataclass(frozen=True, eq=False)
class DaskRows:
    """See the top of this file; `counts` are the rows of each class, negative first, and `here` is what came of them
    already, if enough for a sample did."""

    rounds: Rounds
    counts: tuple[float, float]
    n_features: int
    constant: float = 0.0
    weighted: bool = False
    fold: Fold | None = None
    here: Part | None = None
    is_elsewhere = True

    @property
    def n_rows(self) -> int:
        return int(sum(self.counts))

    @property
    def n_cols(self) -> int:
        return self.n_features + (self.constant != 0.0)

    def of(self, fold: Fold) -> DaskRows:
        """The rows of a fold; how many there are is known as folds go, by their share."""
        share = 1.0 / fold.folds if not fold.out else 1.0 - 1.0 / fold.folds
        return replace(self, fold=fold, counts=(share * self.counts[0], share * self.counts[1]))

    def ask(self, function: Ask, *given: Any, combine: Ask = add) -> Any:
        return self.rounds.ask(function, self.fold, *given, combine=combine)

    # -- what solvers ask ---------------------------------------------------------------------------------------
    def read(self, loss: str, models: Models) -> Reading:
        return Reading(*self.ask(sums.read, loss, (models.w, models.costs, models.mu)))

    def sample(self, size: int, seed: int) -> InMemory | Everywhere:
        """Rows that came here, as many of each class; where Newton wants more than at first, all rows where they
        are."""
        most = min(max(SAMPLE, A_COLUMN * self.n_cols), max(NUMBERS // self.n_cols, 1))
        if self.n_rows <= min(size, most):
            return InMemory(self.drawn((1.0, 1.0), seed), True)
        if size > max(ROUNDS.sample, ROUNDS.a_column * self.n_cols):
            return Everywhere(self)
        if self.here is None:
            shares = [min(1.0, min(size, most) / 2 / max(count, 1.0)) for count in self.counts]
            some = self.drawn((shares[0], shares[1]), seed)
        else:
            some = self.here.thinned(NUMBERS // self.n_cols // 2)
        drawn = [max(int(np.count_nonzero(some.y == side)), 1) for side in (-1, 1)]
        weight = np.where(some.y > 0, self.counts[1] / drawn[1], self.counts[0] / drawn[0])
        return InMemory(replace(some, weight=weight if some.weight is None else weight * some.weight), False)

    def whole(self) -> Everywhere:
        return Everywhere(self)

    def drawn(self, shares: tuple[float, float], seed: int) -> Part:
        """About these shares of the rows of both classes, here."""
        return sums.joined(self.rounds.ask(sums.drawn, self.fold, shares, seed, keep=False))

    def exactly(self) -> AbstractContextManager[None]:
        return nullcontext()

    def class_risks(self, loss: str) -> Any:
        from .class_risks import DaskClassRisks

        return DaskClassRisks(self, loss)

    # -- scores that stay where they are ------------------------------------------------------------------------
    def thresholds(self, w: Array) -> Search:
        """All thresholds of the scores by w."""
        w = np.ascontiguousarray(w)
        known = None if self.here is None else self.here.rows.scores(w)
        return thresholds.search(self.ask, len(self.rounds.parts), w, known)

    def share_called(self, w: Array, threshold: float) -> float:
        """The share of the mass that is above the threshold."""
        (mass,) = self.ask(thresholds.called, np.ascontiguousarray(w), threshold)
        return float(mass[1] / mass.sum())


@dataclass(frozen=True, eq=False)
class Everywhere:
    """All rows, where they are."""

    data: DaskRows
    is_all = True

    @property
    def n(self) -> int:
        return self.data.n_rows

    def along(self, loss: str, caps: Array) -> SumsRay:
        return SumsRay(self.data.ask, loss, caps)
