"""What a file holds of a promise: the constraints, and the counts at the thresholds that were tried; of a watch its
fortunes. No rows."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np

from ..files.kinds import (
    ANYTHING,
    COUNT,
    FINITE,
    Array,
    Each,
    Fields,
    IfThere,
    Is,
    Maybe,
    Number,
    Text,
    check_fields,
    fits,
)
from ..files.values import Description
from ..measures import Constraint, Measure
from ..statistics.promises.counts import ByView, Counts
from ..statistics.promises.payments import Payments
from ..statistics.promises.promise import Asked, Promise
from ..statistics.promises.questions import Question, Share
from ..statistics.promises.trials import Caps, ClassPath, GroupCaps, GroupPath, Learned, Ranked, Trial, Weighted
from ..statistics.promises.watching import HALF_LIVES, Fortune
from ._saved_parts import frozen
from .watch import Alarm, Watched

KINDS = ("caps", "learned", "ranked", "groupcaps", "grouppath", "weighted", "classpath")
PARTS = ("tp", "fp", "fn", "tn")
SHARE = Number(0.0, 1.0)  # delta, p-values


def _packed(counts: ByView | None, views: tuple[Any, ...]) -> np.ndarray | None:
    if counts is None:
        return None
    return np.array([[getattr(counts[view], part) for part in PARTS] for view in views], dtype=np.float64)


def _unpacked(packed: np.ndarray, views: tuple[Any, ...]) -> ByView:
    return {view: Counts(*parts) for view, parts in zip(views, packed, strict=True)}


def _state(promise: Promise) -> dict[str, Any]:
    trial = promise.trial
    views = tuple(trial.seen)
    return {
        "constraints": promise.constraints,
        "delta": float(promise.delta),
        "n_rows": promise.n_rows,
        "p_values": promise.p_values,
        "measure": promise.goal.measure,
        "groups": promise.groups,
        "kind": type(trial).__name__.lower(),
        "thresholds": trial.thresholds,
        "vectors": getattr(trial, "vectors", None),
        "p": getattr(trial, "p", None),
        "usable": trial.usable,
        "lowest": float(getattr(trial, "lowest", 0.0)),
        "views": views,
        "seen": _packed(trial.seen, views),
        "before": _packed(getattr(trial, "before", None), views),
    }


# t thresholds, v views: all rows and groups; four kinds of counts.
_FIELDS: Fields = {
    "constraints": Each(Is(Constraint)), "delta": SHARE, "n_rows": COUNT, "p_values": Each(SHARE),
    "measure": Is(Measure), "groups": Each(ANYTHING, "g"), "kind": Text(KINDS), "thresholds": Array("f8", "t"),
    "p": IfThere(Maybe(Array("f8", "q", "t", low=0))),
    "vectors": IfThere(Maybe(Array("f8", "t", "g"))),  # files from before there were any have none
    "usable": Array("b1", "t"), "lowest": SHARE, "views": Each(ANYTHING, "v"),
    "seen": Array("f8", "v", 4, "t", low=0), "before": Maybe(Array("f8", "v", 4, "t", low=0)),
}  # fmt: skip


def _make(state: dict[str, Any]) -> Promise:
    check_fields(_FIELDS, state)
    views, thresholds = state["views"], state["thresholds"]
    fits(all(type(name) in (str, int, bool, float) for name in state["groups"]), "the groups of a promise")
    fits(None in views and {*views} <= {None, *state["groups"]} and len(thresholds) > 0, "the counts and the groups")
    learned = state["kind"] in ("learned", "grouppath", "classpath")
    by_group = state["kind"] in ("groupcaps", "grouppath", "classpath")
    fits((state["before"] is not None) == learned, "the counts and the order of a promise")
    fits((state.get("vectors") is not None) == by_group, "the thresholds and the groups of a promise")
    fits((state.get("p") is not None) == (state["kind"] == "weighted"), "the p-values and the order of a promise")
    seen = _unpacked(state["seen"], views)
    trial: Trial
    own = (state["vectors"], state["groups"]) if by_group else ()
    if state["kind"] in ("caps", "groupcaps"):
        trial = (GroupCaps if by_group else Caps)(thresholds, seen, *own)
    elif learned:
        path = {"learned": Learned, "grouppath": GroupPath, "classpath": ClassPath}[state["kind"]]
        trial = path(thresholds, seen, _unpacked(state["before"], views), *own)
    elif state["kind"] == "weighted":
        trial = Weighted(thresholds, seen, state["p"], state["usable"])
    else:
        trial = Ranked(thresholds, seen, state["usable"], state["lowest"])
    asked = Asked(state["constraints"], state["measure"], state["delta"])
    goal = asked.goal(state["groups"])
    fits(len(goal.questions) == len(state["p_values"]), "the constraints and the p-values")
    fits(goal.views <= set(views) or state["kind"] == "weighted", "the constraints and the groups")
    return Promise(asked.constraints, asked.delta, state["n_rows"], state["p_values"], trial, goal, state["groups"])


# -- watches ----------------------------------------------------------------------------------------------------
def _question_state(question: Question) -> dict[str, Any]:
    return {
        "constraint": question.constraint,
        "payments": None if question.payments is None else astuple(question.payments),
        "shares": tuple(astuple(share) for share in question.shares),
        "constant": float(question.constant),
        "view": question.view,
    }


def _make_question(state: dict[str, Any]) -> Question:
    check_fields(_QUESTION, state)
    given = {name: part for name, part in state.items() if name not in ("payments", "shares")}
    payments = None if state["payments"] is None else Payments(*state["payments"])
    shares = tuple(Share(*share) for share in state["shares"])
    for share in shares:
        known = share.of_positives in (True, False, None)
        fits(isinstance(share.factor, float) and known, "the shares of a constraint")
    fits((payments is None) == bool(shares), "the payments and the shares of a constraint")
    return Question(payments=payments, shares=shares, **given)


# What a row pays, by kind; (factor, of positives, group) of each share.
_QUESTION: Fields = {
    "constraint": Is(Constraint), "payments": Maybe(Each(FINITE, 4)), "shares": Each(Each(ANYTHING, 3)),
    "constant": FINITE, "view": ANYTHING,
}  # fmt: skip
_SUMS = Array("f8", len(HALF_LIVES))


def _sound_watched(one: Watched) -> None:
    fits(len(one.hits) == len(one.rows) == len(one.question.shares), "a block and its shares")


# Fortunes for each half-life; how much of a block has come, for each of its shares.
PROMISES = (
    Description("Promise", Promise, _state, _make),
    Description("Question", Question, _question_state, _make_question),
    frozen(
        Fortune,
        {"capital": Array("f8", len(HALF_LIVES), low=0), "sums": _SUMS, "squares": _SUMS, "weights": _SUMS,
         "n_paid": COUNT, "n_good": COUNT, "best": FINITE},
    ),
    frozen(
        Watched,
        {"question": Is(Question), "fortune": Is(Fortune), "hits": Each(FINITE), "rows": Each(FINITE)},
        _sound_watched,
    ),
    frozen(Alarm, {"constraint": Is(Constraint), "row": COUNT, "e_value": FINITE}),
)  # fmt: skip
