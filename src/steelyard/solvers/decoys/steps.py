"""From one linear score of targets and decoys to a better one: the steps that `solvers.decoys.q_value` puts together.

Given rows that are targets (a mixture of right and wrong ones) or decoys (all wrong), and ``f(x) = w.x``, each step
returns another w that accepts more targets within a cap q on decoys per target, or means to:

- `loop` (Käll et al. 2007): a weighted SVM of the targets that pass now (at q or 0.1, the larger) against all decoys,
  ten rounds at most; it starts from `best_column` or from `logistic`, all targets against all decoys.
- `mixture`: logistic regression of all targets against all decoys, where a target weighs its estimated chance of being
  right; the chances follow from the scores, and so on. This is minimising a loss that levels off for hopeless rows,
  by a convex problem a round.
- `annealed`: ascent of ``sum over targets of s(f/h) - r sum over decoys of s(f/h)`` with a sigmoid s around the
  threshold, of a width h that shrinks. The multiplier r is the exchange rate of targets for decoys at the threshold,
  which is what makes the threshold a stationary point of the Lagrangian (13) of 002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from ...statistics.target_decoy import Array, Mask, chance_right, cut, weighted_q_values
from ..linear import cost_sensitive

ROUNDS = 10
WIDTHS = (0.5, 0.25)  # of the sigmoid, in distances from the threshold to the median decoy
REACH = 6.0  # widths below the threshold at which a row is beyond the sigmoid
STEPS = 30  # of L-BFGS at each width
COLUMNS = 64  # tried alone, those with the largest difference in means
LOOP_Q = 0.1  # the loop passes targets at this rate where the cap is lower: more rows to learn from, a better start
LOOP_COST = 3.0  # of a decoy against a target in the loop's SVM, as Percolator often sets it
MIXTURE_COST = 5.0  # the same in the mixture
SETTLED = 0.02  # rounds end when the targets that passed, or the chances of being right, change by no more than this
AROUND = (0.5, 0.7, 1.0, 1.4, 2.0)  # times q: where lists are counted to compare scores
GAP = 1e-3


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns (Z where a last one is all ones), which row is a target, and how much each counts."""

    Z: Any
    is_target: Mask
    weight: Array

    def __getitem__(self, which: NDArray[Any]) -> Rows:
        return Rows(self.Z[which], self.is_target[which], self.weight[which])


@dataclass(frozen=True)
class Aim:
    """The cap on decoys per target, the C of each convex problem, and the rounds of `loop` and `mixture`."""

    max_q: float
    C: float = 10.0
    rounds: int = ROUNDS


def best_column(rows: Rows, max_q: float) -> Array:
    """The column, up or down, that accepts most targets by itself.

    Wrong targets are like decoys, so the difference in means has the direction of the right ones."""
    Z, t, weight = rows.Z, rows.is_target, rows.weight
    sides = [np.where(side, weight, 0.0) / max(float(weight[side].sum()), 1e-300) for side in (t, ~t)]
    apart = np.asarray(Z.T @ sides[0] - Z.T @ sides[1]).ravel()[:-1]
    spread = np.sqrt(np.asarray(_squares(Z).T @ (weight / weight.sum())).ravel()[:-1])
    tried = np.argsort(-np.abs(apart) / np.maximum(spread, 1e-300), kind="stable")[:COLUMNS]
    signs = np.where(apart < 0, -1.0, 1.0)
    best = max(tried, key=lambda j: accepted_around(signs[j] * _column(Z, j), rows, max_q))
    w = np.zeros(Z.shape[1])
    w[best] = signs[best]
    return w


def loop(rows: Rows, w: Array, aim: Aim) -> Array:
    """Percolator's: the targets that pass now against all decoys, in turns until they settle."""
    before, level = np.zeros(len(rows.is_target), dtype=bool), max(aim.max_q, LOOP_Q)
    for _ in range(aim.rounds):
        q = weighted_q_values(rows.Z @ w, rows.is_target, rows.weight)
        passed = rows.is_target & (q <= level)
        if rows.weight[passed != before].sum() <= SETTLED * rows.weight[passed].sum():
            return w
        before, use = passed, passed | ~rows.is_target
        w = _fit(rows[use], rows.weight[use], LOOP_COST, aim.C, "squared_hinge")
    return w


