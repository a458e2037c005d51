"""A trial: thresholds with what was seen at them, and the rule by which they pass.

- `Caps`: caps on one rate only. The rate moves one way with the threshold, so the thresholds may be those of the rows
  themselves, and none needs an order: the order-statistic rule (`order_statistic`), exact. Caps in both directions (on
  false alarms and on misses) have half of delta each.
- `Learned`: everything else, where there are rows that fix an order (`orders.learned`).
- `GroupCaps`, `GroupPath`: the same where every group has a threshold of its own (`by_group`).
- `ClassPath`: vectors of offsets of several classes (`by_class`).
- `Weighted`: weights by design (`weighted`).
- `Ranked`: a floor on what is called where there are none (`orders.by_rank`); caps beside it have equal parts of delta.

A trial keeps the counts and not the rows, so that it can be asked again what other constraints would have passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from .. import order_statistic
from . import orders
from .counts import ByView, Scored, SeenByView
from .questions import Question

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

LOWEST = 0.1  # of the rows, called by the last start by rank: half of the positives where one row in five is one
HALF = 0.5  # of the positives, called by the last start where their share is known
KEPT = 500  # thresholds of a trial of caps that are kept once it is over: steps of 0.2 % of the rows


@dataclass(frozen=True)
class Goal:
    """What is asked for: the constraints, the measure to be large, and how often the promise may fail."""

    questions: tuple[Question, ...]
    measure: Measure
    delta: float

    @property
    def views(self) -> set[object]:
        return set().union(*(question.views for question in self.questions))


@dataclass(frozen=True, eq=False)
class Caps(SeenByView):
    """Thresholds of the rows themselves."""

    thresholds: Array
    seen: ByView

    @property
    def usable(self) -> Flags:
        return np.ones(len(self.thresholds), dtype=np.bool_)

    @staticmethod
    def level(goal: Goal) -> float:
        """What each direction has of delta."""
        return goal.delta / len({question.keeps_above for question in goal.questions})

    def passed(self, goal: Goal) -> Flags:
        level = self.level(goal)
        kept: Flags = np.logical_and.reduce([within_cap(question, self.seen, level) for question in goal.questions])
        return kept

    def p_values(self, questions: Sequence[Question], delta: float) -> Array:
        return np.array([question.p_values(self.seen) for question in questions])

    def thinned(self, keep: int) -> Caps:
        """Few of the thresholds, with the ends and the one that was taken."""
        few = np.unique(np.r_[np.linspace(0, len(self.thresholds) - 1, KEPT).astype(np.intp), keep])
        return Caps(self.thresholds[few], {view: counts[few] for view, counts in self.seen.items()})


@dataclass(frozen=True, eq=False)
class Learned(SeenByView):
    """A falling grid of thresholds, with what was seen at them before by rows that promise nothing."""

    thresholds: Array
    seen: ByView
    before: ByView

    @property
    def usable(self) -> Flags:
        return np.ones(len(self.thresholds), dtype=np.bool_)

    @classmethod
    def of(cls, rows: Scored, before: Scored, goal: Goal) -> Learned:
        thresholds = orders.grid(before.scores)
        return cls(thresholds, rows.by_view(thresholds, goal.views), before.by_view(thresholds, goal.views))

    def _order(self, goal: Goal) -> orders.Order:
        return orders.learned(goal.questions, goal.measure, self.before, self.seen[None].n_rows)

    def passed(self, goal: Goal) -> Flags:
        order = self._order(goal)

        def p_at(places: NDArray[np.intp]) -> Array:
            seen, before = ({view: c[places] for view, c in part.items()} for part in (self.seen, self.before))
            found: Array = (
                Learned(self.thresholds[places], seen, before).p_values(goal.questions, goal.delta).max(axis=0)
            )
            return found

        return order.walked(p_at, goal.delta, len(self.thresholds))

    def p_values(self, questions: Sequence[Question], delta: float) -> Array:
        found = []
        for question in questions:
            n = self.seen[question.view].n_rows if question.bets else 0.0
            stakes = question.stakes(self.before, n, delta) if question.bets else 0.0
            found.append(question.p_values(self.seen, stakes))
        return np.array(found)


@dataclass(frozen=True, eq=False)
class GroupCaps(Caps):
    """Caps within groups that each have a threshold of their own: column k of `vectors` are thresholds of the k-th of
    `names`, and `seen` has the counts of a group at its column. The groups have equal parts of delta."""

    vectors: Array
    names: tuple[Any, ...]

    @staticmethod
    def level(goal: Goal) -> float:
        return goal.delta / len({(question.view, question.keeps_above) for question in goal.questions})

    def passed(self, goal: Goal) -> Flags:
        """Whether every group has a threshold that passes."""
        kept = {name: np.ones(len(self.thresholds), dtype=np.bool_) for name in self.names}
        for question in goal.questions:
            kept[question.view] &= within_cap(question, self.seen, self.level(goal))
        return np.full(len(self.thresholds), all(one.any() for one in kept.values()))


@dataclass(frozen=True, eq=False)
class GroupPath(Learned):
    """Rows of `vectors` have a threshold for each of the groups in `names`: `thresholds` are their numbers. They were
    laid, and their order fixed, by rows that promise nothing, so that the tests are those of `Learned`."""

    vectors: Array
    names: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class ClassPath(Learned):
    """Rows of `vectors` have an offset for each of the classes in `names`, which are the views; they were laid by rows
    that promise nothing, from the largest margin on towards more of the measure."""

    vectors: Array
    names: tuple[Any, ...]

    def _order(self, goal: Goal) -> orders.Order:
        n_rows = self.seen[None].n_rows
        margin = np.min([question.margin(self.before, n_rows) for question in goal.questions], axis=0)
        return orders.from_margin(margin, np.arange(float(len(margin))))


@dataclass(frozen=True, eq=False)
class Ranked(SeenByView):
    """Thresholds after the k highest scores, for some k; those within ties are not `usable`. The last start calls the
    share `lowest` of the rows."""

    thresholds: Array
    seen: ByView
    usable: Flags
    lowest: float

    @classmethod
    def of(cls, rows: Scored, prevalence: float | None = None) -> Ranked:
        """`prevalence` is that of other rows, if it is known."""
        called = orders.ranks(len(rows))
        thresholds, counts = rows.ranked(called)
        above = rows.counts(thresholds)
        return cls(
            thresholds,
            {None: counts},
            above.tp + above.fp == called,
            LOWEST if prevalence is None else HALF * prevalence,
        )

    def passed(self, goal: Goal) -> Flags:
        caps = [question for question in goal.questions if question.keeps_above is not None]
        floors = [question for question in goal.questions if question.keeps_above is None]
        level = goal.delta / (1 + len({cap.keeps_above for cap in caps}))
        called = np.round(self.seen[None].tp + self.seen[None].fp).astype(np.intp)
        order = orders.by_rank(called, max(_share(floor) for floor in floors), level, self.lowest)
        ok = order.passed(self.p_values(floors, level).max(axis=0), level, len(called))
        kept: Flags = np.logical_and.reduce([ok, self.usable, *(within_cap(cap, self.seen, level) for cap in caps)])
        return kept

    def p_values(self, questions: Sequence[Question], delta: float) -> Array:
        return np.array([question.p_values(self.seen) for question in questions])


@dataclass(frozen=True, eq=False)
class Weighted(SeenByView):
    """A falling grid of thresholds with weighted counts, the p-values of each constraint at them and what passed. The
    rows are not kept, so that nothing else can be asked of them."""

    thresholds: Array
    seen: ByView
    p: Array
    usable: Flags

    def passed(self, goal: Goal) -> Flags:
        return self.usable

    def p_values(self, questions: Sequence[Question], delta: float) -> Array:
        return self.p


def within_cap(question: Question, seen: ByView, level: float) -> Flags:
    """Which thresholds keep a cap on one rate with probability ``1 - level``: at most ``n - k`` rows are beyond them,
    with the k of `order_statistic.rank`."""
    wrong, n = cap_counts(question, seen)
    cap = cap_of(question)
    if not 0.0 < cap < 1.0 or n < order_statistic.needed(cap, level):
        return np.zeros(len(wrong), dtype=np.bool_)
    return np.asarray(wrong <= n - order_statistic.rank(n, cap, level))


def cap_counts(question: Question, seen: ByView) -> tuple[Array, int]:
    """Rows on the wrong side at each threshold, and all rows of that class."""
    at = seen[question.view]
    wrong, all_rows = (at.fp, at.negatives) if question.keeps_above else (at.fn, at.positives)
    return wrong, round(float(all_rows[0]))


def cap_of(question: Question) -> float:
    pays = question.payments
    assert pays is not None
    good, bad = (pays.tn, pays.fp) if question.keeps_above else (pays.tp, pays.fn)
    return good / (good - bad)


def _share(question: Question) -> float:
    assert question.payments is not None
    low, high = question.payments.values
    return -low / (high - low)


# Thresholds, what was `seen` at them, and which of them `passed`; those by group are kinds of the first two.
Trial = Caps | Learned | Ranked | Weighted
