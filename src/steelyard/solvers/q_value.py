"""As many accepted targets as possible while decoys per target stay within a cap: learning for a q-value.

Given rows that are targets (a mixture of right and wrong ones) or decoys (all wrong), learn ``f(x) = w.x`` for

    max over w, u   T(u)    subject to   D(u) <= q T(u)

with T(u) and D(u) the weighted numbers of targets and decoys with ``f(x) >= u``. In rates this is ``(1 - p) FPR <= q p
TPR``; paper 002, section 4, writes it for classes of equal size. Most targets are wrong, so a convex loss on all of
them spends itself on rows that nobody could accept. Four steps, each the start of the next, and nonconvex from the
second on:

- *loop* (Käll et al. 2007): a weighted SVM of the targets that pass now (at q or 0.1, the larger) against all decoys,
  ten rounds, from the best single column and from logistic regression.
- *mixture*: logistic regression of all targets against all decoys, where a target weighs its estimated chance of being
  right; the chances follow from the scores, and so on. This is minimising a loss that levels off for hopeless rows,
  by a convex problem a round.
- *annealed*: ascent of ``sum over targets of s(f/h) - r sum over decoys of s(f/h)`` with a sigmoid s around the
  threshold, of a width h that shrinks. The multiplier r is the exchange rate of targets for decoys at the threshold,
  which is what makes the threshold a stationary point of the Lagrangian (13) of 002.
- *mean* of the last two, each on the scale where the threshold is 0 and the median decoy -1.

With a kernel the mixture follows once more on the features of `landmarks`, placed on targets that are likely right
and on the decoys that look most like them, from the linear mixture. Ten decoys decide at q = 0.01, so the training rows
say little about which of these is best: `solve` asks rows left out, and leaves the mixture only for a clear gain.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from ..measures import Precision, Recall
from . import cost_sensitive
from .landmarks import Landmarks, place
from .stochastic import Stream
from .stream_problem import NeymanPearson, Pass, Problem
from .target_decoy import Array, Mask, chance_right, cut, weighted_q_values

LINEAR = ("loop", "mixture", "annealed", "mean")
CURVED = "rbf mixture"
DEFAULT = "mixture"  # unless rows left out speak clearly for another
ROUNDS = 10
WIDTHS = (0.5, 0.25)  # of the sigmoid, in distances from the threshold to the median decoy
REACH = 6.0  # widths below the threshold at which a row is beyond the sigmoid
STEPS = 30  # of L-BFGS at each width
COLUMNS = 64  # tried alone, those with the largest difference in means
LOOP_Q = 0.1  # the loop passes targets at this rate where the cap is lower: more rows to learn from, a better start
LOOP_COST = 3.0  # of a decoy against a target in the loop's SVM, as Percolator often sets it
MIXTURE_COST = 5.0  # the same in the mixture
AROUND = (0.5, 0.7, 1.0, 1.4, 2.0)  # times q: where lists are counted to choose a recipe
CLEARLY = 0.05  # so much more must a recipe accept among rows left out to be taken instead of the default
GAP = 1e-3
LIKELY, CLOSE = 0.5, 40  # landmarks: targets more likely right than not, the best so many decoys for each


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
    """The cap on decoys per target, the SVM's C, the rounds of the first two steps, and the kernel's landmarks."""

    max_q: float
    C: float = 10.0
    rounds: int = ROUNDS
    gamma: float | None = None  # of the RBF kernel; None is linear
    n_landmarks: int = 100
    seed: int = 0

    @property
    def recipes(self) -> tuple[str, ...]:
        return LINEAR if self.gamma is None else (*LINEAR, CURVED)

    @property
    def default(self) -> str:
        return DEFAULT if self.gamma is None else CURVED


@dataclass(frozen=True, eq=False)
class Model:
    """``f(x) = features(x).w + intercept``; `features` is None where they are the columns themselves."""

    w: Array
    intercept: float
    features: Landmarks | None = None

    def __call__(self, X: Any) -> Array:
        Z = X if self.features is None else self.features(X)
        return np.asarray(Z @ self.w + self.intercept, dtype=np.float64).ravel()


@dataclass(frozen=True, eq=False)
class QValueResult:
    """``model(x) > 0`` is a target within the cap, by rows left out; `objective` is how many targets those were.

    `held_out` has, for each recipe, the targets accepted among rows left out, averaged over caps around `max_q`; it is
    empty where there were too few rows to leave any out."""

    model: Model
    objective: float
    recipe: str
    held_out: dict[str, float]
    n_iter: int


def solve(
    X: Any, is_target: Mask, aim: Aim, folds: Sequence[NDArray[np.intp]] = (), sample_weight: Array | None = None
) -> QValueResult:
    """Learn by every recipe, choose one and set the threshold on the rows left out in turn, and refit on all rows.

    `folds` are the row numbers to leave out, each row once; with none the recipe is the default and the threshold that
    of the training rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)); target = np.arange(2000) % 2 == 0
    >>> X[:1000, 0] += 4.0 * target[:1000]  # half the targets are right
    >>> found = solve(X, target, Aim(0.05))
    >>> bool(found.model.w[0] > 10 * abs(found.model.w[1]))
    True
    """
    weight = np.ones(len(is_target)) if sample_weight is None else sample_weight
    rows = Rows(X, is_target, weight)
    left_out = _left_out(rows, aim, folds)
    held = {name: accepted_around(scores, rows, aim.max_q) for name, scores in left_out.items()}
    best = max(held, key=lambda name: held[name]) if held else aim.default
    recipe = best if held and held[best] > (1.0 + CLEARLY) * held[aim.default] else aim.default
    model = learn(rows, aim)[recipe]
    threshold, accepted = _threshold(left_out[recipe] if held else model(X), rows, aim.max_q)
    model = Model(model.w, model.intercept - threshold, model.features)
    return QValueResult(model, accepted, recipe, held, aim.rounds * (1 + len(folds)))


def learn(rows: Rows, aim: Aim) -> dict[str, Model]:
    """The model of every recipe, with the training threshold at 0 and the median decoy at -1."""
    flat = Rows(_with_ones(rows.Z), rows.is_target, rows.weight)

    def level(w: Array) -> Array:
        return _levelled(w, flat, aim.max_q)

    starts = (best_column(flat, max(aim.max_q, LOOP_Q)), _logistic(flat, aim.C))
    looped = max((loop(flat, w, aim) for w in starts), key=lambda w: accepted_around(flat.Z @ w, flat, aim.max_q))
    mixed = level(mixture(flat, looped, aim))
    climbed = level(annealed(flat, mixed, aim))
    found = {"loop": level(looped), "mixture": mixed, "annealed": climbed, "mean": level(mixed + climbed)}
    models = {name: Model(w[:-1], float(w[-1])) for name, w in found.items()}
    if aim.gamma is not None:
        models[CURVED] = _curved(rows, models["mixture"], aim)
    return models


def _curved(rows: Rows, start: Model, aim: Aim) -> Model:
    features = _place(rows, start(rows.Z), aim)
    curved = Rows(_with_ones(features(rows.Z)), rows.is_target, rows.weight)
    w = np.zeros(curved.Z.shape[1])
    w[: len(start.w)], w[-1] = start.w, start.intercept
    w = _levelled(mixture(curved, w, replace(aim, rounds=(aim.rounds + 1) // 2)), curved, aim.max_q)
    return Model(w[:-1], float(w[-1]), features)


def _place(rows: Rows, scores: Array, aim: Aim) -> Landmarks:
    """Half the landmarks on targets drawn by their chance of being right, half on the decoys of highest score."""
    assert aim.gamma is not None
    draw, half = np.random.default_rng(aim.seed), max(1, aim.n_landmarks // 2)
    right = np.where(rows.is_target, chance_right(scores, rows.is_target, rows.weight), 0.0)
    likely = np.flatnonzero(right > LIKELY if (right > LIKELY).any() else rows.is_target)
    decoys = np.flatnonzero(~rows.is_target)
    close = decoys[np.argsort(-scores[decoys], kind="stable")[: CLOSE * half]]
    chosen = [draw.choice(pool, min(half, len(pool)), replace=False) for pool in (likely, close)]
    return place(rows.Z[np.concatenate(chosen)], aim.gamma)


def best_column(rows: Rows, max_q: float) -> Array:
    """The column, up or down, that accepts most targets by itself."""
    Z, t, weight = rows.Z, rows.is_target, rows.weight
    sides = [np.where(side, weight, 0.0) / max(float(weight[side].sum()), 1e-300) for side in (t, ~t)]
    apart = np.asarray(Z.T @ sides[0] - Z.T @ sides[1]).ravel()[:-1]
    spread = np.sqrt(np.asarray(_squares(Z).T @ (weight / weight.sum())).ravel()[:-1])
    tried = np.argsort(-np.abs(apart) / np.maximum(spread, 1e-300), kind="stable")[:COLUMNS]
    best, w = -1.0, np.zeros(Z.shape[1])
    for j in tried:
        values = _column(Z, j)
        for sign in (1.0, -1.0):
            count = accepted_around(sign * values, rows, max_q)
            if count > best:
                best, w = count, np.zeros(Z.shape[1])
                w[j] = sign
    return w


def loop(rows: Rows, w: Array, aim: Aim) -> Array:
    """Percolator's: the targets that pass now against all decoys, in turns, until they stay the same."""
    before, level = None, max(aim.max_q, LOOP_Q)
    for _ in range(aim.rounds):
        q = weighted_q_values(rows.Z @ w, rows.is_target, rows.weight)
        passed = rows.is_target & (q <= level)
        if not passed.any() or (before is not None and (passed == before).all()):
            return w
        before, use = passed, passed | ~rows.is_target
        w = _fit(rows[use], rows.weight[use], LOOP_COST, aim.C, "squared_hinge")
    return w


