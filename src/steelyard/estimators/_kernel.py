"""What estimators with kernels share: the meaning of `kernel`, `gamma`, `degree` and `coef0`."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..rows import Rows
from ..solvers.kernel.smo import KERNELS

GAMMA = "gamma is 'scale', 'auto' or a positive number"
PIECE = 2**21  # entries of a matrix looked at together: 10 ms
UNEVEN = 1e-6  # of the largest entry: what a matrix in single precision may differ from its transpose by


def kernel_params(
    kernel: str, gamma: Any, degree: int, coef0: float, X: Any, weight: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """The parameters that the kernel takes, for rows X (an array or `Rows`).

    gamma="scale" is ``1 / (n_features X.var())``, weights counting as rows, and "auto" ``1 / n_features``, as in
    scikit-learn."""
    if kernel not in KERNELS:
        raise ValueError(
            f"kernel is one of {', '.join(KERNELS)}; got {kernel!r}. For any other, give its matrix as X with "
            "kernel='precomputed'"
        )
    rows = Rows.of(X, check=False)
    if kernel == "precomputed":
        _check_matrix(rows.source)
    if kernel in ("linear", "precomputed"):
        return {}
    if isinstance(gamma, str):
        if gamma not in ("scale", "auto"):
            raise ValueError(f"{GAMMA}; got {gamma!r}")
        spread = variance(rows, weight) if gamma == "scale" else 1.0
        # A spread whose reciprocal is no number is one of rows that are all alike, and treated as in scikit-learn.
        gamma = 1.0 / (rows.n_cols * spread) if spread >= np.finfo(float).tiny else 1.0
    elif not isinstance(gamma, numbers.Real) or not 0.0 < float(gamma) < np.inf:
        raise ValueError(f"{GAMMA}; got {gamma!r}")
    return {"gamma": float(gamma)} | ({"degree": degree, "coef0": coef0} if kernel == "poly" else {})


def _check_matrix(K: Any) -> None:
    n = K.shape[0]
    if K.shape[1] != n:
        raise ValueError(f"a precomputed kernel is a square matrix; X has shape {K.shape}")
    at_once = n if sp.issparse(K) else max(1, PIECE // max(n, 1))
    parts = [slice(start, start + at_once) for start in range(0, n, at_once)]
    largest = max((float(abs(K[part]).max()) for part in parts), default=0.0)
    apart = max((float(abs(K[part] - K[:, part].T).max()) for part in parts), default=0.0)
    if apart > UNEVEN * largest:
        raise ValueError(
            f"a precomputed kernel matrix is symmetric; entries of X and its transpose differ by up to {apart:.2g}"
        )


def variance(X: Any, weight: NDArray[np.float64] | None) -> float:
    """Of all entries of X, each with the weight of its row."""
    rows = Rows.of(X, check=False).check_squares()
    square = rows.squared_norms() / rows.n_cols
    plain = rows.scores(np.full(rows.n_cols, 1.0 / rows.n_cols))
    return float(np.average(square, weights=weight) - np.average(plain, weights=weight) ** 2)
