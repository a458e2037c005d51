"""The linear models that a search may try, each fitted on given rows.

A `CostModel` minimises a loss with a pair of costs and a C (`linear.cost_sensitive`); a `StreamModel` is what the
stream's learner has after a few passes, trained for the measure itself (`stream.learner`). Both are a direction: their
threshold is set afterwards, on scores of rows that they were not fitted on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._core import score_units
from ...measures import Measure
from ...rows import Rows
from ...statistics.frontier import Choice
from ...statistics.resampling import Goal
from ..linear import cost_sensitive
from ..stream.learner import Learner
from ..stream.problem import Pass, Problem, choose_solver
from .work import Work

Array = NDArray[np.float64]
Pair = tuple[float, float]

WARM_ROWS = 512  # for each column: with fewer Newton has all rows at hand, and walks a chain of Cs as fast from zero
SCORES_AT_ONCE = 2**19  # numbers: 4 MB, so that scores of many models never weigh more than a few columns of X


@dataclass(frozen=True)
class CostModel:
    """What to minimise: see `cost_sensitive`."""

    loss: str
    c_pos: float
    c_neg: float
    C: float

    @property
    def costs(self) -> Pair:
        return self.c_pos, self.c_neg

    def __str__(self) -> str:
        return f"{self.loss}, costs {self.c_pos:.3g} and {self.c_neg:.3g}, C {self.C:.3g}"

    @property
    def ratio(self) -> float:
        return self.c_pos / self.c_neg if self.c_neg > 0 else np.inf


@dataclass(frozen=True)
class StreamModel:
    """The stream's learner after `passes` shuffled passes: three, as `benchmarks/online.py` reports it."""

    passes: int = 3

    def __str__(self) -> str:
        return f"the stream's learner, {self.passes} passes"


Model = CostModel | StreamModel


@dataclass(frozen=True)
class Effort:
    """How exactly, in how many passes (a model that is not at the gap by then is good enough to be compared), by which
    solver, on how many threads, and what counts the work, if somebody watches."""

    tol: float = 1e-2
    max_passes: int = 1000
    solver: str = "auto"
    n_jobs: int = 1
    seed: int = 0
    work: Work | None = None


@dataclass(frozen=True, eq=False)
class Labelled:
    """Rows, labels -1 or 1, weights; `thinning` rows of the whole data for one here, so that C, which weighs a sum over
    rows, means the same on a part of them."""

    rows: Rows
    y: Array
    weight: Array | None = None
    thinning: float = 1.0

    def take(self, which: NDArray[np.intp]) -> Labelled:
        weight = None if self.weight is None else self.weight[which]
        return Labelled(self.rows.take(which), self.y[which], weight, self.thinning)


@dataclass(frozen=True, eq=False)
class FittedModels:
    """Models, one a row of W, and the scale of their scores on the rows that they were fitted on."""

    W: Array
    center: Array
    scale: Array

    def scores(self, rows: Rows, k: slice) -> Array:
        scores = rows.scores(self.W[k])
        scores -= self.center[k]
        scores /= self.scale[k]
        return scores

    @classmethod
    def together(cls, parts: Sequence[FittedModels], order: NDArray[np.intp]) -> FittedModels:
        """All models of the parts, in this order."""
        return cls(
            np.concatenate([part.W for part in parts])[order],
            np.concatenate([part.center for part in parts])[order],
            np.concatenate([part.scale for part in parts])[order],
        )

    def only(self, k: int) -> FittedModels:
        return FittedModels(self.W[k : k + 1].copy(), self.center[k : k + 1], self.scale[k : k + 1])


def families(models: Sequence[Model]) -> list[list[int]]:
    """Places of the models that have a loss in common, which are solved together; those of the stream on their own."""
    found: dict[str, list[int]] = defaultdict(list)
    for k, model in enumerate(models):
        found[model.loss if isinstance(model, CostModel) else "stream"].append(k)
    return list(found.values())


