"""Every operating point of scores in a tensor, and the best of them exactly: `statistics.frontier` on the device.

One sort, one running sum of the positives, and the measure at every point by its tape. Points are kept where they are;
what leaves the device is the point chosen, and of the whole frontier as many points as a plot can show (`thinned`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..measures import Measure
from ..measures.constraints import TOLERANCE, Constraint
from ..statistics.frontier import TIE, Choice, Frontier, InfeasibleError, best_point
from .tape import evaluate

Tensor = Any
BLOCK = 4096  # places bounded together: on a smooth frontier of 50 million one block in a hundred is left to look into
FEWEST = 64 * BLOCK  # below, all places are looked at in less time than blocks are bounded
SLACK = 10 * TIE  # of bounds: beyond what counts as equal
BINS = 2048  # steps of each rate that a thinned frontier shows, as many as the bootstrap looks at (`resampling`)


@dataclass(frozen=True, eq=False)
class TensorFrontier:
    """Scores in rising order, and for each place the rates of "positive if above this score"; before the first there
    is one more point, all positive. Of equal scores only the last is a point (`is_point`; None: all are)."""

    scores: Tensor
    positive: Tensor  # which rows are
    hits: Tensor  # positives up to this place: a number of rows, or their weight
    is_point: Tensor | None
    below: Tensor | None  # weight up to this place; None: the place itself
    positives: float
    total: float
    n_rows: int

    @property
    def prevalence(self) -> float:
        return self.positives / self.total

    def corners(self) -> Tensor:
        """The places with a positive row next (or equal scores, of which one may be), and the last: elsewhere a higher
        threshold loses nothing and gains TNR."""
        keep = self.positive.new_ones(len(self.positive))
        if self.is_point is None:
            keep[:-1] = self.positive[1:]
        else:
            keep[:-1] = (self.positive[1:] | ~self.is_point[1:]) & self.is_point[:-1]
        return keep.nonzero()[:, 0]

    def rates(self, places: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """TPR and TNR at these places, or at each."""
        hits = (self.hits if places is None else self.hits[places]).double()
        if self.below is not None:
            below = self.below if places is None else self.below[places]
        elif places is None:
            below = torch.arange(1, len(hits) + 1, dtype=torch.float64, device=hits.device)
        else:
            below = places + 1
        tnr = (below - hits).div_(self.total - self.positives).clamp_(0, 1)
        return hits.mul_(-1.0 / self.positives).add_(1.0).clamp_(0, 1), tnr

    def threshold(self, place: int) -> float:
        """The middle between the score there and the next one; place -1 is below all scores."""
        if place < 0:
            return float(np.nextafter(float(self.scores[0]), -np.inf))
        here = float(self.scores[place])
        if place + 1 == len(self.scores):
            return here
        middle = 0.5 * (here + float(self.scores[place + 1]))
        return middle if middle < float(self.scores[place + 1]) else here

    def best(self, measure: Measure, constraints: Sequence[Constraint] = (), allowed: Tensor | None = None) -> Choice:
        """The point of largest value that meets all constraints; among equals the one of largest ``tpr + tnr``."""
        places = self._promising(measure) if not constraints and allowed is None else None
        tpr, tnr = self.rates(places)
        where = self.prevalence, self.n_rows
        values = evaluate(measure, tpr, tnr, *where)
        usable = ~torch.isnan(values)
        for part in (self.is_point, allowed) if places is None else ():
            usable = usable if part is None else usable & part
        for constraint in constraints:
            usable &= _slack(constraint, tpr, tnr, *where) >= -TOLERANCE
        values = torch.where(usable, values, -torch.inf)
        top = float(values.max())
        everything = self._everything(measure, constraints) if allowed is None else None
        if everything is not None:
            top = max(top, everything.value)
        elif not bool(usable.any()):
            raise self._infeasible(measure, constraints)
        tied = (usable & (values >= top - (TIE * (1.0 + abs(top)) if np.isfinite(top) else 0.0))).nonzero()[:, 0]
        found = everything
        if len(tied):
            at = int(tied[torch.argmax(tpr[tied] + tnr[tied])])
            parts = (float(part[at]) for part in (tpr, tnr, values))
            place = at if places is None else int(places[at])
            found = Choice(place + 1, self.threshold(place), *parts)
            if everything is not None and everything.value >= top - TIE * (1.0 + abs(top)):
                found = max((found, everything), key=lambda one: one.tpr + one.tnr)
        assert found is not None
        return found

    def _promising(self, measure: Measure) -> Tensor | None:
        """Places among which the best is; None: all. For a concave measure M they are those of some blocks: in a block
        with centre c and slopes g there, ``M <= M(c) + g . (rates - c)``, and one whose bound is below the best of the
        centres is left out."""
        if measure.is_monotone:
            return self.corners()
        n = len(self.scores)
        if measure.curvature not in ("concave", "affine") or n < FEWEST:
            return None
        first = torch.arange(0, n, BLOCK, device=self.scores.device)
        tpr, tnr = self.rates(centre := torch.clamp(first + BLOCK // 2, max=n - 1))
        value = evaluate(measure, tpr, tnr, self.prevalence, self.n_rows)
        bound = value.clone()
        slopes = measure.gradient(tpr, tnr, self.prevalence, sample_size=self.n_rows)
        ends = [self.rates(place) for place in (first, torch.clamp(first + BLOCK - 1, max=n - 1))]
        for k, (rate, slope) in enumerate(zip((tpr, tnr), slopes, strict=True)):
            bound += torch.maximum(*(slope * (end[k] - rate) for end in ends))
        reached = value if self.is_point is None else torch.where(self.is_point[centre], value, -torch.inf)
        top = float(torch.where(torch.isnan(reached), -torch.inf, reached).max())
        blocks = (~(bound < top - SLACK * (1.0 + abs(top)))).nonzero()  # NaN bounds nothing
        places = (BLOCK * blocks + torch.arange(BLOCK, device=first.device)).flatten()
        places = places[: len(places) - int(torch.clamp(places[-1] - n + 1, min=0))]
        return places if self.is_point is None else places[self.is_point[places]]

    def thinned(self) -> Frontier:
        """A frontier in memory, of points spread evenly over both classes."""
        tpr, tnr = self.rates()
        steps = torch.floor(BINS * (1.0 - tpr)) + torch.floor(BINS * tnr)
        keep = torch.ones(len(steps), dtype=torch.bool, device=steps.device)
        if self.is_point is not None:
            keep &= self.is_point
        if len(steps) > 2 * BINS:
            keep[:-1] &= steps[1:] > steps[:-1]
            keep[-1] = True
        places = keep.nonzero()[:, 0]
        after = torch.clamp(places + 1, max=len(steps) - 1)
        thresholds = 0.5 * (self.scores[places].double() + self.scores[after].double())
        parts = [np.asarray(part.cpu().numpy(), dtype=np.float64) for part in (thresholds, tpr[places], tnr[places])]
        first = (self.threshold(-1), 1.0, 0.0)
        rising, *rates = (np.append(one, part) for one, part in zip(first, parts, strict=True))
        return Frontier(rising, rates[0], rates[1], self.prevalence, self.n_rows)

    def _everything(self, measure: Measure, constraints: Sequence[Constraint]) -> Choice | None:
        """The point at which all rows are called positive, if it meets the constraints."""
        where = (1.0, 0.0, self.prevalence)
        value = float(measure(*where, sample_size=self.n_rows))
        if np.isnan(value) or not all(bool(one.holds(*where, sample_size=self.n_rows)) for one in constraints):
            return None
        return Choice(0, self.threshold(-1), 1.0, 0.0, value)

    def _infeasible(self, measure: Measure, constraints: Sequence[Constraint]) -> InfeasibleError:
        """In the words of a frontier in memory."""
        try:
            best_point(self.thinned(), measure, constraints)
        except InfeasibleError as error:
            return error
        return InfeasibleError("no operating point that is allowed meets the constraints")


def _slack(constraint: Constraint, tpr: Tensor, tnr: Tensor, prevalence: float, n_rows: int) -> Tensor:
    """`Constraint.slack`: the form without its denominator, but for where that is zero."""
    where = tpr, tnr, prevalence, n_rows
    value = evaluate(constraint.cleared, *where)
    if constraint.below is not None:
        zero = evaluate(constraint.below, *where) == 0
        if bool(torch.as_tensor(zero).any()):
            value = torch.where(zero, evaluate(constraint.body, *where), value)
    return value


def scan(scores: Tensor, is_positive: Tensor, weight: Tensor | None = None) -> TensorFrontier:
    """All operating points of the rule ``score > threshold``."""
    check_scores(scores)
    ranked, order = torch.sort(scores)
    positive = is_positive[order]
    apart = ranked[1:] != ranked[:-1]
    is_point = None
    if not bool(apart.all()):
        is_point = torch.cat([apart, apart.new_ones(1)])
    if weight is None:
        hits, below = torch.cumsum(positive, 0, dtype=torch.int32 if len(scores) < 2**31 else torch.int64), None
        positives, total, n_rows = float(hits[-1]), float(len(scores)), len(scores)
    else:
        mass = weight.double()[order]
        hits, below = torch.cumsum(mass * positive, 0), torch.cumsum(mass, 0)
        positives, total, n_rows = float(hits[-1]), float(below[-1]), int((weight > 0).sum())
    if not 0.0 < positives < total:
        which = "positive" if positives == 0.0 else "negative"
        raise ValueError(f"none of the {len(scores)} scored rows is {which} (with weight): rates need both classes")
    return TensorFrontier(ranked, positive, hits, is_point, below, positives, total, n_rows)


def check_scores(scores: Tensor) -> None:
    """Refuse scores that cannot be ranked."""
    if not len(scores):
        raise ValueError("there are no rows to set a threshold on")
    bad = ~torch.isfinite(scores)
    if bool(bad.any()):
        raise ValueError(
            f"{int(bad.sum())} of {len(scores)} scores are NaN or infinite, so they cannot be ranked; "
            f"the first is row {int(bad.nonzero()[0])}. Check the estimator's output on these rows"
        )


def quantile(scores: Tensor, share: float, weight: Tensor | None = None) -> float:
    """The score below which there is this share of the rows, or of their weight; the middle where it is between two."""
    ranked, order = torch.sort(scores)
    if weight is None:
        places = [int(np.clip(np.ceil((share + off) * len(ranked)) - 1, 0, len(ranked) - 1)) for off in (-1e-9, 1e-9)]
    else:
        below = torch.cumsum(weight.double()[order], 0)
        wanted = below[-1] * below.new_tensor([share - 1e-9, share + 1e-9])
        places = torch.clamp(torch.searchsorted(below, wanted), max=len(ranked) - 1).tolist()
    return 0.5 * (float(ranked[places[0]]) + float(ranked[places[1]]))
