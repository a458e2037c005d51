"""K linear models for a measure of several classes: weights of the classes, C and loss, chosen on out-of-fold scores.

A `ClassModel` is K models fitted with a weight for the rows of each class: by the loss of several classes (`logistic`,
`linear.softmax`), or each class against the rest by a margin (`linear.cost_sensitive`). Its offsets are taken by exact
sweeps (`statistics.offsets`) on scores of rows that it was not fitted on. The search goes

    plain weights and every C;  balanced weights, and half way there, at the best C;
    then the weights of the measure linearised at what the best one calls (`statistics.class_costs`), a few rounds,

first on a sample of the rows, and the best few on more of them. A model is judged by what its offsets are worth on rows
that did not set them: half of the rows are called by offsets of the other half. Two anchors, logistic regression as it
is and with offsets, are among them and are left only for a gain beyond its standard error over draws of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from ...statistics import class_shrinkage, offsets
from ...statistics.class_costs import row_weights
from ...statistics.frontier import InfeasibleError
from ...statistics.offsets import ClassPoints, Goal, Offsets, ScoredClasses
from .class_models import ClassModel, Codes, LabelledClasses, Splits, fit, sampled
from .models import Effort
from .work import FINAL

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClassPlan:
    """What is tried, and when it is believed."""

    Cs: tuple[float, ...] = (1e-2, 1e-1, 1.0, 10.0)
    losses: tuple[str, ...] = ("logistic", "squared_hinge")  # the hinge against the rest has no model where none leads
    balance: tuple[float, ...] = (0.0, 0.5, 1.0)  # powers of 1 / prevalence, as the starts of the offsets
    rounds: int = 3  # of linearised weights, as `ALTERNATION.steps` of two classes
    judged: int = 3  # of the best, beside the anchors
    sample: int = 4_000  # rows of the first search, as the race of two classes begins
    more: int = 20_000  # rows on which the last few are judged: as many as offsets are climbed on
    folds: int = 3  # of the first search, where it is on a sample
    strictness: float = 1.0  # standard errors by which an anchor must be beaten, as the argmax by offsets
    draws: int = 200  # of the bootstrap, as in `class_shrinkage`


PLAN = ClassPlan()


@dataclass(frozen=True, eq=False)
class ClassCandidate:
    """A model and its scores of rows that it was not fitted on, in units in which they are log-probabilities."""

    model: ClassModel
    rows: ScoredClasses
    unit: float
    best: Offsets
    folds: tuple[Array, ...]  # the models of the folds

    def called(self, shift: Array | None = None) -> Codes:
        shift = self.best.offsets if shift is None else shift
        return np.asarray((self.rows.scores + shift).argmax(axis=1))


@dataclass(frozen=True, eq=False)
class Verdict:
    """A candidate with offsets or without, and how it calls rows that did not set its offsets."""

    candidate: ClassCandidate
    tuned: bool
    called: Codes
    value: float
    missed: float = 0.0


@dataclass
class ClassExploration:
    """Candidates found so far, on these rows."""

    data: LabelledClasses
    splits: Splits
    goal: Goal
    effort: Effort
    found: dict[ClassModel, ClassCandidate] = field(default_factory=dict)
    infeasible: InfeasibleError | None = None

    def __post_init__(self) -> None:
        self.order = np.concatenate([test for _, test in self.splits])
        self.codes = self.data.codes[self.order]
        self.weight = None if self.data.weight is None else self.data.weight[self.order]

    def work_of(self, models: int) -> float:
        """Models times training rows."""
        return float(models * sum(len(train) for train, _ in self.splits))

    def add(self, wanted: Iterable[ClassModel]) -> None:
        for model in wanted:
            if model not in self.found:
                self._add(model)

    def _add(self, model: ClassModel) -> None:
        start, folds, scores = self._near(model), [], []
        for k, (train, test) in enumerate(self.splits):
            one = fit(model, self.data.take(train), self.effort, None if start is None else start[k])
            folds.append(one.W)
            scores.append(self.data.rows.take(test).scores(one.W))
        rows = ScoredClasses.of(np.concatenate(scores), self.codes, self.data.classes, self.weight)
        unit = 1.0 if model.loss == "logistic" else unit_of(rows)
        rows = replace(rows, scores=rows.scores * unit)
        best = self._climbed(rows)
        self.found[model] = ClassCandidate(model, rows, unit, best, tuple(folds))
        if self.effort.work is not None:
            leader = self.ranked()[0]
            so_far = (leader.best.value, leader.model)
            self.effort.work.did(self.work_of(1), f"{model} on {self.data.rows.n_rows:,} rows", so_far)

    def _climbed(self, rows: ScoredClasses) -> Offsets:
        """Near the best offsets, to tell which models are good: one climb from those of the best model so far."""
        check_classes(rows)
        steadied = rows if self.goal.constraints else class_shrinkage.shrunk(rows)
        start = self.ranked()[0].best.offsets if self.found else np.zeros(len(rows.classes))
        end = offsets.climb(steadied, self.goal, offsets.judge(steadied, self.goal, start))
        return offsets.judge(rows, self.goal, end.offsets)

    def settle(self, models: Iterable[ClassModel]) -> list[ClassCandidate]:
        """These, with the offsets of a whole search; those that cannot meet the constraints drop out."""
        kept, asked = [], list(dict.fromkeys(models))
        for k, model in enumerate(asked):
            self._tell_offsets((k + 1) / len(asked) / 3.0, len(asked))
            try:
                best = choose_offsets(self.found[model].rows, self.goal)
            except InfeasibleError as error:
                self.infeasible = error
                continue
            kept.append(replace(self.found[model], best=best))
        if not kept:
            raise self.infeasible or InfeasibleError("no model was explored")
        return kept

    def _tell_offsets(self, share: float, count: int) -> None:
        """Three searches for each: one on all rows, and two that leave a half of them out."""
        if self.effort.work is not None:
            self.effort.work.part(share, f"the offsets of {count} models on {len(self.codes):,} rows")

    def _near(self, model: ClassModel) -> tuple[Array, ...] | None:
        """The folds' models of the same loss and nearest C."""
        same = [one for one in self.found.values() if one.model.loss == model.loss == "logistic"]
        nearest = min(same, key=lambda one: abs(np.log(one.model.C / model.C)), default=None)
        return None if nearest is None else nearest.folds

    def ranked(self, loss: str | None = None) -> list[ClassCandidate]:
        some = [one for one in self.found.values() if loss in (None, one.model.loss)]
        return sorted(some, key=lambda one: (-one.best.missed, one.best.value), reverse=True)

    def confusion(self, candidate: ClassCandidate) -> Array:
        """The mass of each class (rows) by what it is called (columns)."""
        return confusions(self.codes, candidate.called(), len(self.data.classes), self.weight)

    # -- judging ------------------------------------------------------------------------------------------------
    def verdicts(self, candidate: ClassCandidate) -> list[Verdict]:
        """Without offsets, and with those of the other half of the rows."""
        zero = np.zeros(len(self.data.classes))
        crossed = candidate.called()
        for judged, others in halves(self.codes, self.effort.seed):
            try:
                found = choose_offsets(candidate.rows.take(others), self.goal)
            except (InfeasibleError, ValueError):  # of constraints, or of a class of one row
                found = candidate.best
            crossed[judged] = (candidate.rows.scores[judged] + found.offsets).argmax(axis=1)
        tuned = self._verdict(candidate, True, crossed)
        if self.goal.constraints:
            return [tuned]
        return [self._verdict(candidate, False, candidate.called(zero)), tuned]

    def _verdict(self, candidate: ClassCandidate, tuned: bool, called: Codes) -> Verdict:
        table = confusions(self.codes, called, len(self.data.classes), self.weight)
        value, missed = self.goal.judge(self._points(table))
        return Verdict(candidate, tuned, called, float(value), float(missed))

    def _points(self, table: Array) -> ClassPoints:
        """The rates of each class at tables of confusions."""
        return ClassPoints.of(table, len(self.codes), self.data.classes)

    def is_better(self, one: Verdict, other: Verdict) -> bool:
        """By more than its standard error over draws of the rows, or nearer to what the constraints ask."""
        if one.missed != other.missed:
            return one.missed < other.missed
        return one.value - other.value > PLAN.strictness * self._error(one, other)

    def _error(self, one: Verdict, other: Verdict) -> float:
        """The standard error of the difference, by the bootstrap: cells of equal rows are drawn as a whole."""
        k, rng = len(self.data.classes), np.random.default_rng(self.effort.seed)
        cell, where = np.unique((self.codes * k + other.called) * k + one.called, return_inverse=True)
        count = np.bincount(where)
        mass = np.bincount(where, weights=self.weight) / count
        truth, before, after = cell // k**2, cell // k % k, cell % k
        drawn = rng.poisson(count, (PLAN.draws, len(cell))) * mass
        tables = [np.stack([confusions(truth, calls, k, w) for w in drawn]) for calls in (before, after)]
        whole = (tables[0].sum(axis=-1) > 0.0).all(axis=-1)  # draws without a class say nothing
        if whole.sum() < PLAN.draws // 2:
            return np.inf
        with np.errstate(invalid="ignore"):
            first, second = (self.goal.judge(self._points(table[whole]))[0] for table in tables)
            gains = second - first
        return float(gains[np.isfinite(gains)].std()) if np.isfinite(gains).any() else np.inf


