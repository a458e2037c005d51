"""How the scores of rows change sign along a path of models: probabilities, rates and the best cost, without training.

Given a piecewise linear path w(tau) and rows x, the score ``x.w(tau)`` is piecewise linear, so every tau at which a
row's prediction changes is found exactly (`src/core/path/crossings.hpp`). From these follow the share of tau at which a
row is called positive, TPR and TNR at every tau, and the best of all points for a measure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._core import score_crossings
from ...rows import Rows
from ...statistics.frontier import Frontier
from .problem import PERTURBATION, Array, ModelPath

APART = PERTURBATION  # changes closer than this are one: the perturbed targets move a kink by about as much


@dataclass(frozen=True, eq=False)
class SignChanges:
    """The sign changes of ``n_rows`` scores over ``start <= tau <= end``, ordered by tau."""

    row: NDArray[np.intp]
    tau: Array
    sign: Array  # +1: positive from there on
    at_start: NDArray[np.bool_]  # which scores are positive at the start
    start: float
    end: float

    @property
    def n_rows(self) -> int:
        return len(self.at_start)

    def share_positive(self) -> Array:
        """The share of tau in [0, 1] at which the score is positive; below `start` all are, above `end` none."""
        share = np.where(self.at_start, self.end, self.start)
        np.add.at(share, self.row, self.sign * (self.end - self.tau))
        return np.asarray(np.clip(share, self.start, self.end))

    def recrossing(self) -> float:
        """The share of rows whose score changes sign more than once."""
        return float((np.bincount(self.row, minlength=self.n_rows) > 1).mean())

    def rates(self, is_positive: NDArray[np.bool_], weight: Array | None = None) -> Frontier:
        """TPR and TNR from `start` on and after each change; `thresholds` are these tau."""
        mass = np.ones(self.n_rows) if weight is None else weight
        positives, negatives = float(mass[is_positive].sum()), float(mass[~is_positive].sum())
        if not (positives > 0.0 and negatives > 0.0):
            which = "positive" if positives == 0.0 else "negative"
            raise ValueError(f"none of the {self.n_rows} rows is {which} (with weight): rates need both classes")
        step = self.sign * mass[self.row]
        hits = np.cumsum(np.r_[mass[is_positive & self.at_start].sum(), np.where(is_positive[self.row], step, 0.0)])
        alarms = np.cumsum(np.r_[mass[~is_positive & self.at_start].sum(), np.where(is_positive[self.row], 0.0, step)])
        tau = np.r_[self.start, self.tau]
        last = np.r_[np.diff(tau) > APART, True]  # of the changes at one tau only the outcome counts
        tpr, tnr = hits[last] / positives, 1.0 - alarms[last] / negatives
        n_rows = self.n_rows if weight is None else int(np.count_nonzero(weight))
        # Sums of weights taken back one by one leave rounding at the ends.
        return Frontier(tau[last], np.clip(tpr, 0, 1), np.clip(tnr, 0, 1), positives / (positives + negatives), n_rows)

    def middles(self, frontier: Frontier) -> Array:
        """A tau inside each interval of constant predictions."""
        return np.asarray((frontier.thresholds + np.r_[frontier.thresholds[1:], self.end]) / 2.0)


def sign_changes(path: ModelPath, rows: Rows, norm: Array) -> SignChanges:
    """Every sign change along the path of the scores ``x_i.w``; `norm` is ``|x_i|``, infinite where it is not known.

    A score moves by at most its row's norm times the way of the model. For a kernel's path the rows are ``k(x, .)`` on
    the rows that the path has kept, and the norm is ``k(x, x) ** 0.5``.
    """
    found: list[tuple[Array, Array, Array]] = []
    at_start: NDArray[np.bool_] | None = None
    for tau, w, way in path.stretches():
        if at_start is None:
            at_start = rows.scores(w[0]) > 0
        found.append(score_crossings(rows.core, norm, tau, np.ascontiguousarray(w), way))
    assert at_start is not None
    row, tau, sign = (np.concatenate([part[k] for part in found]) for k in range(3))
    order = np.argsort(tau, kind="stable")
    return SignChanges(row[order].astype(np.intp), tau[order], sign[order], at_start, path.start, path.end)
