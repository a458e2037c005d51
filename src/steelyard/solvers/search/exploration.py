"""The reachable operating points of linear models, explored with out-of-fold scores, and the best model among them.

A linear model is named by its loss, its pair of costs and its C. For each one asked for, `Exploration.add` fits it on
the training part of every split (whole grids at a time, `cost_sensitive.solve_grid`), scores the rows left out, pools
the scores and finds the best threshold exactly (`frontier`). With a hundred candidates the largest of these values
is partly luck, so `choose` judges the best few by what their thresholds are worth on rows that did not set them
(`resampling`):

- the largest value there;
- but an *anchor* (a plain model that one would have used anyway) is only left for a gain beyond its standard error,
  and not at all under a constraint that fewer than three rows decide, as 1 % of 200 negatives do;
- for a measure that is not monotone, among values within one row's worth the most skilful point, ``tpr + tnr``.

The threshold of the model chosen is then settled: the operating point nearest to the mean over the draws.

Costs come from a grid first, then from near the best: the linearisation of the measure there (Frank-Wolfe; for F-beta
at level t these are 003's costs ``1 + b^2 - t`` and ``t``), and the costs and Cs halfway to the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from ...rows import Rows
from ...statistics import frontier
from ...statistics.frontier import Choice, Frontier, InfeasibleError
from ...statistics.resampling import Draws, Goal, Verdict, settled
from ..linear import cost_sensitive

Array = NDArray[np.float64]
Pair = tuple[float, float]

RowNumbers = NDArray[np.intp]

SCORES_AT_ONCE = 2**19  # numbers: 4 MB, so that scores of many models never weigh more than a few columns of X
MAX_PASSES = 1000  # of one fold's model: one that is not at the wanted gap by then is good enough to be compared
TRAINING_SHARE = 0.8  # a sample of more than this share of the rows would save less than it loses
FEWEST_OF_A_CLASS = 200  # rows that a sample keeps, where there are so many: rates then move in steps of half a percent


@dataclass(frozen=True)
class Prudence:
    """When a candidate is believed. docs/batch.md, "Where the rules come from", names the sets that settled it.

    `judged` candidates, besides the anchors, come into question at the end. An anchor is left for a gain of
    `strictness` standard errors, and not at all under a constraint that fewer than `rows_to_break` rows decide.
    Linearised costs stay within the factor `steepest` of plain and of balanced ones: beyond, one class is given up and
    the gradient there says nothing. (The grid itself goes to a factor of 2.)
    """

    judged: int = 10
    strictness: float = 1.5
    rows_to_break: float = 3.0
    steepest: float = 20.0


PRUDENCE = Prudence()


@dataclass(frozen=True)
class CostModel:
    """What to minimise: see `cost_sensitive`."""

    loss: str
    c_pos: float
    c_neg: float
    C: float

    @property
    def ratio(self) -> float:
        return self.c_pos / self.c_neg if self.c_neg > 0 else np.inf


@dataclass(frozen=True)
class Candidate:
    """A model with its best operating point on the pooled out-of-fold scores."""

    model: CostModel
    point: Choice

    @property
    def skill(self) -> float:
        return self.point.tpr + self.point.tnr


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows, labels -1 or 1, weights, and the splits into training and test rows (numbers)."""

    rows: Rows
    y: Array
    weight: Array | None
    splits: Sequence[tuple[RowNumbers, RowNumbers]]

    @property
    def prevalence(self) -> float:
        positive = self.y > 0
        return float(np.average(positive, weights=self.weight))


@dataclass(frozen=True)
class Effort:
    """How exactly, by which solver, on how many threads."""

    tol: float = 1e-2
    solver: str = "auto"
    n_jobs: int = 1
    seed: int = 0


@dataclass(frozen=True, eq=False)
class FoldModels:
    """Models fitted on the training rows of one split, one a row of W, and the scale of their scores there."""

    W: Array
    center: Array
    scale: Array

    def scores(self, rows: Rows, k: slice) -> Array:
        scores = rows.scores(self.W[k])
        scores -= self.center[k]
        scores /= self.scale[k]
        return scores

    def only(self, k: int) -> FoldModels:
        return FoldModels(self.W[k : k + 1].copy(), self.center[k : k + 1], self.scale[k : k + 1])


