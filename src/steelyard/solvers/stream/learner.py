"""The learner on a stream: it carries the state of the compiled loop from chunk to chunk, and has a model at any time.

Given a `Problem` (a measure of the two rates, perhaps a linear constraint on them) and rows one at a time, learn a
linear model ``w.x + b`` in one pass. The loop is `src/core/stream/learner.hpp`: NEMSIS, SCAN and SPADE (Kar et al.,
Algorithms 1 and 3, and its relative), stochastic Neyman-Pearson (Gasso et al., Algorithm 4). With ``guard=True`` the
offset is not the one that the steps have left behind: it is the exact best threshold of the model on a uniform sample
of the stream, at any time (`statistics.frontier`).

A call that fails or is interrupted changes nothing. Threads that share a learner take turns.
"""

from __future__ import annotations

import dataclasses
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...measures import Measure
from ...rows import Rows
from ...statistics import frontier
from ..status import Ended, Status
from . import rare_class, second_reading
from .problem import IN_ORDER, NeymanPearson, Pass, Problem
from .second_reading import Kept, Sample
from .settings import duals_of, settings_of
from .threshold import AT_THE_END, choose

Array = NDArray[np.float64]

CURVE = ("rows", "tpr", "tnr", "measure", "weight_negative", "weight_positive", "multiplier", "level")


@dataclass(frozen=True)
class LinearModel:
    """``w.x + intercept > 0`` is called positive; the rates are those on the sample, and `value` is that of the
    measure there, nan where it has none."""

    w: Array
    intercept: float
    tpr: float = float("nan")
    tnr: float = float("nan")
    value: float = float("nan")
    status: Status = AT_THE_END


class BadRowError(ValueError):
    """A row that is not finite, or has a column outside the matrix; nothing of its chunk was learned."""

    def __init__(self, row: int, fault: str) -> None:
        super().__init__(f"row {row}: {fault}")
        self.row = row