def mixture(rows: Rows, w: Array, aim: Aim) -> Array:
    """Targets weighed by their chance of being right against all decoys, in turns until the chances settle."""
    before = np.zeros(len(rows.is_target))
    for _ in range(aim.rounds):
        right = chance_right(rows.Z @ w, rows.is_target, rows.weight)
        mass = np.where(rows.is_target, right, 0.0) * rows.weight
        if np.abs(mass - before).sum() <= SETTLED * mass.sum():
            return w
        before, weight = mass, np.where(rows.is_target, mass, rows.weight)
        use = weight > 1e-3 * rows.weight
        w = _fit(rows[use], weight[use], MIXTURE_COST, aim.C, "logistic")
    return w


def annealed(rows: Rows, w: Array, aim: Aim) -> Array:
    """Ascent of ``sum of s(f/h) over targets - r times that over decoys``, for widths h that shrink."""
    for width in WIDTHS:
        w = levelled(w, rows, aim.max_q)
        scores = rows.Z @ w
        right = chance_right(scores, rows.is_target, rows.weight)
        rate = exchange_rate(scores, right, rows, aim.max_q)
        near = rows[scores > -REACH * width]
        w = _climb(near, w, width, np.where(near.is_target, 1.0, -rate) * near.weight)
    return w


def _climb(rows: Rows, w: Array, width: float, gain: Array) -> Array:
    size = float(np.abs(gain).sum())

    def loss(v: Array) -> tuple[float, Array]:
        s = expit(rows.Z @ v / width)
        return -float(gain @ s) / size, -(rows.Z.T @ (gain * s * (1.0 - s))) / (width * size)

    found = minimize(loss, w, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(found.x, dtype=np.float64)


def exchange_rate(scores: Array, right: Array, rows: Rows, max_q: float) -> float:
    """Targets won per decoy let in at the threshold, from 1 to 1/q."""
    threshold = cut(scores, rows.is_target, rows.weight, max_q).threshold
    above = right[scores >= threshold]
    wrong = 1.0 - float(above.min()) if len(above) else 0.0
    return float(np.clip(1.0 / max(wrong, max_q, 1e-6), 1.0, None))


def accepted_at(scores: Array, rows: Rows, caps: Sequence[float]) -> Array:
    """How many targets have a q-value within each of the caps."""
    q = weighted_q_values(scores, rows.is_target, rows.weight)[rows.is_target]
    weight = rows.weight[rows.is_target]
    return np.array([weight[q <= cap].sum() for cap in caps])


def accepted_around(scores: Array, rows: Rows, max_q: float) -> float:
    """Targets accepted, averaged over caps around `max_q`: less of a lottery than the one count."""
    return float(accepted_at(scores, rows, around(max_q)).mean())


def around(max_q: float) -> list[float]:
    return [max_q * times for times in AROUND]


def levelled(w: Array, rows: Rows, max_q: float) -> Array:
    """The same ranking with the threshold at 0 and the median decoy at -1."""
    scores = rows.Z @ w
    zero = cut(scores, rows.is_target, rows.weight, max_q).threshold
    if not np.isfinite(zero):
        zero = float(scores[rows.is_target].max())
    size = zero - float(np.median(scores[~rows.is_target]))
    if not size > 1e-12 * max(1.0, abs(zero)):
        size = max(float(np.abs(scores - zero).max()), 1e-12)
    w = w.copy()
    w[-1] -= zero
    return w / size


def _fit(rows: Rows, weight: Array, decoy_cost: float, C: float, loss: str) -> Array:
    y = np.where(rows.is_target, 1.0, -1.0)
    return cost_sensitive.solve(rows.Z, y, 1.0, decoy_cost, C, GAP, loss, sample_weight=weight).w


def logistic(rows: Rows, C: float) -> Array:
    return _fit(rows, rows.weight, 1.0, C, "logistic")


def with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _squares(Z: Any) -> Any:
    return Z.multiply(Z) if sp.issparse(Z) else Z * Z


def _column(Z: Any, j: int) -> Array:
    return np.asarray(Z[:, [j]].todense() if sp.issparse(Z) else Z[:, j], dtype=np.float64).ravel()
