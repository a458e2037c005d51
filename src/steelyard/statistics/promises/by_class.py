"""Promises for several classes: offsets that keep caps on chosen classes, all together, with probability ``1 - delta``.

Neyman-Pearson classification of K classes (Tian and Feng, JASA 2025) asks for the best rule under caps such as
``of(k, fnr) <= a_k``. Each class is a view, "k against the rest", with the four counts of any view; a constraint of it
is tested as one of two classes is (`questions`). What is chosen is a vector of K offsets, one of very many, so that
rows which promise nothing lay a path through them, from the vector most likely to pass to the one with most of the
measure (as `by_group` does for groups): the best offsets on those rows under caps that are tightened by some standard
errors, by fewer and fewer, and steps between them. The promising rows walk along it in that order (`orders`).

Proof that all caps hold together but with probability delta. The vectors and their order are fixed before the
promising rows are looked at. A vector that breaks a cap passes at level a only if the test of that very cap passes,
since the largest of its p-values counts, and that happens with probability at most a: nothing is divided among the
caps. Along the order the levels of vectors that break a cap sum to at most delta (`orders`). Whichever of those that
passed is then taken is one that keeps all caps, unless one that breaks a cap has passed.

Tests of a class's own rows (caps on FNR, floors on recall) condition on their number, so that the rows held out may be
stratified; the others need a plain sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures.constraints import Constraint
from .. import offsets
from ..class_shrinkage import shrunk
from ..offsets import Goal as ClassGoal
from ..offsets import Offsets, ScoredClasses
from .counts import ByView, Counts
from .promise import MOST_ORDER, ORDER_SHARE, Asked, Promise, ask, p_at, refused, with_bound
from .trials import ClassPath

Array = NDArray[np.float64]

# Standard errors by which caps are tightened along the path. At delta = 0.1 a test passes half the time with 1.3 to
# spare; the rows that lay the path are off by as much again, and their best offsets follow their errors: from 4.5 on a
# quarter of the simulated sets of 5,000 rows were refused.
SPARE = (9.0, 7.5, 6.0, 5.0, 4.25, 3.5, 2.75, 2.0, 1.25, 0.5, -0.25)
STEPS = 6  # between two of these: a step is a tenth of a standard error


def keep_classes(
    rows: ScoredClasses, before: ScoredClasses | None, asked: Asked, *, seed: int = 0
) -> tuple[Promise, Offsets]:
    """The promise, and the offsets that keep it; `before` are rows that lay the path, some of `rows` if there are
    none."""
    for constraint in asked.constraints:
        ask(constraint, rows.classes)
    _check_known(asked, rows.classes)
    if before is None:
        before, rows = _apart(rows, seed)
    for part in (before, rows):
        missing = [c for c, mass in zip(rows.classes, part.labels.sum(axis=0), strict=True) if not mass > 0.0]
        if missing:
            raise ValueError(f"class {missing[0]!r} has too few rows to lay offsets and to test them")
    before = shrunk(before)  # offsets that follow the errors of few rows less pass more often
    goal = asked.goal(rows.classes)
    vectors = path(before, asked, rows.n_rows)
    trial = ClassPath(
        np.arange(float(len(vectors))), counts_at(rows, vectors), counts_at(before, vectors), vectors, rows.classes
    )
    promise = Promise(asked.constraints, asked.delta, rows.n_rows, (1.0,), trial, goal, rows.classes)
    passed = trial.passed(goal)
    if not passed.any():
        raise refused(promise)
    aim = ClassGoal(asked.measure)
    found = [(offsets.judge(rows, aim, vectors[place]), place) for place in np.flatnonzero(passed)]
    choice, place = max(found, key=lambda one: one[0].value)
    at = {view: counts[place : place + 1] for view, counts in trial.seen.items()}
    p_values = p_at(trial, goal, at, int(place))
    return Promise(asked.constraints, asked.delta, rows.n_rows, p_values, trial, goal, rows.classes), choice


def path(before: ScoredClasses, asked: Asked, n_rows: int) -> Array:
    """From the strictest caps to the loosest, in steps between the offsets that are best under each on these rows."""
    anchors: list[Array] = []
    for spare in SPARE:
        tight = tuple(_tightened(constraint, spare, before, n_rows) for constraint in asked.constraints)
        aim = ClassGoal(asked.measure, tight)
        begin = [*anchors[-1:], *offsets.starts(before)]
        ends = [offsets.climb(before, aim, offsets.judge(before, aim, start)) for start in begin]
        best = max(ends, key=lambda end: (-end.missed, end.value))
        # Caps that are strict together may exclude each other, and what misses them by least may be no good at all.
        if best.missed == 0.0 or spare in SPARE[-2:]:
            anchors.append(best.offsets - best.offsets.mean())
    places = np.linspace(0.0, len(anchors) - 1.0, STEPS * (len(anchors) - 1) + 1)
    low = np.minimum(places.astype(np.intp), len(anchors) - 2)
    share, ends_of = (places - low)[:, None], np.array(anchors)
    return np.asarray((1.0 - share) * ends_of[low] + share * ends_of[low + 1])


def counts_at(rows: ScoredClasses, vectors: Array) -> ByView:
    """Each class against the rest, at each vector of offsets; under None all rows, the right ones as positives."""
    cells = np.array([rows.at(one).confusion for one in vectors]) * rows.labels.sum()  # (t, true, called)
    of_class, called = cells.sum(axis=2), cells.sum(axis=1)
    hits, total = np.diagonal(cells, axis1=1, axis2=2), cells.sum(axis=(1, 2))
    found: ByView = {}
    for j, label in enumerate(rows.classes):
        tp, fp, fn = hits[:, j], called[:, j] - hits[:, j], of_class[:, j] - hits[:, j]
        found[label] = Counts(*(np.round(part) for part in (tp, fp, fn, total - tp - fp - fn)))
    right, none = np.round(hits.sum(axis=1)), np.zeros(len(vectors))
    return {**found, None: Counts(right, none, np.round(total) - right, none)}


def _tightened(constraint: Constraint, spare: float, before: ScoredClasses, n_rows: int) -> Constraint:
    """The same with the bound that `spare` standard errors of `n_rows` rows, with the errors there, reach from there.

    As a share u of wrong rows: the share r with ``r + spare sqrt(r / n) = u``, which is never negative.
    """
    (question,) = ask(constraint, before.classes)
    of_view = float(before.labels[:, before.classes.index(question.view)].sum() / before.labels.sum())
    of_rest = question.payments is not None and question.payments.side == "negative"
    n = max(1.0, n_rows * (1.0 - of_view if of_rest else of_view))
    bound, (low, high) = float(constraint.right(0.0, 0.0)), constraint.left.range
    if not np.isfinite(high - low):
        return constraint
    is_cap = constraint.sense == "<="
    wrong = max(0.0, bound - low if is_cap else high - bound) / (high - low)
    root = 0.5 * (np.sqrt(spare**2 / n + 4.0 * wrong) - spare / np.sqrt(n))
    moved = min(root**2, 1.0) * (high - low)
    return with_bound(constraint, low + moved if is_cap else high - moved)


def _check_known(asked: Asked, classes: Sequence[Any]) -> None:
    unknown = sorted(map(repr, asked.goal(classes).views - set(classes)))
    if unknown:
        raise ValueError(f"there is no class {unknown[0]}; the classes are {list(classes)}")


def _apart(rows: ScoredClasses, seed: int) -> tuple[ScoredClasses, ScoredClasses]:
    """Some rows that lay the path, and the others."""
    mixed = np.random.default_rng(seed).permutation(len(rows.scores))
    few = min(int(np.ceil(ORDER_SHARE * len(mixed))), MOST_ORDER)
    return _part(rows, np.sort(mixed[:few])), _part(rows, np.sort(mixed[few:]))


def _part(rows: ScoredClasses, which: NDArray[np.intp]) -> ScoredClasses:
    return ScoredClasses(rows.scores[which], rows.labels[which], rows.classes, len(which))