class Learner:
    """Goes on from row to row. `learn` takes a chunk, `model` is what has been learned so far."""

    def __init__(self, problem: Problem, n_features: int, core: _core.StreamLearner | None = None) -> None:
        self.problem, self.n_features = problem, n_features
        self._core = core or _core.StreamLearner(settings_of(problem, n_features), n_features, duals_of(problem))
        self._model: LinearModel | None = None
        self._lock = threading.RLock()

    def learn(self, X: Any, y: NDArray[np.int8], weight: Array | None = None, run: Pass = IN_ORDER) -> None:
        """Learn from rows with labels -1 and +1."""
        rows, solver = Rows.of(X, check=False), self.problem.solver  # the loop itself looks at the numbers
        if run.shuffle and isinstance(solver, NeymanPearson) and solver.balanced:
            picked = balanced_order(y, weight, (self.problem.seed, run.number))
            rows, y, weight, run = rows.take(picked), y[picked], None, dataclasses.replace(run, shuffle=False)
        with self._lock:
            fault, row = self._core.learn(rows.core, y, weight, _core.Pass(run.shuffle, run.number, run.disposable))
            if not fault:
                self._model = None
                return
        raise BadRowError(int(row if rows.which is None else rows.which[row]), fault)

    def model(self) -> LinearModel:
        """The averaged model with the offset that the guard finds for it; kept until the next rows."""
        with self._lock:
            if self._model is None:
                self._model = self._find_model()
            return self._model

    @property
    def settles(self) -> bool:
        """Whether finding the model takes training, or may find that no threshold meets the constraint. A constraint
        that holds where nothing or everything is called positive, as a cap on false alarms does, can be met."""
        constraint = self.problem.constraint
        with self._lock:
            if constraint is None:
                return self._class_is_rare()
            if not self._plan().is_nothing:
                return True
            share, size = self._prevalence(), max(self._core.rows_once, 1.0)
        return not any(constraint.holds(called, 1.0 - called, share, sample_size=size) for called in (0.0, 1.0))

    def direction(self) -> Array:
        """The weights of the model, without the work of finding its threshold."""
        with self._lock:
            plan = self._plan()
            return self._sample().read(self._core.copy(), plan.again) if plan.again else self._coefficients()

    def _plan(self) -> second_reading.Plan:
        return second_reading.plan(self._core, self.problem, self.n_features)

    def _sample(self) -> Sample:
        return Sample.of(self._core, self.problem, self.n_features)

    def _coefficients(self) -> Array:
        return np.asarray(self._core.coefficients(self.problem.average))

    def _find_model(self) -> LinearModel:
        own = LinearModel(self._coefficients(), float(self._core.intercept(self.problem.average)))
        if not (np.isfinite(own.w).all() and np.isfinite(own.intercept)):
            return dataclasses.replace(own, status=Status(Ended.TROUBLE, "the weights of the model are not finite"))
        if not (self.problem.guard and self.problem.fit_intercept):
            return own
        kept = Kept.of(self._core)
        if not kept.of_both:
            return own
        if self.problem.constraint is not None:
            return self._careful(kept)
        found = self._with_offset(own.w, self._scores(own.w), kept)
        if self._class_is_rare():
            rows = np.concatenate([np.asarray(self._core.reservoir_rows(side)) for side in (0, 1)])
            once = self._core.rows_once / kept.weight.sum()
            other = rare_class.direction(rows, kept.is_positive, kept.weight * once)
            found = rare_class.better(found, self._with_offset(other, self._scores(other), kept))
        return found

    def _careful(self, kept: Kept) -> LinearModel:
        """Under a constraint: the sample is read again where the stream was short, and rows are judged by models that
        have not learned from them where that matters (`second_reading`)."""
        plan = self._plan()
        if plan.is_nothing:
            w = self._coefficients()
            return self._with_offset(w, self._scores(w), kept)
        sample = self._sample()
        w = sample.read(self._core.copy(), plan.again)
        scores = sample.rows.scores(w)
        if not plan.left_out:
            return self._with_offset(w, scores, kept)
        left_out = second_reading.scores_left_out(sample, scores, plan.passes)
        return self._at_best(w, second_reading.judged(scores, left_out, kept, plan.left_out), kept)

    def _scores(self, w: Array) -> Array:
        return np.concatenate([np.asarray(self._core.reservoir_scores(side, w)) for side in (0, 1)])

    def _with_offset(self, w: Array, scores: Array, kept: Kept) -> LinearModel:
        """The direction `w` with the threshold that the scores of the sample ask for."""
        return self._at_best(w, frontier.scan(scores, kept.is_positive, kept.weight), kept)

    def _at_best(self, w: Array, points: frontier.Frontier, kept: Kept) -> LinearModel:
        points = dataclasses.replace(points, n_rows=max(int(self._core.rows_once), 1))
        choice, status = choose(points, self.problem, kept.rows)
        return LinearModel(w, -choice.threshold, choice.tpr, choice.tnr, choice.value, status)

    def _class_is_rare(self) -> bool:
        """Whether the sample may say more about the direction than the steps have learned (`rare_class`)."""
        problem = self.problem
        if problem.constraint is not None or not (problem.guard and problem.fit_intercept):
            return False
        if not rare_class.asks_for_no_skill(problem.measure):
            return False
        kept = (len(self._core.reservoir_weights(0)), len(self._core.reservoir_weights(1)))
        return rare_class.applies(kept, self._core.reservoir_offered, self.n_features)

    @property
    def n_rows(self) -> int:
        """Rows seen, in every pass."""
        with self._lock:
            return int(self._core.rows)

    @property
    def spread(self) -> float:
        """Largest over smallest scale of a column, from the first 256 rows."""
        with self._lock:
            return float(self._core.spread)

    def curve(self) -> dict[str, Array]:
        """The learning curve: at each mark the rates and the measure on the rows since the mark before, scored before
        they were learned from, with the multiplier and the level at the mark."""
        with self._lock:
            marks, share = np.asarray(self._core.history()), self._prevalence()
        return learning_curve(marks, self.problem.measure, share)

    def _prevalence(self) -> float:
        negative, positive = self._core.class_mass
        return float(positive / max(negative + positive, 1e-300))

    # -- copies and bytes ---------------------------------------------------------------------------------------
    def copy(self) -> Learner:
        with self._lock:
            return Learner(self.problem, self.n_features, self._core.copy())

    def save(self) -> bytes:
        with self._lock:
            return bytes(self._core.save())

    def load(self, state: bytes) -> None:
        """Raises ValueError, and changes nothing, if the bytes are not the state of a learner of this problem."""
        with self._lock:
            self._core.load(state)
            self._model = None

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"])  # type: ignore[misc]
        self.load(saved["state"])


def balanced_order(y: NDArray[np.int8], weight: Array | None, seed: tuple[int, int]) -> NDArray[np.intp]:
    """As many rows as there are, picked from the two classes with equal probability, with replacement, and within a
    class by weight (Gasso et al., section 3.3)."""
    rng = np.random.default_rng(seed)
    chance = np.ones(len(y)) if weight is None else weight.copy()
    for side in (y > 0, y < 0):
        chance[side] *= 0.5 / max(chance[side].sum(), 1e-300)
    return rng.choice(len(y), len(y), p=chance / chance.sum())


def learning_curve(marks: Array, measure: Measure, prevalence: float) -> dict[str, Array]:
    """From running tallies (`History` in stream/state.hpp) to rates between marks."""
    rows = marks[:, 0]
    since = np.diff(marks[:, 1:5], axis=0, prepend=np.zeros((1, 4)))
    seen, credit = since[:, :2], since[:, 2:]
    rates = np.clip(np.divide(credit, seen, out=np.full_like(credit, np.nan), where=seen > 0), 0.0, 1.0)
    whole = ~np.isnan(rates).any(axis=1)
    values = np.full(len(rows), np.nan)
    if whole.any():
        size = float(np.median(np.diff(rows, prepend=0.0)))
        values[whole] = measure(rates[whole, 1], rates[whole, 0], prevalence, sample_size=max(size, 1.0))
    return dict(zip(CURVE, (rows, rates[:, 1], rates[:, 0], values, *marks[:, 5:].T), strict=True))
