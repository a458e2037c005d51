"""What the estimators that hold a whole path share: plain or kernel features, the range of tau, and a fit's warnings.

Given is a path of models over ``start <= tau <= end`` (`solvers.path.exact`, `solvers.path.approximate`), to be
multiplied with what `_path_features` makes of a row. `CostPath` reads it as classifiers, `QuantilePath` as regressors.
"""

from __future__ import annotations

import numbers
import warnings
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from ..rows import Rows
from ..solvers.path.problem import KERNELS, Callback, ModelPath, PathKernel, State, check_range
from ._kernel import kernel_params
from ._parameters import ANYTHING, COUNT, FLAG, POSITIVE, RANDOM, THREADS, Checked, Number, Table, Words
from ._path_features import Array, Features
from ._progress import say, watching

PATH_PARAMETERS: Table = {
    "C": (POSITIVE,),
    "kernel": (Words(*KERNELS),),
    "gamma": (POSITIVE, Words("scale", "auto")),
    "degree": (COUNT,),
    "coef0": (Number(),),
    "tau_range": (ANYTHING,),  # read by solvers.path.problem.check_range
    "fit_intercept": (FLAG,),
    "n_jobs": (THREADS,),
    "random_state": (RANDOM,),
    "verbose": (ANYTHING,),
}


class Point(Protocol):
    """An estimator for one tau, made of a path."""

    tau: float
    _features: Features
    _w: Array


class PathEstimator(Checked, BaseEstimator):
    """Base of `CostPath` and `QuantilePath`."""

    C: float
    kernel: str
    gamma: Any
    degree: int
    coef0: float
    tau_range: tuple[float, float]
    fit_intercept: bool
    n_jobs: int | None
    verbose: int

    n_features_in_: int
    kinks_: Array
    tau_range_: tuple[float, float]
    n_iter_: int
    _path: ModelPath
    _features: Features

    def _watched(self, start: float | None = None) -> AbstractContextManager[Callback | None]:
        """What watches the path, or what is left of it from `start` on; the share done is that of the range of tau."""
        low, high = check_range(self.tau_range)
        before = 0.0 if start is None else (start - low) / (high - low)

        def said(state: State) -> tuple[float, str]:
            return before + (1.0 - before) * state.share, f"tau {state.tau:.4g}, {state.n_models:,} kinks"

        return watching(self.verbose, type(self).__name__, said)

    def _weighted(self, rows: Rows, y: Array, weight: Array | None) -> tuple[Rows, Array, Array | None]:
        """Rows, y and weight without the rows that have none: a row without weight is no row."""
        if weight is None or weight.all():
            return rows, y, weight
        used = np.flatnonzero(weight)
        return rows.take(used), y[used], weight[used]

    def _kernel(self, rows: Rows, weight: Array | None) -> PathKernel | None:
        """The kernel by its parameters; None is the linear one, whose path is that of the features."""
        params = kernel_params(self.kernel, self.gamma, self.degree, self.coef0, rows.source, weight)
        if self.kernel == "linear":
            return None
        return PathKernel(self.kernel, constant=float(self.fit_intercept), **params)

    def _keep(self, path: ModelPath, features: Features) -> None:
        """Store the path, and warn if it has not got all its digits."""
        self._path, self._features = path, features
        self.kinks_ = path.kinks
        self.tau_range_ = (path.start, path.end)
        self.n_iter_ = max(1, len(self.kinks_))
        if not path.status.solved:
            warnings.warn(
                f"{path.status}. C={self.C} is too large for the scale of the features, or they are on very different "
                "scales: put a StandardScaler in front, or give a smaller C",
                ConvergenceWarning,
                stacklevel=3,
            )
        if self.verbose:
            low, high = self.tau_range_
            say(f"{type(self).__name__}: {len(self.kinks_)} kinks for tau in [{low:g}, {high:g}], {path.status}")

    def _check_in_range(self, tau: Any, meaning: str) -> float:
        low, high = self.tau_range_
        if not isinstance(tau, numbers.Real) or not 0.0 <= float(tau) <= 1.0:
            raise ValueError(f"{meaning}, one number between 0 and 1; got {tau!r}")
        if not low <= float(tau) <= high:
            scale = "scale the columns of X (StandardScaler), or give a smaller C"
            mend = f"{tau:g} needs another tau_range" if self._path.status.solved else f"{self._path.status}: {scale}"
            raise ValueError(f"the path was computed for tau in [{low:g}, {high:g}]; {mend}")
        return float(tau)

    def _hand_over(self, point: Point, names: tuple[str, ...]) -> None:
        """Give a point the fitted attributes it needs to stand alone: the model at its tau among them."""
        for name in ("n_features_in_", "feature_names_in_", *names):
            if name in vars(self):
                setattr(point, name, vars(self)[name])
        point._features, point._w = self._features.for_model(self._path.models(point.tau)[0])

    def __sklearn_is_fitted__(self) -> bool:
        return "_path" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