# -- parts ----------------------------------------------------------------------------------------------------------
def confusions(codes: Codes, called: Codes, k: int, weight: Array | None = None) -> Array:
    """The mass of each class (rows) by what it is called (columns)."""
    return np.bincount(codes * k + called, weights=weight, minlength=k * k).reshape(k, k).astype(np.float64)


def unit_of(rows: ScoredClasses) -> float:
    """The factor that makes margins log-probabilities: the likeliest one."""
    share = rows.labels / rows.labels.sum()
    of_row = share.sum(axis=1)
    spread = float(np.abs(rows.scores).max(initial=0.0))
    if not spread > 0.0:
        return 1.0

    def loss(log_unit: float) -> float:
        scaled = np.exp(log_unit) * rows.scores
        return float(of_row @ logsumexp(scaled, axis=1) - (share * scaled).sum())

    middle = -np.log(spread)
    return float(np.exp(minimize_scalar(loss, bounds=(middle - 2.0, middle + 6.0), method="bounded").x))


def choose_offsets(rows: ScoredClasses, goal: Goal) -> Offsets:
    """The best offsets, by labels that are shrunk where a class is small; under constraints the exact ones."""
    check_classes(rows)
    if goal.constraints:
        return offsets.search(rows, goal)
    found = offsets.search(class_shrinkage.shrunk(rows), goal)
    return offsets.judge(rows, goal, found.offsets)