@dataclass
class Exploration:
    """Candidates found so far. Of those that may be chosen the folds' models are kept, not their scores."""

    sample: Sample
    goal: Goal
    effort: Effort = field(default_factory=Effort)
    candidates: dict[CostModel, Candidate] = field(default_factory=dict)
    anchors: set[CostModel] = field(default_factory=set)
    _fitted: dict[CostModel, list[FoldModels]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tests = [test for _, test in self.sample.splits]
        rows = np.concatenate(tests)
        self._positive = self.sample.y[rows] > 0
        self._weight = None if self.sample.weight is None else self.sample.weight[rows]
        self._infeasible: InfeasibleError | None = None

    # -- asking for models --------------------------------------------------------------------------------------
    def add(self, loss: str, costs: Iterable[Pair], Cs: Iterable[float], anchors: Iterable[CostModel] = ()) -> None:
        """Fit and score every pair of costs with every C that is not known yet."""
        self.anchors.update(anchors)
        wanted, grid = sorted(set(costs)), sorted(set(Cs))
        models = [CostModel(loss, *pair, C) for pair in wanted for C in grid]
        if all(model in self.candidates for model in models):
            return
        folds = self._fit(loss, wanted, grid)
        some = max(1, SCORES_AT_ONCE // max(1, len(self._positive)))
        for first in range(0, len(models), some):
            columns = self._out_of_fold(folds, slice(first, first + some))
            for k, model in enumerate(models[first : first + some]):
                self._record(model, np.ascontiguousarray(columns[:, k]), [fold.only(first + k) for fold in folds])
        self._forget()

    def _fit(self, loss: str, costs: list[Pair], Cs: list[float]) -> list[FoldModels]:
        sample, effort, folds = self.sample, self.effort, []
        for train, _ in sample.splits:
            rows, weight = sample.rows.take(train), None if sample.weight is None else sample.weight[train]
            found = cost_sensitive.solve_grid(
                rows, sample.y[train], costs, Cs, effort.tol, loss=loss, solver=effort.solver,
                sample_weight=weight, n_jobs=effort.n_jobs, seed=effort.seed, max_passes=MAX_PASSES,
            )  # fmt: skip
            W = np.stack([one.w for one in found])
            folds.append(FoldModels(W, *scale_of(rows, W, weight)))
        return folds

    def _out_of_fold(self, folds: list[FoldModels], k: slice) -> Array:
        """Scores of the models `k`, in the order of the splits' test rows."""
        rows, tests = self.sample.rows, (test for _, test in self.sample.splits)
        return np.concatenate([fold.scores(rows.take(test), k) for fold, test in zip(folds, tests, strict=True)])

    def _record(self, model: CostModel, scores: Array, folds: list[FoldModels]) -> None:
        try:
            point = frontier.best_point(self.frontier(scores), self.goal.measure, self.goal.constraints)
        except InfeasibleError as error:
            self._infeasible = error
            return
        self.candidates[model] = Candidate(model, point)
        self._fitted[model] = folds

    def _forget(self) -> None:
        best = sorted(self._fitted, key=lambda model: self.candidates[model].point.value, reverse=True)
        for model in best[PRUDENCE.judged :]:
            if model not in self.anchors:
                del self._fitted[model]

    def frontier(self, scores: Array) -> Frontier:
        return frontier.scan(scores, self._positive, self._weight)

    # -- near the best ------------------------------------------------------------------------------------------
    def refine(self, step: float, C_step: float, largest_C: float) -> None:
        """Models around the best one: its linearised costs, costs and Cs a factor `step` and `C_step` away."""
        best = self.best()
        model, prevalence = best.model, self.sample.prevalence
        ratios = [model.ratio / step, model.ratio, model.ratio * step]
        costs = [costs_of_ratio(ratio, prevalence) for ratio in ratios if 0 < ratio < np.inf]
        linear = linearised_costs(self.goal.measure, best.point, prevalence, len(self._positive))
        costs += [linear] if linear is not None else []
        self.add(model.loss, costs, {model.C / C_step, model.C, min(model.C * C_step, largest_C)})

    # -- choosing -----------------------------------------------------------------------------------------------
    def best(self) -> Candidate:
        """The largest value, ties to the most skilful; no guard against luck."""
        if not self.candidates:
            raise self._infeasible or InfeasibleError("no model was explored")
        return max(self.candidates.values(), key=lambda one: (one.point.value, one.skill))

    def choose(self) -> Candidate:
        """The model to take, with its settled operating point."""
        self.best()  # or the reason why there is none
        plain = sorted((model for model in self.anchors if model in self.candidates), key=repr)
        draws = Draws(self._positive, self._weight, self.effort.seed)
        verdicts = {model: self._verdict(draws, model) for model in (*self.short_list(PRUDENCE.judged), *plain)}

        def worth(model: CostModel) -> tuple[float, float]:
            return verdicts[model].value, self.candidates[model].skill

        chosen = max(verdicts, key=worth)
        anchor = max(plain, key=worth, default=chosen)
        gain, error = worth(chosen)[0] - worth(anchor)[0], verdicts[chosen].error(verdicts[anchor])
        if not gain > PRUDENCE.strictness * error or self._rows_to_break() < PRUDENCE.rows_to_break:
            chosen = anchor
        if not self.goal.measure.is_monotone:
            near = worth(chosen)[0] - 1.0 / len(self._positive)
            chosen = max((m for m in verdicts if worth(m)[0] >= near), key=lambda m: self.candidates[m].skill)
        found = self.frontier(self.scores(chosen))
        return Candidate(chosen, settled(verdicts[chosen], found, self.candidates[chosen].point, self.goal))

    def _rows_to_break(self) -> float:
        """How many rows a perfect classifier could call wrongly before it broke a constraint."""
        positives = np.count_nonzero(self._positive)
        counts = positives, len(self._positive) - positives
        fewest = np.inf
        for constraint in self.goal.constraints:
            *slopes, rest = constraint.coefficients(self.sample.prevalence, sample_size=len(self._positive))
            slack = sum(slopes) + rest
            fewest = min([fewest, *(slack * n / slope for slope, n in zip(slopes, counts, strict=True) if slope > 0.0)])
        return float(fewest)

    def _verdict(self, draws: Draws, model: CostModel) -> Verdict:
        scores = self.scores(model)
        return draws.judge(scores, self.frontier(scores), self.goal)

    def short_list(self, count: int) -> list[CostModel]:
        """The models of largest value."""
        ranked = sorted(self.candidates.values(), key=lambda one: (one.point.value, one.skill), reverse=True)
        return [one.model for one in ranked[:count]]

    def scores(self, model: CostModel) -> Array:
        """The pooled out-of-fold scores, in the order of the splits' test rows."""
        if model not in self._fitted:
            self._fitted[model] = self._fit(model.loss, [(model.c_pos, model.c_neg)], [model.C])
        return np.ascontiguousarray(self._out_of_fold(self._fitted[model], slice(0, 1))[:, 0])


def thinned(exploration: Exploration, most: int, fewest: int) -> tuple[Exploration, float]:
    """The same exploration on a random part of each class with about `most` stored values, and ``n / rows kept``."""
    sample = exploration.sample
    n = sample.rows.n_rows
    stored = sample.rows.n_entries + (n if sample.rows.constant else 0)
    share = max(most / max(stored, 1), fewest / n)
    if share >= TRAINING_SHARE:
        return exploration, 1.0
    rng = np.random.default_rng(exploration.effort.seed)
    parts = []
    for side in (-1.0, 1.0):
        numbers = np.flatnonzero(sample.y == side)
        count = max(min(len(numbers), FEWEST_OF_A_CLASS), int(share * len(numbers)))
        parts.append(rng.choice(numbers, count, replace=False))
    kept = np.sort(np.concatenate(parts))
    position = np.full(n, -1)
    position[kept] = np.arange(len(kept))
    splits = [(_kept(position, train), _kept(position, test)) for train, test in sample.splits]
    weight = None if sample.weight is None else sample.weight[kept]
    part = Sample(sample.rows.take(kept), sample.y[kept], weight, splits)
    return Exploration(part, exploration.goal, exploration.effort), n / len(kept)


def _kept(position: NDArray[np.intp], rows: NDArray[np.intp]) -> NDArray[np.intp]:
    return position[rows][position[rows] >= 0]


def scale_of(rows: Rows, W: Array, weight: Array | None) -> tuple[Array, Array]:
    """Mean and standard deviation of the scores of each model (a row of W) on its own training rows.

    Thresholds are in these units, so that one threshold fits the models of all folds and the final one, even where
    strong regularisation leaves each with a scale and an offset of its own. Constant scores have the scale infinity:
    rounding errors must not be ranked.
    """
    some = max(1, SCORES_AT_ONCE // max(1, rows.n_rows))
    found = [_scale_of(rows.scores(W[first : first + some]), weight) for first in range(0, len(W), some)]
    center, scale = (np.concatenate(part) for part in zip(*found, strict=True))
    return center, scale


def _scale_of(scores: Array, weight: Array | None) -> tuple[Array, Array]:
    largest = np.abs(scores).max(axis=0)
    center = np.average(scores, axis=0, weights=weight)
    scores -= center
    spread = np.sqrt(np.average(np.square(scores, out=scores), axis=0, weights=weight))
    return center, np.where(spread > 1e-10 * largest, spread, np.inf)


def costs_of_ratio(ratio: float, prevalence: float) -> Pair:
    """``c_pos / c_neg = ratio`` with a mean cost of 1 over the rows, so that C keeps its meaning.

    >>> costs_of_ratio(1.0, 0.1)
    (1.0, 1.0)
    """
    c_neg = 1.0 / (prevalence * float(ratio) + 1.0 - prevalence)
    return float(ratio) * c_neg, c_neg


def linearised_costs(measure: Measure, point: Choice, prevalence: float, n_rows: int) -> Pair | None:
    """The costs whose best classifier improves the measure to first order; None where a rate is not wanted.

    A false negative lowers TPR by ``1/(n p)``, a false positive TNR by ``1/(n (1 - p))``.

    >>> from steelyard.measures import BalancedAccuracy
    >>> linearised_costs(BalancedAccuracy(), Choice(0, 0.0, 0.8, 0.8, 0.8), 0.2, 100)
    (2.5, 0.625)
    """
    gradient = measure.gradient(point.tpr, point.tnr, prevalence, sample_size=n_rows)
    c_pos, c_neg = float(gradient.tpr) / prevalence, float(gradient.tnr) / (1.0 - prevalence)
    if not (np.isfinite(c_pos) and np.isfinite(c_neg) and c_pos > 0.0 and c_neg > 0.0):
        return None
    balanced = (1.0 - prevalence) / prevalence
    ratio = min(max(c_pos / c_neg, min(1.0, balanced) / PRUDENCE.steepest), max(1.0, balanced) * PRUDENCE.steepest)
    return costs_of_ratio(ratio, prevalence)
