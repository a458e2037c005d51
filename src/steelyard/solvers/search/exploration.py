"""Models explored with out-of-fold scores, and the best model among them with its threshold.

For each model asked for (`models`), `Exploration.add` fits it on the training part of every split, scores the rows left
out, pools the scores and finds the best threshold exactly (`frontier`). With a hundred candidates the largest of these
values is partly luck, so `choose` judges the best few by what their thresholds are worth on rows that did not set them
(`resampling`):

- the largest value there;
- but an *anchor* (a plain model that one would have used anyway) is only left for a gain beyond its standard error,
  and not at all under a constraint that fewer than three rows decide, as 1 % of 200 negatives do;
- for a measure that is not monotone, among values within one row's worth the most skilful point, ``tpr + tnr``.

The threshold of the model chosen is then settled: the operating point nearest to the mean over the draws.

Costs come from a grid first, then from near the best: the linearisation of the measure there (Frank-Wolfe; for F-beta
at level t these are Cheng et al.'s costs ``1 + b^2 - t`` and ``t``), and the costs and Cs halfway to the neighbours.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...statistics import frontier
from ...statistics.frontier import Choice, Frontier, InfeasibleError
from ...statistics.resampling import Draws, Goal, Verdict, settled
from ...threads import side_by_side
from . import models
from .models import CostModel, Effort, FittedModels, Labelled, Model, costs_of_ratio, linearised_costs

Array = NDArray[np.float64]
Pair = tuple[float, float]
RowNumbers = NDArray[np.intp]

FEW_ENTRIES = 2**22  # values of a sample, 32 MB: two folds of it at once still share the caches


@dataclass(frozen=True)
class Prudence:
    """When a candidate is believed. docs/batch.md, "Where the rules come from", names the sets that settled it.

    `judged` candidates, besides the anchors, come into question at the end. An anchor is left for a gain of
    `strictness` standard errors, and not at all under a constraint that fewer than `rows_to_break` rows decide.
    """

    judged: int = 10
    strictness: float = 1.5
    rows_to_break: float = 3.0


PRUDENCE = Prudence()


@dataclass(frozen=True)
class Candidate:
    """A model with its best operating point on the pooled out-of-fold scores."""

    model: Model
    point: Choice

    @property
    def skill(self) -> float:
        return self.point.tpr + self.point.tnr


@dataclass(frozen=True, eq=False)
class Sample:
    """Labelled rows, and the splits into training and test rows (numbers)."""

    data: Labelled
    splits: Sequence[tuple[RowNumbers, RowNumbers]]
    numbers: Sequence[int] | None = None  # of the splits among those of the whole data; None: they are those

    def number(self, k: int) -> int:
        return k if self.numbers is None else self.numbers[k]

    @property
    def prevalence(self) -> float:
        return float(np.average(self.data.y > 0, weights=self.data.weight))


@dataclass
class Exploration:
    """Candidates found so far. Of those that may be chosen the folds' models are kept, not their scores.

    `starts` are models of a smaller sample, by the number of the split: nested samples with the same splits, so that
    none of them has seen a row that its successor is tested on.
    """

    sample: Sample
    goal: Goal
    effort: Effort = field(default_factory=Effort)
    candidates: dict[Model, Candidate] = field(default_factory=dict)
    anchors: set[Model] = field(default_factory=set)
    starts: dict[int, dict[CostModel, Array]] = field(default_factory=dict)
    finalists: Sequence[Model] = ()  # those that the choice was between, in the last round of a race
    _fitted: dict[Model, list[FittedModels]] = field(default_factory=dict)
    _calls: dict[Model, NDArray[np.bool_]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        data = self.sample.data
        rows = np.concatenate([test for _, test in self.sample.splits])
        self.is_positive = data.y[rows] > 0
        self.weight = None if data.weight is None else data.weight[rows]
        self._infeasible: InfeasibleError | None = None
        self._draws: Draws | None = None

    # -- asking for models --------------------------------------------------------------------------------------
    def add(self, wanted: Iterable[Model], anchors: Iterable[Model] = ()) -> None:
        """Fit and score every model that is not known yet."""
        self.anchors.update(anchors)
        new = [model for model in dict.fromkeys(wanted) if model not in self.candidates]
        if not new:
            return
        folds = self._fit(new)
        some = max(1, models.SCORES_AT_ONCE // max(1, len(self.is_positive)))
        for first in range(0, len(new), some):
            columns = np.ascontiguousarray(self._out_of_fold(folds, slice(first, first + some)).T)
            found = [self.frontier(scores) for scores in columns]
            values = frontier.values_of(found, self.goal.measure)
            for k, model in enumerate(new[first : first + some]):
                self._record(model, columns[k], (found[k], values[k]), [fold.only(first + k) for fold in folds])
        self._forget()

    def _fit(self, wanted: Sequence[Model]) -> list[FittedModels]:
        """The models of every fold. On few rows families and folds are fitted side by side: threads inside a fit need
        more of them."""
        folds, families = range(len(self.sample.splits)), models.families(wanted)
        few = self.sample.data.rows.n_entries <= FEW_ENTRIES
        effort, at_once = (replace(self.effort, n_jobs=1), self.effort.n_jobs) if few else (self.effort, 1)
        tasks = [partial(self._fit_fold, k, [wanted[i] for i in some], effort) for some in families for k in folds]
        found = side_by_side(tasks, at_once)
        order = np.argsort(np.concatenate(families), kind="stable")
        return [FittedModels.together(found[k :: len(folds)], order) for k in folds]

    def _fit_fold(self, k: int, wanted: Sequence[Model], effort: Effort) -> FittedModels:
        data, (train, _) = self.sample.data, self.sample.splits[k]
        known = self.starts.get(self.sample.number(k), {})
        known = known | {m: fitted[k].W[0] for m, fitted in self._fitted.items() if isinstance(m, CostModel)}
        starts = nearest(wanted, known, data.rows.n_cols)
        found = models.fit(wanted, data.take(train), self.goal, effort, starts)
        if effort.work is not None:
            said = f"{len(wanted)} model{'s'[: len(wanted) > 1]} on {len(train):,} rows"
            effort.work.did(len(wanted) * len(train), said, self.so_far())
        return found

    def so_far(self) -> tuple[float, Model] | None:
        """For who watches."""
        best = max(self.candidates.values(), key=_rank, default=None)
        return None if best is None else (best.point.value, best.model)

    def _out_of_fold(self, folds: list[FittedModels], k: slice) -> Array:
        """Scores of the models `k`, in the order of the splits' test rows."""
        rows, tests = self.sample.data.rows, (test for _, test in self.sample.splits)
        return np.concatenate([fold.scores(rows.take(test), k) for fold, test in zip(folds, tests, strict=True)])

    def _record(self, model: Model, scores: Array, found: tuple[Frontier, Array], folds: list[FittedModels]) -> None:
        points, values = found
        try:
            point = frontier.best_point(points, self.goal.measure, self.goal.constraints, values=values)
        except InfeasibleError as error:
            self._infeasible = error
            return
        self.candidates[model] = Candidate(model, point)
        self._fitted[model], self._calls[model] = folds, scores > point.threshold

    def _forget(self) -> None:
        best = sorted(self._fitted, key=lambda model: self.candidates[model].point.value, reverse=True)
        for model in best[PRUDENCE.judged :]:
            if model not in self.anchors:
                del self._fitted[model]

    def weights(self) -> dict[int, dict[CostModel, Array]]:
        """The folds' models that are kept, by the number of the split, as `starts` for more rows."""
        kept = {model: folds for model, folds in self._fitted.items() if isinstance(model, CostModel)}
        return {
            self.sample.number(k): {model: folds[k].W[0] for model, folds in kept.items()}
            for k in range(len(self.sample.splits))
        }

    def a_start(self, model: Model) -> Array:
        """One of the folds' models, as a row: where a fit on all rows may begin."""
        return self._fold_models(model)[0].W

    @property
    def draws(self) -> Draws:
        """The same for every model and every question."""
        if self._draws is None:
            self._draws = Draws(self.is_positive, self.weight, self.effort.seed)
        return self._draws

    def frontier(self, scores: Array) -> Frontier:
        return frontier.scan(scores, self.is_positive, self.weight)

    # -- near the best ------------------------------------------------------------------------------------------
    def refine(self, step: float, C_step: float, largest_C: float) -> None:
        """Models around the best one: its linearised costs, costs and Cs a factor `step` and `C_step` away."""
        self.best()  # or the reason why there is none
        best = max((one for one in self.candidates.values() if isinstance(one.model, CostModel)), key=_rank)
        model, prevalence = best.model, self.sample.prevalence
        assert isinstance(model, CostModel)
        ratios = [model.ratio / step, model.ratio, model.ratio * step]
        costs = [costs_of_ratio(ratio, prevalence) for ratio in ratios if 0 < ratio < np.inf]
        linear = linearised_costs(self.goal.measure, best.point, prevalence, len(self.is_positive))
        costs += [linear] if linear is not None else []
        Cs = {model.C / C_step, model.C, min(model.C * C_step, largest_C)}
        self.add(CostModel(model.loss, *pair, C) for pair in costs for C in sorted(Cs))

    # -- choosing -----------------------------------------------------------------------------------------------
    def best(self) -> Candidate:
        """The largest value, ties to the most skilful; no guard against luck."""
        if not self.candidates:
            raise self._infeasible or InfeasibleError("no model was explored")
        return max(self.candidates.values(), key=_rank)

    def choose(self, among: Sequence[Model] | None = None) -> Candidate:
        """The model to take of `among` (or of the best few and the anchors), with its settled operating point."""
        self.best()  # or the reason why there is none
        judged = (*self.short_list(PRUDENCE.judged), *sorted(self.anchors, key=repr)) if among is None else among
        known = [model for model in dict.fromkeys(judged) if model in self.candidates]
        verdicts = self._verdicts(known)
        plain = [model for model in verdicts if model in self.anchors]

        def worth(model: Model) -> tuple[float, float]:
            return verdicts[model].value, self.candidates[model].skill

        chosen = max(verdicts, key=worth)
        anchor = max(plain, key=worth, default=chosen)
        gain, error = worth(chosen)[0] - worth(anchor)[0], verdicts[chosen].error(verdicts[anchor])
        if not gain > PRUDENCE.strictness * error or self._rows_to_break() < PRUDENCE.rows_to_break:
            chosen = anchor
        if not self.goal.measure.is_monotone:
            near = worth(chosen)[0] - 1.0 / len(self.is_positive)
            chosen = max((m for m in verdicts if worth(m)[0] >= near), key=lambda m: self.candidates[m].skill)
        found = self.frontier(self.scores(chosen))
        return Candidate(chosen, settled(verdicts[chosen], found, self.candidates[chosen].point, self.goal))

    def _rows_to_break(self) -> float:
        """How many rows a perfect classifier could call wrongly before it broke a constraint."""
        positives = np.count_nonzero(self.is_positive)
        counts = positives, len(self.is_positive) - positives
        fewest = np.inf
        for constraint in self.goal.constraints:
            *slopes, rest = constraint.coefficients(self.sample.prevalence, sample_size=len(self.is_positive))
            slack = sum(slopes) + rest
            fewest = min([fewest, *(slack * n / slope for slope, n in zip(slopes, counts, strict=True) if slope > 0.0)])
        return float(fewest)

    def _verdicts(self, judged: Sequence[Model]) -> dict[Model, Verdict]:
        draws = self.draws

        def verdict(model: Model) -> Verdict:
            scores = self.scores(model)
            return draws.judge(scores, self.frontier(scores), self.goal)

        found = side_by_side([partial(verdict, model) for model in judged], self.effort.n_jobs)
        return dict(zip(judged, found, strict=True))

    def short_list(self, count: int) -> list[Model]:
        """The models of largest value."""
        ranked = sorted(self.candidates.values(), key=_rank, reverse=True)
        return [one.model for one in ranked[:count]]

    def share_called(self, model: Model, threshold: float) -> float:
        """The share of the rows that it was fitted on that lie above the threshold, mean over the folds."""
        data, shares = self.sample.data, []
        for (train, _), fold in zip(self.sample.splits, self._fold_models(model), strict=True):
            part = data.take(train)
            called = fold.scores(part.rows, slice(0, 1))[:, 0] > threshold
            shares.append(np.average(called, weights=part.weight))
        return float(np.mean(shares))

    def calls(self, model: Model) -> NDArray[np.bool_]:
        """Which of the splits' test rows it calls positive, at its best threshold."""
        return self._calls[model]

    def scores(self, model: Model) -> Array:
        """The pooled out-of-fold scores, in the order of the splits' test rows."""
        return np.ascontiguousarray(self._out_of_fold(self._fold_models(model), slice(0, 1))[:, 0])

    def left_out(self, w: Array) -> Array:
        """Scores of one model for all folds, in the order of the splits' test rows."""
        rows = self.sample.data.rows
        return np.concatenate([rows.take(test).scores(w[None, :])[:, 0] for _, test in self.sample.splits])

    def value_at(self, w: Array, threshold: float) -> float:
        calls = (self.left_out(w) > threshold)[:, None]
        return float(self.draws.values(calls, self.goal, self.sample.prevalence)[0][0])

    def _fold_models(self, model: Model) -> list[FittedModels]:
        if model not in self._fitted:
            self._fitted[model] = self._fit([model])
        return self._fitted[model]


def nearest(wanted: Sequence[Model], known: dict[CostModel, Array], n_cols: int) -> Array | None:
    """A row for each model: that of the known one of the same loss that is nearest in C and costs; NaN if none is."""
    if not known:
        return None
    found = np.full((len(wanted), n_cols), np.nan)
    for loss in {model.loss for model in known}:
        there = [model for model in known if model.loss == loss]
        places = [k for k, model in enumerate(wanted) if isinstance(model, CostModel) and model.loss == loss]
        far = np.abs(_class_weights([wanted[k] for k in places])[:, None] - _class_weights(there)).sum(axis=2)
        for k, near in zip(places, far.argmin(axis=1), strict=True):
            found[k] = known[there[near]]
    return found


def _class_weights(models: Sequence[Model]) -> Array:
    """What the rows of the two classes weigh, in logarithms (a class may be given up): models x 2."""
    pairs = [(model.C * model.c_pos, model.C * model.c_neg) for model in models if isinstance(model, CostModel)]
    return np.log(np.reshape(pairs, (-1, 2)) + 1e-12)


def _rank(candidate: Candidate) -> tuple[float, float]:
    return candidate.point.value, candidate.skill
