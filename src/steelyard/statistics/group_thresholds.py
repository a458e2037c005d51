"""One threshold for each group of rows, chosen together: the best measure of all rows under constraints of groups.

Given the operating points of every group, pick one of each so that the measure of all rows together is largest, while
constraints on all rows, within groups and on the gap between groups hold. True positives and negatives of all rows are
sums over the groups, so for a direction ``a tpr + b tnr`` every group takes its best point by itself. What is within a
group strikes out some of its points; a gap of at most d strikes out those outside a window ``[c, c + d]`` that all
groups share. `proposals` go over windows and directions; `best` evaluates them and improves the best of them, by one
group at a time (all of its points) and by the direction in which the measure rises.

For a measure that is linear over linear in the rates and constraints within groups this ends at the best there is: if
no group can gain in the direction of the measure's slope, no combination is better (such a measure has, over its level
sets, the same sign of slope everywhere). Under a gap or a constraint on all rows it is a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure
from ..measures.constraints import TOLERANCE, Constraint
from ..measures.groups import GapConstraint, GroupConstraint, WithinConstraint
from . import frontier
from .frontier import TIE, InfeasibleError
from .promises.counts import Scored

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

DIRECTIONS = 31  # between "only true positives" and "only true negatives", steps of three degrees
WINDOWS = 900  # of several gaps together; of one 24: those between are found along the curves
ANCHORS = 400  # points of the largest group around which windows are laid: steps of a quarter of a percent of its rows
OFFSETS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a window's width, by which it begins below its anchor
MOST = 200  # points of a group among which proposals choose: steps of half a percent
ROUNDS = 50  # of improvement: each is a gain, so that they end; this many were never seen


@dataclass(frozen=True, eq=False)
class Points:
    """The operating points of one group: rows that are right at each threshold, and which points may be taken."""

    thresholds: Array
    tp: Array
    tn: Array
    positives: float
    negatives: float
    allowed: Flags

    @classmethod
    def of(cls, rows: Scored, name: Any) -> Points:
        try:
            found = frontier.scan(rows.scores, rows.is_positive)
        except ValueError as error:
            raise ValueError(f"a threshold for group {name!r} cannot be set: {error}") from error
        n_pos = float(np.count_nonzero(rows.is_positive))
        n_neg = len(rows) - n_pos
        tp, tn = np.round(found.tpr * n_pos), np.round(found.tnr * n_neg)
        return cls(found.thresholds, tp, tn, n_pos, n_neg, np.ones(len(tp), dtype=np.bool_))

    def rates(self) -> tuple[Array, Array, float]:
        return self.tp / self.positives, self.tn / self.negatives, self.positives / (self.positives + self.negatives)

    def only(self, allowed: Flags) -> Points:
        return replace(self, allowed=self.allowed & allowed)

    def few(self) -> Places:
        """Some of the points that may be taken, at steps of equal size in rows."""
        where = np.flatnonzero(self.allowed)
        if len(where) <= MOST:
            return where
        return np.asarray(where[np.unique(np.linspace(0, len(where) - 1, MOST).astype(np.intp))])


ByGroup = Mapping[Any, Points]


@dataclass(frozen=True, eq=False)
class GroupChoice:
    """A threshold for each group, and the measure there."""

    groups: NDArray[Any]
    thresholds: Array
    value: float


@dataclass(frozen=True, eq=False)
class Joint:
    """The groups together: measure, constraints on all rows, and gaps."""

    groups: ByGroup
    measure: Measure
    plain: tuple[Constraint, ...]
    gaps: tuple[GapConstraint, ...]

    @classmethod
    def of(cls, groups: ByGroup, measure: Measure, constraints: Sequence[Constraint]) -> Joint:
        """Constraints within groups strike out points."""
        within = [one for one in constraints if isinstance(one, WithinConstraint)]
        left = dict(groups)
        for one in within:
            rates = {name: points.rates() for name, points in groups.items()}
            left[one.group] = left[one.group].only(np.asarray(one.met(rates)))
        plain = tuple(one for one in constraints if not isinstance(one, GroupConstraint))
        gaps = tuple(one for one in constraints if isinstance(one, GapConstraint))
        return cls(left, measure, plain, gaps)

    @property
    def totals(self) -> tuple[float, float]:
        return sum(g.positives for g in self.groups.values()), sum(g.negatives for g in self.groups.values())

    def gap_values(self) -> list[list[Array]]:
        """For each gap, what it compares at every point of each group."""
        return [[np.asarray(gap.measure(*g.rates())) for g in self.groups.values()] for gap in self.gaps]

    def judge(self, tp: Array, tn: Array) -> tuple[Array, Flags]:
        """The measure of all rows, and whether the constraints on all rows hold."""
        n_pos, n_neg = self.totals
        where: dict[str, Any] = {"tpr": tp / n_pos, "tnr": tn / n_neg, "prevalence": n_pos / (n_pos + n_neg)}
        values = np.asarray(self.measure(**where, sample_size=n_pos + n_neg), dtype=np.float64)
        good = ~np.isnan(values)
        for one in self.plain:
            good = good & one.holds(**where, sample_size=n_pos + n_neg)
        return values, good

    def sums(self, places: Places) -> tuple[Array, Array]:
        """True positives and negatives of combinations, one in each row of `places`."""
        parts = list(self.groups.values())
        tp = sum(g.tp[places[:, k]] for k, g in enumerate(parts))
        return np.asarray(tp), np.asarray(sum(g.tn[places[:, k]] for k, g in enumerate(parts)))

    def slope(self, tp: float, tn: float) -> tuple[float, float]:
        """How the measure rises with each true positive and with each true negative."""
        n_pos, n_neg = self.totals
        n = n_pos + n_neg
        up = self.measure.gradient(tp / n_pos, tn / n_neg, n_pos / n, sample_size=n)
        return float(np.nan_to_num(up[0])) / n_pos, float(np.nan_to_num(up[1])) / n_neg


def windows(joint: Joint, widths: Sequence[float], few: Sequence[Places]) -> Iterator[list[Flags]]:
    """For each window that all groups have points in, which of the few points of each group lie inside."""
    if not widths:
        yield [np.ones(len(one), dtype=np.bool_) for one in few]
        return
    each = min(24, max(12, int(WINDOWS ** (1.0 / len(widths)))))
    at = [[v[where] for v, where in zip(of_gap, few, strict=True)] for of_gap in joint.gap_values()]
    ends = [_ends(np.concatenate(one), each) for one in at]
    for lows in product(*ends):
        inside = [np.ones(len(one), dtype=np.bool_) for one in few]
        for low, width, of_gap in zip(lows, widths, at, strict=True):
            for k, v in enumerate(of_gap):
                inside[k] &= (v >= low - TOLERANCE) & (v <= low + width + TOLERANCE)
        if all(one.any() for one in inside):
            yield inside


def _ends(values: Array, count: int) -> Array:
    """Where windows begin: at values of the points, at most `count` of them."""
    values = np.unique(values[~np.isnan(values)])
    return values[np.unique(np.linspace(0, len(values) - 1, count).astype(np.intp))]


def proposals(joint: Joint, widths: Sequence[float] | None = None) -> Places:
    """Combinations, one in each row: the best of every direction within every window, and those along the curves."""
    parts = list(joint.groups.values())
    few = [g.few() for g in parts]
    if any(len(one) == 0 for one in few):
        return np.empty((0, len(parts)), dtype=np.intp)
    angles = np.linspace(0.0, 0.5 * np.pi, DIRECTIONS)[:, None]
    n_pos, n_neg = joint.totals
    scores = [
        np.cos(angles) * g.tp[where] / n_pos + np.sin(angles) * g.tn[where] / n_neg
        for g, where in zip(parts, few, strict=True)
    ]
    widths = [gap.bound for gap in joint.gaps] if widths is None else widths
    found = [_along_the_curves(joint, widths)] if joint.gaps else []
    for inside in windows(joint, widths, few):
        picks = [
            where[np.flatnonzero(mask)[score[:, mask].argmax(axis=1)]]
            for where, mask, score in zip(few, inside, scores, strict=True)
        ]
        found.append(np.column_stack(picks))
    return once(np.concatenate(found)) if found else np.empty((0, len(parts)), dtype=np.intp)


def once(places: Places) -> Places:
    """Each combination once. Sorted as a whole: by a number for each as long as that is exact."""
    if len(places) == 0:
        return places
    sizes = (places.max(axis=0) + 1).astype(object)
    if int(np.prod(sizes)) >= 2**62:
        return np.unique(places, axis=0)
    keys = np.ravel_multi_index(tuple(places.T), tuple(int(size) for size in sizes))
    return np.asarray(places[np.unique(keys, return_index=True)[1]])


def _along_the_curves(joint: Joint, widths: Sequence[float]) -> Places:
    """Where what the gaps compare moves one way with the threshold, as rates do, the points of a group inside a window
    are neighbours, and are found among all its points: windows around points of the largest group, and of each group
    the first, the middle and the last point inside. Narrow windows need that, as few points have hardly any inside."""
    nothing = np.empty((0, len(joint.groups)), dtype=np.intp)
    curves, free = [], [np.flatnonzero(points.allowed) for points in joint.groups.values()]
    for of_gap in joint.gap_values():
        steps = [np.diff(values[where]) for values, where in zip(of_gap, free, strict=True)]
        sign = 1.0 if all(not (step < 0.0).any() for step in steps) else -1.0
        if not all((sign * step >= 0.0).all() for step in steps):
            return nothing
        curves.append([sign * values[where] for values, where in zip(of_gap, free, strict=True)])
    largest = int(np.argmax([len(where) for where in free]))
    anchors = np.unique(np.linspace(0, len(free[largest]) - 1, ANCHORS).astype(np.intp))
    found = []
    for shares in product(OFFSETS, repeat=len(widths)):
        lows = [of_gap[largest][anchors] - u * width for of_gap, u, width in zip(curves, shares, widths, strict=True)]
        first = np.zeros((len(anchors), len(free)), dtype=np.intp)
        last = np.tile([len(where) - 1 for where in free], (len(anchors), 1))
        for of_gap, low, width in zip(curves, lows, widths, strict=True):
            for k, values in enumerate(of_gap):
                first[:, k] = np.maximum(first[:, k], np.searchsorted(values, low - TOLERANCE))
                end = np.searchsorted(values, low + width + TOLERANCE, side="right") - 1
                last[:, k] = np.minimum(last[:, k], end)
        ok = (first <= last).all(axis=1)
        found += [first[ok], ((first + last) // 2)[ok], last[ok]]
    places = np.concatenate(found)
    return np.column_stack([where[places[:, k]] for k, where in enumerate(free)]) if len(places) else nothing


def best(joint: Joint) -> tuple[Places, float]:
    """A point of each group, and the measure there; InfeasibleError where nothing that was tried is allowed."""
    found = _best_of(joint, proposals(joint))
    if found is None:
        raise InfeasibleError(
            f"no thresholds of the {len(joint.groups)} groups were found that meet all constraints on the rows scored. "
            "Loosen one or improve the model"
        )
    for _ in range(ROUNDS):
        moved = _uphill(joint, *_one_by_one(joint, *found))
        if not moved[1] > found[1]:
            break
        found = moved
    return found


def _best_of(joint: Joint, tried: Places) -> tuple[Places, float] | None:
    if len(tried) == 0:
        return None
    values, good = joint.judge(*joint.sums(tried))
    good = good & _gaps_hold(joint, tried)
    at = int(np.argmax(np.where(good, values, -np.inf)))
    return (tried[at].copy(), float(values[at])) if good[at] else None


def _gaps_hold(joint: Joint, places: Places) -> Flags:
    kept = np.ones(len(places), dtype=np.bool_)
    for gap, values in zip(joint.gaps, joint.gap_values(), strict=True):
        at = np.array([v[places[:, k]] for k, v in enumerate(values)])
        kept &= np.ptp(at, axis=0) <= gap.bound + TOLERANCE
    return kept


def _better(new: float, old: float) -> bool:
    return bool(new > old + TIE * (1.0 + abs(old)))


def _one_by_one(joint: Joint, places: Places, value: float) -> tuple[Places, float]:
    """Each group in turn takes its best point, given those of the others."""
    values_of = joint.gap_values()
    for k, points in enumerate(joint.groups.values()):
        where = np.flatnonzero(points.allowed)
        tried = np.repeat(places[None, :], len(where), axis=0)
        tried[:, k] = where
        (tp,), (tn,) = joint.sums(places[None, :])
        values, good = joint.judge(
            tp - points.tp[places[k]] + points.tp[where], tn - points.tn[places[k]] + points.tn[where]
        )
        for gap, of_group in zip(joint.gaps, values_of, strict=True):
            others = np.array([v[places[i]] for i, v in enumerate(of_group) if i != k])
            low, high = (others.max() - gap.bound, others.min() + gap.bound) if len(others) else (-np.inf, np.inf)
            good = good & (of_group[k][where] >= low - TOLERANCE) & (of_group[k][where] <= high + TOLERANCE)
        if good.any():
            top = int(np.argmax(np.where(good, values, -np.inf)))
            if _better(float(values[top]), value):
                places, value = tried[top].copy(), float(values[top])
    return places, value


def _uphill(joint: Joint, places: Places, value: float) -> tuple[Places, float]:
    """All groups at once, in the direction in which the measure rises, within the window that they are in."""
    (tp,), (tn,) = joint.sums(places[None, :])
    up = joint.slope(float(tp), float(tn))
    lows = [min(v[places[k]] for k, v in enumerate(values)) for values in joint.gap_values()]
    picks = []
    for k, points in enumerate(joint.groups.values()):
        inside = points.allowed.copy()
        for low, gap, values in zip(lows, joint.gaps, joint.gap_values(), strict=True):
            inside &= (values[k] >= low - TOLERANCE) & (values[k] <= low + gap.bound + TOLERANCE)
        where = np.flatnonzero(inside)
        picks.append(where[np.argmax(up[0] * points.tp[where] + up[1] * points.tn[where])])
    tried = np.array([picks])
    values_at, good = joint.judge(*joint.sums(tried))
    if good[0] and _gaps_hold(joint, tried)[0] and _better(float(values_at[0]), value):
        return tried[0], float(values_at[0])
    return places, value


def points_of(rows: Scored) -> dict[Any, Points]:
    """The operating points of every group there is."""
    names = np.unique(np.asarray(rows.groups)).tolist()
    return {name: Points.of(rows.of(name), name) for name in names}


def choose(rows: Scored, measure: Measure, constraints: Sequence[Constraint]) -> GroupChoice:
    """The best thresholds for these rows themselves."""
    groups = points_of(rows)
    for one in constraints:
        if isinstance(one, WithinConstraint) and one.group not in groups:
            raise ValueError(f"{one!r}: slices has no group {one.group!r}; it has {sorted(map(str, groups))}")
    return taken(Joint.of(groups, measure, constraints))


def taken(joint: Joint) -> GroupChoice:
    places, value = best(joint)
    thresholds = np.array([g.thresholds[k] for g, k in zip(joint.groups.values(), places, strict=True)])
    return GroupChoice(np.array(list(joint.groups)), thresholds, value)
