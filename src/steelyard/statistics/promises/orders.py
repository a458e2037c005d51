"""Which thresholds are tried, and in which order: fixed before the labels of the promising rows are looked at.

Many thresholds are tested, and a promise is broken if one is let through that does not keep the constraints. Tested in
an order fixed beforehand, each at the level that the ones before it have left, they may share one ``delta`` (the
fallback procedure, Wiens 2003). Weights w that sum to 1 are laid on some of the thresholds. Walking along the order, a
fortune a grows by ``w delta`` at each; a threshold passes if its p-value is at most a; where one fails a is 0 again.

Proof that one of those that do not keep the constraints passes with probability at most delta: let ``i_1 < i_2 < ...``
be their places. At ``i_1`` the fortune is at most ``delta sum of w up to i_1``; if it fails, then at ``i_2`` at most
``delta sum of w from there up to i_2``, and so on. Each passes at a given level with at most that probability, and the
levels sum to delta. With all weight on one threshold this is testing in a fixed sequence.

*Several constraints* hold together if the largest of their p-values is small: where one of them is broken, its own test
passes with probability at most the level. Nothing is divided among them.

*A learned order*: thresholds from rows that promise nothing (`grid`), beginning where these say that the tests are most
likely to pass, and walking towards more of the measure. Where that is clear by far, two more starts around it have a
third of delta each: one may fail by a small error of those rows.

*An order by ranks*, where only rows that are called pay (a floor on precision): the threshold of place k is the score
after the k highest, so that no other rows are needed. Places are not thresholds fixed beforehand, but the proof holds.
Let precision be continuous in the threshold (ties are broken by the order of the rows) and cut the scores where it
crosses the floor r. Rows between two cuts have precision r exactly, as it is r at both. Given how many rows lie between
the cuts, the k rows above the place where the walk first crosses into a bad stretch are thus r-coins each, and above a
place within a bad stretch, given its score, at best: the number of good ones is at most Bin(k, r), and the p-value's
level holds. Which stretch that is depends on these numbers only. What ties is tested on the way and cannot be chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from .counts import ByView
from .questions import Question

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDING = 1e-12  # relative, as in `order_statistic`: a tail that equals delta up to rounding passes
POINTS = 200  # of each kind in a grid: a step is half a percent of the rows
# By rank: two, three and four have mean recalls of .134, .116 and .115 over a logistic regression, .065, .075 and .086
# over a forest (precision 0.8 from 500 rows, a fifth of them positive; standard error .01 and .02).
STARTS = 3
AT_ONCE = 16  # places whose p-values are asked for together: some that are not needed for few calls
APART = 3.0  # nearer starts see the same rows and cost each other delta
# Standard errors of margin above which there are three starts: a third of delta asks for 0.55 more than all of it (1.83
# for 1.28 at delta = 0.1), which leaves more than two to spare for the error of the rows that chose the start.
CLEAR = 4.0


@dataclass(frozen=True, eq=False)
class Order:
    """Places in the order in which they are tried, and the share of delta that is laid on each."""

    places: NDArray[np.intp]
    weights: Array

    def passed(self, p: Array, delta: float, among: int) -> Flags:
        """Which of `among` thresholds pass."""
        ok, fortune = np.zeros(among, dtype=np.bool_), 0.0
        for place, weight in zip(self.places.tolist(), self.weights.tolist(), strict=True):
            fortune += weight * delta
            ok[place] = fortune > 0.0 and p[place] <= fortune * (1.0 + ROUNDING)
            if not ok[place]:
                fortune = 0.0
        return ok

    def walked(self, p_at: Callable[[NDArray[np.intp]], Array], delta: float, among: int) -> Flags:
        """The same, where p-values are costly: they are asked for some places at a time, as far as the walk goes."""
        left = np.cumsum(self.weights[::-1])[::-1]  # what is laid on this place and those after it
        p, done = np.ones(among), 0
        while done < len(self.places):
            some = self.places[done : done + AT_ONCE]
            p[some] = p_at(some)
            done += len(some)
            ok = self.passed(p, delta, among)
            if not ok[some[-1]] and (done == len(self.places) or left[done] <= 0.0):
                return ok
        return self.passed(p, delta, among)


def grid(scores: Array) -> Array:
    """Falling thresholds that stand for those between any two rows: by rank (fine at the top and the bottom, where
    rare classes are decided), and evenly spread, since scores of rows that were fitted leave the middle empty."""
    ordered = np.sort(scores)
    n = len(ordered)
    from_end = np.unique(np.geomspace(1, n, POINTS).astype(np.intp)) - 1
    evenly = np.linspace(0, n - 1, POINTS).astype(np.intp)
    by_rank = np.concatenate([ordered[from_end], ordered[n - 1 - from_end], ordered[evenly]])
    ends = [np.nextafter(ordered[0], -np.inf)]
    return np.unique(np.concatenate([by_rank, np.linspace(ordered[0], ordered[-1], POINTS), ends]))[::-1]


def learned(questions: Sequence[Question], measure: Measure, before: ByView, n_rows: float) -> Order:
    """From the most promising threshold of a falling grid towards more of the measure, as other rows see them."""
    margin = np.min([question.margin(before, n_rows) for question in questions], axis=0)
    tpr, tnr, prevalence = before[None].rates()
    return from_margin(margin, np.asarray(measure(tpr, tnr, prevalence, sample_size=max(1.0, before[None].n_rows))))


def from_margin(margin: Array, values: Array) -> Order:
    """The same, given by how much the constraints seem to hold at each threshold and what the measure is there."""
    start = int(np.argmax(np.nan_to_num(margin, nan=-np.inf)))
    best = int(np.argmax(np.where((margin > 0.0) & ~np.isnan(values), values, -np.inf)))
    down = best >= start
    starts = _around(margin, start) if margin[start] > CLEAR else (start,)
    if not down:
        starts = starts[::-1]
    places = np.arange(starts[0], len(margin)) if down else np.arange(starts[0], -1, -1)
    return Order(places, np.isin(places, starts) / len(set(starts)))


def _around(margin: Array, start: int) -> tuple[int, ...]:
    """The start, and the ends of the stretch around it in which at least half of its margin is left."""
    enough = margin >= 0.5 * margin[start]
    short = np.flatnonzero(~enough)
    above, below = short[short < start], short[short > start]
    first = int(above[-1]) + 1 if len(above) else 0
    last = int(below[0]) - 1 if len(below) else len(margin) - 1
    return first, start, last


def ranks(n_rows: int) -> NDArray[np.intp]:
    """How many rows are called at the places of an order by rank: all of the first, then in steps of half a percent."""
    if n_rows <= 2 * POINTS:
        return np.arange(1, n_rows + 1)
    wide = np.geomspace(POINTS, n_rows, max(2, int(POINTS * math.log(n_rows / POINTS)))).round()
    return np.unique(np.concatenate([np.arange(1, POINTS), wide])).astype(np.intp)


def by_rank(called: NDArray[np.intp], share: float, delta: float, lowest: float) -> Order:
    """Starts from `lowest` of the rows up to the first place that could pass, in equal steps of the logarithm: as many
    as there are steps of a factor `APART` between, at most `STARTS`."""

    def first(count: int) -> float:
        return math.log(delta / count) / math.log(share)

    last = max(first(1), lowest * called[-1])
    count = max(1, min(STARTS, 1 + int(math.log(last / first(1)) / math.log(APART))))
    starts = np.geomspace(last, first(count), count) if count > 1 else np.array([last])
    weights = np.zeros(len(called))
    np.add.at(weights, np.minimum(np.searchsorted(called, np.ceil(starts)), len(called) - 1), 1.0 / count)
    return Order(np.arange(len(called)), weights)
