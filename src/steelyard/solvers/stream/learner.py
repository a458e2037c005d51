"""Learning on a stream: what is asked for, as a frozen problem, and the compiled learner that answers it.

Given a measure of the two rates, perhaps a linear constraint on them, and rows one at a time, learn a linear model
``w.x + b`` in one pass. `Problem` says what is wanted and how; `Stream` carries the state of the C++ loop
(`src/core/stream/learner.hpp`): NEMSIS, SCAN and SPADE (paper 001, Algorithms 1 and 3, and its relative), stochastic
Neyman-Pearson (paper 002, Algorithm 4). With ``guard=True`` the offset is not the one that the steps have left
behind: it is the exact best threshold of the model on a uniform sample of the stream, at any time
(`statistics.frontier`).
"""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...measures import Measure
from ...measures.stages import stages
from ...statistics import frontier
from . import rare_class
from .problem import IN_ORDER, REWARDS, NeymanPearson, Pass, Problem, Scan, Spade

Array = NDArray[np.float64]

ADAPTIVE, ROOT, INVERSE = 0, 1, 2  # in the order of Steps in stream/state.hpp
RESERVOIR, RESERVOIR_FOR_COUNTING, RESERVOIR_WITH_CONSTRAINT = 2048, 8192, 32768
RESERVOIR_VALUES = 2**26
HELD_OUT, HELD_WHILE_WIDE = 0.2, 0.1
EPOCH = 1000


@dataclass(frozen=True)
class LinearModel:
    """``w.x + intercept > 0`` is called positive; the rates are those on the reservoir, and `value` is that of the
    measure there, nan where it has none."""

    w: Array
    intercept: float
    tpr: float = float("nan")
    tnr: float = float("nan")
    value: float = float("nan")


class BadRowError(ValueError):
    """A row that is not finite; nothing of its chunk was learned."""

    def __init__(self, row: int) -> None:
        super().__init__(f"row {row} is not finite")
        self.row = row


class Stream:
    """A learner that goes on from row to row. `learn` takes a chunk, `model` is what has been learned so far."""

    def __init__(self, problem: Problem, n_features: int) -> None:
        self.problem, self.n_features = problem, n_features
        self._learner = _core.StreamLearner(_settings(problem, n_features), n_features, _duals(problem))
        self._model: LinearModel | None = None

    def learn(self, X: Any, y: NDArray[np.int8], weight: Array | None = None, run: Pass = IN_ORDER) -> None:
        """Learn from rows with labels -1 and +1."""
        solver = self.problem.solver
        if run.shuffle and isinstance(solver, NeymanPearson) and solver.balanced:
            picked = balanced_order(y, weight, (self.problem.seed, run.number))
            return self.learn(X[picked], y[picked], None, dataclasses.replace(run, shuffle=False))
        how = _core.Pass()
        how.shuffle, how.first, how.number, how.disposable = run.shuffle, run.number == 0, run.number, run.fresh
        self._model = None
        if isinstance(X, np.ndarray):
            bad = self._learner.learn_dense(X, y, weight, how)
        else:
            bad = self._learner.learn_sparse(X.data, X.indices, X.indptr, X.shape[1], y, weight, how)
        if bad >= 0:
            raise BadRowError(bad)

    def model(self) -> LinearModel:
        """The averaged model with the offset that the guard finds for it."""
        if self._model is None:
            self._model = self._find_model()
        return self._model

    def _find_model(self) -> LinearModel:
        average = self.problem.average
        w = np.asarray(self._learner.coefficients(average))
        own = LinearModel(w, float(self._learner.intercept(average)))
        if not (self.problem.guard and self.problem.fit_intercept):
            return own
        if not np.isfinite(w).all():
            return own
        weights = [np.asarray(self._learner.reservoir_weights(side)) for side in (0, 1)]
        if not (weights[0].any() and weights[1].any()):
            return own
        kept = (len(weights[0]), len(weights[1]))
        mass = self._learner.class_mass
        weight = np.concatenate([w * (m / w.sum()) for w, m in zip(weights, mass, strict=True)])
        found = self._with_offset(w, kept, weight)
        if self._class_is_rare(kept):
            once = sum(self._learner.reservoir_offered) / sum(mass)  # rows count once, however many the passes
            rows = (self._learner.reservoir_rows(0), self._learner.reservoir_rows(1))
            other = self._with_offset(rare_class.direction(rows, weight * once), kept, weight)
            found = max(found, other, key=lambda model: (round(model.value, 3), model.tpr + model.tnr))
        return found

    def _with_offset(self, w: Array, kept: tuple[int, int], weight: Array) -> LinearModel:
        """The direction `w` with the exact best threshold on the kept rows."""
        scores = np.concatenate([np.asarray(self._learner.reservoir_scores(side, w)) for side in (0, 1)])
        points = frontier.scan(scores, np.repeat([False, True], kept), weight)
        rows = max(int(sum(self._learner.class_mass)), 1)
        choice = _choose(dataclasses.replace(points, n_rows=rows), self.problem)
        return LinearModel(w, -choice.threshold, choice.tpr, choice.tnr, choice.value)

    def _class_is_rare(self, kept: tuple[int, int]) -> bool:
        """Whether the kept rows may say more about the direction than the steps have learned (`rare_class`)."""
        return (
            self.problem.constraint is None
            and rare_class.applies(kept, self._learner.reservoir_offered, self.n_features)
            and rare_class.asks_for_no_skill(self.problem.measure)
        )

    @property
    def n_rows(self) -> int:
        return int(self._learner.rows)

    @property
    def prevalence(self) -> float:
        negative, positive = self._learner.class_mass
        return float(positive / (negative + positive))

    @property
    def spread(self) -> float:
        """Largest over smallest scale of a column, from the first 256 rows."""
        return float(self._learner.spread)

    def curve(self) -> dict[str, Array]:
        """The learning curve: at each mark the rates and the measure on the rows since the mark before, scored before
        they were learned from, with the multiplier and the level at the mark."""
        return learning_curve(np.asarray(self._learner.history()), self.problem.measure, self.prevalence)

    def save(self) -> bytes:
        return bytes(self._learner.save())

    def load(self, state: bytes) -> None:
        """Raises ValueError, and changes nothing, if the bytes are not the state of a stream with this problem."""
        self._learner.load(state)
        self._model = None

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"])  # type: ignore[misc]
        self.load(saved["state"])


