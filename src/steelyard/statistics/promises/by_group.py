"""Promises where every group has a threshold of its own.

*Caps within groups alone* (``within("a", fpr) <= 0.05``, ...): a group's order statistic is a matter of its own rows.
With m caps each has ``delta / m``, so that all hold together but with probability delta, whatever thresholds are then
taken among those that pass (`trials.GroupCaps`).

*Everything else*, such as a gap or a floor on the precision of all rows: thresholds of all groups together are one
choice among very many. Rows that promise nothing lay a path through them, from the combination that is most likely to
pass to the one with most of the measure; every other combination would be less likely to pass or have less of it. The
promising rows then walk along the path as along one threshold, with all of delta and the same proof (`orders`): it asks
only that what is tested, and in which order, is fixed before their labels are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures.groups import GapConstraint
from .. import frontier
from ..group_thresholds import GroupChoice, Joint, Points, once, points_of, proposals, taken
from .counts import ByView, Counts, Scored
from .orders import POINTS
from .promise import Asked, Promise, apart, check_views, frontier_of, p_at, refused
from .trials import KEPT, Goal, GroupCaps, GroupPath, within_cap

Array = NDArray[np.float64]

# Standard errors to spare by which points within a group are struck out before a combination is proposed, and the share
# of each gap that is then left: from what passes nearly always to what just holds, and to no matter.
SPARE = ((4.0, 0.0), (2.5, 0.3), (1.5, 0.6), (0.75, 0.8), (0.0, 1.0), (-1.0, 1.2), (-np.inf, 2.0))
LEAST = -2.0  # standard errors short, by the rows that lay the path: it goes a little beyond what they allow


def keep_by_group(rows: Scored, before: Scored | None, asked: Asked, *, seed: int = 0) -> tuple[Promise, GroupChoice]:
    """The promise, and the thresholds that keep it; `before` are rows that lay the path, as in `promise.keep`."""
    groups = tuple(np.unique(np.asarray(rows.groups)).tolist())
    goal = asked.goal(groups)
    check_views(goal, groups)
    if asked.only_caps and not asked.on_all:
        return _by_caps(rows, asked, goal, groups)
    if before is None:
        before, rows = apart(rows, seed)
    for part in (before, rows):
        lacking = set(groups) - set(np.unique(np.asarray(part.groups)).tolist())
        if lacking:
            raise ValueError(f"groups {sorted(map(str, lacking))} have too few rows to lay thresholds and to test them")
    vectors = path(before, goal, asked, float(len(rows)))
    trial = GroupPath(
        np.arange(float(len(vectors))),
        _counts(rows, vectors, groups),
        _counts(before, vectors, groups),
        vectors,
        groups,
    )
    promise = Promise(asked.constraints, asked.delta, len(rows), (1.0,), trial, goal, groups)
    passed = trial.passed(goal)
    if not passed.any():
        raise refused(promise)
    found = frontier.best_point(frontier_of(trial, rows), asked.measure, allowed=passed)
    at = {view: counts[found.index : found.index + 1] for view, counts in trial.seen.items()}
    made = Promise(asked.constraints, asked.delta, len(rows), p_at(trial, goal, at, found.index), trial, goal, groups)
    return made, GroupChoice(np.array(groups), vectors[found.index], found.value)


def path(before: Scored, goal: Goal, asked: Asked, n_rows: float) -> Array:
    """Combinations that no other beats in both margin and measure, from the largest margin on."""
    points = points_of(before)
    joint = Joint.of(points, asked.measure, [c for c in asked.constraints if isinstance(c, GapConstraint)])
    margins = {name: _margins(name, one, points, goal, n_rows) for name, one in points.items()}
    found = []
    for spare, share in SPARE:
        left = {name: one.only(margins[name] >= spare) for name, one in points.items()}
        tried = Joint(left, joint.measure, (), joint.gaps)
        found.append(proposals(tried, [share * gap.bound for gap in joint.gaps]))
    places = once(np.concatenate(found))
    names = list(points)
    seen = _from_points(points, places)
    margin = np.min([question.margin(seen, n_rows) for question in goal.questions], axis=0)
    values, good = joint.judge(*joint.sums(places))
    margin = np.where(good, np.nan_to_num(margin, nan=-np.inf), -np.inf)
    order = np.lexsort((-values, -margin))
    rising = values[order] > np.concatenate([[-np.inf], np.maximum.accumulate(values[order])[:-1]])
    kept = order[rising & (margin[order] >= min(LEAST, float(margin.max())))]
    if len(kept) > POINTS:
        kept = kept[np.unique(np.linspace(0, len(kept) - 1, POINTS).astype(np.intp))]
    return np.column_stack([points[name].thresholds[places[kept, k]] for k, name in enumerate(names)])


def _margins(name: Any, one: Points, points: dict[Any, Points], goal: Goal, n_rows: float) -> Array:
    """Of the constraints within one group, at each of its points; infinite where there are none."""
    total = sum(p.positives + p.negatives for p in points.values())
    asked = [question for question in goal.questions if question.views == {name}]
    if not asked:
        return np.full(len(one.tp), np.inf)
    # A margin is of all rows: those of other groups only count.
    seen = {name: _counts_of(one), None: Counts(*(np.full(len(one.tp), total / 4.0) for _ in range(4)))}
    return np.asarray(np.min([question.margin(seen, n_rows) for question in asked], axis=0))


def _counts_of(one: Points, where: Any = slice(None)) -> Counts:
    tp, tn = one.tp[where], one.tn[where]
    return Counts(tp, one.negatives - tn, one.positives - tp, tn)


def _from_points(points: dict[Any, Points], places: NDArray[np.intp]) -> ByView:
    seen: ByView = {name: _counts_of(one, places[:, k]) for k, (name, one) in enumerate(points.items())}
    return {**seen, None: _sum(seen)}


def _counts(rows: Scored, vectors: Array, names: tuple[Any, ...]) -> ByView:
    """The counts of every group at its column, and of all rows."""
    seen: ByView = {name: rows.of(name).counts(vectors[:, k]) for k, name in enumerate(names)}
    return {**seen, None: _sum(seen)}


def _sum(seen: ByView) -> Counts:
    return Counts(*(np.sum([getattr(c, part) for c in seen.values()], axis=0) for part in ("tp", "fp", "fn", "tn")))


def _by_caps(rows: Scored, asked: Asked, goal: Goal, groups: tuple[Any, ...]) -> tuple[Promise, GroupChoice]:
    points = points_of(rows)
    vectors = np.column_stack([_few(points[name].thresholds) for name in groups])
    trial = GroupCaps(np.arange(float(len(vectors))), _counts(rows, vectors, groups), vectors, groups)
    promise = Promise(asked.constraints, asked.delta, len(rows), (1.0,), trial, goal, groups)
    left = dict(points)
    for question in goal.questions:
        seen = {question.view: _counts_of(points[question.view])}
        left[question.view] = left[question.view].only(within_cap(question, seen, trial.level(goal)))
    if not all(one.allowed.any() for one in left.values()):
        raise refused(promise)
    choice = taken(Joint(left, asked.measure, (), ()))
    at = _counts(rows, choice.thresholds[None, :], groups)
    p = tuple(float(question.p_values(at)[0]) for question in goal.questions)
    return Promise(asked.constraints, asked.delta, len(rows), p, trial, goal, groups), choice


def _few(thresholds: Array) -> Array:
    return thresholds[np.linspace(0, len(thresholds) - 1, KEPT).astype(np.intp)]
