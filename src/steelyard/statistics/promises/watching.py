"""Does a constraint still hold? An e-process: evidence that may be looked at after every row, for as long as one likes.

Given payments x_1, x_2, ... of rows as they come (`payments`), whose mean is not negative while the constraint holds,
who stakes a share ``L_i >= 0`` of the fortune *against* each row has ``prod (1 - L_i x_i)``; L_i may depend on all rows
before. While the constraint holds every factor has mean at most 1, so the fortune ever reaches ``1 / level`` with
probability at most `level`, over the whole life (Ville 1939). Once it is broken the fortune grows exponentially.

The stake is Kelly's, ``-mean / mean of squares`` of the latest payments, and 0 while their mean is positive, so that a
long calm costs little. Latest has several meanings (`HALF_LIVES`), each with an equal part of the fortune. What may
be lost in a calm is made good from a reserve: half of the fortune is laid out at the start and half later, after the
b-th block of rows ``1 / (b (b + 1))`` of it, which sums to one. All parts follow the same stakes, so that their sum is
one number for each half-life: the state does not grow.

The share of rows that pay the positive of two amounts has an interval that holds at all times at once: those r against
which the uniform mixture of all shares has not won ``1 / level`` (Robbins 1970), with k rows of which s paid it

    { r : B(s + 1, k - s + 1) / (r^s (1 - r)^(k - s)) < 1 / level }.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import betaln

Array = NDArray[np.float64]

HALF_LIVES = (100.0, 1000.0, 10_000.0)  # paying rows: a sudden break is seen by the first, a creeping one by the last
BLOCK = 256  # rows between two payments out of the reserve
AT_ONCE = 64  # blocks in one step of the loop: their arrays stay in the cache
DOUBTS = 20.0  # rows without a mean that are added to those seen: a few bad rows at the start are no evidence
BOLDEST = 0.5  # of the fortune that one row may take
RICHEST = 600.0  # the logarithm of a fortune that is not added to: nobody asks for more, and 700 would overflow
HALVINGS = 60  # of an interval's ends: double precision


@dataclass(frozen=True, eq=False)
class Fortune:
    """The state of a watch over one constraint: for each half-life the fortune, and decaying sums of what was paid."""

    capital: Array
    sums: Array
    squares: Array
    weights: Array
    n_paid: int = 0  # rows that paid
    n_good: int = 0  # of these, those that paid a positive amount
    best: float = 1.0  # the largest evidence so far

    @classmethod
    def new(cls) -> Fortune:
        k = len(HALF_LIVES)
        return cls(np.full(k, 0.5 / k), np.zeros(k), np.zeros(k), np.zeros(k))

    @property
    def evidence(self) -> float:
        """What has been won, with what is left in the reserve: 1 at the start."""
        return float(self.capital.sum() + _reserve(self.n_paid // BLOCK))

    def after(self, paid: Array, most: float, goal: float) -> tuple[Fortune, int | None]:
        """The state after some payments, and the number of the first at which the evidence reached `goal`. `most` is
        the largest amount that can be paid."""
        state, reached, done = self, None, 0
        while done < len(paid):
            part = paid[done : done + AT_ONCE * BLOCK - state.n_paid % BLOCK]
            state, evidence = state._step(part, most)
            if reached is None and evidence.max() >= goal:
                reached = done + int(np.argmax(evidence >= goal))
            done += len(part)
        return state, reached

    def _step(self, paid: Array, most: float) -> tuple[Fortune, Array]:
        """Some blocks, the last of which may be unfinished: the state, and the evidence after each row."""
        ahead = np.concatenate([[0.0], paid])  # stakes know the rows before only
        begun, n_paid = self.n_paid % BLOCK, self.n_paid + len(paid)
        first, last = self.n_paid // BLOCK, n_paid // BLOCK
        won = np.zeros((len(HALF_LIVES), -(-(begun + len(paid)) // BLOCK) * BLOCK))  # logarithms; 0 beyond these rows
        ends = []
        for k, half_life in enumerate(HALF_LIVES):
            keep = 0.5 ** (1.0 / half_life)
            starts = (self.sums[k], self.squares[k], self.weights[k])
            decayed = [
                _decayed(values, keep, start)
                for values, start in zip((ahead, ahead**2, np.ones(len(ahead))), starts, strict=True)
            ]
            mean, square = decayed[0][:-1] / (decayed[2][:-1] + DOUBTS), decayed[1][:-1] / (decayed[2][:-1] + 1e-300)
            stake = np.clip(-mean / np.maximum(square, 1e-300), 0.0, BOLDEST / most)
            won[k, begun : begun + len(paid)] = np.log1p(-stake * paid)
            ends.append([part[-1] for part in decayed])
        paths, capital = _laid_out(won, self.capital, first, last)
        evidence = paths.sum(axis=0)[begun : begun + len(paid)]
        evidence += _reserve(np.arange(self.n_paid, n_paid) // BLOCK)
        sums, squares, weights = np.array(ends).T
        best = max(self.best, float(evidence.max()))
        good = self.n_good + int(np.count_nonzero(paid > 0.0))
        return Fortune(capital, sums, squares, weights, n_paid, good, best), evidence


def _laid_out(won: Array, capital: Array, first: int, last: int) -> tuple[Array, Array]:
    """The fortunes after each row of the blocks from `first` on, given the logarithm of what each row multiplies them
    by, and at the end; the blocks before `last` are finished, and what the reserve pays then is added."""
    within = np.cumsum(won.reshape(len(won), -1, BLOCK), axis=2)
    begins = np.empty(within.shape[:2])
    for b in range(within.shape[1]):
        begins[:, b] = np.log(np.maximum(capital, 1e-300))
        capital = np.exp(np.minimum(begins[:, b] + within[:, b, -1], RICHEST))
        if first + b < last:
            capital = capital + (_reserve(first + b) - _reserve(first + b + 1)) / len(capital)
    paths = np.exp(np.minimum(begins[:, :, None] + within, RICHEST))
    return paths.reshape(won.shape), capital


def _decayed(values: Array, keep: float, start: float) -> Array:
    """``d_i = keep d_{i-1} + v_i``, beginning with `start` itself at i = 0."""
    values = values.copy()
    values[0] = start
    found: Array = lfilter([1.0], [1.0, -keep], values)
    return found


def _reserve(block: Any) -> Any:
    """What is left of the half that is laid out later, after so many blocks: ``1/2 (1 - sum 1 / (b (b + 1)))``."""
    return 0.5 / (block + 1.0)


def interval(good: int, n: int, level: float) -> tuple[float, float]:
    """Low and high for a share of which `good` of `n` were seen, at all times at once with probability ``1 - level``.

    >>> [round(end, 3) for end in interval(50, 1000, 0.05)]
    [0.028, 0.08]
    """
    if n == 0:
        return 0.0, 1.0
    most = math.log(1.0 / level) - float(betaln(good + 1, n - good + 1))

    def beyond(share: float) -> bool:
        seen = (good * math.log(share) if good else 0.0) + ((n - good) * math.log1p(-share) if n > good else 0.0)
        return -seen >= most

    middle = min(max(good / n, 1e-300), 1.0 - 1e-16)
    ends = []
    for outside in (0.0, 1.0):
        inside = middle
        for _ in range(HALVINGS):
            between = 0.5 * (inside + outside)
            if 0.0 < between < 1.0 and not beyond(between):
                inside = between
            else:
                outside = between
        ends.append(outside)
    return ends[0], ends[1]
