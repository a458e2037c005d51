"""Under a constraint: a short stream is read again from its sample, and what its threshold may believe.

A stream of a few thousand rows is over before the steps have turned the model to where it would go. But its sample, up
to 16,384 rows of a class, holds all or most of it. When a model is asked for, a copy of the learner reads the sample
a few more times, each row with the weight of those that it stands for, until there have been ten passes, or 2^18 rows:
some ten milliseconds. The learner itself does not change, so chunks and checkpoints do not matter.

The threshold is set on the same sample, and a model flatters rows that it has learned from: with 60 rows a feature the
false-alarm rate on others is up to half as high again. No row is kept back for that. Instead the sample is cut into
five folds, and for each of them a learner reads the other four as often as the model has read all. In that learner a
row of the fold has a *place*: the share of the rows learned from that score lower. Places do not depend on the scale of
a model, and a row that has not been learned from has, in the model of all rows, about the same place. So the score
there that has this place is what the row would have got had it been left out. (Scores matched by mean and spread, as
`solvers.kernel.offset.on_one_scale` does, missed the caps by far where a few rows have huge values.)

What is flattery grows like features / rows learned from, so from five hundred rows a feature on nothing is left out;
and where the sample holds only a share of the stream, the rates are those of the rows as learned from, moved by this
share of the way to those of the rows left out.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ... import _core
from ...rows import SPARSE_BELOW, Rows
from ...statistics import frontier
from .problem import Problem
from .settings import duals_of, settings_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SecondReading:
    """How often a sample is read again, and when rows are left out in turn: benchmarks/stream_caps.py, "choices"."""

    passes: int = 10
    """Over the stream and its sample together. Mean difference in the Neyman-Pearson score to logistic regression, over
    twelve sets and three caps: 0.015, 0.018, 0.020 for 5, 10, 20 (-0.001 for 1); 10 take half as long as 20."""
    visits: int = 2**18
    """Rows read in all, after which the steps have done their work: covertype's rarest class at a cap of 1 % is behind
    by 0.10 after 126,000 and level after 260,000."""
    folds: int = 5
    """A learner of four fifths flatters a quarter more than that of all rows: on the careful side."""
    rows_per_feature: int = 500
    """Rates on rows learned from and on others differ by 1 % (covertype, 780 rows a feature), 3 % (a9a, 280), 10 %
    (w8a, 115), 12 % (coil2000, 80) and 25 % (spambase, 56), at caps of 1 and 5 %."""


OPTIONS = SecondReading()
# Of places: 127 steps of 1/128, and towards both ends halves of the last step. One place a row put caps off where the
# classes are parted (spamassassin, FPR <= 5 %: a score lower by 0.06), 32 to 512 steps do the same on other sets.
_TAIL = 2.0 ** -np.arange(7, 40)
LEVELS = np.concatenate([_TAIL[::-1], np.arange(2, 127) / 128, 1.0 - _TAIL])
LATER = 1 << 20  # number of the first pass of a second reading: more than a fit will make, so with draws of its own


@dataclass(frozen=True, eq=False)
class Kept:
    """The rows that a reservoir holds, negatives first: the weight of those that each stands for in one pass."""

    weight: Array
    is_positive: NDArray[np.bool_]
    rows: tuple[float, float]
    """Negatives and positives: as many rows of equal weight would say as much about a rate (Kish 1965)."""

    @classmethod
    def of(cls, core: _core.StreamLearner) -> Kept:
        weights = [np.asarray(core.reservoir_weights(side)) for side in (0, 1)]
        once = core.rows_once / max(core.rows, 1.0)  # rows count once, however many the passes
        parts = [w * (once * m / max(w.sum(), 1e-300)) for w, m in zip(weights, core.class_mass, strict=True)]
        count = [float((w / max(w.max(initial=0.0), 1e-300)).sum()) for w in weights]
        squares = [float(((w / max(w.max(initial=0.0), 1e-300)) ** 2).sum()) for w in weights]
        rows = count[0] ** 2 / max(squares[0], 1.0), count[1] ** 2 / max(squares[1], 1.0)
        return cls(np.concatenate(parts), np.repeat([False, True], [len(side) for side in weights]), rows)

    @property
    def of_both(self) -> bool:
        """Whether there are rows of both classes, with weight."""
        return bool(self.weight[self.is_positive].any() and self.weight[~self.is_positive].any())


@dataclass(frozen=True, eq=False)
class Sample:
    """The kept rows themselves, to be read again."""

    problem: Problem
    rows: Rows
    signs: NDArray[np.int8]
    weight: Array

    @classmethod
    def of(cls, core: _core.StreamLearner, problem: Problem, n_features: int) -> Sample:
        sides = [len(core.reservoir_weights(side)) for side in (0, 1)]
        if sum(core.reservoir_stored) < SPARSE_BELOW * sum(sides) * n_features:
            X = sp.vstack([_csr(core, side, (n, n_features)) for side, n in enumerate(sides)], format="csr")
        else:
            X = np.concatenate([np.asarray(core.reservoir_rows(side)) for side in (0, 1)])
        signs = np.repeat(np.array([-1, 1], dtype=np.int8), sides)
        return cls(problem, Rows.of(X, check=False), signs, Kept.of(core).weight)

    def read(self, core: _core.StreamLearner, passes: int, part: NDArray[np.intp] | None = None) -> Array:
        """The model of a learner that goes on with the sample, or a part of it. The classes are mixed first: a pass
        shuffles within windows of the rows as they lie, and here they lie class by class."""
        part = np.arange(len(self.signs)) if part is None else part
        part = np.random.default_rng((self.problem.seed, LATER)).permutation(part)
        rows, signs, weight = self.rows.take(part), self.signs[part], self.weight[part]
        for number in range(passes):
            core.learn(rows.core, signs, weight, _core.Pass(True, LATER + number, True))
        return np.asarray(core.coefficients(self.problem.average))


@dataclass(frozen=True)
class Plan:
    """How often the sample is read `again`; how much of the way rates go to those of rows `left_out`, and the `passes`
    of the models that are left without them."""

    again: int = 0
    left_out: float = 0.0
    passes: int = 0

    @property
    def is_nothing(self) -> bool:
        return not (self.again or self.left_out)


def plan(core: _core.StreamLearner, problem: Problem, n_features: int) -> Plan:
    """What is to be done for a learner as it is now."""
    once, kept = core.rows_once, sum(len(core.reservoir_weights(side)) for side in (0, 1))
    if problem.constraint is None or not (problem.guard and problem.fit_intercept) or not kept:
        return Plan()
    done = core.rows / max(once, 1.0)
    again = min(math.ceil(OPTIONS.passes - done), math.ceil((OPTIONS.visits - core.rows) / kept))
    flatters = once < OPTIONS.rows_per_feature * n_features
    return Plan(max(again, 0), kept / max(once, kept) if flatters else 0.0, math.ceil(done) + max(again, 0))


def scores_left_out(sample: Sample, own: Array, passes: int) -> Array:
    """The score that each row would have if the model that has scores `own` had not learned from it."""
    scores, problem = np.array(own), sample.problem
    fold = np.random.default_rng((problem.seed, OPTIONS.folds)).integers(0, OPTIONS.folds, len(own))
    n_features = sample.rows.n_cols
    settings = settings_of(problem, n_features)
    settings.capacity = (0, 0)
    for k in range(OPTIONS.folds):
        part, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if not len(part) or len(np.unique(sample.signs[rest])) < 2:
            continue
        w = sample.read(_core.StreamLearner(settings, n_features, duals_of(problem)), passes, rest)
        theirs = sample.rows.scores(w)
        scores[part] = in_place(theirs[part], theirs[rest], own, (sample.weight[rest], sample.weight))
    return scores


def judged(own: Array, left_out: Array, kept: Kept, share: float) -> frontier.Frontier:
    """Operating points with rates that go this share of the way from rows as learned from to rows left out, and that
    are never better than those of the rows as they are: scores are often tied, and a place that is off by a little puts
    a threshold on the other side of all rows of a tie."""
    points = frontier.scan(np.concatenate([own, left_out]), np.tile(kept.is_positive, 2), np.tile(kept.weight, 2))
    rates = []
    for side in (kept.is_positive, ~kept.is_positive):
        mine, theirs = (_above(s[side], kept.weight[side], points.thresholds) for s in (own, left_out))
        rates.append((mine, mine + share * (theirs - mine)))
    tpr, fpr = np.minimum(*rates[0]), np.maximum(*rates[1])
    return dataclasses.replace(points, tpr=tpr, tnr=1.0 - fpr)


def _above(scores: Array, weight: Array, thresholds: Array) -> Array:
    """The share of the weight that scores above each threshold."""
    order = np.argsort(scores, kind="stable")
    below = np.append(0.0, np.cumsum(weight[order]))
    return np.asarray(1.0 - below[np.searchsorted(scores[order], thresholds, side="right")] / below[-1])


def in_place(scores: Array, among: Array, target: Array, weight: tuple[Array, Array]) -> Array:
    """The numbers that have in `target` the places that `scores` have in `among`; beyond its ends, as far beyond.

    Places are read off at `LEVELS`, and on straight lines between them: where a model parts the classes it has learned
    from there is a gap, and which two rows bound it is chance.
    """
    levels = LEVELS[np.minimum(LEVELS, 1.0 - LEVELS) * len(among) >= 0.5]
    at, to = _quantiles(among, weight[0], levels), _quantiles(target, weight[1], levels)
    at, first, count = np.unique(at, return_index=True, return_counts=True)
    to = to[first + count // 2]  # rows that score alike do so in both, and have the middle of their places
    scale = (to[-1] - to[0]) / (at[-1] - at[0]) if len(at) > 1 else 1.0
    beyond = np.maximum(scores - at[-1], 0.0) + np.minimum(scores - at[0], 0.0)
    return np.asarray(np.interp(scores, at, to) + scale * beyond)


def _quantiles(scores: Array, weight: Array, levels: Array) -> Array:
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weight[order])
    return np.interp(levels, (below - 0.5 * weight[order]) / below[-1], scores[order])


def _csr(core: _core.StreamLearner, side: int, shape: tuple[int, int]) -> sp.csr_matrix:
    values, columns, starts = core.reservoir_csr(side)
    return sp.csr_matrix((np.asarray(values), np.asarray(columns), np.asarray(starts)), shape=shape)
