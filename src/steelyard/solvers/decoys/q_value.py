"""As many accepted targets as possible while decoys per target stay within a cap: learning for a q-value.

Given rows that are targets (a mixture of right and wrong ones) or decoys (all wrong), learn f for

    max over f, u   T(u)    subject to   D(u) <= q T(u)

with T(u) and D(u) the weighted numbers of targets and decoys with ``f(x) >= u``. In rates this is ``(1 - p) FPR <= q p
TPR``; Gasso et al., section 4, writes it for classes of equal size. Most targets are wrong, so a convex loss on all of
them spends itself on rows that nobody could accept. Four recipes, each the start of the next, and nonconvex from the
second on (the steps are in `decoys.steps`): *loop*, *mixture*, *annealed*, and the *mean* of the last two, each on the
scale where the threshold is 0 and the median decoy -1. Two more are for few rows with many columns: *firm*, a mixture
that is held by a smaller C, and *column*, the best one alone.

With a kernel the mixture follows once more on the features of `landmarks`, placed on targets that are likely right
and on the decoys that look most like them, from the linear mixture: *rbf mixture*, and *rbf mean*, the mean of both.

Ten decoys decide at q = 0.01, so the training rows say little about which of these is best: `solve` asks rows left
out, counts in lists of at least ten decoys, and takes another than the mixture (or the rbf mean) only for a clear gain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures import Precision, Recall
from ...rows import Rows
from ...statistics.target_decoy import Array, Mask, chance_right
from ..status import SOLVED, Ended, Status
from ..stream.learner import Learner
from ..stream.problem import NeymanPearson, Pass, Problem
from . import steps
from .bounds import Columnwise
from .landmarks import Landmarks, place
from .steps import Aim, Matches, levelled

RowNumbers = NDArray[Any]  # of any width: estimators keep 32 bits where these do

CURVED, CURVED_MEAN = "rbf mixture", "rbf mean"
LEARNED = ("loop", "mixture", "annealed", "firm")  # one after another: these take the time
DEFAULT = "mixture"  # unless rows left out speak clearly for another
# Of C, where few rows have many columns that say nothing. On the six designs of benchmarks/qvalue_few.py 0.01 and 1e-3
# accept the same within chance; 0.1 and 1e-4 less. Far from such rows it loses some percent, and rows left out say so.
FIRM = 1e-3
CLEARLY = 0.05  # so much more must another recipe accept: benchmarks/qvalue_choice.py has the other margins
DECOYS = 10  # in the lists that are compared: a third of such a number is chance
LARGEST_CAP = 0.25  # where lists with so few decoys are those of tables too small to compare on
# Landmarks: targets more likely right than not, and the best so many decoys for each to draw from. Round numbers, of
# the same tables and seeds as `steps.StepOptions`.
LIKELY, CLOSE = 0.5, 40


@dataclass(frozen=True)
class LandmarkKernel:
    """``exp(-gamma |x - x'|^2)`` by this many landmarks, drawn by `seed`."""

    gamma: float
    n_landmarks: int = 50
    seed: int = 0


@dataclass(frozen=True, eq=False)
class MatchScore:
    """``f(x) = features(x).w + intercept``, with the columns of x within `bounds`.

    `features` is None where they are the columns themselves, and `bounds` where there are none."""

    w: Array
    intercept: float
    features: Landmarks | None = None
    bounds: Columnwise | None = None

    def __call__(self, X: Any) -> Array:
        rows = Rows.of(X)
        if self.bounds is None:
            return self._scores(rows)
        found = np.empty(rows.n_rows)
        for part, bounded in self.bounds.pieces(rows):
            found[part] = self._scores(bounded)
        return found

    def _scores(self, rows: Rows) -> Array:
        found = rows.scores(self.w) if self.features is None else self.features.scores(rows, self.w)
        return found + self.intercept


@dataclass(frozen=True, eq=False)
class QValueResult:
    """``model(x) > 0`` is a target within the cap, by rows left out; `objective` is how many targets those were.

    `held_out` has, for each recipe, the targets accepted among rows left out in the mean of what `counted` counts; it
    is empty where there were too few rows to leave any out."""

    model: MatchScore
    objective: float
    recipe: str
    held_out: dict[str, float]
    n_iter: int
    status: Status

    @property
    def converged(self) -> bool:
        return self.status.solved


@dataclass(frozen=True)
class State:
    """What a callback sees after each recipe: how many of how many are done, which this was, learned without which of
    how many folds (None: on all rows), and the targets accepted among the rows left out so far by the best one."""

    done: int
    n_steps: int
    recipe: str
    fold: int | None
    n_folds: int
    best: tuple[str, float] | None


def n_steps(n_folds: int, refit: bool, kernel: LandmarkKernel | None) -> int:
    """How often a callback is called, at most: on all rows the kernel is tried only if the rows left out ask for it."""
    return (n_folds + bool(refit or not n_folds)) * (len(LEARNED) + (kernel is not None))


class _Told:
    """Counts the recipes, and tells a callback if there is one."""

    def __init__(self, callback: Callable[[State], None] | None = None, folds: int = 0, n_steps: int = 0) -> None:
        self.callback, self.n_folds, self.fold = callback, folds, None if folds == 0 else 0
        self.done, self.n_steps = 0, n_steps
        self.best: tuple[str, float] | None = None

    def learned(self, recipe: str) -> None:
        self.done += 1
        if self.callback is not None:
            self.callback(State(self.done, self.n_steps, recipe, self.fold, self.n_folds, self.best))

    def left_out(
        self, scores: Mapping[str, list[Array]], matches: Matches, folds: list[RowNumbers], cap: float
    ) -> None:
        """Another fold is done; `scores` are those of the rows of these folds."""
        self.fold = len(folds) if len(folds) < self.n_folds else None
        if self.callback is not None:
            so_far = {name: np.concatenate(found) for name, found in scores.items()}
            counts = counted(so_far, matches.take(np.concatenate(folds)), cap)
            mean = {name: float(count.mean()) for name, count in counts.items()}
            self.best = max(mean.items(), key=lambda one: one[1])


def solve(
    X: Any,
    is_target: Mask,
    aim: Aim,
    folds: Sequence[RowNumbers] = (),
    sample_weight: Array | None = None,
    kernel: LandmarkKernel | None = None,
    refit: bool = True,
    callback: Callable[[State], None] | None = None,
) -> QValueResult:
    """Learn by every recipe, choose one and set the threshold on the rows left out in turn, and refit on all rows.

    `folds` are the row numbers to leave out, each row at most once; with none the recipe is the default and the
    threshold that of the training rows. Without `refit` the model is the one that was learned without the one fold.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3)); target = np.arange(2000) % 2 == 0
    >>> X[:1000, 0] += 4.0 * target[:1000]  # half the targets are right
    >>> found = solve(X, target, Aim(0.05))
    >>> bool(found.model.w[0] > 10 * abs(found.model.w[1]))
    True
    """
    matches = Matches.of(Rows.of(X).check_squares().packed(), is_target, sample_weight)
    refit = refit or not folds
    told = _Told(callback, len(folds), n_steps(len(folds), refit, kernel))
    judged, models = _judged(matches, aim, folds, kernel, told)
    if refit:
        models = learn(matches, aim, kernel if judged.recipe in (CURVED, CURVED_MEAN) else None, told)
    model = models[judged.recipe]
    zero, accepted = judged.cut or threshold(model(matches.rows), matches, aim.max_q)
    model = dataclasses.replace(model, intercept=model.intercept - zero)
    n_iter = aim.rounds * (len(folds) + refit)
    return QValueResult(model, accepted, judged.recipe, judged.held_out, n_iter, status_of(model, accepted, aim.max_q))


def counted(scores: Mapping[str, Array], matches: Matches, max_q: float) -> dict[str, Array]:
    """For each recipe the targets accepted at caps around `max_q`.

    Where the longest lists hold fewer than ten decoys the counts say little: then the cap is doubled until they do."""
    cap = max_q
    while True:
        counts = {name: steps.accepted_at(found, matches, steps.around(cap)) for name, found in scores.items()}
        longest = max((float(count.mean()) for count in counts.values()), default=np.inf)
        if cap * longest >= DECOYS or cap > LARGEST_CAP:
            return counts
        cap *= 2.0


def choose(counts: Mapping[str, Array], clearly: float = CLEARLY) -> str:
    """The recipe to use, by the mean of what each accepted among rows left out.

    The linear mixture, or the rbf mean where that accepts more; another only for a clear gain over the better of them.
    These two may be compared as they are: one is half the other, so that most of what is chance is the same in both."""
    if not counts:
        return DEFAULT
    mean = {name: float(count.mean()) for name, count in counts.items()}
    plain, best = most(mean, (DEFAULT, CURVED_MEAN)), most(mean, mean)
    return best if mean[best] > (1.0 + clearly) * mean[plain] else plain


def most(count: Mapping[str, float], names: Iterable[str]) -> str:
    """The first of the names with the largest count."""
    return max((name for name in names if name in count), key=lambda name: count[name])


def learn(
    matches: Matches, aim: Aim, kernel: LandmarkKernel | None = None, told: _Told | None = None
) -> dict[str, MatchScore]:
    """The model of every recipe, with the training threshold at 0 and the median decoy at -1."""
    flat = matches.with_ones()
    told = told or _Told()

    def level(w: Array) -> Array:
        return levelled(w, flat, aim.max_q)

    loop, column = looped(flat, aim)
    told.learned("loop")
    mixed = level(steps.mixture(flat, loop, aim))
    told.learned("mixture")
    climbed = level(steps.annealed(flat, mixed, aim))
    told.learned("annealed")
    found = {"loop": level(loop), "mixture": mixed, "annealed": climbed, "mean": level(mixed + climbed)}
    firm = steps.mixture(flat, loop, dataclasses.replace(aim, C=FIRM * aim.C))
    told.learned("firm")
    found |= {"column": level(column), "firm": level(firm)}
    models = {name: MatchScore(w[:-1], float(w[-1])) for name, w in found.items()}
    if kernel is None:
        return models
    models |= _curved(matches, models["mixture"], aim, kernel)
    told.learned(CURVED)
    return models


def looped(flat: Matches, aim: Aim) -> tuple[Array, Array]:
    """The better of the loops from the best column and from all targets, and that column."""
    starts = (steps.best_column(flat, aim), steps.logistic(flat, aim))
    found = [steps.loop(flat, w, aim) for w in starts]
    return max(found, key=lambda w: steps.accepted_around(flat.rows.scores(w), flat, aim.max_q)), starts[0]


def _curved(matches: Matches, start: MatchScore, aim: Aim, kernel: LandmarkKernel) -> dict[str, MatchScore]:
    """From the linear mixture to one on the kernel's features, and the mean of both."""
    features = _place(matches, start(matches.rows), kernel)
    curved = Matches(Rows.of(features(matches.rows)), matches.is_target, matches.weight).with_ones()
    flat = np.zeros(curved.rows.n_cols)
    flat[: len(start.w)], flat[-1] = start.w, start.intercept
    half = dataclasses.replace(aim, rounds=(aim.rounds + 1) // 2)
    mixed = levelled(steps.mixture(curved, flat, half), curved, aim.max_q)
    found = {CURVED: mixed, CURVED_MEAN: levelled(flat + mixed, curved, aim.max_q)}
    return {name: MatchScore(w[:-1], float(w[-1]), features) for name, w in found.items()}


def _place(matches: Matches, scores: Array, kernel: LandmarkKernel) -> Landmarks:
    """Half the landmarks on targets drawn by their chance of being right, half on the decoys of highest score."""
    draw, half = np.random.default_rng(kernel.seed), max(1, kernel.n_landmarks // 2)
    target, rows = matches.is_target, matches.rows
    right = np.where(target, chance_right(scores, target, matches.weight), 0.0)
    likely = np.flatnonzero(right > LIKELY if (right > LIKELY).any() else target)
    decoys = np.flatnonzero(~target)
    close = decoys[np.argsort(-scores[decoys], kind="stable")[: CLOSE * half]]
    chosen = np.concatenate([draw.choice(pool, min(half, len(pool)), replace=False) for pool in (likely, close)])
    return place(rows.source[chosen if rows.which is None else rows.which[chosen]], kernel.gamma)


def solve_stochastic(
    X: Any, is_target: Mask, max_q: float, *, passes: int = 5, seed: int = 0, sample_weight: Array | None = None,
    callback: Callable[[State], None] | None = None,
) -> QValueResult:  # fmt: skip
    """The stream learner of Gasso et al. (Algorithm 4) under ``D <= q T``, which is ``precision >= 1 / (1 + q)``."""
    cap = Precision() >= 1.0 / (1.0 + max_q)
    problem = Problem(measure=Recall(), constraint=cap, solver=NeymanPearson(), reward="sigmoid", seed=seed)
    matches = Matches.of(X, is_target, sample_weight)
    learner = Learner(problem, matches.rows.n_cols)
    signs = np.where(is_target, 1, -1).astype(np.int8)
    for number in range(passes):
        learner.learn(matches.rows, signs, matches.weight, Pass(shuffle=True, number=number, disposable=True))
        if callback is not None:
            callback(State(number + 1, passes, f"pass {number + 1}", None, 0, None))
    w = learner.direction()  # its own threshold does not matter: the rows are counted here
    zero, accepted = threshold(matches.rows.scores(w), matches, max_q)
    model = MatchScore(w, -zero)
    return QValueResult(model, accepted, "stochastic", {}, passes, status_of(model, accepted, max_q))


# -- pieces ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class _Judged:
    """What the rows left out say: the recipe, its threshold with the targets accepted there (None without such rows),
    and how many targets each recipe accepted."""

    recipe: str
    cut: tuple[float, float] | None
    held_out: dict[str, float]


def _judged(
    matches: Matches, aim: Aim, folds: Sequence[RowNumbers], kernel: LandmarkKernel | None, told: _Told
) -> tuple[_Judged, dict[str, MatchScore]]:
    """And the models learned without the last fold. The scores of all rows by all recipes are gone after this."""
    if not folds:
        return _Judged(DEFAULT, None, {}), {}
    scores, models = _left_out(matches, aim, folds, kernel, told)
    judges = matches.take(np.concatenate(list(folds)))
    counts = counted(scores, judges, aim.max_q)
    recipe = choose(counts)
    held = {name: float(count.mean()) for name, count in counts.items()}
    return _Judged(recipe, threshold(scores[recipe], judges, aim.max_q), held), models


def _left_out(
    matches: Matches, aim: Aim, folds: Sequence[RowNumbers], kernel: LandmarkKernel | None, told: _Told
) -> tuple[dict[str, Array], dict[str, MatchScore]]:
    """The scores of the rows of every fold, one after another, by models learned without it; and the last of these."""
    scores: dict[str, list[Array]] = {}
    models: dict[str, MatchScore] = {}
    for k, fold in enumerate(folds):
        rest = np.ones(len(matches.is_target), dtype=bool)
        rest[fold] = False
        models, rows = learn(matches.take(rest), aim, kernel, told), matches.rows.take(fold)
        for name, model in models.items():
            scores.setdefault(name, []).append(model(rows))
        told.left_out(scores, matches, list(folds[: k + 1]), aim.max_q)
    return {name: np.concatenate(found) for name, found in scores.items()}, models


def status_of(model: MatchScore, accepted: float, max_q: float) -> Status:
    if not (np.isfinite(model.w).all() and np.isfinite(model.intercept)):
        return Status(Ended.TROUBLE, "the coefficients are not finite")
    if not accepted:
        return Status(Ended.INFEASIBLE, f"no threshold keeps the decoys within {max_q:g} of the targets")
    return SOLVED


def threshold(scores: Array, matches: Matches, max_q: float) -> tuple[float, float]:
    """Between the last accepted score of the longest list with ``D <= q T`` and the next one, and its targets.

    No 1 is added to the decoys here: this is the cap itself, not an estimate of what will be found."""
    order = np.argsort(-scores, kind="stable")
    values, target, weight = scores[order], matches.is_target[order], matches.weight[order]
    targets, decoys = np.cumsum(np.where(target, weight, 0.0)), np.cumsum(np.where(target, 0.0, weight))
    ends = np.r_[values[1:] != values[:-1], True]
    good = np.flatnonzero(ends & (targets > 0) & (decoys <= max_q * targets))
    if not len(good):
        return float(values[0]) + 1.0, 0.0
    last = int(good[-1])
    below = values[last + 1] if last + 1 < len(values) else values[last] - 1.0
    return float((values[last] + below) / 2.0), float(targets[last])
