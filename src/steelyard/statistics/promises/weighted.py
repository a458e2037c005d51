"""Promises from rows with weights by design: survey weights, or a sample that prefers some rows to others.

Each row i was drawn with a known preference and counts for w_i in the population, ``0 <= w_i <= B`` with a bound B that
is known beforehand (the design says it, not these rows). A constraint that pays x (`payments`) holds in the population
when the mean of ``w x`` over the sample's distribution is not negative: the mean of a bounded amount, for which the bet
of `questions` has the same proof. Stakes L are laid side by side, from timid to bold, and the mean of the fortunes

    E = mean over L of  prod_i (1 + L w_i x_i),    L |smallest payment| B < 1,

is one that none of them had to be chosen for: each factor has mean at most 1 where the constraint is broken, so P(E >=
1 / a) <= a and ``p = 1 / E``. Thresholds are tried in an order that other rows fix (`orders`). Only what is paid is
weighted, so that the bound costs what it must: with weights of 0 or 1 this is the bet on the rows of weight 1.
"""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from .. import frontier
from ..frontier import Choice
from . import orders
from .counts import Counts, Scored
from .promise import Asked, Promise, RefusedError, apart, check_views, frontier_of
from .questions import Question
from .trials import Goal, Weighted

Array = NDArray[np.float64]

# Of the boldest stake that cannot lose everything: halved until a bet on a million rows of the largest weight is timid.
STAKES = 0.9 * 0.5 ** np.arange(10.0)


def keep_weighted(
    rows: Scored, before: Scored | None, asked: Asked, largest: float, *, seed: int = 0
) -> tuple[Promise, Choice]:
    """The promise for the weighted population, and the point that keeps it; `largest` bounds all weights there are."""
    groups = () if rows.groups is None else tuple(np.unique(rows.groups).tolist())
    goal = asked.goal(groups)
    check_views(goal, groups)
    for question in goal.questions:
        if question.payments is None:
            raise ValueError(
                f"with weights delta promises what rows pay for one by one; {question.constraint!r} is not"
            )
    assert rows.weight is not None
    if not rows.weight.max() <= largest:
        raise ValueError(
            f"max_weight={largest:g} bounds the weights of all rows; one of these is {rows.weight.max():g}"
        )
    if before is None:
        before, rows = apart(rows, seed)
    thresholds = orders.grid(before.scores)
    margin = np.min([_margin(question, before, thresholds, len(rows)) for question in goal.questions], axis=0)
    order = orders.from_margin(margin, _values(before, thresholds, goal))
    p = np.array([_p_values(question, rows, thresholds, largest) for question in goal.questions])
    passed = order.passed(p.max(axis=0), asked.delta, len(thresholds))
    trial = Weighted(thresholds, {None: _counts(rows, thresholds)}, p, passed)
    promise = Promise(asked.constraints, asked.delta, len(rows), (1.0,), trial, goal, groups)
    if not passed.any():
        words = " and ".join(map(repr, asked.constraints))
        raise RefusedError(
            f"{words} cannot be promised with delta={asked.delta:g} from {len(rows)} held-out rows with weights up to "
            f"{largest:g}. Hold out more rows, loosen it, or allow a larger delta",
            None,
            promise,
        )
    points = frontier_of(trial, rows)
    choice = frontier.best_point(points, asked.measure, allowed=passed[::-1])
    at = tuple(float(one) for one in p[:, len(thresholds) - 1 - choice.index])
    return Promise(asked.constraints, asked.delta, len(rows), at, trial, goal, groups), choice


def _sums(rows: Scored, called: Array, not_called: Array, thresholds: Array) -> Array:
    """At each threshold what rows above it have of `called` and the others of `not_called`."""
    rising = np.argsort(rows.scores, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(not_called[rising])])
    above = np.concatenate([[0.0], np.cumsum(called[rising])])
    at = np.searchsorted(rows.scores[rising], thresholds, side="right")
    return np.asarray(below[at] + above[-1] - above[at])


def _paid(question: Question, rows: Scored) -> tuple[Array, Array]:
    """What each row pays, times its weight, if it is called and if it is not; nothing outside the group asked for."""
    assert question.payments is not None
    assert rows.weight is not None
    tp, fp, fn, tn = astuple(question.payments)
    weight = rows.weight if question.view is None else rows.weight * (rows.groups == question.view)
    return weight * np.where(rows.is_positive, tp, fp), weight * np.where(rows.is_positive, fn, tn)


def _p_values(question: Question, rows: Scored, thresholds: Array, largest: float) -> Array:
    called, not_called = _paid(question, rows)
    assert question.payments is not None
    worst = -min(question.payments.values)
    if worst <= 0.0:
        return np.zeros(len(thresholds))  # it pays for nothing: it holds
    boldest = 1.0 / (worst * largest)
    won = [_sums(rows, np.log1p(s * boldest * called), np.log1p(s * boldest * not_called), thresholds) for s in STAKES]
    fortune = np.logaddexp.reduce(won, axis=0) - np.log(len(STAKES))
    return np.asarray(np.exp(-np.maximum(fortune, 0.0)))


def _margin(question: Question, rows: Scored, thresholds: Array, n_rows: int) -> Array:
    """By how many standard errors of `n_rows` rows it seems to hold."""
    called, not_called = _paid(question, rows)
    earned, square = _sums(rows, called, not_called, thresholds), _sums(rows, called**2, not_called**2, thresholds)
    return np.asarray(
        earned / np.sqrt(square + 0.5 * max(called.max() ** 2, not_called.max() ** 2)) * np.sqrt(n_rows / len(rows))
    )


def _counts(rows: Scored, thresholds: Array) -> Counts:
    """Weighted, of mean weight 1."""
    assert rows.weight is not None
    weight, nothing = rows.weight / rows.weight.mean(), np.zeros(len(rows))
    pos, neg = weight * rows.is_positive, weight * ~rows.is_positive
    # Sums in another order may differ by rounding, and rates lie in [0, 1].
    tp, fp = (np.clip(_sums(rows, one, nothing, thresholds), 0.0, one.sum()) for one in (pos, neg))
    return Counts(tp, fp, pos.sum() - tp, neg.sum() - fp)


def _values(rows: Scored, thresholds: Array, goal: Goal) -> Array:
    counts = _counts(rows, thresholds)
    return np.asarray(goal.measure(*counts.rates(), sample_size=max(1.0, counts.n_rows)))
