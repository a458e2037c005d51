"""The learner on a stream of several classes: K models that follow the duals of the measure, and offsets from a sample.

Given a lifted measure and rows one at a time, learn K linear models in one pass. A row pulls with the weight that the
measure gives its class (`statistics.class_costs`), at the table of what was called what before it was learned: NEMSIS
with a dual for each class, in its guarded form. The weights are looked at anew when one percent of rows has been added,
as for two classes; the loop in between is `src/core/stream/class_pass.hpp`. The offsets are exact sweeps on a uniform
sample of each class (`class_sample`), left for the argmax of the models unless they are worth more than their noise.

How the stream is cut into chunks changes nothing. A class that has been declared and not seen yet is never called.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...files.kinds import Array as Numbers
from ...files.kinds import Fields, Is, Number, check_fields
from ...files.values import from_bytes, to_bytes
from ...rows import Rows
from ...statistics import class_shrinkage, offsets
from ...statistics.class_costs import row_weights, value_of
from ...statistics.offsets import Goal, ScoredClasses
from ..status import Status
from .class_sample import ClassSample
from .learner import Array, BadRowError, LinearModel
from .problem import IN_ORDER, Pass, Problem
from .threshold import AT_THE_END

BY_REWARD = {"hinge": 0, "logistic": 1}  # in the order of ClassLoss in stream/class_pass.hpp
UNIT_STEP = 0.6  # that of two classes, `LearnerSettings::unit_step`
STALE = 0.01  # of the rows so far: then the weights are looked at anew, as for two classes
# Of the new weights that enters at a look. The slope of the least of several rates names one class, and the next look
# another: with 1 in place of 0.03 the worst recall is 0.518, not 0.581 (docs/classes.md), and macro F1 the same.
MIXED = 0.03
MARKS = 0.05  # of the rows so far, between two marks of the learning curve
ROWS_BY_COLUMN, ENOUGH = 256, 10  # rows for the scales of columns, and entries of one: `Warmup` in stream/state.hpp
NEVER = -1e300  # the intercept of a class that was not seen: no row reaches it, and it is a number
NUMBERS = 5  # of `ClassState::numbers`
VERSION = 1  # of the saved state; another one is refused


@dataclass(frozen=True, eq=False)
class LinearModels:
    """The class of the largest ``W x + intercept`` is called; `value` is the measure on the sample, nan without one."""

    W: Array
    intercept: Array
    value: float = float("nan")
    status: Status = AT_THE_END

    def of_two(self) -> LinearModel:
        """The difference of two models: above 0 is the second class."""
        return LinearModel(self.W[1] - self.W[0], float(self.intercept[1] - self.intercept[0]), value=self.value)


@dataclass(eq=False)
class _State:
    """What goes from one row to the next: see `ClassState` in the core."""

    models: Array
    offsets: Array
    confusion: Array
    numbers: Array
    pull: Array
    mass: Array  # of all rows by class, those left to the sample among them
    before: Array  # the mass learned before each class was first seen, -1 until then; last, that at the last look
    columns: Array  # of the first rows, by column: the largest size of a value, and how many are not 0
    sample: ClassSample
    next_look: int = 1
    n_once: int = 0  # rows, each counted once however many the passes
    n_rows: int = 0
    marks: list[list[float]] = field(default_factory=list)
    marked: Array = field(default_factory=lambda: np.zeros((0, 0)))  # the table at the last mark

    @classmethod
    def new(cls, k: int, d: int, sample: ClassSample) -> _State:
        before = np.append(np.full(k, -1.0), 0.0)
        models, offsets, table = np.zeros((3, k, d)), np.zeros((3, k)), np.zeros((k, k))
        return cls(models, offsets, table, np.zeros(NUMBERS), np.ones(k), np.zeros(k), before, np.zeros((2, d)), sample)

    def copy(self) -> _State:
        arrays = {name: getattr(self, name).copy() for name in _ARRAYS}
        return replace(self, **arrays, sample=self.sample.copy(), marks=[list(mark) for mark in self.marks])


_ARRAYS = ("models", "offsets", "confusion", "numbers", "pull", "mass", "before", "columns", "marked")
# What a saved state may hold.
_COUNT = Number(0, 2**62, whole=True)
_STATE: Fields = {
    "version": _COUNT, "models": Numbers("f8", 3, "k", "d"), "offsets": Numbers("f8", 3, "k"),
    "pull": Numbers("f8", "k"), "confusion": Numbers("f8", "k", "k", low=0),
    "numbers": Numbers("f8", NUMBERS, low=0), "next_look": _COUNT,
    "mass": Numbers("f8", "k", low=0), "before": Numbers("f8", "b", low=-1),
    "columns": Numbers("f8", 2, "d", low=0),
    "n_once": _COUNT, "n_rows": _COUNT, "marks": Numbers("f8", "m", "c"),
    "marked": Numbers("f8", "j", "j"), "sample": Is(dict),
}  # fmt: skip


class ClassLearner:
    """Goes on from row to row, with the interface of `learner.Learner`; labels are codes of `classes`."""

    settles = False

    def __init__(self, problem: Problem, n_features: int, classes: Sequence[Any], state: _State | None = None) -> None:
        self.problem, self.n_features, self.classes = problem, n_features, tuple(classes)
        sample = ClassSample.new(len(self.classes), n_features, problem.seed)
        self._state = state or _State.new(len(self.classes), n_features, sample)
        self._model: LinearModels | None = None
        self._lock = threading.RLock()
        self.loss = BY_REWARD[problem.reward]

    # -- learning -----------------------------------------------------------------------------------------------
    def learn(self, X: Any, codes: NDArray[np.int32], weight: Array | None = None, run: Pass = IN_ORDER) -> None:
        """Learn from rows; a call that fails or is interrupted changes nothing."""
        rows = _sound(Rows.of(X, check=False))
        with self._lock:
            state = self._state if run.disposable else self._state.copy()
            order = np.arange(len(codes)) if weight is None else np.flatnonzero(weight)
            first = state.n_once - len(order) if run.number else state.n_once
            held = state.sample.offer(rows, codes, weight, order, first, again=run.number > 0)
            if not run.number:
                _look_at_columns(state, rows, order[: max(0, ROWS_BY_COLUMN - state.n_once)])
                state.n_once += len(order)
                np.add.at(state.mass, codes[order], 1.0 if weight is None else weight[order])  # row by row, as it comes
            state.n_rows += len(order)
            order = order[~held]
            if run.shuffle:
                order = np.random.default_rng((self.problem.seed, run.number)).permutation(order)
            self._pass(state, rows, codes, weight, order)
            self._state, self._model = state, None

    def _pass(
        self, state: _State, rows: Rows, codes: NDArray[np.int32], weight: Array | None, order: NDArray[np.intp]
    ) -> None:
        codes, order = np.ascontiguousarray(codes, dtype=np.int32), np.ascontiguousarray(order, dtype=np.int64)
        start = 0
        while start < len(order):
            some = order[start : start + max(1, state.next_look - int(state.numbers[0]))]
            _core.class_pass(
                rows.core, codes, weight, some, state.pull, state.models, state.offsets, state.confusion, state.numbers,
                self.loss, self.problem.eta0 or UNIT_STEP, self.problem.fit_intercept,
            )  # fmt: skip
            start += len(some)
            if state.numbers[0] >= state.next_look:
                self._look(state)

    def _look(self, state: _State) -> None:
        """Towards the weights of the measure at the table so far; of classes not seen yet they stay 1."""
        t = int(state.numbers[0])
        state.next_look = t + max(self.problem.refresh, int(STALE * t))
        seen = np.flatnonzero(state.confusion.sum(axis=1) > 0.0)
        total, before = float(state.confusion.sum()), state.before
        before[seen] = np.where(before[seen] < 0.0, before[-1], before[seen])
        before[-1] = total
        if len(seen) < 2 or not self._concerns(seen):
            return
        # A class that came late counts as if it had come all along: its share is that since then. Half a row a class
        # keeps rates from 0 and 1.
        as_always = total / np.maximum(total - before[seen], 1e-300)
        table = state.confusion[np.ix_(seen, seen)] * as_always[:, None] + 0.5 / len(seen)
        labels = [self.classes[k] for k in seen]
        found = row_weights(self.problem.measure, table, labels, float(min(t, state.n_once)))
        state.pull[seen] += MIXED * (found - state.pull[seen])
        if t >= (1.0 + MARKS) * (state.marks[-1][0] if state.marks else 0.0):
            self._mark(state, seen, t)

    def _concerns(self, seen: NDArray[np.intp]) -> bool:
        """Whether the measure can be looked at with these classes alone: not where it names one that is not there."""
        if len(seen) == len(self.classes):
            return True
        try:
            labels = [self.classes[k] for k in seen]
            value_of(self.problem.measure, np.ones((len(seen), len(seen))), labels, 1.0)
        except ValueError:
            return False
        return True

    def _mark(self, state: _State, seen: NDArray[np.intp], t: int) -> None:
        """A mark of the learning curve, once every class that was seen is among the rows since the last one."""
        since = state.confusion - (state.marked if len(state.marked) else 0.0)
        since = since[np.ix_(seen, seen)]
        if not (since.sum(axis=1) > 0.0).all():
            return
        value = float(value_of(self.problem.measure, since, [self.classes[k] for k in seen], since.sum()))
        if np.isfinite(value):
            state.marks.append([float(t), value, *state.pull.tolist()])
            state.marked = state.confusion.copy()

    # -- what has been learned ----------------------------------------------------------------------------------
    def model(self) -> LinearModels:
        """The averaged models with the offsets of the sample; kept until the next rows."""
        with self._lock:
            if self._model is None:
                self._model = self._find_model()
            return self._model

    def _find_model(self) -> LinearModels:
        state, (v, u, _), (b, u_b, _) = self._state, self._state.models, self._state.offsets
        mass = float(state.numbers[1])
        averaged = self.problem.average and mass > 0.0
        W, intercept = (v - u / mass, b - u_b / mass) if averaged else (v.copy(), b.copy())
        seen = np.flatnonzero(state.mass > 0.0)
        value = float("nan")
        if self.problem.guard and self.problem.fit_intercept and len(seen) > 1 and self._concerns(seen):
            shift, value = self._offsets(W[seen], intercept[seen], seen)
            intercept[seen] += shift
        if self.problem.guard and 0 < len(seen) < len(self.classes):
            unseen = np.setdiff1d(np.arange(len(self.classes)), seen)
            W[unseen], intercept[unseen] = 0.0, NEVER
        return LinearModels(W, intercept, value)

    def _offsets(self, W: Array, intercept: Array, seen: NDArray[np.intp]) -> tuple[Array, float]:
        sample = self._state.sample
        if not all(sample.count(k) for k in seen):
            return np.zeros(len(seen)), float("nan")
        scores = np.concatenate([sample.rows(k).scores(W) for k in seen]) + intercept
        weights = [sample.weights(k) for k in seen]
        # A sample of a class stands for all of it.
        weight = np.concatenate([one * (self._state.mass[k] / one.sum()) for one, k in zip(weights, seen, strict=True)])
        codes = np.repeat(np.arange(len(seen)), [len(one) for one in weights])
        rows = ScoredClasses.of(scores, codes, [self.classes[k] for k in seen], weight * (len(codes) / weight.sum()))
        goal, size = Goal(self.problem.measure), max(self._state.n_once, 1)
        rows = replace(rows, n_rows=size)
        found = offsets.judge(rows, goal, offsets.search(class_shrinkage.shrunk(rows), goal).offsets)
        plain = offsets.judge(rows, goal, np.zeros(len(seen)))
        if found.beats(plain) and class_shrinkage.worth_it(rows, goal, found):
            return found.offsets, found.value
        return plain.offsets, plain.value

    @property
    def n_rows(self) -> int:
        """Rows seen, in every pass."""
        return self._state.n_rows

    @property
    def spread(self) -> float:
        """Largest over smallest scale of a column, from the first rows."""
        peak, count = self._state.columns
        known = peak[count >= ENOUGH]
        return float(known.max() / known.min()) if len(known) else 1.0

    def curve(self) -> dict[str, Array]:
        """At each mark: the measure on the rows since the one before, before they were learned, and the weights."""
        marks = np.array(self._state.marks).reshape(-1, 2 + len(self.classes))
        return {"rows": marks[:, 0], "measure": marks[:, 1], "weights": marks[:, 2:]}

    # -- copies and bytes ---------------------------------------------------------------------------------------
    def copy(self) -> ClassLearner:
        with self._lock:
            return ClassLearner(self.problem, self.n_features, self.classes, self._state.copy())

    def save(self) -> bytes:
        with self._lock:
            state = self._state
            marks = np.array(state.marks).reshape(-1, 2 + len(self.classes))
            numbers = {name: getattr(state, name) for name in (*_ARRAYS, "next_look", "n_once", "n_rows")}
            return to_bytes("state", {"version": VERSION, **numbers, "marks": marks, "sample": state.sample.state()})

    def load(self, state: bytes) -> None:
        """Raises ValueError, and changes nothing, if the bytes are not the state of a learner of this problem."""
        k, d = len(self.classes), self.n_features
        try:
            parts = from_bytes("state", state)
            if not isinstance(parts, dict) or parts.get("version") != VERSION:
                raise ValueError("it is of another version of steelyard")
            check_fields(_STATE, parts, {"k": k, "d": d, "c": 2 + k, "b": k + 1})
            sample = ClassSample.of(parts.pop("sample"), k, d, self.problem.seed)
            if len(parts["marked"]) not in (0, k) or parts["next_look"] < 1:
                raise ValueError("its parts do not fit together")
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"the saved state is not one of this learner: {error}") from error
        del parts["version"]
        parts["marks"] = parts["marks"].tolist()
        with self._lock:
            self._state, self._model = _State(**parts, sample=sample), None

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "classes": self.classes, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"], saved["classes"])  # type: ignore[misc]
        self.load(saved["state"])


def _look_at_columns(state: _State, rows: Rows, which: NDArray[np.intp]) -> None:
    if not len(which):
        return
    source = rows.source[which if rows.which is None else rows.which[which]]
    size = abs(source)
    if rows.is_sparse:
        peak = size.max(axis=0).toarray().ravel()
        count = np.bincount(size.indices[size.data > 0], minlength=size.shape[1])
    else:
        peak, count = size.max(axis=0), (size > 0).sum(axis=0)
    state.columns = np.stack([np.maximum(state.columns[0], peak), state.columns[1] + count])


def _sound(rows: Rows) -> Rows:
    """The rows, or where they are bad; columns out of order are put in order."""
    fault, row = rows.core.first_fault()
    if fault == "unordered":
        merged = Rows.of(rows.source)
        return merged if rows.which is None else merged.take(rows.which)
    if fault:
        raise BadRowError(int(row if rows.which is None else rows.which[row]), fault)
    return rows
