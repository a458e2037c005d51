"""What the estimators that hold a whole path share: plain or kernel features, the range of tau, and a fit's warnings.

Given is a path of models over ``start <= tau <= end`` (`solvers.path.exact`, `solvers.path.approximate`), to be
multiplied with what `_path_features` makes of a row. `CostPath` reads it as classifiers, `QuantilePath` as regressors.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from ..solvers.path.exact import ExactPath, PathKernel
from ._kernel import kernel_params
from ._path_features import KernelColumns, KernelFeatures, LinearFeatures


class PathEstimator(BaseEstimator):
    """Base of `CostPath` and `QuantilePath`."""

    def _weighted_rows(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> tuple[Any, np.ndarray, Any]:
        """X, y and weight without the rows that have none: a row without weight is no row."""
        if not isinstance(self.C, numbers.Real):
            raise TypeError(f"C must be a positive number; got {self.C!r}")
        self._params = kernel_params(self.kernel, self.gamma, self.degree, self.coef0, X, weight)
        self._kept = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight > 0)
        if len(self._kept) == X.shape[0]:
            return X, y, weight
        X = X[self._kept]
        X = X[:, self._kept] if self.kernel == "precomputed" else X
        return X, y[self._kept], weight[self._kept]

    def _trace_exactly(
        self, trace: Callable[..., ExactPath], X: Any, y: np.ndarray, weight: np.ndarray | None, seed: int
    ) -> ExactPath:
        """The path on the features, or in the dual form on the kernel."""
        how = (self.C, self.tau_range, weight, seed)
        if self.kernel == "linear":
            self._features = LinearFeatures(self.fit_intercept)
            return trace(self._features(X), y, *how)
        constant = float(self.fit_intercept)
        path = trace(X, y, *how, kernel=PathKernel(self.kernel, constant=constant, **self._params))
        kept = path.problem.kept
        Z = self._kept[kept] if self.kernel == "precomputed" else X[kept]
        self._features = KernelColumns(Z, self.kernel, self._params, constant)
        return path

    def _make_features(self, X: Any) -> Any:
        """Features for a solver that knows nothing else; back come the rows."""
        if self.kernel == "linear":
            self._features = LinearFeatures(self.fit_intercept)
            return self._features(X)
        self._features = KernelFeatures(self.kernel, self._params, self.fit_intercept)
        rows = self._features.fit(X)
        if self.kernel == "precomputed":
            self._features.pivots_ = self._kept[self._features.pivots_]
        return rows

    def _keep(self, path: Any, method: str) -> None:
        """Store the path, and warn if part of it or some of its digits are missing."""
        self._path = path
        self.kinks_ = path.kinks
        self.tau_range_ = (path.start, path.end)
        self.n_iter_ = max(1, len(self.kinks_))
        if not path.converged:
            warnings.warn(self._what_is_missing(path, method), ConvergenceWarning, stacklevel=3)
        if self.verbose:
            low, high = self.tau_range_
            print(f"{type(self).__name__}: {method}, {len(self.kinks_)} kinks for tau in [{low:g}, {high:g}]")

    def _what_is_missing(self, path: Any, method: str) -> str:
        if path.interrupted:
            low, high = self.tau_range_
            return f"interrupted: the path is known for tau from {low:g} to {high:.6g} and ends there"
        if method == "exact":
            return (
                f"margins are known to {path.drift:.1g} only: C={self.C} is too large for the scale of the "
                "features; put a StandardScaler in front, or give a smaller C"
            )
        return (
            f"the approximate path has a relative gap of {path.gap:.2g} somewhere, above tol={self.tol}: features on "
            "very different scales are the usual reason; put a StandardScaler in front, or give a smaller C"
        )

    def _check_in_range(self, tau: Any, meaning: str) -> float:
        low, high = self.tau_range_
        if not isinstance(tau, numbers.Real) or not 0.0 <= tau <= 1.0:
            raise ValueError(f"{meaning}, one number between 0 and 1; got {tau!r}")
        if not low <= tau <= high:
            raise ValueError(f"the path was computed for tau in [{low:g}, {high:g}]; {tau:g} needs another tau_range")
        return float(tau)

    def _check_X(self, X: Any) -> Any:
        check_is_fitted(self)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _hand_over(self, point: Any, names: tuple[str, ...]) -> Any:
        """`point` with the fitted attributes it needs to stand alone: the model at its tau among them."""
        for name in ("n_features_in_", "feature_names_in_", *names):
            if hasattr(self, name):
                setattr(point, name, getattr(self, name))
        point._features, point._w = self._features.for_model(self._path.models(point.tau)[0])
        return point

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_path")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
