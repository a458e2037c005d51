"""The two class risks of rows in a tensor, at the points of many tracks: what the bundle asks (`ClassRisks` in
solvers/linear/bundle.py), answered on the device.

Of each track two numbers a row stay there: the margin at its best point, and how it changes on the way to the point
ahead. The line search asks for slopes only, of all tracks at once, each a sum over rows: a few of them bracket the step
where the slope changes its sign. (Kinks of fifty million rows would have to be sorted for each track.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..elsewhere.line_search import flat_point
from ..elsewhere.losses import share_of, value_of
from .rows import SignedRows

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]
Tensor = Any

FLAT = (
    0.02  # of the slope at the start, what may be left: cuts certify the gap wherever the step ends, in as many rounds
)


class TensorClassRisks:
    """See the top of this file; the calls are those of the protocol."""

    def __init__(self, data: SignedRows, loss: str) -> None:
        self.data, self.loss = data, loss

    @property
    def n_cols(self) -> int:
        return self.data.rows.n_cols

    def begin(self, n_tracks: int) -> None:
        shape = self.data.rows.n_rows, n_tracks
        self.m, self.ahead = self.data.rows.X.new_zeros(shape), self.data.rows.X.new_zeros(shape)

    def look(self, tracks: Numbers, W: Array) -> None:
        which, models = self._numbers(tracks), self.data.rows.columns_of(W)
        for block in self.data.rows.blocks():
            ahead = self.data.rows.part(block, models) * self.data.signs(block)[:, None]
            self.ahead[block, which] = ahead - self.m[block, which]

    def risks(self, tracks: Numbers, at: Array) -> Array:
        which, step = self._numbers(tracks), self._tensor(at)
        return self._risks(lambda block: self.m[block, which] + step * self.ahead[block, which], len(tracks))

    def search(self, tracks: Numbers, caps: Array, wp: Array, pp: Array) -> Array:
        """The step with the least objective along each way, to where the slope is next to nothing."""

        def slope(at: Array) -> Array:
            return wp + at * pp - self._force(tracks, caps, at)

        return flat_point(slope, slope(np.zeros(len(wp))), FLAT)

    def move(self, tracks: Numbers, best: Array, cut: Array) -> Array:
        which, to_best, to_cut = self._numbers(tracks), self._tensor(best), self._tensor(cut)
        for block in self.data.rows.blocks():
            before, way = self.m[block, which], self.ahead[block, which]
            self.m[block, which] = before + to_best * way
            self.ahead[block, which] = before + to_cut * way
        return self._risks(lambda block: self.m[block, which], len(tracks))

    def cut(self, tracks: Numbers) -> tuple[Array, Array]:
        """``g = -sum s b y x`` and ``h = sum s (loss + b m)`` of each class, negative first."""
        which, rows, count = self._numbers(tracks), self.data.rows, len(tracks)
        g = torch.zeros((2, count, rows.n_cols), dtype=torch.float64, device=rows.X.device)
        h = torch.zeros((2, count), dtype=torch.float64, device=rows.X.device)
        for block in rows.blocks():
            m, y = self.ahead[block, which], self.data.signs(block)[:, None]
            share, weight = share_of(self.loss, 1 - m), self._weight(block)
            height = weight * (value_of(self.loss, 1 - m) + share * m)
            for side, of_class in enumerate((y < 0, y > 0)):
                h[side] += (height * of_class).sum(0, dtype=torch.float64)
                g[side] -= rows.pull(block, (weight * share * y * of_class).T)
        by_track = g.transpose(0, 1).reshape(2 * count, rows.n_cols)
        return by_track.cpu().numpy(), h.T.reshape(-1).cpu().numpy()

    # -- inside -------------------------------------------------------------------------------------------------
    def _numbers(self, tracks: Numbers) -> Any:
        """Columns of `m` and `ahead`: all of them without a copy."""
        if len(tracks) == self.m.shape[1]:
            return slice(None)
        return torch.as_tensor(tracks, device=self.data.rows.X.device)

    def _tensor(self, numbers: Array) -> Tensor:
        return torch.as_tensor(numbers, dtype=self.data.rows.X.dtype, device=self.data.rows.X.device)

    def _weight(self, block: slice) -> Any:
        return 1.0 if self.data.weight is None else self.data.weight[block, None]

    def _risks(self, margins: Any, count: int) -> Array:
        found = torch.zeros((2, count), dtype=torch.float64, device=self.data.rows.X.device)
        for block in self.data.rows.blocks():
            value = value_of(self.loss, 1 - margins(block)) * self._weight(block)
            positive = self.data.y[block, None] > 0
            found[1] += (value * positive).sum(0, dtype=torch.float64)
            found[0] += (value * ~positive).sum(0, dtype=torch.float64)
        return np.ascontiguousarray(found.T.cpu().numpy())

    def _force(self, tracks: Numbers, caps: Array, at: Array) -> Array:
        which, step, by_class = self._numbers(tracks), self._tensor(at), self._tensor(caps.T)
        found = torch.zeros(len(tracks), dtype=torch.float64, device=self.data.rows.X.device)
        for block in self.data.rows.blocks():
            way = self.ahead[block, which]
            share = share_of(self.loss, 1 - self.m[block, which] - step * way)
            found += (self.data.costs(block, by_class) * share * way).sum(0, dtype=torch.float64)
        return np.asarray(found.cpu().numpy())