def fit(
    models: Sequence[Model], data: Labelled, goal: Goal, effort: Effort, starts: Array | None = None
) -> FittedModels:
    """All of them, whole grids at a time, each from its row of `starts` if there is one (NaN: there is none)."""
    W = np.empty((len(models), data.rows.n_cols))
    position = {model: k for k, model in enumerate(models)}
    by_loss: dict[str, list[CostModel]] = defaultdict(list)
    for model in models:
        if isinstance(model, CostModel):
            by_loss[model.loss].append(model)
        else:
            W[position[model]] = fit_stream(model, data, goal, effort.seed)
    for loss, some in by_loss.items():
        start = None if starts is None else starts[[position[model] for model in some]]
        warm = start is not None and bool(np.isfinite(start).all()) and _uses_starts(loss, data.rows, effort)
        for grid in [_one_C(loss, some)] if warm else _grids(some):
            found = cost_sensitive.solve_grid(
                data.rows, data.y, grid.costs, [C * data.thinning for C in grid.Cs],
                effort.tol, loss=loss, solver=effort.solver, sample_weight=data.weight,
                n_jobs=effort.n_jobs, seed=effort.seed, max_passes=effort.max_passes,
                start=starts[[position[model] for model in grid.models]] if warm and starts is not None else None,
            )  # fmt: skip
            for solved, one in zip(grid.models, found, strict=True):
                W[position[solved]] = one.w
    return FittedModels(W, *units_of(data, W))


def _uses_starts(loss: str, rows: Rows, effort: Effort) -> bool:
    if effort.solver != "auto" or rows.n_rows < WARM_ROWS * rows.n_cols:
        return False
    return cost_sensitive.choose_solver(loss, rows.n_rows, rows.n_cols, rows.is_sparse) == "newton_first"


@dataclass(frozen=True, eq=False)
class _Grid:
    """Pairs of costs that ask for the same Cs, and the models in the order of the results."""

    loss: str
    costs: list[Pair]
    Cs: list[float]
    models: list[CostModel]


def _grids(models: Sequence[CostModel]) -> list[_Grid]:
    """Rectangles that cover them, so that one pass over the rows serves as many models as possible.

    Pairs of costs that ask for the same Cs belong together. Those with one C each do in any case: C weighs the sum of
    the losses as the costs do, so that each is a pair of its own, C times as large, with C = 1.
    """
    Cs: dict[tuple[str, Pair], list[float]] = defaultdict(list)
    for model in models:
        Cs[model.loss, model.costs].append(model.C)
    pairs: dict[tuple[str, tuple[float, ...]], list[Pair]] = defaultdict(list)
    alone: dict[str, list[CostModel]] = defaultdict(list)
    for (loss, pair), values in sorted(Cs.items()):
        if len(values) == 1:
            alone[loss].append(CostModel(loss, *pair, values[0]))
        else:
            pairs[loss, tuple(sorted(values))].append(pair)
    found = [
        _Grid(loss, costs, list(of), [CostModel(loss, *pair, C) for pair in costs for C in of])
        for (loss, of), costs in pairs.items()
    ]
    return found + [_one_C(loss, singles) for loss, singles in alone.items()]


def _one_C(loss: str, models: Sequence[CostModel]) -> _Grid:
    ordered = sorted(models, key=lambda one: (one.C, one.c_pos))
    return _Grid(loss, [(one.C * one.c_pos, one.C * one.c_neg) for one in ordered], [1.0], ordered)


def fit_stream(model: StreamModel, data: Labelled, goal: Goal, seed: int) -> Array:
    """Its direction; the constant column has no part in it, as the threshold is set afterwards."""
    constraint = goal.constraints[0] if goal.constraints else None
    problem = Problem(
        goal.measure, constraint, choose_solver(goal.measure, constraint, guard=True), seed=seed, guard=True
    )
    rows = data.rows.with_constant(0.0)
    learner, labels = Learner(problem, rows.n_cols), data.y.astype(np.int8)
    for number in range(model.passes):
        learner.learn(rows, labels, data.weight, Pass(shuffle=True, number=number, disposable=True))
    w = np.zeros(data.rows.n_cols)
    w[: rows.n_cols] = learner.model().w if constraint is None else learner.direction()
    return w


