"""The learners behind `NeymanPearsonClassifier`: each turns rows into scores, and into scores by models that did not
see them.

A learner is made for the rows of one fit. `fit(weight)` trains on the rows with weight and returns a `Scorer`;
`without(scorer, rows)` scores all rows by a model at the same costs that did not see some. The kernel machines keep
one kernel cache for all of it: a row left out is a row of weight 0, and its score comes with the solution.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..measures import Recall, fpr
from ..solvers.kernel import minimax, neyman_pearson
from ..solvers.kernel.neyman_pearson import Machine, Task
from ..statistics import frontier
from ._kernel import KernelExpansion
from ._path_features import KernelFeatures, LinearFeatures
from .measure_classifier import MeasureClassifier
from .online import OnlineClassifier

RATIOS = np.logspace(-2, 2, 17)  # cost of a negative over that of a positive, for the grid


@dataclass(frozen=True)
class Rows:
    """Training rows with labels -1 and 1."""

    X: Any
    y: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True)
class Scorer:
    """A trained model: `score` for new rows, `scores` of the rows given, and what there is to report."""

    score: Callable[[Any], np.ndarray]
    scores: np.ndarray
    n_iter: int = 1
    trouble: str = ""  # what to warn of
    ratio: float | None = None
    machine: Machine | None = None
    coef: np.ndarray | None = None  # of a linear model: w, and the constant
    bias: float = 0.0


class KernelLearner:
    """The nonconvex machines of 002, and the convex cost grid."""

    def __init__(self, rows: Rows, task: Task, solver: str, kernel: str, params: dict[str, Any], beta: Any) -> None:
        self.rows, self.task, self.solver = rows, task, solver
        self.kernel, self.params, self.beta = kernel, params, beta

    def fit(self, weight: np.ndarray, folds: Sequence[np.ndarray], watch: Any = None) -> Scorer:
        task = dataclasses.replace(self.task, weight=weight)
        if self.solver == "dc":
            machine = neyman_pearson.dc(task, given_up=self.beta)
        elif self.solver == "cost-grid":
            machine = self._best_of_grid(task, folds)
        else:
            solve = neyman_pearson.annealed if self.solver == "annealed" else neyman_pearson.uzawa
            machine = solve(task, self.beta, watch)
        return self._scorer(machine)

    def _scorer(self, machine: Machine) -> Scorer:
        dual = machine.dual
        expansion = KernelExpansion(self.rows.X, dual.signed, dual.bias, self.kernel, self.params)
        coef = None
        if self.kernel == "linear":
            coef = np.asarray(self.rows.X.T @ dual.signed).ravel()
        return Scorer(
            expansion, machine.scores, machine.n_iter, self._trouble(machine), machine.ratio, machine, coef, dual.bias
        )

    def _trouble(self, machine: Machine) -> str:
        """What a user should know of a machine that has not settled, and do about it."""
        rate, cap = machine.false_alarms, self.task.cap
        if not machine.exact:
            return (
                f"{self.solver} was stopped in round {machine.n_iter}: after millions of steps the convex machine was "
                "still not optimal. The offset is exact all the same. Scale the features (StandardScaler), or the "
                "kernel matrix, to a variance of about 1; if they are, try C ten times smaller"
            )
        if machine.converged:
            return ""
        if self.solver == "dc":
            return f"The rows given up still change after {machine.n_iter} rounds. Try a larger max_iter or a smaller C"
        if self.task.meets_cap(rate):
            kept = f"kept is the best machine seen within the cap, at a surrogate rate of {rate:.3g}"
        else:
            kept = f"no machine seen was within the cap, and kept is the nearest, at a surrogate rate of {rate:.3g}"
        return (
            f"{self.solver} has not settled at max_fpr={cap:g} after {machine.n_iter} rounds: {kept}. The offset is "
            "exact all the same. Try C ten times smaller, a larger ramp or a larger max_iter"
        )

    def without(self, scorer: Scorer, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        task = dataclasses.replace(self.task, weight=weight)
        return neyman_pearson.left_out(task, scorer.machine, rows, self.solver == "cost-grid").scores

    def _best_of_grid(self, task: Task, folds: Sequence[np.ndarray]) -> Machine:
        """The ratio with the fewest misses at the cap among scores of rows left out."""
        scores = np.empty((len(task.y), len(RATIOS)))
        for fold in folds:
            for k, machine in enumerate(neyman_pearson.cost_grid(task.without(fold), RATIOS)):
                scores[fold, k] = machine.scores[fold]
        used = np.concatenate(list(folds))
        used = used[task.weight[used] > 0]
        recall = [
            threshold_at_cap(scores[used, k], task.y[used] > 0, task.weight[used], task.cap).tpr
            for k in range(len(RATIOS))
        ]
        return neyman_pearson.cost_grid(task, [RATIOS[int(np.argmax(recall))]])[0]


class GenerativeLearner:
    """The minimax probability machine, on the features themselves, or on a kernel's: the linear one's where there are
    more features than rows.
    """

    def __init__(self, rows: Rows, cap: float, bound: str, kernel: str, params: dict[str, Any]) -> None:
        self.rows, self.cap, self.bound = rows, cap, bound
        self.is_linear = kernel == "linear"
        plain = self.is_linear and rows.X.shape[1] <= rows.X.shape[0]
        self.features = LinearFeatures(False) if plain else KernelFeatures(kernel, params, False)
        found = self.features.fit(rows.X)
        self.columns = found.toarray() if hasattr(found, "toarray") else np.asarray(found)

    def fit(self, weight: np.ndarray, folds: Sequence[np.ndarray], watch: Any = None) -> Scorer:
        # A kernel has a feature for nearly every row: its covariances say nothing without a firm ridge.
        ridge = minimax.RIDGE if isinstance(self.features, LinearFeatures) else 1e-2
        used = weight > 0
        machine = minimax.solve(self.columns[used], self.rows.y[used], weight[used], self.cap, self.bound, ridge)
        features, w, b = self.features, machine.w, machine.b
        score: Linear = Linear(features, w, b)
        if self.is_linear:
            coef = w if isinstance(features, LinearFeatures) else features.weights(w)
            score = Linear(LinearFeatures(False), coef, b)
            return Scorer(score, self.columns @ w + b, coef=coef, bias=b)
        return Scorer(score, self.columns @ w + b, bias=b)

    def without(self, scorer: Scorer, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.fit(np.where(np.isin(np.arange(len(weight)), rows), 0.0, weight), ()).scores


class LinearLearner:
    """A linear classifier of this library that knows the cap: the stream's, or the batch engine's."""

    def __init__(self, rows: Rows, estimator: OnlineClassifier | MeasureClassifier) -> None:
        self.rows, self.estimator = rows, estimator

    def fit(self, weight: np.ndarray, folds: Sequence[np.ndarray], watch: Any = None) -> Scorer:
        used = np.flatnonzero(weight > 0)
        plain = bool((weight[used] == 1.0).all())
        model = self.estimator.fit(self.rows.X[used], self.rows.y[used], None if plain else weight[used])
        w, b = model.coef_[0].copy(), float(model.intercept_[0])
        score = Linear(LinearFeatures(False), w, b)
        return Scorer(score, score(self.rows.X), int(getattr(model, "n_iter_", 1)), coef=w, bias=b)

    def without(self, scorer: Scorer, rows: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self.fit(np.where(np.isin(np.arange(len(weight)), rows), 0.0, weight), ()).scores


class Linear:
    """``w . features(x) + b``."""

    def __init__(self, features: Any, w: np.ndarray, b: float) -> None:
        self.features, self.w, self.b = features, w, b

    def __call__(self, X: Any) -> np.ndarray:
        return np.asarray(self.features(X) @ self.w).ravel() + self.b


Learner = KernelLearner | GenerativeLearner | LinearLearner


def stochastic(rows: Rows, cap: float, C: float, seed: int) -> LinearLearner:
    """Algorithm 4 of 002 on the rows in memory, five passes; 1/C is spread over the rows."""
    alpha = 1.0 / (C * max(float(rows.weight.sum()), 1.0))
    return LinearLearner(
        rows, OnlineClassifier(Recall(), subject_to=fpr <= cap, alpha=alpha, max_iter=5, random_state=seed)
    )


def bundle(rows: Rows, cap: float, C: float, seed: int) -> LinearLearner:
    """The batch engine's search over costs at this C, by whichever of its solvers suits the rows."""
    return LinearLearner(rows, MeasureClassifier(Recall(), subject_to=fpr <= cap, C=C, random_state=seed))