def balanced_order(y: NDArray[np.int8], weight: Array | None, seed: tuple[int, int]) -> NDArray[np.intp]:
    """As many rows as there are, picked from the two classes with equal probability, with replacement, and within a
    class by weight (paper 002, section 3.3)."""
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
    return {
        "rows": rows, "tpr": rates[:, 1], "tnr": rates[:, 0], "measure": values,
        "weight_negative": marks[:, 5], "weight_positive": marks[:, 6], "multiplier": marks[:, 7], "level": marks[:, 8],
    }  # fmt: skip


def _choose(points: frontier.Frontier, problem: Problem) -> frontier.Choice:
    constraint = problem.constraint
    if constraint is None:
        return frontier.best_point(points, problem.measure)
    try:
        return frontier.best_point(points, problem.measure, (constraint,))
    except frontier.InfeasibleError as error:
        warnings.warn(f"{error}; the closest one is used", UserWarning, stacklevel=4)
    slack = constraint.slack(points.tpr, points.tnr, points.prevalence, sample_size=points.n_rows)
    k = int(np.argmax(np.asarray(slack)))
    return frontier.Choice(k, float(points.thresholds[k]), float(points.tpr[k]), float(points.tnr[k]), float("nan"))


def _settings(problem: Problem, n_features: int) -> _core.LearnerSettings:
    solver, settings = problem.solver, _core.LearnerSettings()
    settings.duals = _dual_settings(problem)
    settings.reward = REWARDS.index(problem.reward)
    settings.eta0 = problem.eta0 or 0.0
    settings.alpha, settings.radius = problem.alpha, problem.radius or 0.0
    settings.refresh, settings.intercept, settings.seed = problem.refresh, problem.fit_intercept, problem.seed
    if isinstance(solver, NeymanPearson):
        settings.width = solver.width
        settings.steps = ADAPTIVE if problem.guard and problem.eta0 is None else INVERSE
    else:
        settings.steps = ADAPTIVE if problem.guard and problem.eta0 is None else ROOT
    settings.growth = 1.0 if problem.guard else 0.0
    if isinstance(solver, Scan) and not problem.guard:
        settings.epoch, settings.epoch_growth = float(solver.epoch or EPOCH), solver.growth
    if problem.guard and problem.fit_intercept:
        settings.capacity = max(min(_reservoir(problem), RESERVOIR_VALUES // n_features), 256)
        settings.held_while_wide = HELD_WHILE_WIDE
        if problem.constraint is not None:
            a, b, _ = problem.constraint.coefficients(0.5)
            settings.held_out = (HELD_OUT if b != 0.0 else 0.0, HELD_OUT if a != 0.0 else 0.0)
    return settings


def _reservoir(problem: Problem) -> int:
    if problem.constraint is not None:
        return RESERVOIR_WITH_CONSTRAINT
    return RESERVOIR_FOR_COUNTING if rare_class.asks_for_no_skill(problem.measure) else RESERVOIR


def _dual_settings(problem: Problem) -> _core.DualSettings:
    solver, duals = problem.solver, _core.DualSettings()
    duals.guard, duals.counts = problem.guard, problem.counts
    duals.forget = isinstance(solver, Spade)
    duals.scan = isinstance(solver, Scan)
    if isinstance(solver, NeymanPearson):
        duals.constrained, duals.balanced = True, solver.balanced
        duals.gain = solver.gain if solver.gain is not None else 0.5 if problem.guard else 0.01
    return duals


def _duals(problem: Problem) -> _core.Duals:
    duals = _core.Duals()
    duals.set_measure(_tape(problem.measure))
    if problem.constraint is not None:
        duals.set_constraint(_tape(problem.constraint.cleared))
    elif not problem.guard:
        ratio = problem.measure.ratio() if isinstance(problem.solver, Scan) else None
        duals.set_objective(_stages(ratio[0] if ratio else problem.measure))
        if ratio:
            duals.set_denominator(_stages(ratio[1]))
    return duals


@lru_cache(maxsize=256)
def _tape(measure: Measure) -> _core.Tape:
    tape = measure.tape()
    return _core.Tape(tape.op, tape.left, tape.right, tape.number)


def _stages(measure: Measure) -> list[_core.Stage]:
    return [
        _core.Stage(_core.Tape(s.tape.op, s.tape.left, s.tape.right, s.tape.number), s.first, s.second, s.low, s.high)
        for s in stages(measure)
    ]