def check_classes(rows: ScoredClasses) -> None:
    mass = rows.labels.sum(axis=0)
    if not (mass > 0.0).all():
        raise ValueError(f"none of the {len(rows.scores)} scored rows is of class {rows.classes[mass.argmin()]!r}")


def halves(codes: Codes, seed: int) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The two halves of the rows, every class in both as evenly as it goes, each with the other."""
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first, second = np.sort(order[::2]), np.sort(order[1::2])
    return [(first, second), (second, first)]


# -- the search -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Wanted:
    """The losses and Cs to try; `refines` says that Cs in between may be taken, too."""

    losses: tuple[str, ...] = PLAN.losses
    Cs: tuple[float, ...] = PLAN.Cs
    refines: bool = True

    @property
    def count(self) -> int:
        """Models of the first search: `enter` for each loss, and `refine`."""
        return len(self.losses) * (len(self.Cs) + len(PLAN.balance) - 1) + PLAN.rounds + 2 * self.refines

    @property
    def anchor_loss(self) -> str:
        return "logistic" if "logistic" in self.losses else self.losses[0]

    @property
    def usual_C(self) -> float:
        return min(self.Cs, key=lambda C: abs(np.log(C)))


def search(
    data: LabelledClasses, splits: Splits, goal: Goal, effort: Effort, wanted: Wanted
) -> tuple[ClassExploration, Verdict]:
    """The model to take, and whether it takes its offsets."""
    anchor = ClassModel(wanted.anchor_loss, (1.0,) * len(data.classes), wanted.usual_C)
    few, pairs = sampled(data, splits, PLAN.sample, effort.seed)
    first = ClassExploration(few, pairs if few is data else _some(pairs, few.codes), goal, effort)
    last = first
    if few is not data:
        last = ClassExploration(*sampled(data, splits, PLAN.more, effort.seed), goal, effort)
    if effort.work is not None:
        again = last.work_of(PLAN.judged + 1) if last is not first else 0.0
        effort.work.expect(first.work_of(wanted.count) + again + FINAL * data.rows.n_rows)
    first.add([anchor])
    for loss in wanted.losses:
        enter(first, loss, wanted)
    refine(first, wanted)
    finalists = [*(one.model for one in first.ranked()[: PLAN.judged]), anchor]
    last.add(finalists)
    return last, decide(last, last.settle(finalists), anchor)


def _some(pairs: Splits, codes: Codes) -> Splits:
    """A few of the splits, if they have rows of every class to judge by."""
    some = pairs[: PLAN.folds]
    return some if len(np.unique(codes[np.concatenate([b for _, b in some])])) == len(np.unique(codes)) else pairs


def enter(part: ClassExploration, loss: str, wanted: Wanted) -> None:
    """Plain weights with every C; then those of other powers of the prevalences with the best of them."""
    p = part.data.prevalence
    powers = [tuple((p**-power / (p @ p**-power)).tolist()) for power in PLAN.balance]
    part.add(ClassModel(loss, powers[0], C) for C in wanted.Cs)
    best = part.ranked(loss)[0].model
    part.add(replace(best, weights=weights) for weights in powers[1:])


def refine(part: ClassExploration, wanted: Wanted) -> None:
    """Weights of the linearised measure, mixed with those so far as Frank and Wolfe do; and Cs half way on."""
    p, n = part.data.prevalence, len(part.codes)
    for number in range(PLAN.rounds):
        best = part.ranked()[0]
        model, step = best.model, 2.0 / (3.0 + number)
        linear = row_weights(part.goal.measure, part.confusion(best), part.data.classes, n)
        mixed = (1.0 - step) * np.asarray(model.weights) + step * linear
        part.add([replace(model, weights=tuple((mixed / (mixed @ p)).tolist()))])
    if wanted.refines:
        model = part.ranked()[0].model
        part.add(replace(model, C=model.C * factor) for factor in (10.0**-0.5, 10.0**0.5))


def decide(part: ClassExploration, candidates: Sequence[ClassCandidate], anchor: ClassModel) -> Verdict:
    """The largest value on rows that did not set the offsets; an anchor unless that is a gain beyond its error."""
    found = {}
    for k, one in enumerate(candidates):
        found[one.model] = part.verdicts(one)
        part._tell_offsets((1.0 + 2.0 * (k + 1) / len(candidates)) / 3.0, len(candidates))
    every = [verdict for some in found.values() for verdict in some]
    plain, *tuned = found.get(anchor, every[:1])
    if tuned and part.is_better(tuned[0], plain):
        plain = tuned[0]
    best = max(every, key=lambda one: (-one.missed, one.value))
    return best if part.is_better(best, plain) else plain
