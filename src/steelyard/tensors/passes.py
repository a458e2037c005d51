"""One read of all rows in a tensor for many models at once: class risks, a dual point, and its certificate.

What is summed is in `steelyard.elsewhere.models`. On a GPU with Triton the pass is one kernel (`kernels`), which reads
X once; elsewhere it is a few products a block.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from ..elsewhere.losses import dual_term, share_of, value_of
from ..elsewhere.models import Models, Reading
from .rows import SignedRows

Array = NDArray[np.float64]


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
