"""The pass of `passes` as one Triton kernel: scores, shares, risks and the product back, while X is read once.

A program takes LOOPS blocks of BLOCK rows. Of a block it has x (BLOCK x D) in fast memory, multiplies it with all
models (D x K), makes the shares and multiplies x again with them; nothing of the size of the rows is written. Products
are of three TF32 parts each, which keeps the precision of float32. A program's sums, over 2,048 rows, are float32; they
are added in double.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .rows import SignedRows

Array = NDArray[np.float64]
Tensor = Any

BLOCK, LOOPS, WARPS, STAGES = 32, 64, 1, 4  # the fastest of those tried on an H200 (benchmarks/gpu.py, "kernel")
MODELS = 16  # at a time: the fewest that a matrix unit multiplies with
COLUMNS = 128  # at most: a block of more does not fit beside the next one
LOSSES = {"hinge": 0, "squared_hinge": 1, "logistic": 2}  # as `read_kernel` numbers them
HAS_TRITON = importlib.util.find_spec("triton") is not None


def suits(data: SignedRows, n_models: int) -> bool:
    X = data.rows.X
    return HAS_TRITON and X.is_cuda and X.dtype == torch.float32 and X.shape[1] <= COLUMNS and n_models > 0


def read(data: SignedRows, loss: str, w: Array, costs: Array, mu: Array) -> tuple[Array, Array, Array]:
    """Class risks (k, 2), dual terms (k,) and v (k, columns) of as many models as there are."""
    parts = [
        _read_some(data, loss, *(part[k : k + MODELS] for part in (w, costs, mu))) for k in range(0, len(w), MODELS)
    ]
    risk, dual, v = (np.concatenate(part) for part in zip(*parts, strict=True))
    return risk, dual, v


def _read_some(data: SignedRows, loss: str, w: Array, costs: Array, mu: Array) -> tuple[Array, Array, Array]:
    rows, X = data.rows, data.rows.X
    k, d, device = len(w), X.shape[1], X.device
    D = max(16, 1 << (d - 1).bit_length())
    small = np.zeros((D + 5, MODELS), dtype=np.float32)  # w, 1 with its constant term, costs and 1 / mu, in one copy
    small[:d, :k] = w[:, :d].T
    offset = rows.constant * w[:, -1] if rows.constant else 0.0
    small[D, :k], small[D + 1, :k] = 1.0 + offset, 1.0 - offset
    small[D + 2 : D + 4, :k] = costs.T
    small[D + 4, :k] = 1.0 / mu
    given = torch.from_numpy(small).to(device)
    programs = -(-rows.n_rows // (BLOCK * LOOPS))
    found = torch.empty((programs, D + 4, MODELS), dtype=torch.float32, device=device)
    _kernel()[(programs,)](
        X, data.y, data.weight if data.weight is not None else X, given, found, rows.n_rows, X.stride(0), d,
        D=D, K=MODELS, ROWS=BLOCK, LOOPS=LOOPS, LOSS=LOSSES[loss], WEIGHTED=data.weight is not None,
        num_warps=WARPS, num_stages=STAGES,
    )  # fmt: skip
    sums = found.sum(0, dtype=torch.float64).cpu().numpy()[:, :k]
    v = sums[:d].T
    if rows.constant:
        v = np.column_stack([v, rows.constant * sums[D]])
    return np.ascontiguousarray(sums[D + 1 : D + 3].T), sums[D + 3].copy(), np.ascontiguousarray(v)


def _kernel() -> Any:
    from ._triton import read_kernel  # compiled at its first call

    return read_kernel
