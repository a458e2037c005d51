"""Rows that stand for all of them, packed on the device, and the sums over them that Newton needs.

Of each class as many rows as of the other, drawn with replacement (a row may come twice, and then counts twice), or all
of them where they are few; a row of class c counts for (rows of c) / (drawn of c) of them. They lie in pieces of equal
size, the last one filled with rows of no weight: what is summed in float32 is a piece, and the pieces are added in
double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..elsewhere.losses import curvature_of, share_of, value_of
from .rows import PIECE, SignedRows

Array = NDArray[np.float64]
Tensor = Any


class Chosen:
    """Packed rows (pieces, PIECE, columns), signs and weights."""

    def __init__(self, data: SignedRows, size: int, seed: int) -> None:
        rows, n = data.rows, data.rows.n_rows
        self.is_all = n <= size
        which, weight = (None, data.weight) if self.is_all else _draw(data, size, seed)
        x = rows.X if which is None else rows.X[which]
        self.data = data
        if rows.constant:
            x = torch.cat([x, torch.full_like(x[:, :1], rows.constant)], 1)
        y = data.y if which is None else data.y[which]
        weight = torch.ones(len(x), dtype=x.dtype, device=x.device) if weight is None else weight
        piece = min(PIECE, max(1, len(x)))
        self.n, self.x = len(x), _in_pieces(x, piece)
        self.y = _in_pieces(y.to(x.dtype)[:, None], piece)
        self.weight = _in_pieces(weight[:, None], piece)

    def along(self, loss: str, caps: Array) -> TensorRay:
        return TensorRay(self, loss, caps)

    def tensor(self, numbers: Array) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(numbers), dtype=self.x.dtype, device=self.x.device)

    def margins(self, W: Array) -> Tensor:
        """(pieces, PIECE, k)"""
        return (self.x @ self.tensor(W.T)) * self.y

    def slacks(self, W: Array) -> Tensor:
        """``1 - m``, the constant column with the 1."""
        d = self.data.rows.X.shape[1]
        features = W.copy()
        features[:, d:] = 0.0
        return self.data.base(W, self.y > 0) - self.margins(features)

    def costs(self, caps: Array) -> Tensor:
        """The same shape, by the caps (k, 2) of the classes."""
        by_class = self.tensor(caps.T)
        return torch.where(self.y > 0, by_class[1], by_class[0]) * self.weight

    def pull(self, force: Tensor) -> Array:
        """``sum_i force_ik y_i x_i``, a row for each k."""
        found = (force * self.y).transpose(1, 2) @ self.x
        return np.asarray(found.double().sum(0).cpu().numpy())

    def hessian(self, curvature: Tensor) -> Array:
        """``I + sum_i curvature_ik x_i x_i'`` for each k."""
        found = [
            (torch.matmul((self.x * curvature[..., k, None]).transpose(1, 2), self.x)).double().sum(0)
            for k in range(curvature.shape[-1])
        ]
        return np.asarray(torch.stack(found).cpu().numpy()) + np.eye(self.x.shape[-1])


class TensorRay:
    """What chosen rows say along ``w + t p``, for k points at once, in float64 numbers of one each (`Ray` in
    elsewhere/models.py)."""

    def __init__(self, rows: Chosen, loss: str, caps: Array) -> None:
        self.rows, self.loss, self.cost = rows, loss, rows.costs(caps)

    def at(self, w: Array) -> None:
        self.z = self.rows.slacks(w)

    def ahead(self, p: Array) -> None:
        self.s = self.rows.margins(p)

    def read(self, mu: Array) -> tuple[Array, Array, Array]:
        z = self.z
        self.share, value = share_of(self.loss, z, self.rows.tensor(mu)), value_of(self.loss, z)
        risk = total(self.cost * value)
        rounding = total(self.cost * (value - self.share * z)) if self.loss == "hinge" else np.zeros_like(risk)
        return risk, rounding, self.rows.pull(self.cost * self.share)

    def force(self, t: Array, mu: Array) -> Array:
        share = share_of(self.loss, self.z - self.rows.tensor(t) * self.s, self.rows.tensor(mu))
        return total(self.cost * share * self.s)

    def hessian(self, mu: Array, which: NDArray[np.intp]) -> Array:
        curvature = self.cost * curvature_of(self.loss, self.z, self.share, self.rows.tensor(mu))
        return self.rows.hessian(curvature[..., which])


def total(numbers: Tensor) -> Array:
    return np.asarray(numbers.sum((0, 1), dtype=torch.float64).cpu().numpy())


def _in_pieces(x: Tensor, piece: int) -> Tensor:
    missing = -len(x) % piece
    if missing:
        x = torch.cat([x, x.new_zeros((missing, x.shape[1]))])
    return x.reshape(-1, piece, x.shape[1]).contiguous()


def _draw(data: SignedRows, size: int, seed: int) -> tuple[Tensor, Tensor]:
    device = data.y.device
    random = torch.Generator(device=device).manual_seed(seed % 2**63)
    which, weights = [], []
    for side in (-1, 1):
        of_class = (data.y == side).nonzero()[:, 0]
        if not len(of_class):
            continue
        drawn = torch.randint(len(of_class), (size // 2,), generator=random, device=device)
        which.append(of_class[drawn])
        weight = torch.full((size // 2,), len(of_class) / (size // 2), dtype=data.rows.X.dtype, device=device)
        weights.append(weight if data.weight is None else weight * data.weight[which[-1]])
    return torch.cat(which), torch.cat(weights)
