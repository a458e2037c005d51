"""The mini-batch structural SVM, 1PMB, on a stream: the baseline of paper 001 (Kar, Narasimhan & Jain 2014).

For a buffer of rows with scores ``s_i`` and weights ``c_i`` of sum C the surrogate of ``1 - M`` is

    l(w) = max over predictions z of  [1 - M(z)] + (1/C) sum_i c_i (z_i - y_i) s_i.

M depends on z through the weights of missed positives and of false alarms only, and for given ones the worst z errs on
the lowest-scored positives and the highest-scored negatives: the maximum is found on a grid of prefix sums. (With
unequal weights this is the maximum over whole prefixes, which bounds l from below; its slope is still that of one of
the terms.) Each buffer is stepped on `passes` times with ``w <- w - eta0 / sqrt(k) grad l``; the model is the mean of
the iterates. Rows that do not fill a buffer wait for the next chunk; rows of no weight are left out. It is slow next to
NEMSIS, by design: O(B+ B-) a step.
"""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .learner import Array, BadRowError, LinearModel
from .problem import IN_ORDER, OnePassMiniBatch, Pass, Problem

Order = NDArray[np.signedinteger[Any]]


class _Side:
    """The rows of one class in a buffer, with their weights."""

    def __init__(self, X: Array, weight: Array) -> None:
        self.X, self.weight, self.mass = X, weight, float(weight.sum())
        self.plain = bool(np.all(weight == 1.0))

    def sum(self, rows: Order) -> Array:
        found: Array = self.X[rows].sum(axis=0) if self.plain else self.weight[rows] @ self.X[rows]
        return found


