"""The best threshold of scores that nobody sees: bins of them, made finer where it may be, until it is exact.

Scores are somewhere else; what they answer is, for given edges, how much of each class lies between two edges, and the
least and the largest score there (`Tally`). From bins the rates *between* them are known exactly, and of the rates
inside a bin that they lie in a rectangle. So a bin is left alone where the measure's bound over its rectangle
(`measures.bounds`) is below the best point found, or where the constraints cannot hold; the others get new edges. A bin
whose least score is its largest has no threshold inside. When no bin is left to look into, the best point found is that
of all thresholds, as `statistics.frontier` finds it, placed in the middle of its gap like there. A few rounds do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..measures.bounds import over
from ..measures.constraints import TOLERANCE, Constraint
from .frontier import TIE, Choice, Frontier, best_point

Array = NDArray[np.float64]
BINS = 4096  # in a round: 130 kB of answers, and on a smooth frontier of any size one in sixty is looked into again
MOST = 200  # rounds: a bin is cut in two at least in each, and floats have 64 bits


@dataclass(frozen=True, eq=False)
class Tally:
    """Bins ``(edge before, edge]``, the last one open: mass of both classes (bins, 2), negative first, least and
    largest score; ``n_rows`` counts rows with weight. Tallies of parts of the rows add up."""

    mass: Array
    low: Array
    high: Array
    n_rows: int

    @classmethod
    def of(
        cls, scores: Array, is_positive: NDArray[np.bool_], weight: Array | None, edges: Array, whole: bool = True
    ) -> Tally:
        """`whole` asks for what lies outside the edges too; finer bins of a few do not, and nobody sorts the rest."""
        if not whole:
            inside = np.flatnonzero((scores > edges[0]) & (scores <= edges[-1]))
            scores, is_positive = scores[inside], is_positive[inside]
            weight = None if weight is None else weight[inside]
        low, high = np.full(len(edges) + 1, np.inf), np.full(len(edges) + 1, -np.inf)
        mass = np.zeros((len(edges) + 1, 2))
        for side in (0, 1):  # each class for itself: numbers are sorted much faster than their places
            of_class = np.flatnonzero(is_positive == bool(side))
            if weight is not None:
                of_class = of_class[np.argsort(scores[of_class], kind="stable")]
            ranked = np.sort(scores[of_class])
            starts = np.concatenate([[0], np.searchsorted(ranked, edges, side="right"), [len(ranked)]])
            filled = starts[1:] > starts[:-1]
            low[filled] = np.minimum(low[filled], ranked[starts[:-1][filled]])
            high[filled] = np.maximum(high[filled], ranked[starts[1:][filled] - 1])
            if weight is None:
                mass[:, side] = np.diff(starts)
            elif filled.any():
                mass[filled, side] = np.add.reduceat(weight[of_class], starts[:-1][filled])
        return cls(mass, low, high, len(scores) if weight is None else int(np.count_nonzero(weight)))

    def __add__(self, other: Tally) -> Tally:
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return Tally(self.mass + other.mass, low, high, self.n_rows + other.n_rows)

    def filled(self) -> Tally:
        kept = self.low <= self.high
        return Tally(self.mass[kept], self.low[kept], self.high[kept], self.n_rows)


Ask = Callable[[Array, bool], Tally]  # edges, and whether what lies outside them is wanted


@dataclass
class Search:
    """The bins so far, by rising scores, none of them empty."""

    ask: Ask
    bins: Tally = field(init=False)
    rounds: int = 0

    def begin(self, edges: Array) -> None:
        self.bins = self._asked(edges, True).filled()
        if not len(self.bins.low):
            raise ValueError("there are no rows to set a threshold on")
        negative, positive = self.bins.mass.sum(0)
        if not (negative > 0.0 and positive > 0.0):
            which = "positive" if positive == 0.0 else "negative"
            raise ValueError(f"none of the {self.bins.n_rows} scored rows is {which} (with weight): rates need both")
        self.coarse = self.frontier()

    def _asked(self, edges: Array, whole: bool) -> Tally:
        self.rounds += 1
        return self.ask(edges, whole)

    def frontier(self) -> Frontier:
        """The points between bins, and the two ends."""
        below = np.concatenate([np.zeros((1, 2)), np.cumsum(self.bins.mass, axis=0)])
        low, high = self.bins.low, self.bins.high
        middle = high[:-1] + (low[1:] - high[:-1]) / 2.0
        middle = np.where((middle > high[:-1]) & (middle < low[1:]), middle, high[:-1])
        thresholds = np.concatenate([[np.nextafter(low[0], -np.inf)], middle, high[-1:]])
        negative, positive = below[-1]
        tpr, tnr = 1.0 - below[:, 1] / positive, below[:, 0] / negative
        return Frontier(thresholds, tpr, tnr, float(positive / (negative + positive)), self.bins.n_rows)

    # -- the best point -----------------------------------------------------------------------------------------
    def best(self, measure: Measure, constraints: Sequence[Constraint] = ()) -> Choice:
        """The point of largest value that meets all constraints; among equals the one of largest ``tpr + tnr``."""
        for _ in range(MOST):
            points = self.frontier()
            which = self._promising(points, measure, constraints)
            if not len(which):
                return best_point(points, measure, constraints)
            self._refine(which)
        raise RuntimeError("the bins of scores do not come to an end: are they finite?")

    def _promising(self, points: Frontier, measure: Measure, constraints: Sequence[Constraint]) -> NDArray[np.intp]:
        """Bins inside which the best point may be."""
        which = np.flatnonzero(self.bins.low < self.bins.high)
        tpr, tnr = (points.tpr[which + 1], points.tpr[which]), (points.tnr[which], points.tnr[which + 1])
        where = points.prevalence, points.n_rows
        at: dict[str, Any] = {
            "tpr": points.tpr,
            "tnr": points.tnr,
            "prevalence": points.prevalence,
            "sample_size": points.n_rows,
        }
        values = np.broadcast_to(np.asarray(measure(**at), dtype=np.float64), points.tpr.shape)
        usable = ~np.isnan(values)
        open_ = np.ones(len(which), dtype=bool)
        for constraint in constraints:
            usable = usable & constraint.holds(**at)
            forms = [constraint.cleared] if constraint.below is None else [constraint.cleared, constraint.body]
            open_ &= np.maximum.reduce([over(form, tpr, tnr, *where)[1] for form in forms]) >= -TOLERANCE
        if usable.any():
            top = values[usable].max()
            slack = 2.0 * TIE * (1.0 + abs(top)) if np.isfinite(top) else 0.0
            bound = over(measure, tpr, tnr, *where)[1]
            open_ &= bound >= top - slack
            # What can only tie has to be more skilful than what is there.
            tied = usable & (values >= top - slack / 2.0)
            skill = (points.tpr + points.tnr)[tied].max()
            open_ &= (bound > top + slack) | (tpr[1] + tnr[1] > skill)
        return which[open_]

    def _refine(self, which: NDArray[np.intp]) -> None:
        """New edges inside these bins."""
        share = np.linspace(0.0, 1.0, max(2, BINS // len(which)), endpoint=False)[None, :]
        low, high = self.bins.low[which], self.bins.high[which]
        inside = low[:, None] * (1.0 - share) + high[:, None] * share  # the first is `low`: it ends a bin of its own
        inside = np.clip(inside, low[:, None], np.nextafter(high, -np.inf)[:, None])
        edges = np.unique(np.concatenate([np.nextafter(low, -np.inf), inside.ravel(), high]))
        finer = self._asked(edges, False)
        # What lies in one of the bins that were cut takes its place; the rest is known already.
        owner = np.searchsorted(low, finer.high, side="right") - 1
        inside_one = (finer.low <= finer.high) & (owner >= 0)
        inside_one[inside_one] &= finer.high[inside_one] <= high[owner[inside_one]]
        keep = np.ones(len(self.bins.low), dtype=bool)
        keep[which] = False
        parts = [
            np.concatenate([getattr(self.bins, name)[keep], getattr(finer, name)[inside_one]])
            for name in ("mass", "low", "high")
        ]
        order = np.argsort(parts[1], kind="stable")
        self.bins = Tally(parts[0][order], parts[1][order], parts[2][order], self.bins.n_rows)

    # -- a quantile ---------------------------------------------------------------------------------------------
    def quantile(self, share: float) -> float:
        """The score below which there is this share of the mass; the middle where it is between two."""
        total = float(self.bins.mass.sum())
        return 0.5 * sum(self._at((share + off) * total) for off in (-1e-9, 1e-9))

    def _at(self, wanted: float) -> float:
        for _ in range(MOST):
            below = np.cumsum(self.bins.mass.sum(1))
            k = min(int(np.searchsorted(below, wanted)), len(below) - 1)
            if self.bins.low[k] == self.bins.high[k]:
                return float(self.bins.low[k])
            self._refine(np.array([k]))
        raise RuntimeError("the bins of scores do not come to an end: are they finite?")
