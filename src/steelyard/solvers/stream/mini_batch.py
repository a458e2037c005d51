"""The mini-batch structural SVM, 1PMB, on a stream: the baseline of Kar et al. (from Kar, Narasimhan & Jain 2014).

For a buffer of rows with scores ``s_i`` and weights ``c_i`` of sum C the surrogate of ``1 - M`` is

    l(w) = max over predictions z of  [1 - M(z)] + (1/C) sum_i c_i (z_i - y_i) s_i.

M depends on z through the weights of missed positives and of false alarms only, and for given ones the worst z errs on
the lowest-scored positives and the highest-scored negatives: the maximum is found on a grid of prefix sums. (With
unequal weights this is the maximum over whole prefixes, which bounds l from below; its slope is still that of one of
the terms.) Each buffer is stepped on `passes` times with ``w <- w - eta0 / sqrt(k) grad l``; the model is the mean of
the iterates. Rows that do not fill a buffer wait for the next chunk, in a copy; all others are read where they are.
Rows of no weight are left out. It is slow next to NEMSIS, by design: O(B+ B-) a step.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...files.kinds import Array as Numbers
from ...files.kinds import Fields, Is, Number, check_fields
from ...files.values import from_bytes, to_bytes
from ...rows import Rows
from .learner import CURVE, Array, BadRowError, LinearModel
from .problem import IN_ORDER, OnePassMiniBatch, Pass, Problem
from .threshold import AT_THE_END

GRIDS = 64  # tables of 1 - M that are kept, one for each number of positives in a buffer: at 500 rows 0.5 MB each

# What a state may hold: the fields of `State`, with the rows that wait, their labels and their weights above 0.
_COUNT = Number(0, 2**62, whole=True)
_STATE: Fields = {
    "w": Numbers("f8", "w"), "total": Numbers("f8", "w"), "steps": _COUNT, "square_norm": Number(0.0), "n_rows": _COUNT,
    "waiting": Is(Rows), "y": Numbers("i1", "n", low=-1, high=1), "weight": Numbers("f8", "n", low=1e-323),
}  # fmt: skip


class Buffer:
    """Some rows with their labels and weights, and which of them are of which class."""

    def __init__(self, rows: Rows, y: NDArray[np.int8], weight: Array) -> None:
        self.rows, self.y, self.weight = rows, y, weight
        self.positive, self.negative = np.flatnonzero(y > 0), np.flatnonzero(y <= 0)

    def __len__(self) -> int:
        return len(self.y)

    def followed_by(self, more: Buffer) -> Buffer:
        """Both, in memory of their own."""
        ours, theirs = self.rows.source, _own(more.rows)
        if sp.issparse(ours) and sp.issparse(theirs):
            source: Any = sp.vstack([ours, theirs], format="csr")
        else:
            source = np.concatenate([one.toarray() if sp.issparse(one) else one for one in (ours, theirs)])
        rows = Rows.of(source, check=False)
        return Buffer(rows, np.concatenate([self.y, more.y]), np.concatenate([self.weight, more.weight]))


@dataclass(frozen=True)
class State:
    """What goes from one row to the next."""

    w: Array
    total: Array
    waiting: Buffer
    steps: int = 0
    square_norm: float = 0.0
    n_rows: int = 0


class MiniBatchLearner:
    """Carries the state of 1PMB from chunk to chunk, with the interface of `solvers.stream.learner.Learner`."""

    settles = False
    spread = 1.0

    def __init__(self, problem: Problem, n_features: int, state: State | None = None) -> None:
        self.problem, self.n_features = problem, n_features
        self.options = problem.solver if isinstance(problem.solver, OnePassMiniBatch) else OnePassMiniBatch()
        d = n_features + int(problem.fit_intercept)
        nothing = Buffer(Rows.of(np.empty((0, n_features))), np.empty(0, dtype=np.int8), np.empty(0))
        self._state = state or State(np.zeros(d), np.zeros(d), nothing)
        self._grids: dict[tuple[int, int], Array] = {}
        self._lock = threading.RLock()

    def learn(self, X: Any, y: NDArray[np.int8], weight: Array | None = None, run: Pass = IN_ORDER) -> None:
        rows = Rows.of(X, check=False)
        fault, row = rows.core.first_fault()
        if fault == "unordered":
            merged = Rows.of(rows.source)
            rows = merged if rows.which is None else merged.take(rows.which)
        elif fault:
            raise BadRowError(row, fault)
        order = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        if run.shuffle:
            np.random.default_rng((self.problem.seed, run.number)).shuffle(order)
        weight = np.ones(len(y)) if weight is None else weight
        with self._lock:
            state, start = self._state, 0
            while start < len(order):
                which = order[start : start + self.options.buffer - len(state.waiting)]
                start += len(which)
                fresh = Buffer(rows.take(which), y[which], weight[which])
                buffer = state.waiting.followed_by(fresh) if len(state.waiting) else fresh
                if len(buffer) < self.options.buffer:
                    waiting = (
                        buffer if buffer is not fresh else Buffer(Rows.of(_own(fresh.rows)), fresh.y, fresh.weight)
                    )
                    state = replace(state, waiting=waiting)
                else:
                    state = replace(self._step_on(state, buffer), waiting=_empty_like(buffer))
            self._state = replace(state, n_rows=state.n_rows + len(y))

    def _step_on(self, state: State, buffer: Buffer) -> State:
        rows = buffer.rows.with_constant(1.0 if self.problem.fit_intercept else 0.0)
        square_norm = float(np.mean(rows.squared_norms())) if state.steps == 0 else state.square_norm
        w, total, steps = state.w, state.total, state.steps
        if len(buffer.positive) == 0 or len(buffer.negative) == 0:
            return replace(state, square_norm=square_norm)
        weight = np.ones(len(buffer)) if np.all(buffer.weight == buffer.weight[0]) else buffer.weight
        buffer = Buffer(rows, buffer.y, weight)
        eta0 = self.problem.eta0 or 1.0 / np.sqrt(max(square_norm, 1e-12))
        for _ in range(self.options.passes):
            steps += 1
            w = w * (1.0 - min(eta0 / np.sqrt(steps) * self.problem.alpha, 1.0))
            w = w - eta0 / np.sqrt(steps) * self.worst(w, buffer)[1]
            norm = float(np.linalg.norm(w))
            if self.problem.radius is not None and norm > self.problem.radius:
                w = w * (self.problem.radius / norm)
            total = total + w
        return replace(state, w=w, total=total, steps=steps, square_norm=square_norm)

    def worst(self, w: Array, buffer: Buffer) -> tuple[float, Array]:
        """The value of the surrogate on one buffer, and a subgradient."""
        scores, weight, mass = buffer.rows.scores(w), buffer.weight, float(buffer.weight.sum())
        low = buffer.positive[np.argsort(scores[buffer.positive], kind="stable")]
        high = buffer.negative[np.argsort(-scores[buffer.negative], kind="stable")]
        missed = _prefixes(-2.0 * scores[low] * weight[low] / mass)
        alarms = _prefixes(2.0 * scores[high] * weight[high] / mass)
        gain = self._losses(weight[low], weight[high]) + missed[:, None] + alarms[None, :]
        a, b = np.unravel_index(np.argmax(gain), gain.shape)
        pull = np.zeros(len(buffer))
        pull[high[:b]], pull[low[:a]] = weight[high[:b]], -weight[low[:a]]
        return float(gain[a, b]), buffer.rows.sums(pull) * (2.0 / mass)

    def _losses(self, positive: Array, negative: Array) -> Array:
        """``1 - M`` when the first positives are missed (down) and the first negatives are false alarms (across), for
        their weights in that order; for weights of 1, kept for the numbers of both."""
        sizes = (len(positive), len(negative))
        plain = bool(np.all(positive == 1.0) and np.all(negative == 1.0))
        if plain and sizes in self._grids:
            return self._grids[sizes]
        mass = (positive.sum(), negative.sum())
        tpr, tnr = (np.clip(1.0 - _prefixes(w) / m, 0.0, 1.0) for w, m in zip((positive, negative), mass, strict=True))
        share = mass[0] / (mass[0] + mass[1])
        found = 1.0 - np.asarray(self.problem.measure(tpr[:, None], tnr[None, :], share, sample_size=sum(sizes)))
        if plain:
            self._grids[sizes] = found
            if len(self._grids) > GRIDS:
                self._grids.pop(next(iter(self._grids)))
        return found

    def model(self) -> LinearModel:
        """The mean of the iterates; before the first buffer is full, that of the rows there are."""
        with self._lock:
            state = self._state
            if state.steps == 0 and len(state.waiting):
                state = self._step_on(state, state.waiting)
        w = state.total / state.steps if state.steps and self.problem.average else state.w
        d = self.n_features
        return LinearModel(w[:d].copy(), float(w[d]) if self.problem.fit_intercept else 0.0, status=AT_THE_END)

    @property
    def n_rows(self) -> int:
        return self._state.n_rows

    def curve(self) -> dict[str, Array]:
        return {name: np.empty(0) for name in CURVE}

    # -- copies and bytes ---------------------------------------------------------------------------------------
    def copy(self) -> MiniBatchLearner:
        return MiniBatchLearner(self.problem, self.n_features, self._state)

    def save(self) -> bytes:
        state, waiting = self._state, self._state.waiting
        parts = {"waiting": waiting.rows, "y": waiting.y, "weight": waiting.weight}
        numbers = {name: getattr(state, name) for name in ("w", "total", "steps", "square_norm", "n_rows")}
        return to_bytes("state", {**numbers, **parts})

    def load(self, state: bytes) -> None:
        """Raises ValueError, and changes nothing, if the bytes are not the state of a learner of this problem."""
        try:
            parts = from_bytes("state", state)
            check_fields(_STATE, parts, {"w": len(self._state.w)})
            rows = parts["waiting"]
            if rows.shape != (len(parts["y"]), self.n_features) or rows.which is not None:
                raise ValueError("the rows that wait are not as many as their labels, or of other features")
        except (TypeError, ValueError) as error:
            raise ValueError(f"the saved state is not one of this learner: {error}") from error
        waiting = Buffer(rows, parts.pop("y"), parts.pop("weight"))
        self._state = State(**{**parts, "waiting": waiting})

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"])  # type: ignore[misc]
        self.load(saved["state"])


def _prefixes(values: Array) -> Array:
    return np.append(0.0, np.cumsum(values))


def _own(rows: Rows) -> Any:
    """A copy of the rows of a view."""
    return rows.source.copy() if rows.which is None else rows.source[rows.which]


def _empty_like(buffer: Buffer) -> Buffer:
    none = Rows.of(buffer.rows.source[:0].copy())
    return Buffer(none, buffer.y[:0].copy(), buffer.weight[:0].copy())
