"""A tensor that answers what engines ask of rows (`steelyard.rows.RowOperations`), on the device it lies on.

float32 and float64 stay what they are; sums over rows are taken block by block and the blocks added in double, so that
fifty million rows of float32 lose no more than a block of them does. A sum of rows comes back as a numpy array (it has
as many numbers as there are columns); whatever has a number for each row stays a tensor. `take` with a slice is a view,
with anything else a copy of those rows on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from ..elsewhere import is_tensor
from ..rows import Rows, explain

Array = NDArray[np.float64]
Tensor = Any  # torch.Tensor; the type checker is not asked to read torch

# Rows of a block, by where they are: on a GPU nine models have 75 MB of slacks then, enough to keep it busy and little
# beside X; on a CPU it is what stays in its cache.
BLOCK = {"cuda": 1 << 21, "cpu": 1 << 14}

PIECE = 1024  # rows that are summed in float32, which loses 1e-6 or so of their sum


@contextmanager
def whole_products() -> Iterator[None]:
    """Products of float32 with all their digits, whatever was set for training networks (TF32 has three)."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@dataclass(frozen=True, eq=False)
class TensorRows:
    """Rows in a tensor of two dimensions, and perhaps a constant column.

    >>> rows = TensorRows.of(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).with_constant()
    >>> rows.shape, rows.scores([1.0, 1.0, 10.0]).tolist(), rows.sums([1.0, 0.5]).tolist()
    ((2, 3), [13.0, 17.0], [2.5, 4.0, 1.5])
    """

    X: Tensor
    constant: float = 0.0
    is_elsewhere = True

    @classmethod
    def of(cls, X: Any, *, name: str = "X") -> TensorRows:
        """X as rows: two dimensions, finite. Half precision becomes float32, whole numbers float64."""
        if isinstance(X, TensorRows):
            return X
        if not is_tensor(X) or X.layout != torch.strided:
            raise TypeError(f"{name} must be a dense tensor; got {type(X).__name__} {getattr(X, 'layout', '')}")
        if X.ndim != 2:
            raise ValueError(f"{name} must have two dimensions, rows and columns; got shape {tuple(X.shape)}")
        X = X.detach()
        if X.dtype in (torch.float16, torch.bfloat16):
            X = X.to(torch.float32)
        elif X.dtype not in (torch.float32, torch.float64):
            X = X.to(torch.float64)
        rows = cls(X if X.stride(1) == 1 else X.contiguous())
        rows._check(name)
        return rows

    # -- views --------------------------------------------------------------------------------------------------
    def take(self, which: Any) -> TensorRows:
        """These rows: a slice is a view, a mask or numbers a copy on the device."""
        if not isinstance(which, slice):
            which = torch.as_tensor(which, device=self.X.device)
        return TensorRows(self.X[which], self.constant)

    def with_constant(self, constant: float = 1.0) -> TensorRows:
        """The same rows with one more column, `constant` in each; 0 takes it away."""
        return TensorRows(self.X, float(constant))

    def packed(self) -> TensorRows:
        return self

    def in_memory(self, which: Any = slice(None)) -> Rows:
        """These rows, copied to where numpy is."""
        return Rows.of(self.take(which).X.cpu().numpy(), check=False).with_constant(self.constant)

    # -- what engines ask ---------------------------------------------------------------------------------------
    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_cols(self) -> int:
        """Columns, the constant one among them."""
        return int(self.X.shape[1]) + (self.constant != 0.0)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_cols

    def blocks(self) -> Iterator[slice]:
        size = BLOCK.get(self.X.device.type, BLOCK["cuda"])
        return (slice(k, min(k + size, self.n_rows)) for k in range(0, self.n_rows, size))

    def part(self, block: slice, models: Tensor) -> Tensor:
        """The scores of a block by models, a column of `models` each."""
        d = self.X.shape[1]
        if self.constant == 0.0:
            return self.X[block] @ models
        return torch.addmm(self.constant * models[d], self.X[block], models[:d])

    def columns_of(self, W: ArrayLike) -> Tensor:
        """Models, one a row of numbers, as columns on the device."""
        W = np.atleast_2d(np.asarray(W, dtype=np.float64))
        return torch.as_tensor(W.T.copy(), dtype=self.X.dtype, device=self.X.device)

    def scores(self, w: ArrayLike, n_threads: int = 1) -> Tensor:
        """``x_i . w`` for every row; for several models (k, n_cols) one column each."""
        models = self.columns_of(w)
        found = self.X.new_empty((self.n_rows, models.shape[1]))
        with whole_products():
            for block in self.blocks():
                found[block] = self.part(block, models)
        return found[:, 0] if np.ndim(w) == 1 else found

    def sums(self, coefficients: Any, n_threads: int = 1) -> Array:
        """``sum_i a_i x_i``; for several sets of coefficients (k, n_rows) one row each."""
        given = torch.as_tensor(coefficients, dtype=self.X.dtype, device=self.X.device)
        several = torch.atleast_2d(given)
        found = torch.zeros((len(several), self.n_cols), dtype=torch.float64, device=self.X.device)
        with whole_products():
            for block in self.blocks():
                found += self.pull(block, several[:, block])
        sums = np.asarray(found.cpu().numpy())
        return np.asarray(sums[0]) if given.ndim == 1 else sums

    def pull(self, block: slice, coefficients: Tensor) -> Tensor:
        """The sums of a block by coefficients (k, rows of the block), in double, on the device."""
        x, whole = self.X[block], (block.stop - block.start) // PIECE * PIECE
        pieces = coefficients[:, :whole].reshape(len(coefficients), -1, PIECE).transpose(0, 1)
        found = (pieces @ x[:whole].reshape(-1, PIECE, x.shape[1])).double().sum(0)
        found += (coefficients[:, whole:] @ x[whole:]).double()
        if self.constant == 0.0:
            return found
        return torch.cat([found, self.constant * coefficients.sum(1, keepdim=True, dtype=torch.float64)], 1)

    def squared_norms(self) -> Tensor:
        """``|x_i|^2`` for every row."""
        found = self.X.new_empty(self.n_rows)
        for block in self.blocks():
            found[block] = (self.X[block] ** 2).sum(1)
        return found + self.constant**2

    def _check(self, name: str) -> None:
        """One read: a sum is finite only if every number is, and looked at closely only if it is not."""
        if bool(torch.isfinite(self.X.sum(dtype=torch.float64))):
            return
        for block in self.blocks():
            bad = ~torch.isfinite(self.X[block])
            if bool(bad.any()):
                row = int(bad.any(1).nonzero()[0])
                raise ValueError(explain_row(self.X[block][row], block.start + row, name))


