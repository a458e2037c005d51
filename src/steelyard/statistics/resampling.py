"""What a threshold chosen on some rows is worth on others, by the bootstrap.

Given scores of rows, the best threshold on those very rows flatters the model, and the more so the fewer rows decide
it: under a cap of 1 % on 300 negatives three of them do, and on new rows the cap is exceeded about as often as not. So
the rows are drawn again, class by class with replacement, `DRAWS` times. In each draw

- the best threshold that meets the constraints is found exactly on the rows drawn: its value is `inside`;
- the rows that were not drawn (about 37 %) judge it: `outside` is the measure there, less the relative excess over the
  constraints, at most 1. For ``fpr <= a`` that is the Neyman-Pearson score by which Gasso et al. (2011) choose their
  models, ``miss + max(0, fpr - a) / a``, with its sign turned. In general an excess counts in units of the slack that
  a perfect classifier has.

Models are ranked by the mean of `outside`; the spread of `inside` over the draws, taken in pairs, is the standard error
of a difference. The mean of the thresholds is steadier than the one best threshold of the sample (`settled`).

Constraints are met with a margin, that of `MARGINS` (shares of a perfect classifier's slack) with which the thresholds
of the draws score best on the *whole* sample. In the bootstrap's world that sample is the truth; the few rows left out
of a draw would add a noise of their own to the excess, and ask for too much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import calls_drawn, draw_rows, shares_above
from ..measures import Measure
from ..measures.constraints import Constraint
from .frontier import Choice, Frontier

Array = NDArray[np.float64]

DRAWS = 40  # a mean over them has a sixth of their spread, and their standard deviation is known to a ninth
BINS = 2048  # thresholds looked at, to a class: rates in steps of 0.05 %, far below the spread of the draws
MARGINS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)  # finer steps led to the same rates (docs/batch.md)
# A point that beats the best one in a draw has been lucky by its deficit, and the standard error of a difference is at
# most twice that of a value: three of these.
REACH = 6.0
FEW = 1024  # points that are looked at one and all: with few rows many tie in a draw, and the middle of all is taken
ROUNDING = 1e-9  # of rates and values near 1; sums over up to 10^7 rows stay below it


@dataclass(frozen=True)
class Goal:
    measure: Measure
    constraints: Sequence[Constraint] = ()


@dataclass(frozen=True, eq=False)
class Verdict:
    """One model's scores, judged in every draw (NaN where no threshold meets the constraints, or no row is left)."""

    inside: Array
    outside: Array
    thresholds: Array
    margin: float

    @property
    def value(self) -> float:
        """The mean value on rows that were not drawn."""
        known = self.outside[np.isfinite(self.outside)]
        return float(known.mean()) if len(known) else -np.inf

    def error(self, other: Verdict | None = None) -> float:
        """Standard error of the best value, or of its difference to that of another model."""
        spread = self.inside if other is None else self.inside - other.inside
        spread = spread[np.isfinite(spread)]
        return float(spread.std(ddof=1)) if len(spread) > 1 else 0.0


class _Points:
    """Operating points with their value, and the least slack in units of a perfect classifier's."""

    def __init__(self, tpr: Array, tnr: Array, prevalence: float, n_rows: float, goal: Goal) -> None:
        self.tpr, self.tnr = tpr, tnr
        of_sample: dict[str, Any] = {"prevalence": prevalence, "sample_size": n_rows}
        self.value = np.asarray(goal.measure(tpr, tnr, **of_sample), dtype=np.float64)
        self.slack = np.full(np.shape(tpr), np.inf)
        for constraint in goal.constraints:
            unit = max(abs(float(constraint.slack(1.0, 1.0, **of_sample))), ROUNDING)
            self.slack = np.minimum(self.slack, np.asarray(constraint.slack(tpr, tnr, **of_sample)) / unit)

    @property
    def penalised(self) -> Array:
        """The value less the relative excess over the constraints, which counts at most 1."""
        return np.asarray(self.value - np.clip(-self.slack, 0.0, 1.0))


# The rows of one class, their weights, and how often each of them is in each draw.
Side = tuple[NDArray[np.intp], Array | None, NDArray[np.uint8]]