def out_of_fold(learner: Learner, scorer: Scorer, folds: Sequence[np.ndarray], weight: np.ndarray) -> np.ndarray:
    """Scores of the rows of every fold by models that did not see them, on the scale of the model that did.

    A threshold is set on these and used on that model, but two machines need not agree on where zero is or how large a
    score is, least of all weak ones. So each fold's scores are shifted and scaled until their mean and spread over the
    rows that both models were trained on are the same.
    """
    scores = np.full(len(weight), np.nan)
    for fold in folds:
        without = learner.without(scorer, fold, weight)
        common = weight.copy()
        common[fold] = 0.0
        (mean, spread), (own_mean, own_spread) = (_moments(s, common) for s in (scorer.scores, without))
        scale = spread / own_spread if own_spread > 1e-9 * (1.0 + abs(own_mean)) else 0.0
        scores[fold] = mean + scale * (without[fold] - own_mean)
    return scores


def _moments(scores: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    mean = float(np.average(scores, weights=weight))
    return mean, float(np.sqrt(np.average((scores - mean) ** 2, weights=weight)))


def threshold_at_cap(scores: np.ndarray, is_positive: np.ndarray, weight: np.ndarray, cap: float) -> frontier.Choice:
    """The threshold with the largest TPR among those whose false-alarm rate on these rows is within the cap."""
    points = frontier.scan(scores, is_positive, weight)
    return frontier.best_point(points, Recall(), (fpr <= cap,))