def mixture(rows: Rows, w: Array, aim: Aim) -> Array:
    """Targets weighed by their chance of being right against all decoys, chances and model in turns."""
    for _ in range(aim.rounds):
        scores = rows.Z @ w
        right = chance_right(scores, rows.is_target, rows.weight)
        weight = np.where(rows.is_target, right, 1.0) * rows.weight
        use = weight > 1e-3 * rows.weight
        if not (use & rows.is_target).any():
            return w
        w = _fit(rows[use], weight[use], MIXTURE_COST, aim.C, "logistic")
    return w


def annealed(rows: Rows, w: Array, aim: Aim) -> Array:
    """Ascent of ``sum of s(f/h) over targets - r times that over decoys``, for widths h that shrink."""
    for width in WIDTHS:
        w = _levelled(w, rows, aim.max_q)
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


def solve_stochastic(
    X: Any, is_target: Mask, max_q: float, *, passes: int = 5, seed: int = 0, sample_weight: Array | None = None
) -> QValueResult:
    """The stream learner of 002 (Algorithm 4) under ``D <= q T``, which is ``precision >= 1 / (1 + q)``."""
    cap = Precision() >= 1.0 / (1.0 + max_q)
    problem = Problem(measure=Recall(), constraint=cap, solver=NeymanPearson(), reward="sigmoid", seed=seed)
    stream = Stream(problem, X.shape[1])
    weight = np.ones(len(is_target)) if sample_weight is None else sample_weight
    signs = np.where(is_target, 1, -1).astype(np.int8)
    for number in range(passes):
        stream.learn(X, signs, weight, Pass(shuffle=True, number=number, fresh=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of its own sample: the rows are counted here
        w = stream.model().w
    threshold, accepted = _threshold(np.asarray(X @ w).ravel(), Rows(X, is_target, weight), max_q)
    return QValueResult(Model(w, -threshold), accepted, "stochastic", {}, passes)


# -- pieces ---------------------------------------------------------------------------------------------------------
def _left_out(rows: Rows, aim: Aim, folds: Sequence[NDArray[np.intp]]) -> dict[str, Array]:
    scores = {name: np.zeros(len(rows.is_target)) for name in aim.recipes} if len(folds) else {}
    for fold in folds:
        rest = np.ones(len(rows.is_target), dtype=bool)
        rest[fold] = False
        for name, model in learn(rows[rest], aim).items():
            scores[name][fold] = model(rows.Z[fold])
    return scores


def accepted_around(scores: Array, rows: Rows, max_q: float) -> float:
    """Targets accepted, averaged over caps around `max_q`: less of a lottery than the one count."""
    q = weighted_q_values(scores, rows.is_target, rows.weight)[rows.is_target]
    weight = rows.weight[rows.is_target]
    return float(np.mean([weight[q <= max_q * times].sum() for times in AROUND]))


def _threshold(scores: Array, rows: Rows, max_q: float) -> tuple[float, float]:
    """Between the last accepted score of the longest list with ``D <= q T`` and the next one, and its targets.

    No 1 is added to the decoys here: this is the cap itself, not an estimate of what will be found."""
    order = np.argsort(-scores, kind="stable")
    values, target, weight = scores[order], rows.is_target[order], rows.weight[order]
    targets, decoys = np.cumsum(np.where(target, weight, 0.0)), np.cumsum(np.where(target, 0.0, weight))
    ends = np.r_[values[1:] != values[:-1], True]
    good = np.flatnonzero(ends & (targets > 0) & (decoys <= max_q * targets))
    if not len(good):
        return float(values[0]) + 1.0, 0.0
    last = int(good[-1])
    below = values[last + 1] if last + 1 < len(values) else values[last] - 1.0
    return float((values[last] + below) / 2.0), float(targets[last])


def _levelled(w: Array, rows: Rows, max_q: float) -> Array:
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


def _logistic(rows: Rows, C: float) -> Array:
    return _fit(rows, rows.weight, 1.0, C, "logistic")


def _with_ones(X: Any) -> Any:
    ones = np.ones((X.shape[0], 1))
    return sp.hstack([X, ones], format="csr") if sp.issparse(X) else np.hstack([X, ones])


def _squares(Z: Any) -> Any:
    return Z.multiply(Z) if sp.issparse(Z) else Z * Z


def _column(Z: Any, j: int) -> Array:
    return np.asarray(Z[:, [j]].todense() if sp.issparse(Z) else Z[:, j], dtype=np.float64).ravel()
