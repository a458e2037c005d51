"""Thresholds of several labels a row, one for each, for a measure of all of them under constraints.

Given scores ``s_ij`` of n rows for L labels and an indicator matrix, the rule is "row i has label j if ``s_ij > t_j``".
As t_j falls with the others fixed, label j passes through the points of its own frontier (`frontier.scan`), and nothing
else moves. So

- what rises with a measure f of each label alone (``macro(f)``, ``worst(f)``, ``total(f)``, ``geometric(f)``) is best
  where every label is at its own best point, exactly, and one scan of each label is all;
- everything else (``micro(f)``, means over rows, sums of several, constraints) climbs block by block: all points of one
  label are judged with the others as they are, the best is taken, and the next label follows, until none can gain. It
  starts from the model's own decisions, from the best threshold that all labels share, and from the labels' best F1.

A mean over rows (`by_row`) changes with a point of label j by what the rows that pass are worth with and without it:
one sum along the sorted scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..measures import FBeta, Measure
from ..measures.by_row import nodes_by_row, row_means, value_of_rows
from ..measures.constraints import TOLERANCE
from ..measures.lifted import Geometric, Macro, Total, Worst
from . import frontier, shrinkage
from .frontier import TIE, Choice, Frontier, InfeasibleError
from .offsets import Goal

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

ROUNDS = 30  # over all labels; three or four are usual
SHARED = 50  # thresholds that all labels share, tried as a start


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Scores of n rows for L labels, and which of them they have."""

    scores: Array
    truth: Flags
    weight: Array | None = None

    @cached_property
    def n_labels(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def prevalence(self) -> Array:
        return np.asarray(np.average(self.truth, axis=0, weights=self.weight))

    @cached_property
    def frontiers(self) -> list[Frontier]:
        """The points of each label; of one that all rows have, or none, the one point that says so."""
        found = []
        for j, share in enumerate(self.prevalence):
            if 0.0 < share < 1.0:
                found.append(frontier.scan(self.scores[:, j], self.truth[:, j], self.weight))
                continue
            end = np.array([np.inf if share == 0.0 else -np.inf])
            found.append(Frontier(end, np.ones(1), np.ones(1), float(share), len(self.scores)))
        return found

    def called(self, thresholds: Array) -> Flags:
        return np.asarray(self.scores > thresholds)


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Points of the labels' frontiers, the value there, and by how much the constraints are missed in sum."""

    places: NDArray[np.intp]
    thresholds: Array
    value: float
    missed: float

    def beats(self, other: Thresholds) -> bool:
        if self.missed != other.missed:
            return self.missed < other.missed
        return self.value > other.value + TIE * (1.0 + abs(other.value))


def search(rows: LabelledRows, goal: Goal, *, own: float, shrink: bool = False) -> Thresholds:
    """The best thresholds that were found; `own` is where the model itself decides."""
    inner = by_label(goal.measure)
    if inner is not None and not goal.constraints:
        return _label_by_label(rows, goal, inner, shrink)
    ends = [climb(rows, goal, judge(rows, goal, start)) for start in _starts(rows, goal, own)]
    best = max(ends, key=lambda end: (-end.missed, end.value))
    if best.missed > 0.0:
        raise _infeasible(rows, goal, best)
    return best


def by_label(measure: Measure) -> Measure | None:
    """The measure f of each label alone that decides this one, or None."""
    if isinstance(measure, (Macro, Total, Worst, Geometric)):
        return measure.args[0]
    return None


def _label_by_label(rows: LabelledRows, goal: Goal, inner: Measure, shrink: bool) -> Thresholds:
    places = np.zeros(rows.n_labels, dtype=np.intp)
    for j, found in enumerate(rows.frontiers):
        if len(found) > 1:
            places[j] = _best_of(rows, j, found, inner, shrink).index
    return judge(rows, goal, places)


def _best_of(rows: LabelledRows, j: int, found: Frontier, inner: Measure, shrink: bool) -> Choice:
    if not shrink:
        return frontier.best_point(found, inner)
    scores = rows.scores[:, j]
    is_probability = bool(scores.min() >= 0.0 and scores.max() <= 1.0)
    evidence = shrinkage.log_odds(scores) if is_probability else scores
    return shrinkage.best_point(found, scores, rows.truth[:, j], rows.weight, evidence, inner)


# -- all labels at once ---------------------------------------------------------------------------------------------
def judge(rows: LabelledRows, goal: Goal, places: NDArray[np.intp]) -> Thresholds:
    at = rows.frontiers
    thresholds = np.array([one.thresholds[place] for one, place in zip(at, places, strict=True)])
    tpr, tnr = (np.array([getattr(o, name)[p] for o, p in zip(at, places, strict=True)]) for name in ("tpr", "tnr"))
    given: dict[Measure, Array] = {}
    for part in _parts(goal):
        given |= row_means(part, rows.truth, rows.called(thresholds), rows.weight)
    value, missed = _judged(rows, goal, tpr, tnr, given)
    return Thresholds(places, thresholds, float(value), float(missed))


def _parts(goal: Goal) -> list[Measure]:
    return [goal.measure, *(constraint.body for constraint in goal.constraints)]


def _judged(rows: LabelledRows, goal: Goal, tpr: Array, tnr: Array, given: dict[Measure, Array]) -> tuple[Array, Array]:
    where: dict[str, Any] = {"tpr": tpr, "tnr": tnr, "prevalence": rows.prevalence, "sample_size": len(rows.scores)}
    where |= {"given": given}
    missed = np.zeros(tpr.shape[:-1])
    for constraint in goal.constraints:
        missed = missed + np.maximum(0.0, -np.asarray(constraint.slack(**where)) - TOLERANCE)
    return np.asarray(goal.measure(**where)), missed


def climb(rows: LabelledRows, goal: Goal, start: Thresholds) -> Thresholds:
    """One label after another, until a round over all of them gains nothing."""
    now = start
    for _ in range(ROUNDS):
        before = now
        for j, found in enumerate(rows.frontiers):
            if len(found) > 1:
                tried = best_of(rows, goal, now, j)
                now = tried if tried.beats(now) else now
        if now is before:
            break
    return now


def best_of(rows: LabelledRows, goal: Goal, now: Thresholds, j: int) -> Thresholds:
    """The best point of label j with the others as they are; among equals the largest TPR + TNR."""
    found = rows.frontiers[j]
    tpr, tnr = (np.empty((len(found), rows.n_labels)) for _ in range(2))
    for k, (one, place) in enumerate(zip(rows.frontiers, now.places, strict=True)):
        tpr[:, k], tnr[:, k] = (found.tpr, found.tnr) if k == j else (one.tpr[place], one.tnr[place])
    given = _means_along(rows, goal, now, j)
    value, missed = _judged(rows, goal, tpr, tnr, given)
    value = np.where(np.isnan(value), -np.inf, value)
    least = missed == missed.min()
    top = value[least].max()
    tie = TIE * (1.0 + abs(top)) if np.isfinite(top) else 0.0
    good = least & (value >= top - tie)
    place = int(np.argmax(np.where(good, found.tpr + found.tnr, -np.inf)))
    places, thresholds = now.places.copy(), now.thresholds.copy()
    places[j], thresholds[j] = place, found.thresholds[place]
    return Thresholds(places, thresholds, float(value[place]), float(missed[place]))


def _means_along(rows: LabelledRows, goal: Goal, now: Thresholds, j: int) -> dict[Measure, Array]:
    """The means over rows at every point of label j."""
    nodes = {node for part in _parts(goal) for node in nodes_by_row(part)}
    if not nodes:
        return {}
    called, truth = rows.called(now.thresholds), rows.truth
    called[:, j] = False
    hits, calls, held = (part.sum(axis=1).astype(float) for part in (truth & called, called, truth))
    weight = np.ones(len(truth)) if rows.weight is None else rows.weight
    order = np.argsort(-rows.scores[:, j], kind="stable")
    falling = rows.scores[order, j]
    passed = np.searchsorted(-falling, -rows.frontiers[j].thresholds, side="left")  # rows above each threshold
    found: dict[Measure, Array] = {}
    for node in nodes:
        without = value_of_rows(node, hits, calls, held, rows.n_labels)
        with_it = value_of_rows(node, hits + truth[:, j], calls + 1.0, held, rows.n_labels)
        gains = np.concatenate([[0.0], np.cumsum((weight * (with_it - without))[order])])
        found[node] = (weight @ without + gains[passed]) / weight.sum()
    return found


def _starts(rows: LabelledRows, goal: Goal, own: float) -> list[NDArray[np.intp]]:
    each = np.quantile(rows.scores, np.linspace(0.0, 1.0, SHARED))
    best = np.array([0 if len(f) == 1 else frontier.best_point(f, FBeta(1)).index for f in rows.frontiers])
    shared = [judge(rows, goal, _nearest(rows, np.full(rows.n_labels, one))) for one in np.unique(each)]
    top = max(shared, key=lambda one: (-one.missed, one.value))
    return [_nearest(rows, np.full(rows.n_labels, own)), top.places, best]


def _nearest(rows: LabelledRows, thresholds: Array) -> NDArray[np.intp]:
    """The points that call the same rows."""
    places = np.zeros(rows.n_labels, dtype=np.intp)
    for j, (found, t) in enumerate(zip(rows.frontiers, thresholds, strict=True)):
        if len(found) > 1:
            above = np.sort(rows.scores[rows.scores[:, j] > t, j])
            same = np.searchsorted(found.thresholds, above[0], side="left") - 1 if len(above) else len(found) - 1
            places[j] = max(int(same), 0)
    return places


def _infeasible(rows: LabelledRows, goal: Goal, now: Thresholds) -> InfeasibleError:
    asked = " and ".join(map(repr, goal.constraints))
    return InfeasibleError(
        f"no thresholds were found that meet {asked} on the {len(rows.scores)} rows scored; the closest miss them by "
        f"{now.missed:.3g} in sum. Loosen a constraint or improve the model",
        now,
    )
