"""One read of all rows for many models at once: class risks, a dual point, and its certificate.

    for each model (w, c-, c+, mu):   risk_c = sum over class c of s_i loss(m_i),   m_i = y_i x_i.w
                                      dual = sum_i c_i dual_term(b_i),   v = sum_i c_i b_i y_i x_i

with ``c_i = s_i c_{y_i}`` and b_i the share of m_i, rounded by mu for the hinge: what `src/core/linear/evaluation.hpp`
finds in memory. There is no C in any of it, so that one pass serves every C:

    primal(C) = 1/2 |w|^2 + C c.risk,     dual(C) = C dual - C^2 |v|^2 / 2,     dual(C) <= optimum <= primal(C)

On a GPU with Triton the pass is one kernel (`kernels`), which reads X once; elsewhere it is a few products a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .losses import dual_term, share_of, value_of
from .rows import SignedRows

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Models:
    """Points and what is asked of them: w (k, columns), the costs (k, 2) of the classes, negative first, and mu (k)."""

    w: Array
    costs: Array
    mu: Array

    def __len__(self) -> int:
        return len(self.w)

    def only(self, which: Any) -> Models:
        return Models(self.w[which], self.costs[which], self.mu[which])


@dataclass(frozen=True, eq=False)
class Reading:
    """What a pass has found for each model."""

    risk: Array  # (k, 2), without costs, negative class first
    dual: Array  # (k,)
    v: Array  # (k, columns)

    def primal_at(self, models: Models, C: Array) -> Array:
        return np.asarray(0.5 * (models.w**2).sum(1) + C * (models.costs * self.risk).sum(1))

    def only(self, which: Any) -> Reading:
        return Reading(self.risk[which], self.dual[which], self.v[which])

    def dual_at(self, C: Array) -> Array:
        return np.asarray(C * self.dual - 0.5 * C**2 * (self.v**2).sum(1))


def read(data: SignedRows, loss: str, models: Models) -> Reading:
    """One pass."""
    from . import kernels  # Triton is looked for when there is a tensor to read

    if kernels.suits(data, len(models)):
        return Reading(*kernels.read(data, loss, models.w, models.costs, models.mu))
    rows, X = data.rows, data.rows.X
    by_class = rows.columns_of(models.costs)
    mu = torch.as_tensor(models.mu, dtype=X.dtype, device=X.device)
    sums = torch.zeros((3, len(models)), dtype=torch.float64, device=X.device)
    v = torch.zeros((len(models), rows.n_cols), dtype=torch.float64, device=X.device)
    for block in rows.blocks():
        y, cost = data.signs(block)[:, None], data.costs(block, by_class)
        z = data.slacks(block, models.w)
        value, share = value_of(loss, z), share_of(loss, z, mu)
        sums[2] += (cost * dual_term(loss, z, value, share)).sum(0, dtype=torch.float64)
        v += rows.pull(block, (cost * share * y).T)
        lost = value if data.weight is None else value * data.weight[block, None]
        sums[1] += (lost * (y > 0)).sum(0, dtype=torch.float64)
        sums[0] += (lost * (y < 0)).sum(0, dtype=torch.float64)
    found = sums.cpu().numpy()
    return Reading(found[:2].T.copy(), found[2], v.cpu().numpy())
