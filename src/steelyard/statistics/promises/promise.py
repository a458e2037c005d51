"""A promise: a threshold that keeps all constraints on unseen data with probability ``1 - delta``, or a refusal.

Given scored rows that the model has not seen, `keep` tries thresholds (`trials`) and takes, among those that pass, the
one with the most of the measure on these rows: as none of them fails but with probability delta, choosing among them
costs nothing. What comes back says what was promised, on how many rows and how clearly; `attainable` and `rows_needed`
say what could have been promised instead. They are for planning: a bound that is picked after looking at the rows is
promised by new rows only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from ...measures.constraints import Constraint
from ...measures.groups import GapConstraint, GroupConstraint, WithinConstraint
from ...measures.lifted import Of
from .. import frontier, order_statistic
from ..frontier import Choice, Frontier, InfeasibleError
from .counts import Counts, Scored
from .payments import Payments, read
from .questions import Question, Share
from .trials import Caps, Goal, Learned, Ranked, Trial, Weighted, cap_counts, cap_of

Array = NDArray[np.float64]

# Of the rows of a fitted model: they fix an order and promise nothing. For precision 0.8 from 500 rows a tenth had mean
# recall .056 and a fifth .070 (150 samples).
ORDER_SHARE = 0.2
MOST_ORDER = 2000  # of these: a grid of some hundred thresholds needs no more
STEPS = 24  # halvings of a bound: 1e-7
MOST_ROWS = 1e4  # times as many rows as there are: beyond that "more rows" is no advice


class RefusedError(InfeasibleError):
    """Nothing could be promised; `promise` says what could have been."""

    def __init__(self, message: str, closest: Choice | None = None, promise: Promise | None = None) -> None:
        super().__init__(message, closest)
        self.promise = promise


@dataclass(frozen=True, eq=False)
class Promise:
    """What holds on unseen data with probability ``1 - delta``.

    Attributes
    ----------
    constraints : tuple of Constraint
        What was promised.
    delta : float
    n_rows : int
        Rows that promise: not fitted on, and not used to fix the order of the thresholds.
    p_value, p_values : float, tuple of float
        How probable rows as good as these would be if the constraint did not hold at the chosen threshold: the largest,
        and of each constraint.
    """

    constraints: tuple[Constraint, ...]
    delta: float
    n_rows: int
    p_values: tuple[float, ...]
    trial: Trial
    goal: Goal
    groups: tuple[Any, ...] = ()

    @property
    def p_value(self) -> float:
        return max(self.p_values)

    def __repr__(self) -> str:
        words = " and ".join(map(repr, self.constraints))
        return f"Promise({words}, delta={self.delta:g}, n_rows={self.n_rows}, p_value={self.p_value:.3g})"

    def attainable(self, delta: float | None = None) -> list[Constraint | None]:
        """For each constraint the tightest bound that these rows would have promised, the others as they are.

        None where no bound is a number, none would pass, or rows had weights. A guide for the next rows: picked after
        looking at these, it is not promised by them.
        """
        level = self.delta if delta is None else delta
        if isinstance(self.trial, Weighted):
            return [None] * len(self.constraints)
        return [self._tightest(k, level) for k in range(len(self.constraints))]

    def rows_needed(self, delta: float | None = None) -> int | None:
        """About how many rows like these would promise what was asked; None if it seems out of reach."""
        level = self.delta if delta is None else delta
        questions, trial = self.goal.questions, self.trial
        if isinstance(trial, Weighted):
            return None
        if isinstance(trial, Caps) and all(0.0 < cap_of(question) < 1.0 for question in questions):
            shares = [cap_counts(question, trial.seen)[1] / self.n_rows for question in questions]
            needs = [order_statistic.needed(cap_of(question), level) for question in questions]
            return int(np.ceil(max(n / max(share, 1e-12) for n, share in zip(needs, shares, strict=True))))

        def enough(factor: float) -> bool:
            more = replace(trial, seen={view: counts.times(factor) for view, counts in trial.seen.items()})
            return bool((more.p_values(questions, level).max(axis=0) <= level).any())

        if not enough(MOST_ROWS):
            return None
        low, high = 0.0, np.log(MOST_ROWS)
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if enough(np.exp(middle)) else (middle, high)
        return int(np.ceil(self.n_rows * np.exp(high)))

    def _tightest(self, k: int, delta: float) -> Constraint | None:
        asked = self.constraints[k]
        if asked.right.varies or asked.right.needs_prevalence or asked.left.needs_prevalence is None:
            return None
        ends = asked.left.range if not isinstance(asked, GapConstraint) else (0.0, 1.0)
        loose, tight = (ends[1], ends[0]) if asked.sense == "<=" else (ends[0], ends[1])
        if not (np.isfinite(loose) and np.isfinite(tight)) or not self._passes(k, loose, delta):
            return None
        for _ in range(STEPS):
            middle = 0.5 * (loose + tight)
            loose, tight = (middle, tight) if self._passes(k, middle, delta) else (loose, middle)
        digits = 10.0 ** -max(3, int(np.ceil(-np.log10(max(abs(loose), 1e-6)))) + 1)
        rounded = np.ceil(loose / digits) * digits if asked.sense == "<=" else np.floor(loose / digits) * digits
        return with_bound(asked, round(float(rounded), 9))

    def _passes(self, k: int, bound: float, delta: float) -> bool:
        try:
            instead = ask(with_bound(self.constraints[k], bound), self.groups)
        except ValueError:
            return False
        own = ask(self.constraints[k], self.groups)
        others = tuple(question for question in self.goal.questions if question not in own)
        goal = Goal((*others, *instead), self.goal.measure, delta)
        if isinstance(self.trial, Ranked) and not all(_by_rank(question) for question in goal.questions):
            return bool(instead[0].p_values(self.trial.seen).max() == 0.0)  # one that always holds
        if isinstance(self.trial, Caps) and any(question.keeps_above is None for question in goal.questions):
            return bool(instead[0].p_values(self.trial.seen).max() == 0.0)
        return bool(self.trial.passed(goal).any())


def with_bound(constraint: Constraint, bound: float) -> Constraint:
    """The same with another number on its right."""
    if isinstance(constraint, GapConstraint):
        return GapConstraint(constraint.measure, bound)
    left = constraint.left
    plain = left <= bound if constraint.sense == "<=" else left >= bound
    return WithinConstraint(constraint.group, plain) if isinstance(constraint, WithinConstraint) else plain


def ask(constraint: Constraint, groups: Sequence[Any] = ()) -> tuple[Question, ...]:
    """The tests that a constraint stands for: one, or for a gap one for each ordered pair of groups."""
    if isinstance(constraint, WithinConstraint):
        return (Question.of(constraint, read(constraint.plain), constraint.group),)
    if constraint.body.is_lifted:
        return (Question.of(constraint, read(of_one_class(constraint)), constraint.left.label),)  # type: ignore[attr-defined]
    if not isinstance(constraint, GapConstraint):
        return (Question.of(constraint, read(constraint)),)
    found = read(constraint.measure <= 0.5)  # any bound: only what it compares is read here
    of_all = isinstance(found, Payments) and found.tp == found.fp and found.fn == found.tn
    if not (isinstance(found, Payments) and (of_all or found.side in ("negative", "positive"))):
        raise ValueError(
            f"delta promises a gap of one rate or of the share called, such as gap(tpr) <= 0.03; got {constraint!r}"
        )
    positives = None if of_all else found.side == "positive"
    slope = abs(found.tn - found.fp) if positives is False else abs(found.tp - found.fn)
    return tuple(
        Question(constraint, None, (Share(slope, positives, a), Share(-slope, positives, b)), constraint.bound)
        for a, b in permutations(groups, 2)
    )


def of_one_class(constraint: Constraint) -> Constraint:
    """What ``of(k, measure) <= number`` asks of the class k against the rest."""
    left, right = constraint.left, constraint.right
    if not isinstance(left, Of) or right.varies or right.needs_prevalence:
        raise ValueError(
            f"with several classes delta promises limits on one class each, such as of('a', fnr) <= 0.05 or "
            f"of('a', Precision()) >= 0.9; {constraint!r} is not one"
        )
    inner = left.args[0]
    return inner <= right if constraint.sense == "<=" else inner >= right


def _by_rank(question: Question) -> bool:
    pays = question.payments
    if question.view is not None or pays is None or len(pays.values) != 2:
        return False
    return question.keeps_above is not None or (pays.side == "called" and pays.tp > 0.0 > pays.fp)


@dataclass(frozen=True, eq=False)
class Asked:
    """What a promise is asked for."""

    constraints: tuple[Constraint, ...]
    measure: Measure
    delta: float

    def goal(self, groups: Sequence[Any]) -> Goal:
        questions = tuple(q for constraint in self.constraints for q in ask(constraint, groups))
        return Goal(questions, self.measure, self.delta)

    def check(self) -> None:
        """Refuse what cannot be promised by any number of rows."""
        for question in self.goal(()).questions:
            if question.payments is not None and not any(value > 0.0 for value in question.payments.values):
                raise ValueError(
                    f"a promise needs a floor or a cap strictly between 0 and 1; got {question.constraint!r}, which no "
                    "number of rows can show"
                )

    @property
    def only_caps(self) -> bool:
        """Whether thresholds need no order, since every constraint is a cap on one rate."""
        if any(isinstance(constraint, GapConstraint) for constraint in self.constraints):
            return False
        return all(question.keeps_above is not None for question in self.goal(()).questions)

    @property
    def on_all(self) -> bool:
        """Whether one of them is on all rows, whatever their group."""
        return any(None in question.views for question in self.goal(()).questions)

    @property
    def by_rank(self) -> bool:
        """Whether the promising rows can fix the order themselves, by their ranks."""
        return not any(c.needs_groups for c in self.constraints) and all(map(_by_rank, self.goal(()).questions))

    @property
    def only_floors(self) -> bool:
        """Whether there are only floors on what is called, such as precision, for which ranks are as good an order as
        one that is learned."""
        return self.by_rank and all(question.keeps_above is None for question in self.goal(()).questions)

    @property
    def by_class(self) -> bool:
        """Whether the tests condition on the number of rows of each class, so that a sample may be stratified."""
        of_class = ("negative", "positive")
        return all(q.payments is None or q.payments.side in of_class for q in self.goal(()).questions)


def asked_of(
    constraints: tuple[Constraint, ...],
    measure: Measure,
    delta: float | None,
    weight: Array | None,
    max_weight: float | None = None,
) -> Asked | None:
    """What an estimator's parameters ask for: None without `delta`, an error where no rows could promise it. Weights
    by design need a bound."""
    if delta is None:
        return None
    if not constraints:
        raise ValueError("delta promises constraints, such as subject_to=fpr <= 0.05; got subject_to=None")
    if weight is not None and max_weight is None:
        raise ValueError(
            "the promise is for unweighted rows; drop sample_weight or delta. ThresholdClassifier(max_weight=...) "
            "takes weights by design, whose largest value is known beforehand"
        )
    asked = Asked(constraints, measure, delta)
    asked.check()
    return asked


def keep(
    rows: Scored, before: Scored | None, asked: Asked, *, prevalence: float | None = None, seed: int = 0
) -> tuple[Promise, Choice]:
    """The promise, and the point that keeps it. `before` are rows that fix the order of thresholds; without them, and
    where ranks do not, some of `rows` are. `prevalence` is that of other rows, if it is known."""
    groups = () if rows.groups is None else tuple(np.unique(rows.groups).tolist())
    goal = asked.goal(groups)
    check_views(goal, groups)
    trial: Trial
    if asked.only_caps:
        thresholds = frontier.scan(rows.scores, rows.is_positive).thresholds
        trial = Caps(thresholds, rows.by_view(thresholds, goal.views))
    elif asked.only_floors or (before is None and asked.by_rank):
        trial = Ranked.of(rows, prevalence)
    else:
        if before is None:
            before, rows = apart(rows, seed)
        trial = Learned.of(rows, before, goal)
    promise = Promise(asked.constraints, asked.delta, len(rows), (1.0,), trial, goal, groups)
    passed = trial.passed(goal)
    if not passed.any():
        raise refused(promise)
    points = frontier_of(trial, rows)
    rising = np.argsort(trial.thresholds, kind="stable")
    choice = frontier.best_point(points, asked.measure, allowed=passed[rising])
    place = int(rising[choice.index])
    at = {view: counts[place : place + 1] for view, counts in trial.seen.items()}
    p = p_at(trial, goal, at, place)
    kept = trial.thinned(place) if isinstance(trial, Caps) else trial
    return replace(promise, p_values=p, trial=kept), choice


def apart(rows: Scored, seed: int) -> tuple[Scored, Scored]:
    """Some rows that fix the order, and the others."""
    mixed = np.random.default_rng(seed).permutation(len(rows))
    few = min(int(np.ceil(ORDER_SHARE * len(rows))), MOST_ORDER)
    return rows.take(mixed[:few]), rows.take(mixed[few:])


def p_at(trial: Trial, goal: Goal, at: dict[Any, Counts], place: int) -> tuple[float, ...]:
    if isinstance(trial, Learned):
        before = {view: counts[place : place + 1] for view, counts in trial.before.items()}
        one: Trial = Learned(trial.thresholds[place : place + 1], at, before)
    else:
        one = Caps(trial.thresholds[place : place + 1], at)
    return tuple(float(p[0]) for p in one.p_values(goal.questions, goal.delta))


def frontier_of(trial: Trial, rows: Scored) -> Frontier:
    tpr, tnr, prevalence = trial.seen[None].rates()
    rising = np.argsort(trial.thresholds, kind="stable")
    return Frontier(trial.thresholds[rising], tpr[rising], tnr[rising], prevalence, len(rows))


def check_views(goal: Goal, groups: tuple[Any, ...]) -> None:
    unknown = goal.views - {None, *groups}
    if unknown:
        raise ValueError(
            f"constraints within {sorted(map(repr, unknown))} need the groups of the rows, fit(X, y, slices=...); "
            f"{'there are ' + ', '.join(map(repr, groups)) if groups else 'none were given'}"
        )


def refused(promise: Promise) -> RefusedError:
    """What was asked, what the rows would have promised, and how many rows it would take."""
    delta, words = promise.delta, " and ".join(map(repr, promise.constraints))
    if isinstance(promise.trial, Caps):
        return RefusedError(_too_few(promise), None, promise)
    text = f"{words} cannot be promised with delta={delta:g} from {promise.n_rows} held-out rows"
    instead = [found for found in promise.attainable() if found is not None]
    needed = promise.rows_needed()
    offers = [" or ".join(map(repr, instead)) + " could be"] if instead else []
    if needed is not None and needed > promise.n_rows:
        offers.append(f"as asked it takes about {_about(needed):,} such rows")
    if not offers:
        offers.append("no rule of this model seems to keep it: loosen it or improve the model")
    return RefusedError(f"{text}; {', and '.join(offers)}. Or allow a larger delta", None, promise)


def _too_few(promise: Promise) -> str:
    goal, seen = promise.goal, promise.trial.seen
    assert isinstance(promise.trial, Caps)
    level = promise.trial.level(goal)
    for question in goal.questions:
        cap, (_, n) = cap_of(question), cap_counts(question, seen)
        kind = "negatives" if question.keeps_above else "positives"
        if question.view is not None:
            kind += f" of group {question.view!r}"
        if not 0.0 < cap < 1.0:
            return f"a promise needs a cap strictly between 0 and 1; got {question.constraint!r}"
        needed = order_statistic.needed(cap, level)
        if n < needed:
            return (
                f"{question.constraint!r} with delta={goal.delta} needs {needed} held-out {kind}; {n} were given. "
                "Hold out more rows, or loosen the cap or delta"
            )
    words = " and ".join(map(repr, promise.constraints))
    return (
        f"{words} cannot be promised together with delta={goal.delta} from {promise.n_rows} held-out rows: no "
        "threshold keeps all of them. Loosen one, hold out more rows or improve the model"
    )


def _about(number: int) -> int:
    """With two digits that count."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


def needs_groups(constraints: Sequence[Constraint]) -> bool:
    return any(isinstance(constraint, GroupConstraint) for constraint in constraints)