def units_of(data: Labelled, W: Array) -> tuple[Array, Array]:
    """Center and scale of the scores of each model (a row of W) on its own training rows.

    Thresholds are in these units, so that one threshold fits the models of all folds and the final one, even where
    strong regularisation leaves each with a scale and an offset of its own. The center is the score above which there
    are as many rows as positives, and the scale reaches from half to twice as many: that is where thresholds lie.
    (Mean and standard deviation follow a few far rows instead: benchmarks/threshold_transfer.py.) Constant scores have
    the scale infinity: rounding errors must not be ranked.
    """
    some = max(1, SCORES_AT_ONCE // max(1, data.rows.n_rows))
    share = float(np.average(data.y > 0, weights=data.weight))
    found = [_units_of(data.rows.scores(W[k : k + some]), share, data.weight) for k in range(0, len(W), some)]
    center, scale = (np.concatenate(part) for part in zip(*found, strict=True))
    return center, scale


NARROW = 0.1  # of a standard deviation: where so few scores differ, as with many equal rows, that is the scale


def _units_of(scores: Array, share: float, weight: Array | None) -> tuple[Array, Array]:
    around = 1.0 - np.array([0.5 * share, share, min(2.0 * share, 0.5 * (1.0 + share))])
    (high, middle, low), mean, spread, largest = _places(scores, around, weight)
    narrow = high - low <= NARROW * spread
    scale = np.where(narrow, spread, high - low)
    return np.where(narrow, mean, middle), np.where(spread > 1e-10 * largest, scale, np.inf)


def quantiles(scores: Array, at: Array, weight: Array | None = None) -> Array:
    """Of each column: the score below which there is this share of the rows, or of their weight.

    Where that is so for all scores between two rows (and it is for the share of positives that a model keeps clear of
    the others) it is the middle: just below and just above the share are averaged. A row of weight 2 is two rows.
    """
    return _places(scores, at, weight)[0]


def _places(scores: Array, at: Array, weight: Array | None) -> tuple[Array, Array, Array, Array]:
    """Quantiles (shares x columns), mean, standard deviation and largest size of each column."""
    around = np.concatenate([at - 1e-9, at + 1e-9])
    found = score_units(np.ascontiguousarray(scores), around, weight).T
    middles = 0.5 * (found[: len(at)] + found[len(at) : 2 * len(at)])
    return (middles, *found[2 * len(at) :])


def costs_of_ratio(ratio: float, prevalence: float) -> Pair:
    """``c_pos / c_neg = ratio`` with a mean cost of 1 over the rows, so that C keeps its meaning.

    >>> costs_of_ratio(1.0, 0.1)
    (1.0, 1.0)
    """
    c_neg = 1.0 / (prevalence * float(ratio) + 1.0 - prevalence)
    return float(ratio) * c_neg, c_neg


def linearised_costs(
    measure: Measure, point: Choice, prevalence: float, n_rows: int, steepest: float = 20.0
) -> Pair | None:
    """The costs whose best classifier improves the measure to first order; None where a rate is not wanted.

    A false negative lowers TPR by ``1/(n p)``, a false positive TNR by ``1/(n (1 - p))``. The costs stay within the
    factor `steepest` of plain and of balanced ones: beyond, one class is given up and the gradient there says nothing.
    (The grid itself goes to a factor of 2; docs/batch.md, "Where the rules come from".)

    >>> from steelyard.measures import BalancedAccuracy
    >>> linearised_costs(BalancedAccuracy(), Choice(0, 0.0, 0.8, 0.8, 0.8), 0.2, 100)
    (2.5, 0.625)
    """
    gradient = measure.gradient(point.tpr, point.tnr, prevalence, sample_size=n_rows)
    c_pos, c_neg = float(gradient.tpr) / prevalence, float(gradient.tnr) / (1.0 - prevalence)
    if not (np.isfinite(c_pos) and np.isfinite(c_neg) and c_pos > 0.0 and c_neg > 0.0):
        return None
    balanced = (1.0 - prevalence) / prevalence
    ratio = min(max(c_pos / c_neg, min(1.0, balanced) / steepest), max(1.0, balanced) * steepest)
    return costs_of_ratio(ratio, prevalence)
