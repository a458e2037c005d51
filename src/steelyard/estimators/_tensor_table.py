"""Labelled rows in a tensor, as `_measure_elsewhere` asks for them: everything that has a number a row stays there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.linear import cost_sensitive
from ..solvers.search.models import CostModel, Labelled
from ..statistics.frontier import Choice, Frontier
from ..statistics.resampling import Goal
from ._measure_elsewhere import restored
from ._on_tensors import TensorLabels, check_weight, host

Array = NDArray[np.float64]
Tensor = Any


class TensorTable:
    names = None

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        from ..tensors.rows import TensorRows

        self.X, self.y, self.sample_weight = TensorRows.of(X), y, sample_weight
        self.n_rows, self.n_features = self.X.n_rows, int(self.X.X.shape[1])

    def in_memory(self) -> tuple[Any, Any, Any]:
        y, weight = (
            part if part is None or not hasattr(part, "cpu") else host(part) for part in (self.y, self.sample_weight)
        )
        return host(self.X.X), y, weight

    def labels(self, pos_label: Any) -> TensorLabels:
        self.found = TensorLabels.of(self.y, pos_label, self.X.X.device, self.n_rows)
        self.weight = check_weight(self.sample_weight, self.found.is_positive)
        return self.found

    def rows(self, fit_intercept: bool) -> RowsInTensor:
        rows = self.X.with_constant(_typical_norm(self.X, self.weight) if fit_intercept else 0.0)
        return RowsInTensor(rows, self.found.is_positive, self.weight)


def _typical_norm(rows: Any, weight: Tensor | None) -> float:
    squares = rows.squared_norms().double()
    mean = squares.mean() if weight is None else (squares * weight).sum() / weight.sum()
    norm = float(mean.sqrt())
    return norm if 0.0 < norm < np.inf else 1.0


class RowsInTensor:
    """Rows, labels and weights, on the device."""

    def __init__(self, rows: Any, is_positive: Tensor, weight: Tensor | None) -> None:
        import torch

        self.rows, self.is_positive, self.weight, self.constant = rows, is_positive, weight, rows.constant
        self.signs = torch.where(is_positive, 1, -1).to(torch.int8)

    def draw(self, wanted: Callable[[float], int], seed: int, every: int) -> Labelled:
        which, stands_for = _draw(self.is_positive, wanted, seed)
        signs = np.where(host(self.is_positive[which]), 1.0, -1.0)
        thinning = self.rows.n_rows / len(signs)
        counts = restored(np.where(signs > 0, stands_for[1], stands_for[0]) / thinning)
        mass = counts if self.weight is None else counts * host(self.weight[which])
        return Labelled(self.rows.in_memory(which), signs, None if (mass == 1.0).all() else mass, thinning)

    def solve(self, model: CostModel, tol: float, every: int | None, start: Array | None = None) -> Any:
        weight = self.weight if every is None else self._without(every)
        return cost_sensitive.solve(
            self.rows, self.signs, model.c_pos, model.c_neg, model.C, tol, model.loss, sample_weight=weight, start=start
        )

    def best_left_out(self, w: Array, every: int, goal: Goal) -> tuple[Choice, Frontier]:
        from ..tensors import frontier

        which = slice(0, None, every)
        weight = None if self.weight is None else self.weight[which]
        points = frontier.scan(self.rows.take(which).scores(w), self.is_positive[which], weight)
        return points.best(goal.measure, goal.constraints), points.thinned()

    def share_called(self, w: Array, threshold: float, every: int) -> float:
        called, kept = self.rows.scores(w) > threshold, self._without(every)
        return float((called * kept).sum(dtype=kept.double().dtype) / kept.sum(dtype=kept.double().dtype))

    def quantile(self, w: Array, share: float) -> float:
        from ..tensors import frontier

        return frontier.quantile(self.rows.scores(w), share, self.weight)

    def _without(self, every: int) -> Tensor:
        """The weights, 0 for the rows left out: a model that has not seen them, and no copy of the others."""
        import torch

        kept = torch.ones(self.rows.n_rows, dtype=self.rows.X.dtype, device=self.rows.X.device)
        kept = kept if self.weight is None else kept * self.weight
        kept[::every] = 0.0
        return kept


def _draw(is_positive: Tensor, wanted: Callable[[float], int], seed: int) -> tuple[Tensor, tuple[float, float]]:
    """Rows in their order, the classes in their shares but for a class that would have too few; and for how many rows a
    row of each class stands, the negative first."""
    import torch

    device = is_positive.device
    random = torch.Generator(device=device).manual_seed(seed % 2**63)
    drawn, stands_for = [], []
    for side in (False, True):
        of_class = (is_positive == side).nonzero()[:, 0]
        count = wanted(len(of_class))
        # Without repetition: one of each of `count` stretches of equal length.
        edges = torch.arange(count, dtype=torch.float64, device=device)
        place = (
            (edges + torch.rand(count, generator=random, dtype=torch.float64, device=device)) * len(of_class) / count
        )
        drawn.append(of_class[place.long().clamp(max=len(of_class) - 1)])
        stands_for.append(len(of_class) / count)
    return torch.cat(drawn).sort()[0], (stands_for[0], stands_for[1])
