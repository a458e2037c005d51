"""The best offsets of several classes for a measure under constraints: every cut of one class at a time, exactly.

Given scores ``s_ik`` of n rows for K classes (log-probabilities), the rule "the class with the largest s_ik + o_k" has
K offsets o, one of them to spare. As o_k rises with the others fixed, row i moves to class k where

    o_k > g_i = max over j != k of (s_ij + o_j) - s_ik,

so the rule has at most n + 1 outcomes along o_k. `best_of` has the best of them (compiled: one sort and one pass,
`src/core/measure/class_sweep.hpp`), and the next class follows (`climb`), until no class can gain. The value never
falls, but the end need not be the best of all, so `search` climbs from several starts: first on a sample where rows
are many.

Labels are given as the mass of each row in every class: one-hot rows times a weight, or shrunk labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..measures import Measure
from ..measures.constraints import TOLERANCE, Constraint
from ..measures.tape import flatten_lifted
from .frontier import TIE, InfeasibleError

Array = NDArray[np.float64]

APART = 1e-11  # relative: moves nearer than this are one, as the sums in `predict` cannot tell them apart
ROUNDS = 50  # over all classes; five is usual
# Beyond so many rows a round that gains three hundredths of the noise of a rate is the last one.
FEW, NOTHING = 5_000, 0.03
SAMPLE = 20_000  # rows on which the starts are climbed where there are more: as many decide a hundredth of a rate


@dataclass(frozen=True)
class Goal:
    """What to maximise, and what must hold."""

    measure: Measure
    constraints: tuple[Constraint, ...] = ()

    @property
    def needs_confusion(self) -> bool:
        return any(part.needs_confusion for part in (self.measure, *(one.cleared for one in self.constraints)))

    def judge(self, at: ClassPoints) -> tuple[Array, Array]:
        """The values of the measure, and by how much the constraints are missed in sum."""
        where: dict[str, Any] = {"tpr": at.tpr, "tnr": at.tnr, "prevalence": at.prevalence}
        where |= {"sample_size": at.n_rows, "classes": at.classes, "confusion": at.confusion}
        missed = np.zeros(at.tpr.shape[:-1])
        for constraint in self.constraints:
            missed = missed + np.maximum(0.0, -np.asarray(constraint.slack(**where)) - TOLERANCE)
        return np.asarray(self.measure(**where)), missed


@dataclass(frozen=True, eq=False)
class ClassPoints:
    """Rates of every class (the last axis) at some rules."""

    tpr: Array
    tnr: Array
    prevalence: Array
    n_rows: float
    classes: tuple[Any, ...]
    confusion: Array | None = None  # shares of rows, by true and called class

    @classmethod
    def of(cls, tables: Array, n_rows: float, classes: Sequence[Any]) -> ClassPoints:
        """From the mass of each true class by what it is called (the last two axes); every class has mass."""
        mass, calls, hits = tables.sum(axis=-1), tables.sum(axis=-2), np.diagonal(tables, axis1=-2, axis2=-1)
        whole = mass.sum(axis=-1, keepdims=True)
        tnr = np.clip(1.0 - (calls - hits) / (whole - mass), 0.0, 1.0)
        return cls(hits / mass, tnr, mass / whole, n_rows, tuple(classes), tables / whole[..., None])


@dataclass(frozen=True, eq=False)
class ScoredClasses:
    """Scores of n rows for K classes, and the mass of each row in every class."""

    scores: Array
    labels: Array
    classes: tuple[Any, ...]
    n_rows: int

    @classmethod
    def of(cls, scores: Array, codes: NDArray[np.intp], classes: Sequence[Any], weight: Array | None) -> ScoredClasses:
        mass = np.ones(len(codes)) if weight is None else weight
        labels = np.zeros(scores.shape)
        labels[np.arange(len(codes)), codes] = mass
        return cls(np.ascontiguousarray(scores), labels, tuple(classes), int(np.count_nonzero(mass)))

    def take(self, rows: NDArray[np.intp]) -> ScoredClasses:
        return ScoredClasses(self.scores[rows], self.labels[rows], self.classes, self.n_rows)

    def at(self, offsets: Array, with_confusion: bool = True) -> ClassPoints:
        """The rates of a rule, and its confusion matrix, which takes K counts of all rows in place of two."""
        k, called = len(self.classes), (self.scores + offsets).argmax(axis=1)
        mass = self.labels.sum(axis=0)
        cells = None
        if with_confusion:
            cells = np.array([np.bincount(called, weights=part, minlength=k) for part in self.labels.T])
            hits, calls = cells.diagonal(), cells.sum(axis=0)
            cells = cells / mass.sum()
        else:
            parts = self.labels[np.arange(len(called)), called], self.labels.sum(axis=1)
            hits, calls = (np.bincount(called, weights=part, minlength=k) for part in parts)
        rest = mass.sum() - mass
        tpr = np.clip(hits / mass, 0.0, 1.0)
        tnr = np.clip(1.0 - (calls - hits) / rest, 0.0, 1.0)
        return ClassPoints(tpr, tnr, mass / mass.sum(), self.n_rows, self.classes, cells)


@dataclass(frozen=True, eq=False)
class Offsets:
    """Offsets, the value of the measure with them, and by how much the constraints are missed in sum."""

    offsets: Array
    value: float
    missed: float

    def beats(self, other: Offsets) -> bool:
        if self.missed != other.missed:
            return self.missed < other.missed
        return self.value > other.value + TIE * (1.0 + abs(other.value))


# -- one class ------------------------------------------------------------------------------------------------------
def compiled(goal: Goal, rows: ScoredClasses) -> _core.ClassGoal:
    """The goal as the core takes it."""

    def lifted(measure: Measure) -> _core.ClassMeasure:
        return flatten_lifted(measure, rows.classes)

    made = []
    for constraint in goal.constraints:
        parts = [constraint.cleared] + ([] if constraint.below is None else [constraint.below, constraint.body])
        made.append(_core.ClassConstraint(*map(lifted, parts)))
    # A constraint may hold where the measure is not largest, so that all cuts are looked at.
    monotone = goal.measure.is_monotone and not goal.constraints
    return _core.ClassGoal(lifted(goal.measure), made, 0.5 / rows.n_rows, monotone, TOLERANCE, TIE, APART)


def best_of(rows: ScoredClasses, goal: _core.ClassGoal, offsets: Array, k: int) -> Offsets:
    """The best offset of class k with the others as they are; among equals the largest mean recall."""
    offset, value, missed = _core.best_offset(rows.scores, rows.labels, offsets, k, goal)
    found = offsets.copy()
    found[k] = offset
    return Offsets(found, value, missed)


# -- all classes ----------------------------------------------------------------------------------------------------
def judge(rows: ScoredClasses, goal: Goal, offsets: Array) -> Offsets:
    value, missed = goal.judge(rows.at(offsets, goal.needs_confusion))
    return Offsets(offsets, float(value), float(missed))


def climb(rows: ScoredClasses, goal: Goal, start: Offsets) -> Offsets:
    """One class after another, until a round over all of them gains nothing, or with many rows next to nothing."""
    aim, n = compiled(goal, rows), len(rows.scores)
    enough = 0.0 if n <= FEW else NOTHING / np.sqrt(n)
    now = start
    for _ in range(ROUNDS):
        before = now
        for k in range(len(rows.classes)):
            found = best_of(rows, aim, now.offsets, k)
            now = found if found.beats(now) else now
        if now is before or (now.missed == before.missed and now.value <= before.value + enough):
            break
    return now


def search(
    rows: ScoredClasses, goal: Goal, seed: int = 0, further: Callable[[ScoredClasses, Goal], list[Array]] | None = None
) -> Offsets:
    """The best end of a few climbs; never below the plain argmax, and on all rows whichever start it came from.
    `further` has more starts (`class_weights`)."""
    some = sample(rows, seed)
    plain = judge(rows, goal, np.zeros(len(rows.classes)))
    begin = [*starts(some), *([] if further is None else further(some, goal))]
    ends = [climb(some, goal, judge(some, goal, start)) for start in begin]
    best = max(ends, key=lambda end: (-end.missed, end.value))
    now = best if some is rows else climb(rows, goal, judge(rows, goal, best.offsets))
    now = now if now.beats(plain) else climb(rows, goal, plain)
    if now.missed > 0.0:
        raise _infeasible(rows, goal, now)
    return now


def sample(rows: ScoredClasses, seed: int, most: int = SAMPLE) -> ScoredClasses:
    """About `most` rows if there are more, of every class at least its share of half of them."""
    n, k = rows.scores.shape
    if n <= most:
        return rows
    draw, main = np.random.default_rng(seed), rows.labels.argmax(axis=1)
    keep = []
    for j in range(k):
        of_class = np.flatnonzero(main == j)
        share = max(most // (2 * k), most * len(of_class) // n)
        keep.append(of_class if len(of_class) <= share else draw.choice(of_class, share, replace=False))
    found = rows.take(np.sort(np.concatenate(keep)))
    drawn = found.labels.sum(axis=0)
    whole = rows.labels.sum(axis=0)
    # Classes keep their prevalences: a row stands for as many as were drawn from.
    weights = np.divide(whole, drawn, out=np.ones(k), where=drawn > 0.0)
    return ScoredClasses(found.scores, found.labels * weights, rows.classes, rows.n_rows)


def starts(rows: ScoredClasses) -> Iterator[Array]:
    """The argmax, and the offsets that make classes of calibrated probabilities equally likely; and half way there."""
    mass = rows.labels.sum(axis=0)
    balanced = -np.log(np.maximum(mass, np.finfo(float).tiny) / mass.sum())
    balanced -= balanced.mean()
    for share in (0.0, 0.5, 1.0):
        yield share * balanced


def _infeasible(rows: ScoredClasses, goal: Goal, now: Offsets) -> InfeasibleError:
    at = rows.at(now.offsets)
    by_class = zip(at.classes, at.tpr, at.tnr, strict=True)
    closest = ", ".join(f"{label!r} {tpr:.3g}/{1 - tnr:.3g}" for label, tpr, tnr in by_class)
    asked = " and ".join(map(repr, goal.constraints))
    return InfeasibleError(
        f"no offsets were found that meet {asked} on the {rows.n_rows} rows scored; "
        f"the closest rule has TPR/FPR by class: {closest}. Loosen a constraint or improve the model",
        now,
    )
