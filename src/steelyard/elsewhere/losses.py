"""The losses of `src/core/linear/losses.hpp` for slacks ``z = 1 - m`` in arrays or tensors, the hinge rounded by mu if
given.

    hinge          max(0, 1 - m)         share b in [0, 1]     dual term  b
    squared hinge  max(0, 1 - m)^2       share b >= 0          dual term  b - b^2 / 4
    logistic       log(1 + exp(-m))      share b in [0, 1]     dual term  value + b m

A share rounded by mu, ``1 / (1 + exp(-(1 - m) / mu))``, is feasible for the dual of the hinge itself, so whatever mu is
the certificate holds. mu is a number for each model, the last dimension of the slacks. It is the slack that is kept,
not the margin: where a class is given up all rows of the other are at ``m = 1``, and float32 knows numbers near 0 a
thousand times better than numbers near 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = Any  # an array, or a tensor


def _softplus(x: Numbers) -> Numbers:
    if isinstance(x, np.ndarray):
        return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))
    import torch

    return torch.nn.functional.softplus(x)


def _sigmoid(x: Numbers) -> Numbers:
    if not isinstance(x, np.ndarray):
        return x.sigmoid()
    with np.errstate(over="ignore"):  # 1 / (1 + inf) = 0; a third of the time of scipy's expit
        return 1.0 / (1.0 + np.exp(-x))


def _positive_part(x: Numbers) -> Numbers:
    return np.maximum(x, 0.0) if isinstance(x, np.ndarray) else x.clamp(min=0)


def _is_positive(x: Numbers) -> Numbers:
    return (x > 0).astype(x.dtype) if isinstance(x, np.ndarray) else (x > 0).to(x.dtype)


def value_of(loss: str, z: Numbers) -> Numbers:
    if loss == "logistic":
        return _softplus(z - 1)
    z = _positive_part(z)
    return z if loss == "hinge" else z * z


def share_of(loss: str, z: Numbers, mu: Numbers | None = None) -> Numbers:
    """``-loss'(m)``; of the hinge the rounded one if mu is given."""
    if loss == "logistic":
        return _sigmoid(z - 1)
    if loss == "squared_hinge":
        return 2 * _positive_part(z)
    return _is_positive(z) if mu is None else _sigmoid(z / mu)


def curvature_of(loss: str, z: Numbers, share: Numbers, mu: Numbers) -> Numbers:
    if loss == "squared_hinge":
        return 2 * _is_positive(z)
    return share * (1 - share) / (mu if loss == "hinge" else 1.0)


def dual_term(loss: str, z: Numbers, value: Numbers, share: Numbers) -> Numbers:
    """By the equality of Fenchel and Young for the smooth losses."""
    return share if loss == "hinge" else value + share * (1 - z)
