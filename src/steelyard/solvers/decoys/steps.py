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
  which is what makes the threshold a stationary point of the Lagrangian (13) of Gasso et al.. Where few are right the
  sum is below 0, and with every row below the threshold it is 0: a climb that ends there is not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from ...rows import Rows
from ...statistics.target_decoy import Array, Counts, Mask, chance_right, cut, weighted_q_values
from ..linear import cost_sensitive

TINY = 1e-300  # keeps a division by nothing from being one
PIECE = 2**21  # entries at a time: about 10 ms


@dataclass(frozen=True)
class StepOptions:
    """How the steps work.

    Chosen with the seeds from 100 on of psm-percolator and of run 0 of psm-scope2 (benchmarks/qvalue.py). Counts below
    are of psm-percolator, seeds 100 and 101 in three folds, accepted around q = 0.01: 987 by the loop and 995 by the
    mixture as it is. Of a thousand some thirty are chance.
    """

    # The loop passes targets at this rate where the cap is lower: more rows to learn from. 0.05 to 0.2 do the same;
    # 0.01 is a worse loop (977).
    loop_q: float = 0.1
    loop_cost: float = 3.0  # of a decoy in the loop's SVM, as Percolator often sets it; 1 and 10 do the same (986, 994)
    mixture_cost: float = 5.0  # the same in the mixture: 987 at 1, 989 at 2, 995 at 10
    # Rounds end when the targets that passed, or the chances of being right, change by no more than this share.
    # 980 and 995 at 0.1, 990 and 1023 at 0.005.
    settled: float = 0.02
    # A target with less than this chance of being right is left out of a round, to save time: 0 to 0.01 give the very
    # same counts.
    hopeless: float = 1e-3
    # Of the sigmoid, in distances from the threshold to the median decoy. Half and twice as wide accept some more here
    # (1052, 1056 annealed for 988); that was not tried on the other tables.
    widths: tuple[float, ...] = (0.5, 0.25)
    # Widths below the threshold at which a sigmoid is 0.002, so that rows are beyond it: 3 is too near (845 annealed
    # instead of 988), 12 does the same (999).
    reach: float = 6.0
    climbs: int = 30  # steps of L-BFGS at each width; 10 accept 1090 here, 100 accept 982
    columns: int = 64  # tried alone, those with the largest difference in means; 8 find the same column here
    around: tuple[float, ...] = (0.5, 0.7, 1.0, 1.4, 2.0)  # times q, a factor 1.4 apart: where lists are counted
    gap: float = 1e-3  # relative, of each convex problem; 1e-2 and 1e-4 do the same


OPTIONS = StepOptions()


@dataclass(frozen=True, eq=False)
class Matches:
    """Rows (in the steps with a last column of ones), which of them is a target, and how much each counts."""

    rows: Rows
    is_target: Mask
    weight: Array

    @classmethod
    def of(cls, X: Any, is_target: Mask, weight: Array | None = None) -> Matches:
        equal = np.broadcast_to(1.0, len(is_target))  # one number, however many rows
        return cls(Rows.of(X), is_target, equal if weight is None else weight)

    def take(self, which: NDArray[Any]) -> Matches:
        return Matches(self.rows.take(which), self.is_target[which], self.weight[which])

    def weighing(self, weight: Array, which: Mask) -> Matches:
        """Some of them, with other weights (given for all)."""
        return Matches(self.rows.take(which), self.is_target[which], weight[which])

    def with_ones(self) -> Matches:
        return Matches(self.rows.with_constant(), self.is_target, self.weight)


@dataclass(frozen=True)
class Aim:
    """The cap on decoys per target, the C of each convex problem, and the rounds of `loop` and `mixture`."""

    max_q: float
    C: float = 10.0
    rounds: int = 10
    how: StepOptions = OPTIONS


def best_column(matches: Matches, aim: Aim) -> Array:
    """The column, up or down, that accepts most targets by itself.

    Wrong targets are like decoys, so the difference in means has the direction of the right ones."""
    rows, t, weight = matches.rows, matches.is_target, matches.weight
    sides = [np.where(side, weight, 0.0) / max(float(weight[side].sum()), TINY) for side in (t, ~t)]
    apart = rows.sums(sides[0] - sides[1])[:-1]
    spread = np.sqrt(_mean_squares(rows, weight))
    tried = np.argsort(-np.abs(apart) / np.maximum(spread, TINY), kind="stable")[: aim.how.columns]
    signs, max_q = np.where(apart < 0, -1.0, 1.0), max(aim.max_q, aim.how.loop_q)
    best = max(tried, key=lambda j: accepted_around(signs[j] * _column(rows, int(j)), matches, max_q))
    w = np.zeros(rows.n_cols)
    w[best] = signs[best]
    return w


def loop(matches: Matches, w: Array, aim: Aim) -> Array:
    """Percolator's: the targets that pass now against all decoys, in turns until they settle."""
    target, weight, options = matches.is_target, matches.weight, aim.how
    before, level = np.zeros(len(target), dtype=bool), max(aim.max_q, options.loop_q)
    for _ in range(aim.rounds):
        passed = target & (weighted_q_values(matches.rows.scores(w), target, weight) <= level)
        if weight[passed != before].sum() <= options.settled * weight[passed].sum():
            return w
        before = passed
        w = _fit(matches.take(passed | ~target), options.loop_cost, aim.C, "squared_hinge", options.gap)
    return w