class MiniBatchStream:
    """Carries the state of 1PMB from chunk to chunk, with the interface of `solvers.stream.learner.Stream`."""

    def __init__(self, problem: Problem, n_features: int) -> None:
        self.problem, self.n_features = problem, n_features
        self.options = problem.solver if isinstance(problem.solver, OnePassMiniBatch) else OnePassMiniBatch()
        d = n_features + int(problem.fit_intercept)
        self._w, self._sum = np.zeros(d), np.zeros(d)
        self._steps, self._squares, self._rows = 0, 0.0, 0
        self._mass = np.zeros(2)
        self._buffer_X, self._buffer_y = np.empty((0, d)), np.empty(0, dtype=np.int8)
        self._buffer_weight = np.empty(0)
        self._grids: dict[int, Array] = {}

    def learn(self, X: Any, y: NDArray[np.int8], weight: Array | None = None, run: Pass = IN_ORDER) -> None:
        _check_finite(X)
        order = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        if run.shuffle:
            np.random.default_rng((self.problem.seed, run.number)).shuffle(order)
        weight = np.ones(len(y)) if weight is None else weight
        for start in range(0, len(order), 4096):
            rows = order[start : start + 4096]
            self._extend(X[rows], y[rows], weight[rows])
        self._rows += len(y)
        self._mass += [np.sum(weight[y < 0]), np.sum(weight[y > 0])]

    def _extend(self, X: Any, y: NDArray[np.int8], weight: Array) -> None:
        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if self.problem.fit_intercept:
            dense = np.column_stack([dense, np.ones(len(dense))])
        self._buffer_X = np.concatenate([self._buffer_X, dense])
        self._buffer_y = np.concatenate([self._buffer_y, y])
        self._buffer_weight = np.concatenate([self._buffer_weight, weight])
        size = self.options.buffer
        while len(self._buffer_y) >= size:
            self._step_on(self._buffer_X[:size], self._buffer_y[:size], self._buffer_weight[:size])
            self._buffer_X, self._buffer_y = self._buffer_X[size:], self._buffer_y[size:]
            self._buffer_weight = self._buffer_weight[size:]

    def _step_on(self, X: Array, y: NDArray[np.int8], weight: Array) -> None:
        if self._steps == 0:
            self._squares = float(np.mean(np.sum(X**2, axis=1)))
        is_positive = y > 0
        if is_positive.all() or not is_positive.any():
            return
        if np.all(weight == weight[0]):
            weight = np.ones(len(y))
        sides = [_Side(X[rows], weight[rows]) for rows in (is_positive, ~is_positive)]
        eta0 = self.problem.eta0 or 1.0 / np.sqrt(max(self._squares, 1e-12))
        for _ in range(self.options.passes):
            self._steps += 1
            self._w = self._w * (1.0 - min(eta0 / np.sqrt(self._steps) * self.problem.alpha, 1.0))
            self._w = self._w - eta0 / np.sqrt(self._steps) * self.worst(self._w, *sides)[1]
            norm = float(np.linalg.norm(self._w))
            if self.problem.radius is not None and norm > self.problem.radius:
                self._w = self._w * (self.problem.radius / norm)
            self._sum += self._w

    def worst(self, w: Array, positive: _Side, negative: _Side) -> tuple[float, Array]:
        """The value of the surrogate on one buffer, and a subgradient."""
        mass = positive.mass + negative.mass
        s_pos, s_neg = positive.X @ w, negative.X @ w
        low, high = np.argsort(s_pos, kind="stable"), np.argsort(-s_neg, kind="stable")
        missed = _prefixes(-2.0 * s_pos[low] * positive.weight[low] / mass)
        alarms = _prefixes(2.0 * s_neg[high] * negative.weight[high] / mass)
        gain = self._losses(positive, negative, low, high) + missed[:, None] + alarms[None, :]
        a, b = np.unravel_index(np.argmax(gain), gain.shape)
        slope: Array = negative.sum(high[:b]) - positive.sum(low[:a])
        return float(gain[a, b]), slope * (2.0 / mass)

    def _losses(self, positive: _Side, negative: _Side, low: Order, high: Order) -> Array:
        """``1 - M`` when the first rows of `low` are missed (down) and the first of `high` are false alarms (across);
        for weights of 1, kept for the number of positives."""
        if not (positive.plain and negative.plain):
            tpr = 1.0 - _prefixes(positive.weight[low]) / positive.mass
            return self._grid(tpr, 1.0 - _prefixes(negative.weight[high]) / negative.mass, positive, negative)
        n_pos, n_neg = len(positive.weight), len(negative.weight)
        if n_pos not in self._grids:
            tpr, tnr = 1.0 - np.arange(n_pos + 1) / n_pos, 1.0 - np.arange(n_neg + 1) / n_neg
            self._grids[n_pos] = self._grid(tpr, tnr, positive, negative)
            if len(self._grids) > 64:
                self._grids.pop(next(iter(self._grids)))
        return self._grids[n_pos]

    def _grid(self, tpr: Array, tnr: Array, positive: _Side, negative: _Side) -> Array:
        share, n = positive.mass / (positive.mass + negative.mass), len(positive.weight) + len(negative.weight)
        tpr, tnr = np.clip(tpr, 0.0, 1.0), np.clip(tnr, 0.0, 1.0)  # prefix sums may round past the whole
        return 1.0 - np.asarray(self.problem.measure(tpr[:, None], tnr[None, :], share, sample_size=n))

    def model(self) -> LinearModel:
        """The mean of the iterates; before the first buffer is full, that of the rows there are."""
        if self._steps == 0 and len(self._buffer_y):
            early = copy.deepcopy(self)
            early._step_on(self._buffer_X, self._buffer_y, self._buffer_weight)
            return LinearModel(np.zeros(self.n_features), 0.0) if early._steps == 0 else early.model()
        w = self._sum / self._steps if self._steps and self.problem.average else self._w
        if not self.problem.fit_intercept:
            return LinearModel(w.copy(), 0.0)
        return LinearModel(w[:-1].copy(), float(w[-1]))

    @property
    def n_rows(self) -> int:
        return self._rows

    @property
    def prevalence(self) -> float:
        return float(self._mass[1] / self._mass.sum())

    @property
    def spread(self) -> float:
        return 1.0

    def curve(self) -> dict[str, Array]:
        return {name: np.empty(0) for name in ("rows", "tpr", "tnr", "measure", "multiplier", "level")}

    def save(self) -> bytes:
        out = io.BytesIO()
        np.savez(
            out, w=self._w, sum=self._sum, numbers=np.array([self._steps, self._squares, self._rows, *self._mass]),
            X=self._buffer_X, y=self._buffer_y, weight=self._buffer_weight,
        )  # fmt: skip
        return out.getvalue()

    def load(self, state: bytes) -> None:
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            if saved["w"].shape != self._w.shape:
                raise ValueError("the saved state is of another number of features")
            self._w, self._sum, numbers = saved["w"], saved["sum"], saved["numbers"]
            self._buffer_X, self._buffer_y, self._buffer_weight = saved["X"], saved["y"], saved["weight"]
        self._steps, self._squares, self._rows = int(numbers[0]), float(numbers[1]), int(numbers[2])
        self._mass = numbers[3:]

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"])  # type: ignore[misc]
        self.load(saved["state"])


def _prefixes(values: Array) -> Array:
    return np.append(0.0, np.cumsum(values))


def _check_finite(X: Any) -> None:
    values = X.data if hasattr(X, "indptr") else X
    if np.isfinite(values).all():
        return
    bad = np.flatnonzero(~np.isfinite(values).reshape(-1))[0]
    row = int(np.searchsorted(X.indptr, bad, side="right") - 1) if hasattr(X, "indptr") else int(bad // X.shape[1])
    raise BadRowError(row)
