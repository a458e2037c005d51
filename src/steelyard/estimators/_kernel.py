"""What estimators with kernels share: the meaning of `gamma`, and scores of new rows from support vectors."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from ..solvers.kernel.smo import KERNELS

CHUNK = 2**24  # kernel values computed at a time: 128 MB


def kernel_params(
    kernel: str, gamma: Any, degree: int, coef0: float, X: Any, weight: np.ndarray | None = None
) -> dict[str, Any]:
    """The parameters that the kernel takes; gamma="scale" is ``1 / (n_features X.var())``, weights counting as rows."""
    if kernel not in KERNELS:
        raise ValueError(
            f"kernel is one of {', '.join(KERNELS)}; got {kernel!r}. For any other, give its matrix as X with "
            "kernel='precomputed'"
        )
    if kernel == "precomputed":
        _check_matrix(X)
    if kernel in ("linear", "precomputed"):
        return {}
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"gamma is 'scale', 'auto' or a positive number; got {gamma!r}")
        spread = variance(X, weight) if gamma == "scale" else 1.0
        gamma = 1.0 / (X.shape[1] * spread) if spread > 0 else 1.0
    elif not isinstance(gamma, numbers.Real) or not 0.0 < gamma < np.inf:
        raise ValueError(f"gamma is 'scale', 'auto' or a positive number; got {gamma!r}")
    return {"gamma": float(gamma)} | ({"degree": degree, "coef0": coef0} if kernel == "poly" else {})


def _check_matrix(K: Any) -> None:
    n = K.shape[0]
    if K.shape[1] != n:
        raise ValueError(f"a precomputed kernel is a square matrix; X has shape {K.shape}")
    largest = float(abs(K).max())
    for part in gen_batches(n, max(1, CHUNK // n)):
        apart = float(abs(K[part] - K[:, part].T).max())
        if apart > 1e-6 * largest:
            raise ValueError(
                f"a precomputed kernel matrix is symmetric; entries of X and its transpose differ by up to {apart:.2g}"
            )


def variance(X: Any, weight: np.ndarray | None) -> float:
    """Of all entries of X, each with the weight of its row."""
    square = row_norms(X, squared=True) / X.shape[1]
    plain = np.asarray(X.mean(axis=1)).ravel()
    return float(np.average(square, weights=weight) - np.average(plain, weights=weight) ** 2)


class KernelExpansion:
    """``f(x) = sum_i coef_i k(x_i, x) + bias`` over the rows with a coefficient."""

    def __init__(self, X: Any, coef: np.ndarray, bias: float, kernel: str, params: dict[str, Any]) -> None:
        self.support = np.flatnonzero(coef)
        self.coef = coef[self.support]
        self.bias, self.kernel, self.params = bias, kernel, params
        self.vectors = None if kernel == "precomputed" else X[self.support]

    def __call__(self, X: Any) -> np.ndarray:
        if len(self.support) == 0:
            return np.full(X.shape[0], self.bias)
        if self.vectors is None:
            return np.asarray(X[:, self.support] @ self.coef + self.bias).ravel()
        scores = np.empty(X.shape[0])
        for part in gen_batches(X.shape[0], max(1, CHUNK // len(self.support))):
            K = pairwise_kernels(X[part], self.vectors, metric=self.kernel, **self.params)
            scores[part] = np.asarray(K @ self.coef).ravel() + self.bias
        return scores
