"""The learners behind `NeymanPearsonClassifier`: each turns rows into scores, and into scores by models that did not
see them.

A learner is made for the training rows of one fit. ``train()`` is the solver itself, with its problem given; `without`
scores all rows by a model at the same costs that did not see some; `finished` says what there is to keep and to report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from ..rows import Rows
from ..solvers.kernel import minimax, neyman_pearson
from ..solvers.kernel.expansion import KernelExpansion, LinearScore, expansion
from ..solvers.kernel.minimax import MinimaxMachine
from ..solvers.kernel.neyman_pearson import Machine, NeymanPearsonProblem
from ..solvers.kernel.smo import KernelFunction
from ..solvers.status import Ended
from ._path_features import KernelFeatures

Array = NDArray[np.float64]
RowNumbers = NDArray[np.intp]

# Of the mean variance, for the minimax machine on a kernel's features: there is one for nearly every row, so that their
# covariances say nothing without a firm ridge. In benchmarks/papers/neyman_pearson.py, figure 4.
KERNEL_RIDGE = 1e-2


@dataclass(frozen=True, eq=False)
class SignedRows:
    """Training rows with labels -1 and 1, and what each weighs."""

    rows: Rows
    y: Array
    weight: Array

    def take(self, which: RowNumbers) -> SignedRows:
        return SignedRows(self.rows.take(which), self.y[which], self.weight[which])


@dataclass(frozen=True, eq=False)
class Finished:
    """A trained model: `score` for new rows, and what there is to report."""

    score: LinearScore | KernelExpansion
    n_iter: int
    trouble: str = ""  # what to warn of
    ratio: float | None = None  # of the costs
    coefficients: Array | None = None  # of the training rows, for a kernel machine


class Learner(Protocol):
    """Trains on some rows."""

    @property
    def train(self) -> Callable[[], Any]:
        """The solver with its problem given."""
        ...

    def scores(self, trained: Any) -> Array:
        """Of the training rows."""
        ...

    def without(self, trained: Any, fold: RowNumbers) -> Array:
        """Scores of all training rows by a model that did not see these."""
        ...

    def finished(self, trained: Any) -> Finished: ...


@dataclass(frozen=True, eq=False)
class Candidate:
    """A learner, and what it was made with."""

    learner: Learner
    method: str
    C: float | None
    gamma: float | None

    def __str__(self) -> str:
        made = (("C", self.C), ("gamma", self.gamma))
        return ", ".join(f"{name} = {value:.4g}" for name, value in made if value is not None)


@dataclass(frozen=True, eq=False)
class MachineLearner:
    """The nonconvex machines of Gasso et al., and the convex cost grid, which `folds` choose from."""

    problem: NeymanPearsonProblem
    folds: Sequence[RowNumbers] = ()
    watch: Callable[[Machine], None] | None = None

    @property
    def train(self) -> Callable[[], Machine]:
        if self.problem.method == "dc":
            return partial(neyman_pearson.dc, self.problem)
        if self.problem.method == "cost-grid":
            return partial(neyman_pearson.best_of_grid, self.problem, self.folds)
        return partial(neyman_pearson.solve, self.problem, self.watch)

    def scores(self, trained: Machine) -> Array:
        return trained.scores

    def without(self, trained: Machine, fold: RowNumbers) -> Array:
        return neyman_pearson.left_out(self.problem, trained, fold).scores

    def finished(self, trained: Machine) -> Finished:
        kernel, dual = self.problem.kernel, trained.dual
        score = expansion(kernel.rows, dual.signed, dual.bias, kernel.function)
        return Finished(score, trained.n_iter, self._trouble(trained), trained.ratio, dual.signed)

    def _trouble(self, machine: Machine) -> str:
        """What a user should know of a machine that has not settled, and do about it."""
        if machine.converged:
            return ""
        said = f"{self.problem.method}: {machine.status}. The offset is exact all the same. "
        if machine.status.ended is Ended.TROUBLE:
            return said + (
                "Scale the features (StandardScaler), or the kernel matrix, to a variance of about 1; if they are, try "
                "C ten times smaller"
            )
        return said + "Try C ten times smaller, a larger ramp or a larger max_iter"


@dataclass(frozen=True, eq=False)
class MinimaxLearner:
    """The minimax probability machine on the features themselves, or on those of a kernel: the linear one's where there
    are more features than rows."""

    given: SignedRows
    cap: float
    bound: str
    function: KernelFunction
    features: KernelFeatures | None
    columns: Rows

    @classmethod
    def on(
        cls, given: SignedRows, cap: float, bound: str, function: KernelFunction, params: dict[str, Any]
    ) -> MinimaxLearner:
        if function.name == "linear" and given.rows.n_cols <= given.rows.n_rows:
            return cls(given, cap, bound, function, None, given.rows)
        features = KernelFeatures(function.name, params, False)
        return cls(given, cap, bound, function, features, Rows.of(features.fit(_own_copy(given.rows, function))))

    @property
    def train(self) -> Callable[[], MinimaxMachine]:
        return partial(self._solve, self.given.weight)

    def _solve(self, weight: Array) -> MinimaxMachine:
        ridge = minimax.RIDGE if self.features is None else KERNEL_RIDGE
        return minimax.solve(self.columns, self.given.y, weight, self.cap, self.bound, ridge)

    def scores(self, trained: MinimaxMachine) -> Array:
        return self.columns.scores(trained.w) + trained.b

    def without(self, trained: MinimaxMachine, fold: RowNumbers) -> Array:
        weight = self.given.weight.copy()
        weight[fold] = 0.0
        return self.scores(self._solve(weight))

    def finished(self, trained: MinimaxMachine) -> Finished:
        trouble = "" if trained.status.solved else f"generative: {trained.status}. Scale the features (StandardScaler)"
        if self.features is None:
            return Finished(LinearScore(trained.w, trained.b), trained.n_iter, trouble)
        coefficients = np.zeros(self.given.rows.n_rows)
        coefficients[self.features.pivots_] = solve_triangular(
            self.features.triangle_, trained.w, lower=True, trans="T"
        )
        score = expansion(self.given.rows, coefficients, trained.b, self.function)
        return Finished(score, trained.n_iter, trouble)


def _own_copy(rows: Rows, function: KernelFunction) -> Any:
    """The rows of a view as an array: features are made of a whole kernel matrix, beside which they are small."""
    if rows.which is None:
        return rows.source
    part = rows.source[rows.which]
    return part[:, rows.which] if function.name == "precomputed" else part