def explain_row(values: Tensor, row: int, name: str) -> str:
    """What is wrong with a row, in the words of rows in memory."""
    said = explain(values.cpu().numpy()[None, :], 0, name)
    return said.replace("row 0", f"row {row}", 1)


@dataclass(frozen=True, eq=False)
class SignedRows:
    """Rows with a sign (-1 or 1, one byte) and perhaps a weight for each, all on one device."""

    rows: TensorRows
    y: Tensor
    weight: Tensor | None = None

    @classmethod
    def of(cls, rows: TensorRows, y: Any, sample_weight: Any = None) -> SignedRows:
        """Signs and weights, from tensors or arrays, checked on the device."""
        n, device = rows.n_rows, rows.X.device
        given = torch.as_tensor(y, device=device)
        if tuple(given.shape) != (n,):
            raise ValueError(f"y has shape {tuple(given.shape)}; X has {n} rows, so y must have shape ({n},)")
        if not bool((given.abs() == 1).all()):
            raise ValueError(f"y must be -1 or 1 at this level; got {torch.unique(given)[:5].tolist()}")
        weight = None
        if sample_weight is not None:
            weight = torch.as_tensor(sample_weight, dtype=rows.X.dtype, device=device)
            if tuple(weight.shape) != (n,):
                raise ValueError(f"sample_weight has shape {tuple(weight.shape)}; X has {n} rows")
            if not bool((torch.isfinite(weight) & (weight >= 0)).all()):
                raise ValueError(f"sample_weight must be finite and not negative; its smallest is {weight.min()}")
        return cls(rows, given.to(torch.int8), weight)

    def signs(self, block: slice) -> Tensor:
        return self.y[block].to(self.rows.X.dtype)

    def slacks(self, block: slice, W: Array) -> Tensor:
        """``1 - y x.w`` of a block (rows, k). The constant column goes with the 1, in double: see `losses`."""
        d = self.rows.X.shape[1]
        return self.base(W, self.y[block, None] > 0) - self.signs(block)[:, None] * (
            self.rows.X[block] @ self.rows.columns_of(W[:, :d])
        )

    def base(self, W: Array, positive: Tensor) -> Tensor:
        """``1 - y constant w_constant``, by the class of each row."""
        offset = self.rows.constant * W[:, -1:] if self.rows.constant else np.zeros((len(W), 1))
        by_class = self.rows.columns_of(np.hstack([1.0 + offset, 1.0 - offset]))
        return torch.where(positive, by_class[1], by_class[0])

    def costs(self, block: slice, by_class: Tensor) -> Tensor:
        """What each row of a block costs in each model (rows, k), by the costs (2, k) of the classes, negative first,
        and its weight."""
        positive = self.y[block, None] > 0
        found = torch.where(positive, by_class[1], by_class[0])
        return found if self.weight is None else found * self.weight[block, None]
