"""Every operating point that a model has on labelled rows, with what each row does between them.

Given scores (a row is called where its score is above the threshold) or the sign changes of a cost path (it is called
where its score at tau is positive). Comes back: points k = 0 .. K-1 in the order of rising thresholds, and for each row
`until`, such that it is called at the points ``k < until``. The few rows of a path that are called, dropped and called
again are apart, with the points at which they turn.

A threshold is told by the shortest number in its gap: any number there gives the same classifier on these rows. Scores
that differ by less than a part in 10^12 are not told apart, except at thresholds that the caller names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.path.sign_changes import SignChanges
from ..statistics.frontier import Frontier, check_scores
from .numbers import shortest_between

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Turning:
    """A row that changes sides more than once: called at the first point or not, and the points at which it turns."""

    row: int
    at_start: bool
    turns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Points:
    """All operating points of the rows, the last one being that of the highest threshold."""

    thresholds: Array
    low: Array  # where the gap of each threshold begins
    until: Ints  # of each row; of those in `turning` it does not count
    turning: tuple[Turning, ...]
    is_positive: NDArray[np.bool_]
    exact: Mapping[int, float]  # thresholds that were named by the caller, by point

    def __len__(self) -> int:
        return len(self.thresholds)

    @property
    def positives(self) -> int:
        return int(np.count_nonzero(self.is_positive))

    @property
    def negatives(self) -> int:
        return len(self.is_positive) - self.positives

    def threshold(self, k: int) -> float:
        return float(self.exact.get(k, self.thresholds[k]))

    def of_threshold(self, threshold: float) -> int:
        """The point in whose gap a threshold is."""
        return max(int(np.searchsorted(self.low, threshold, side="right")) - 1, 0)

    def called(self, k: int) -> NDArray[np.bool_]:
        """Which rows are called at a point."""
        found: NDArray[np.bool_] = self.until > k
        for one in self.turning:
            found[one.row] = one.at_start ^ (sum(turn <= k for turn in one.turns) % 2 == 1)
        return found

    def counts(self) -> tuple[Ints, Ints]:
        """True and false positives at every point."""
        once = np.ones(len(self.until), dtype=np.bool_)
        once[[one.row for one in self.turning]] = False
        found = []
        for is_class in (self.is_positive, ~self.is_positive):
            gone = np.bincount(self.until[once & is_class], minlength=len(self) + 1)[: len(self)]
            here = np.count_nonzero(once & is_class) - np.cumsum(gone)
            for one in (one for one in self.turning if is_class[one.row]):
                steps = np.zeros(len(self), dtype=np.int64)
                np.add.at(steps, list(one.turns), 1)
                here = here + (np.cumsum(steps) % 2 == (0 if one.at_start else 1))
            found.append(here)
        return found[0], found[1]

    def frontier(self, prevalence: float | None = None) -> Frontier:
        """The rates of all points, at the share of positives in these rows or at another."""
        tp, fp = self.counts()
        n_pos, n_neg = self.positives, self.negatives
        share = n_pos / (n_pos + n_neg) if prevalence is None else prevalence
        return Frontier(self.thresholds, tp / n_pos, (n_neg - fp) / n_neg, share, n_pos + n_neg)


def by_scores(
    scores: Array, is_positive: NDArray[np.bool_], named: Mapping[str, float]
) -> tuple[Points, dict[str, int]]:
    """The points of the rule ``score > threshold``, and the points of the thresholds that have a name."""
    check_scores(scores)
    levels, rank = np.unique(scores, return_inverse=True)  # at point k the rows of the k lowest levels are not called
    beyond = levels[-1] - levels[0] or 1.0
    low, high = np.r_[levels[0] - beyond, levels], np.r_[levels, levels[-1] + beyond]
    return _kept(low, (low, high), rank.ravel() + 1, (), is_positive, named)


def by_path(
    changes: SignChanges, is_positive: NDArray[np.bool_], named: Mapping[str, float]
) -> tuple[Points, dict[str, int]]:
    """The points of a cost path, whose thresholds are the tau."""
    tau = changes.rates(is_positive).thresholds  # where anything changes, those that are one taken together
    place = np.minimum(np.searchsorted(tau, changes.tau, side="left"), len(tau) - 1)
    width = np.diff(tau, append=changes.end)
    inside = tau + 0.25 * width, tau + 0.75 * width  # away from the ends, where a score is zero but for rounding
    order = np.argsort(changes.row, kind="stable")
    rows, first, many = np.unique(changes.row[order], return_index=True, return_counts=True)
    until = np.where(changes.at_start, len(tau), 0)
    turning = []
    for row, start, count in zip(rows.tolist(), first.tolist(), many.tolist(), strict=True):
        turns = place[order[start : start + count]]
        if count == 1 and changes.at_start[row]:
            until[row] = turns[0]
        else:
            turning.append(Turning(row, bool(changes.at_start[row]), tuple(turns.tolist())))
    return _kept(tau, inside, until, tuple(turning), is_positive, named)


def _kept(
    low: Array, inside: tuple[Array, Array], until: Ints, turning: tuple[Turning, ...], is_positive: NDArray[np.bool_],
    named: Mapping[str, float],
) -> tuple[Points, dict[str, int]]:  # fmt: skip
    """Without the points that have no number `inside` their gap, unless their threshold was named."""
    values, found = shortest_between(*inside)
    last = len(low) - 1
    where = {name: min(max(int(np.searchsorted(low, at, "right")) - 1, 0), last) for name, at in named.items()}
    found[list(where.values())] = True
    number: Ints = np.cumsum(found) - found  # of a point that is kept; of one that is not, that of the next
    moved = np.r_[number, found.sum()]
    points = Points(
        values[found], low[found], moved[until], tuple(_moved(one, moved) for one in turning), is_positive,
        {int(number[where[name]]): float(value) for name, value in named.items()},
    )  # fmt: skip
    return points, {name: int(number[place]) for name, place in where.items()}


def _moved(one: Turning, moved: Ints) -> Turning:
    return Turning(one.row, one.at_start, tuple(int(moved[turn]) for turn in one.turns))


def cheapest(points: Points, cost_ratio: float, prevalence: float | None) -> int:
    """The point of least cost where a miss costs `cost_ratio` false alarms; the first of equals."""
    tp, fp = points.counts()
    a, b = _prices(points, prevalence)
    return int(np.argmin(a * fp + cost_ratio * b * (points.positives - tp)))


def cost_ratios(points: Points, k: int, prevalence: float | None) -> tuple[float, float]:
    """Between which cost ratios a point is the cheapest; low is above high where it never is."""
    tp, fp = points.counts()
    a, b = _prices(points, prevalence)
    more, fewer = tp > tp[k], tp < tp[k]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = (a * (fp[k] - fp)) / (b * (tp[k] - tp))
    low = float(np.max(slope[fewer], initial=0.0))
    high = float(np.min(slope[more], initial=np.inf))
    return (low, high) if not np.any((tp == tp[k]) & (fp < fp[k])) else (np.inf, 0.0)


def nearest_alarms(points: Points, alarms: float, prevalence: float | None) -> int:
    """The point whose share of rows called, per 1,000, is nearest."""
    tp, fp = points.counts()
    a, b = _prices(points, prevalence)
    return int(np.argmin(np.abs(1000.0 * (b * tp + a * fp) - alarms)))


def _prices(points: Points, prevalence: float | None) -> tuple[float, float]:
    """What one false and one true positive of these rows are as shares of the rows in use."""
    share = points.positives / len(points.is_positive) if prevalence is None else prevalence
    return (1.0 - share) / points.negatives, share / points.positives


def group_names(slices: NDArray[Any], most: int) -> tuple[list[str], Ints]:
    """The names of the groups, and the number of each row's; those beyond the `most` largest are one."""
    labels, codes, sizes = np.unique(slices, return_inverse=True, return_counts=True)
    if len(labels) <= most:
        return [str(label) for label in labels.tolist()], codes.ravel()
    kept = np.sort(np.argsort(-sizes, kind="stable")[: most - 1])
    number = np.full(len(labels), len(kept))
    number[kept] = np.arange(len(kept))
    names = [str(labels[k]) for k in kept.tolist()] + [f"the other {len(labels) - len(kept)} groups"]
    return names, number[codes.ravel()]