class Draws:
    """The draws of one sample, the same for every model, so that differences between models are paired."""

    def __init__(self, is_positive: NDArray[np.bool_], weight: Array | None, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self._sides: list[Side] = []
        counted = np.ones(len(is_positive), dtype=bool) if weight is None else weight > 0.0
        for side in (True, False):
            rows = np.flatnonzero((is_positive == side) & counted)
            drawn = draw_rows(len(rows), DRAWS, int(rng.integers(2**63)))
            self._sides.append((rows, None if weight is None else weight[rows], drawn))
        left = [(drawn == 0).any(axis=0) for _, _, drawn in self._sides]
        self._can_judge = left[0] & left[1]  # few rows of a class may all be drawn

    def judge(self, scores: Array, frontier: Frontier, goal: Goal) -> Verdict:
        looked_at = _thinned(frontier)
        cuts = frontier.thresholds[looked_at]
        tpr, fpr = (self._called(side, scores, cuts) for side in self._sides)
        of_sample = frontier.prevalence, frontier.n_rows
        whole = _Points(frontier.tpr[looked_at], frontier.tnr[looked_at], *of_sample, goal)
        if not goal.constraints and len(cuts) > FEW:
            near = _within_reach(
                whole.value, lambda at: _Points(tpr[at, :DRAWS], 1.0 - fpr[at, :DRAWS], *of_sample, goal)
            )
            cuts, tpr, fpr = cuts[near], tpr[near], fpr[near]
            whole = _Points(whole.tpr[near], whole.tnr[near], *of_sample, goal)
        drawn = _Points(tpr[:, :DRAWS], 1.0 - fpr[:, :DRAWS], *of_sample, goal)
        # Ties to the more skilful point, as in `frontier.best_point`.
        values = np.where(np.isnan(drawn.value), -np.inf, drawn.value + ROUNDING * (drawn.tpr + drawn.tnr))
        draw = np.arange(DRAWS)
        tried: list[tuple[float, float, NDArray[np.intp], NDArray[np.bool_]]] = []
        for margin in MARGINS if goal.constraints else (0.0,):
            allowed = np.where(drawn.slack >= margin - ROUNDING, values, -np.inf)
            best = _middle_of_first_run(allowed)
            reached = np.isfinite(allowed[best, draw])
            if tried and not reached.all():
                break
            tried.append((float(np.mean(whole.penalised[best])), margin, best, reached))
        _, margin, best, reached = max(tried, key=lambda one: one[0])
        left_out = _Points(tpr[best, DRAWS + draw], 1.0 - fpr[best, DRAWS + draw], *of_sample, goal)
        inside = np.where(reached, values[best, draw], np.nan)
        outside = np.where(reached & self._can_judge, left_out.penalised, np.nan)
        return Verdict(inside, outside, cuts[best], margin)

    def values(self, called: NDArray[np.bool_], goal: Goal, prevalence: float) -> tuple[Array, Array]:
        """Of models that call rows positive (rows x models): the value on all rows, and in every draw (models x draws),
        each less the excess over the constraints. The draws are the same for all models, so differences are paired."""
        rates = []
        for rows, mass, drawn in self._sides:
            sums = calls_drawn(np.ascontiguousarray(called[rows]), drawn, mass)
            rates.append(sums[:-1] / np.where(sums[-1] > 0.0, sums[-1], 1.0))
        n_rows = sum(len(rows) for rows, _, _ in self._sides)
        found = _Points(rates[0], 1.0 - rates[1], prevalence, n_rows, goal).penalised
        found = np.where(np.isnan(found), -np.inf, found)
        return found[:, 0], found[:, 1:]

    @staticmethod
    def _called(side: Side, scores: Array, cuts: Array) -> Array:
        """The share of the class above each cut, in each draw and in what it left out."""
        rows, mass, drawn = side
        return np.asarray(shares_above(scores[rows], np.ascontiguousarray(cuts), drawn, mass))


def settled(verdict: Verdict, frontier: Frontier, best: Choice, goal: Goal) -> Choice:
    """The operating point nearest to the mean threshold of the draws.

    Only points that meet the constraints come into question, and only with a value within one standard error of the
    best that keeps the margin: where a measure has two separate optima the mean threshold lies between them.
    """
    points = _Points(frontier.tpr, frontier.tnr, frontier.prevalence, frontier.n_rows, goal)
    known = verdict.thresholds[np.isfinite(verdict.inside)]
    safe = (points.slack >= verdict.margin - ROUNDING) & ~np.isnan(points.value)
    if not len(known) or not safe.any():
        return best
    floor = points.value[safe].max() - verdict.error()
    near = np.flatnonzero((points.slack >= -ROUNDING) & (points.value >= floor))
    index = int(near[np.argmin(np.abs(frontier.thresholds[near] - known.mean()))])
    parts = (frontier.thresholds, frontier.tpr, frontier.tnr, points.value)
    return Choice(index, *(float(part[index]) for part in parts))


def _within_reach(values: Array, drawn_at: Callable[[int], _Points]) -> NDArray[np.bool_]:
    """Points that can be the best of a draw: not `REACH` standard errors of the best value below it."""
    known = np.where(np.isnan(values), -np.inf, values)
    spread = float(np.std(drawn_at(int(known.argmax())).value))
    if not (np.isfinite(spread) and spread > 0.0):
        return np.ones(len(values), dtype=bool)
    return np.asarray(known >= known.max() - REACH * spread)


def _middle_of_first_run(values: Array) -> NDArray[np.intp]:
    """Where each column is largest; thresholds between two rows of the draw tie, and the middle of them is taken."""
    tied = values >= values.max(axis=0)
    first = tied.argmax(axis=0)
    ended = ~tied & (np.arange(len(values))[:, None] > first)
    last = np.where(ended.any(axis=0), ended.argmax(axis=0), len(values)) - 1
    return np.asarray((first + last) // 2)


def _thinned(frontier: Frontier) -> NDArray[np.bool_]:
    """Operating points to look at: all of up to `BINS` a class, else evenly spread over each class."""
    if len(frontier) <= 2 * BINS:
        return np.ones(len(frontier), dtype=bool)
    steps = np.floor(BINS * (1.0 - frontier.tpr)) + np.floor(BINS * frontier.tnr)
    keep = np.append(True, np.diff(steps) > 0)
    keep[-1] = True
    return keep
