"""An alarm when a promise stops holding: labelled rows as they come, in chunks of any size, in constant memory.

Each constraint of a fitted classifier is tested by an e-process (`statistics.promises.watching`) that may be looked at
after every row. With m constraints each has ``level / m``, so that the probability of any false alarm, over the whole
life of the watch, is at most `level`. Constraints on shares of several samples (both rates without the prevalence, a
gap between groups) pay by blocks of rows that have one of each sample: what a block pays is the constraint at its
shares, whose mean is the constraint itself, since which rows are in a block depends on their labels and groups only.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..measures import fpr
from ..measures.constraints import Constraint, as_constraints
from ..statistics.promises.payments import Payments
from ..statistics.promises.promise import ask, with_bound
from ..statistics.promises.questions import Question
from ..statistics.promises.watching import Fortune, interval
from ._border import as_before
from ._parameters import NOTHING, A, Checked, Number
from ._parameters import Table as Parameters
from ._per_group import thresholds_of
from ._slices import read_slices

Array = NDArray[np.float64]

NOTHING_PAID = 1e-9  # in place of 0, where a constraint can only be broken: the first row that does it is an alarm
STEPS = 40  # halvings from a share to the bound that it stands for: 1e-12


@dataclass(frozen=True)
class Alarm:
    """A constraint that no longer holds: after how many rows it was seen, and how clearly then."""

    constraint: Constraint
    row: int
    e_value: float


@dataclass(frozen=True, eq=False)
class Watched:
    """One constraint: the evidence against it, and the block that is being filled where it pays by blocks."""

    question: Question
    fortune: Fortune
    hits: tuple[float, ...] = ()
    rows: tuple[float, ...] = ()

    @classmethod
    def of(cls, question: Question) -> Watched:
        nothing = (0.0,) * len(question.shares)
        return cls(question, Fortune.new(), nothing, nothing)

    @property
    def most(self) -> float:
        """The largest amount that can be paid."""
        if self.question.payments is not None:
            return max(*self.question.payments.values, NOTHING_PAID)
        most = sum(max(share.factor, 0.0) for share in self.question.shares) + self.question.constant
        return max(most, NOTHING_PAID)

    def payments(self, rows: Rows) -> tuple[Array, NDArray[np.intp], Watched]:
        """What is paid, at which rows, and the state of the block after them."""
        if self.question.payments is not None:
            paid = _paid(self.question.payments, rows) * rows.inside(self.question.view)
            at = np.flatnonzero(paid)
            return paid[at], at, self
        return self._by_blocks(rows)

    def _by_blocks(self, rows: Rows) -> tuple[Array, NDArray[np.intp], Watched]:
        hits, counts, paid, at = list(self.hits), list(self.rows), [], []
        shares = self.question.shares
        inside = np.array([rows.inside(share.view) & rows.of_class(share.of_positives) for share in shares])
        right = rows.called if shares[0].of_positives is None else rows.called == rows.is_positive
        for i in np.flatnonzero(inside.any(axis=0)).tolist():
            for k in np.flatnonzero(inside[:, i]).tolist():
                hits[k], counts[k] = hits[k] + right[i], counts[k] + 1.0
            if min(counts) > 0.0:
                means = (share.factor * hit / n for share, hit, n in zip(shares, hits, counts, strict=True))
                paid.append(sum(means) + self.question.constant)
                at.append(i)
                hits, counts = [0.0] * len(shares), [0.0] * len(shares)
        after = replace(self, hits=tuple(map(float, hits)), rows=tuple(counts))
        return np.array(paid), np.array(at, dtype=np.intp), after


@dataclass(frozen=True, eq=False)
class Rows:
    """Labels, calls and groups of a chunk."""

    is_positive: NDArray[np.bool_]
    called: NDArray[np.bool_]
    slices: NDArray[Any] | None

    def of_class(self, positive: bool | None) -> NDArray[np.bool_]:
        return np.asarray(
            np.ones(len(self.called), dtype=np.bool_) if positive is None else self.is_positive == positive
        )

    def inside(self, view: Any) -> NDArray[np.bool_]:
        if view is None:
            return np.ones(len(self.called), dtype=np.bool_)
        if self.slices is None:
            raise ValueError(f"a constraint within {view!r} needs the groups of the rows: update(..., slices=...)")
        return np.asarray(self.slices == view)


class Watch(Checked, BaseEstimator):
    """An alarm when a constraint that a classifier was fitted for stops holding, on labelled rows as they come.

    The test may be looked at after every row, for as long as rows come: the probability that it ever raises an alarm
    while all constraints hold is at most `level`. Its state does not grow; save it with `steelyard.save`.

    Parameters
    ----------
    estimator : fitted classifier
        With `subject_to` (`ThresholdClassifier`, `MeasureClassifier`, `OnlineClassifier`) or `max_fpr`
        (`NeymanPearsonClassifier`), promised or not.
    level : float, default=0.01
        The probability of a false alarm, over the whole life and all constraints together.
    drift : StreamQuantifier, default=None
        If given, unlabelled rows can be watched too: `look(X)` hands them on, and its alarms are in `drift_alarms`.

    Attributes
    ----------
    alarm : Alarm or None
        The first alarm, with its `constraint`, `row` and `e_value`; `alarms` has the first of every constraint.
    n_seen : int
        Labelled rows so far.

    See Also
    --------
    ThresholdClassifier : Fits under constraints, and promises them.
    StreamQuantifier : A drift alarm that needs no labels.

    Examples
    --------
    >>> import numpy as np, steelyard as sy, steelyard.measures as m
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, shift=0.0):
    ...     y = (rng.random(n) < 0.2).astype(int)
    ...     return rng.normal(size=(n, 1)) + 2 * y[:, None] + shift, y
    >>> model = sy.ThresholdClassifier(
    ...     LogisticRegression(), m.Recall(), subject_to=m.fpr <= 0.1, delta=0.1, cv=0.5, random_state=0)
    >>> watch = sy.Watch(model.fit(*rows(2000)))
    >>> X, y = rows(5000)
    >>> watch.update(y, model.predict(X)).alarm is None
    True
    >>> X, y = rows(5000, shift=0.5)
    >>> watch.update(y, model.predict(X)).alarm.constraint
    fpr <= 0.1
    """

    _parameters: ClassVar[Parameters] = {
        "estimator": (A("a fitted classifier", having=("predict",)), NOTHING),
        "level": (Number(0.0, 1.0, low_too=False, high_too=False, meaning="the probability of a false alarm"),),
        "drift": (A("a StreamQuantifier", having=("update", "alarms_")), NOTHING),
    }

    _watched: tuple[Watched, ...]
    _alarms: tuple[Alarm, ...]
    _n_seen: int

    def __init__(self, estimator: Any = None, level: float = 0.01, *, drift: Any = None) -> None:
        self.estimator = estimator
        self.level = level
        self.drift = drift

    # -- rows ---------------------------------------------------------------------------------------------------
    def update(self, y_true: Any, y_pred: Any = None, *, scores: Any = None, slices: Any = None) -> Watch:
        """Take labelled rows, with what was predicted for them or with their scores by the model inside
        (`ThresholdClassifier`); `slices` are their groups, for constraints within groups."""
        self._check_parameters()
        with as_before(self):
            watched = self._start(slices)
            rows = self._rows(y_true, y_pred, scores, slices)
            goal = len(watched) / self.level
            after, alarms = [], list(self._alarms)
            known = {alarm.constraint for alarm in alarms}
            for one in watched:
                paid, at, one = one.payments(rows)
                fortune, reached = one.fortune.after(paid, one.most, goal)
                after.append(replace(one, fortune=fortune))
                if reached is not None and one.question.constraint not in known:
                    evidence = one.fortune.after(paid[: reached + 1], one.most, goal)[0].best
                    alarms.append(Alarm(one.question.constraint, self._n_seen + int(at[reached]) + 1, evidence))
                    known.add(one.question.constraint)
            self._watched, self._alarms = tuple(after), tuple(sorted(alarms, key=lambda alarm: alarm.row))
            self._n_seen += len(rows.called)
        return self

    def look(self, X: Any) -> Watch:
        """Take unlabelled rows: the drift alarm of the quantifier that was given as `drift`."""
        if self.drift is None:
            raise ValueError(
                "unlabelled rows are watched by a StreamQuantifier: Watch(model, drift=StreamQuantifier())"
            )
        self.drift.update(X)
        return self

    # -- what was seen ------------------------------------------------------------------------------------------
    @property
    def alarm(self) -> Alarm | None:
        return self.alarms[0] if self.alarms else None

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        return getattr(self, "_alarms", ())

    @property
    def n_seen(self) -> int:
        return int(getattr(self, "_n_seen", 0))

    @property
    def drift_alarms(self) -> list[int]:
        """Unlabelled rows seen at the latest drift alarms."""
        return [] if self.drift is None else list(self.drift.alarms_)

    def e_values(self) -> dict[Constraint, float]:
        """The largest evidence so far against each constraint: the number of constraints over `level` is an alarm."""
        found: dict[Constraint, float] = {}
        for one in getattr(self, "_watched", ()):
            key = one.question.constraint
            found[key] = max(found.get(key, 0.0), one.fortune.best)
        return found

    def intervals(self) -> dict[Constraint, tuple[float, float]]:
        """For each constraint with a number on its right and two payments, an interval for its left side over all rows
        so far, that holds at all times at once with probability ``1 - level``."""
        watched = getattr(self, "_watched", ())
        return {
            one.question.constraint: _left_side(one, self.level / len(watched)) for one in watched if _has_side(one)
        }

    # -- inside -------------------------------------------------------------------------------------------------
    def _start(self, slices: Any) -> tuple[Watched, ...]:
        if not hasattr(self, "_watched"):
            if self.estimator is None:
                raise NotFittedError("there is nothing to watch: give a fitted classifier, Watch(model)")
            check_is_fitted(self.estimator)
            constraints = constraints_of(self.estimator)
            if any(constraint.body.is_lifted for constraint in constraints):
                raise ValueError(
                    f"Watch looks at two classes, and {constraints[0]!r} is about one of several: watch it with a "
                    "classifier of that class against the rest"
                )
            promise = getattr(self.estimator, "promise_", None)
            groups = () if promise is None else promise.groups
            if not groups and slices is not None:
                groups = tuple(np.unique(np.asarray(slices)).tolist())
            asked = [question for constraint in constraints for question in ask(constraint, groups)]
            self._watched = tuple(Watched.of(question) for question in asked)
            self._alarms = ()
            self._n_seen = 0
        return self._watched

    def _rows(self, y_true: Any, y_pred: Any, scores: Any, slices: Any) -> Rows:
        if (y_pred is None) == (scores is None):
            raise ValueError("give what was predicted, update(y_true, y_pred), or scores=, and not both")
        truth = column_or_1d(np.asarray(y_true))
        classes, positive = self.estimator.classes_, self.estimator._positive
        labels = [truth]
        if scores is not None:
            given = column_or_1d(np.asarray(scores))
            by_group = slices if hasattr(self.estimator, "groups_") else None
            called = np.asarray(given > thresholds_of(self.estimator, by_group, len(given)))
        else:
            predicted = column_or_1d(np.asarray(y_pred))
            labels.append(predicted)
            called = predicted == positive
        check_consistent_length(truth, called)
        unknown = set(np.unique(np.concatenate(labels)).tolist()) - set(np.asarray(classes).tolist())
        if unknown:
            raise ValueError(f"labels {sorted(map(repr, unknown))} are none of the classes {classes.tolist()}")
        return Rows(truth == positive, called, read_slices(slices, truth))


def constraints_of(estimator: Any) -> tuple[Constraint, ...]:
    """What a classifier was fitted under."""
    if hasattr(estimator, "max_fpr"):
        return (fpr <= estimator.max_fpr,)
    constraints = as_constraints(getattr(estimator, "subject_to", None), groups=True)
    if not constraints:
        raise ValueError(f"{type(estimator).__name__} has no constraints to watch: give it subject_to=")
    return constraints


def _paid(payments: Payments, rows: Rows) -> Array:
    tp, fp, fn, tn = astuple(payments)
    return np.asarray(np.where(rows.is_positive, np.where(rows.called, tp, fn), np.where(rows.called, fp, tn)))


def _has_side(one: Watched) -> bool:
    pays, asked = one.question.payments, one.question.constraint
    return pays is not None and len(pays.values) == 2 and not (asked.right.varies or asked.right.needs_prevalence)


def _left_side(one: Watched, level: float) -> tuple[float, float]:
    """The interval of the share that pays, read as the bounds for which it would be just enough."""
    low, high = interval(one.fortune.n_good, one.fortune.n_paid, level)
    asked = one.question.constraint
    ends = asked.left.range
    found = []
    for share in (low, high):
        small, large = ends
        for _ in range(STEPS):
            middle = 0.5 * (small + large)
            enough = _needed_share(with_bound(asked, middle)) <= share
            # A floor is kept with a larger share as it rises, a cap with a smaller one.
            small, large = (middle, large) if enough == (asked.sense == ">=") else (small, middle)
        found.append(0.5 * (small + large))
    return min(found), max(found)


def _needed_share(constraint: Constraint) -> float:
    (question,) = ask(constraint)
    assert question.payments is not None
    values = question.payments.values
    if len(values) < 2:
        return 0.0 if values and values[0] > 0.0 else 1.0
    return -values[0] / (values[1] - values[0])
