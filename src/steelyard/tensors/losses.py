"""The losses of `src/core/linear/losses.hpp` for tensors of slacks ``z = 1 - m``, the hinge rounded by mu if given.

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

import torch

Tensor = Any


def value_of(loss: str, z: Tensor) -> Tensor:
    if loss == "logistic":
        return torch.nn.functional.softplus(z - 1)
    z = torch.clamp(z, min=0)
    return z if loss == "hinge" else z * z


def share_of(loss: str, z: Tensor, mu: Tensor | None = None) -> Tensor:
    """``-loss'(m)``; of the hinge the rounded one if mu is given."""
    if loss == "logistic":
        return torch.sigmoid(z - 1)
    if loss == "squared_hinge":
        return 2 * torch.clamp(z, min=0)
    return (z > 0).to(z.dtype) if mu is None else torch.sigmoid(z / mu)


def curvature_of(loss: str, z: Tensor, share: Tensor, mu: Tensor) -> Tensor:
    if loss == "squared_hinge":
        return 2 * (z > 0).to(z.dtype)
    return share * (1 - share) / (mu if loss == "hinge" else 1.0)


def dual_term(loss: str, z: Tensor, value: Tensor, share: Tensor) -> Tensor:
    """By the equality of Fenchel and Young for the smooth losses."""
    return share if loss == "hinge" else value + share * (1 - z)
