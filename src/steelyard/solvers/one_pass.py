"""The mini-batch structural SVM, 1PMB, on a stream: the baseline of paper 001 (Kar, Narasimhan & Jain 2014).

For a buffer of B rows with scores ``s_i`` the surrogate of ``1 - M`` is

    l(w) = max over predictions z of  [1 - M(z)] + (1/B) sum_i (z_i - y_i) s_i.

M depends on z through the numbers of missed positives and of false alarms only, and for given numbers the worst z
errs on the lowest-scored positives and the highest-scored negatives: the maximum is found on a grid of prefix sums.
Each buffer is stepped on `passes` times with ``w <- w - eta0 / sqrt(k) grad l``; the model is the mean of the
iterates. Rows that do not fill a buffer wait for the next chunk. It is slow next to NEMSIS, by design: O(B+ B-) a
step.
"""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .stochastic import Array, BadRowError, LinearModel
from .stream_problem import OnePassMiniBatch, Problem


class MiniBatchStream:
    """Carries the state of 1PMB from chunk to chunk, with the interface of `solvers.stochastic.Stream`."""

    def __init__(self, problem: Problem, n_features: int) -> None:
        self.problem, self.n_features = problem, n_features
        self.options = problem.solver if isinstance(problem.solver, OnePassMiniBatch) else OnePassMiniBatch()
        d = n_features + int(problem.fit_intercept)
        self._w, self._sum = np.zeros(d), np.zeros(d)
        self._steps, self._squares, self._rows = 0, 0.0, 0
        self._mass = np.zeros(2)
        self._buffer_X = np.empty((0, d))
        self._buffer_y = np.empty(0, dtype=np.int8)
        self._grids: dict[int, Array] = {}

    def learn(
        self,
        X: Any,
        y: NDArray[np.int8],
        weight: Array | None = None,
        *,
        shuffle: bool = False,
        number: int = 0,
        fresh: bool = False,
    ) -> None:
        if weight is not None and not np.all(weight == weight[0]):
            raise ValueError("1pmb takes no sample weights: a structural SVM counts rows")
        _check_finite(X)
        order = np.arange(len(y))
        if shuffle:
            np.random.default_rng((self.problem.seed, number)).shuffle(order)
        for start in range(0, len(y), 4096):
            rows = order[start : start + 4096]
            self._extend(X[rows], y[rows])
        self._rows += len(y)
        self._mass += [np.sum(y < 0), np.sum(y > 0)]

    def _extend(self, X: Any, y: NDArray[np.int8]) -> None:
        dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if self.problem.fit_intercept:
            dense = np.column_stack([dense, np.ones(len(dense))])
        self._buffer_X = np.concatenate([self._buffer_X, dense])
        self._buffer_y = np.concatenate([self._buffer_y, y])
        size = self.options.buffer
        while len(self._buffer_y) >= size:
            self._step_on(self._buffer_X[:size], self._buffer_y[:size])
            self._buffer_X, self._buffer_y = self._buffer_X[size:], self._buffer_y[size:]

    def _step_on(self, X: Array, y: NDArray[np.int8]) -> None:
        if self._steps == 0:
            self._squares = float(np.mean(np.sum(X**2, axis=1)))
        positive, negative = X[y > 0], X[y < 0]
        if len(positive) == 0 or len(negative) == 0:
            return
        eta0 = self.problem.eta0 or 1.0 / np.sqrt(max(self._squares, 1e-12))
        for _ in range(self.options.passes):
            self._steps += 1
            self._w = self._w * (1.0 - min(eta0 / np.sqrt(self._steps) * self.problem.alpha, 1.0))
            self._w = self._w - eta0 / np.sqrt(self._steps) * self.gradient(self._w, positive, negative)
            norm = float(np.linalg.norm(self._w))
            if self.problem.radius is not None and norm > self.problem.radius:
                self._w = self._w * (self.problem.radius / norm)
            self._sum += self._w

    def gradient(self, w: Array, positive: Array, negative: Array) -> Array:
        """A subgradient of the surrogate on one buffer."""
        n = len(positive) + len(negative)
        s_pos, s_neg = positive @ w, negative @ w
        low, high = np.argsort(s_pos, kind="stable"), np.argsort(-s_neg, kind="stable")
        missed = np.append(0.0, np.cumsum(-2.0 * s_pos[low] / n))
        alarms = np.append(0.0, np.cumsum(2.0 * s_neg[high] / n))
        worst = np.argmax(self._loss_grid(len(positive), len(negative)) + missed[:, None] + alarms[None, :])
        a, b = np.unravel_index(worst, (len(missed), len(alarms)))
        total: Array = (negative[high[:b]].sum(axis=0) - positive[low[:a]].sum(axis=0)) * (2.0 / n)
        return total

    def _loss_grid(self, n_pos: int, n_neg: int) -> Array:
        """``1 - M`` for every number of missed positives (rows) and of false alarms (columns)."""
        if n_pos not in self._grids:
            tpr, tnr = np.meshgrid(
                1.0 - np.arange(n_pos + 1) / n_pos, 1.0 - np.arange(n_neg + 1) / n_neg, indexing="ij"
            )
            n = n_pos + n_neg
            self._grids[n_pos] = 1.0 - np.asarray(self.problem.measure(tpr, tnr, n_pos / n, sample_size=n))
            if len(self._grids) > 64:
                self._grids.pop(next(iter(self._grids)))
        return self._grids[n_pos]

    def model(self) -> LinearModel:
        """The mean of the iterates; before the first buffer is full, that of the rows there are."""
        if self._steps == 0 and len(self._buffer_y):
            early = copy.deepcopy(self)
            early._step_on(self._buffer_X, self._buffer_y)
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
            X=self._buffer_X, y=self._buffer_y,
        )  # fmt: skip
        return out.getvalue()

    def load(self, state: bytes) -> None:
        with np.load(io.BytesIO(state), allow_pickle=False) as saved:
            if saved["w"].shape != self._w.shape:
                raise ValueError("the saved state is of another number of features")
            self._w, self._sum, numbers = saved["w"], saved["sum"], saved["numbers"]
            self._buffer_X, self._buffer_y = saved["X"], saved["y"]
        self._steps, self._squares, self._rows = int(numbers[0]), float(numbers[1]), int(numbers[2])
        self._mass = numbers[3:]

    def __getstate__(self) -> dict[str, Any]:
        return {"problem": self.problem, "n_features": self.n_features, "state": self.save()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__init__(saved["problem"], saved["n_features"])  # type: ignore[misc]
        self.load(saved["state"])


def _check_finite(X: Any) -> None:
    values = X.data if hasattr(X, "indptr") else X
    if np.isfinite(values).all():
        return
    bad = np.flatnonzero(~np.isfinite(values).reshape(-1))[0]
    row = int(np.searchsorted(X.indptr, bad, side="right") - 1) if hasattr(X, "indptr") else int(bad // X.shape[1])
    raise BadRowError(row)