def mixture(matches: Matches, w: Array, aim: Aim) -> Array:
    """Targets weighed by their chance of being right against all decoys, in turns until the chances settle."""
    target, options = matches.is_target, aim.how
    before = np.zeros(len(target))
    for _ in range(aim.rounds):
        mass = np.where(target, chance_right(matches.rows.scores(w), target, matches.weight), 0.0) * matches.weight
        if np.abs(mass - before).sum() <= options.settled * mass.sum():
            return w
        before = mass
        w = _fit(_with_hope(matches, mass, options.hopeless), options.mixture_cost, aim.C, "logistic", options.gap)
    return w


def _with_hope(matches: Matches, mass: Array, least: float) -> Matches:
    """Decoys as they are, and targets that weigh `mass`, but for those that weigh next to nothing."""
    weight = np.where(matches.is_target, mass, matches.weight)
    return matches.weighing(weight, weight > least * matches.weight)


# Of the start's list. A climb that has collapsed has next to nothing of it (0 of 2,000 and more on psm-scope2), one
# that ends well about as much or more.
KEPT = 0.5


def annealed(matches: Matches, w: Array, aim: Aim) -> Array:
    """Ascent of ``sum of s(f/h) over targets - r times that over decoys``, for widths h that shrink."""
    start = w
    for width in aim.how.widths:
        w = levelled(w, matches, aim.max_q)
        scores = matches.rows.scores(w)
        right = chance_right(scores, matches.is_target, matches.weight)
        rate = exchange_rate(scores, right, matches, aim.max_q)
        near = matches.take(scores > -aim.how.reach * width)
        gain = np.where(near.is_target, 1.0, -rate) * near.weight
        w = _climb(near, w, width, gain, aim.how.climbs)
    before, after = (accepted_around(matches.rows.scores(v), matches, aim.max_q) for v in (start, w))
    return w if after >= KEPT * before else start


def _climb(matches: Matches, w: Array, width: float, gain: Array, steps: int) -> Array:
    rows, size = matches.rows, float(np.abs(gain).sum())
    if size == 0.0:  # no row is near the threshold: there is nothing to climb on
        return w

    def loss(v: Array) -> tuple[float, Array]:
        s = expit(rows.scores(v) / width)
        return -float(gain @ s) / size, -rows.sums(gain * s * (1.0 - s)) / (width * size)

    found = minimize(loss, w, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x, dtype=np.float64)


def exchange_rate(scores: Array, right: Array, matches: Matches, max_q: float) -> float:
    """Targets won per decoy let in at the threshold, from 1 to 1/q."""
    threshold = cut(scores, matches.is_target, matches.weight, max_q).threshold
    above = right[scores >= threshold]
    wrong = 1.0 - float(above.min()) if len(above) else 0.0
    return max(1.0, 1.0 / max(wrong, max_q))


def accepted_at(scores: Array, matches: Matches, caps: Sequence[float]) -> Array:
    """How many targets have a q-value within each of the caps."""
    order = np.argsort(-scores)  # any order will do among equals: no list ends between them
    found = Counts.of(scores[order], matches.is_target[order], matches.weight[order])
    ends = [np.flatnonzero(found.rate <= cap)[-1:] for cap in caps]  # of the longest list within the cap
    return np.array([found.targets[end].sum() for end in ends])


def accepted_around(scores: Array, matches: Matches, max_q: float, options: StepOptions = OPTIONS) -> float:
    """Targets accepted, averaged over caps around `max_q`: less of a lottery than the one count."""
    return float(accepted_at(scores, matches, around(max_q, options)).mean())


def around(max_q: float, options: StepOptions = OPTIONS) -> list[float]:
    return [max_q * times for times in options.around]


def levelled(w: Array, matches: Matches, max_q: float) -> Array:
    """The same ranking with the threshold at 0 and the median decoy at -1."""
    scores = matches.rows.scores(w)
    zero = cut(scores, matches.is_target, matches.weight, max_q).threshold
    if not np.isfinite(zero):
        zero = float(scores[matches.is_target].max())
    size = zero - float(np.median(scores[~matches.is_target]))
    rounding = 1e-12 * max(1.0, abs(zero))
    if not size > rounding:  # the threshold is at the median decoy
        size = float(np.abs(scores - zero).max())
    if not size > rounding:  # all scores are equal, and there is nothing to measure by
        size = 1.0
    w = w.copy()
    w[-1] -= zero
    return w / size


def logistic(matches: Matches, aim: Aim) -> Array:
    return _fit(matches, 1.0, aim.C, "logistic", aim.how.gap)


def _fit(matches: Matches, decoy_cost: float, C: float, loss: str, gap: float) -> Array:
    y = np.where(matches.is_target, 1.0, -1.0)
    return cost_sensitive.solve(matches.rows, y, 1.0, decoy_cost, C, gap, loss, sample_weight=matches.weight).w


# -- columns --------------------------------------------------------------------------------------------------------
def _mean_squares(rows: Rows, weight: Array) -> Array:
    """The weighted mean square of every column but the constant one."""
    total = np.zeros(rows.n_cols - 1)
    share = weight / weight.sum()
    for part, x in _pieces(rows):
        total += np.asarray((x.multiply(x) if rows.is_sparse else x * x).T @ share[part]).ravel()
    return total


def _column(rows: Rows, j: int) -> Array:
    if rows.is_sparse:
        return rows.scores(np.eye(1, rows.n_cols, j)[0])
    column = rows.source[:, j]
    return np.asarray(column if rows.which is None else column[rows.which], dtype=np.float64)


def _pieces(rows: Rows) -> Iterator[tuple[slice, Any]]:
    """The stored columns, some rows at a time."""
    at_once = max(1, PIECE // max(1, rows.n_cols))
    for start in range(0, rows.n_rows, at_once):
        part = slice(start, start + at_once)
        x = rows.source[part if rows.which is None else rows.which[part]]
        yield part, x.astype(np.float64, copy=False)
