"""`MeasureClassifier` on rows in a tensor.

Up to `HOST_ROWS` rows the fit is the one in memory. Beyond, the search for loss, costs and C runs in memory on a sample
of so many rows of the same shares of the classes (with C in proportion, so that it means the same on all rows), since
which model is best is known long before its last digits; and then, on the device:

    the chosen model on all rows but every k-th, the exact threshold on those,
    the chosen model on all rows, certified, and the threshold at which it calls the same share of them.

With a held-out share (``cv=0.2``) the first of the two models is the final one.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..solvers.linear import cost_sensitive
from ..solvers.search.exploration import Sample
from ..solvers.search.models import CostModel, Labelled
from ..statistics.resampling import Goal
from ._border import as_before
from ._on_tensors import HOST_ROWS, TensorLabels, check_weight, host

Array = NDArray[np.float64]
Tensor = Any
OF_A_CLASS = 4_000  # rows of each class in the sample, if there are so many: rates in steps of 0.03 %


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any, goal: Goal) -> Any:
    """The estimator, fitted on tensors."""
    from ..tensors.rows import TensorRows

    rows = TensorRows.of(X)
    if rows.n_rows <= HOST_ROWS:
        parts = (part if part is None or not hasattr(part, "cpu") else host(part) for part in (y, sample_weight))
        return estimator.fit(host(rows.X), *parts)
    if estimator.delta is not None:
        raise ValueError(
            f"delta is for up to {HOST_ROWS} rows of a tensor; beyond, fit without it and promise by "
            "ThresholdClassifier(FrozenEstimator(model), ..., delta=...) on rows left out"
        )
    with as_before(estimator):
        _every(estimator.cv)
        labels = TensorLabels.of(y, estimator.pos_label, rows.X.device, rows.n_rows)
        weight = check_weight(sample_weight, labels.is_positive)
        estimator.n_features_in_ = rows.X.shape[1]
        estimator.__dict__.pop("feature_names_in_", None)
        rows = rows.with_constant(_typical_norm(rows, weight) if estimator.fit_intercept else 0.0)
        model = _search(estimator, rows, labels, weight, goal)
        estimator._take_labels(labels)
        _refit(estimator, model, Final(rows, labels.is_positive, weight, goal))
    return estimator


def _typical_norm(rows: Any, weight: Tensor | None) -> float:
    squares = rows.squared_norms().double()
    mean = squares.mean() if weight is None else (squares * weight).sum() / weight.sum()
    norm = float(mean.sqrt())
    return norm if 0.0 < norm < np.inf else 1.0


# -- which model ------------------------------------------------------------------------------------------------------
def _search(estimator: Any, rows: Any, labels: TensorLabels, weight: Tensor | None, goal: Goal) -> CostModel:
    """The model that wins on a sample in memory. (The stream's learner goes from row to row, so it does not run.)"""
    seed = estimator.random_state if isinstance(estimator.random_state, numbers.Integral) else 0
    which, stands_for = _draw(labels.is_positive, int(seed))
    signs = np.where(host(labels.is_positive[which]), 1.0, -1.0)
    thinning = rows.n_rows / len(signs)
    counts = np.where(signs > 0, stands_for[1], stands_for[0]) / thinning
    if np.ptp(counts) < 0.05:
        counts = np.ones(len(signs))
    mass = counts if weight is None else counts * host(weight[which])
    data = Labelled(rows.in_memory(which), signs, None if (mass == 1.0).all() else mass, thinning)
    found = estimator._search(Sample(data, estimator._splits(signs > 0, None).pairs), goal)
    if isinstance(found.chosen.model, CostModel):
        return found.chosen.model
    ranked = found.exploration.short_list(len(found.exploration.candidates))
    costly = [model for model in ranked if isinstance(model, CostModel)]
    chosen: CostModel = found.exploration.choose(costly[:1]).model
    return chosen


def _draw(is_positive: Tensor, seed: int) -> tuple[Tensor, tuple[float, float]]:
    """Rows in their order, the classes in their shares but for a class that would have too few; and for how many rows a
    row of each class stands, the negative first."""
    import torch

    n, device = len(is_positive), is_positive.device
    random = torch.Generator(device=device).manual_seed(seed % 2**63)
    drawn, stands_for = [], []
    for side in (False, True):
        of_class = (is_positive == side).nonzero()[:, 0]
        count = min(len(of_class), max(OF_A_CLASS, HOST_ROWS * len(of_class) // n))
        # Without repetition: one of each of `count` stretches of equal length.
        edges = torch.arange(count, dtype=torch.float64, device=device)
        place = (
            (edges + torch.rand(count, generator=random, dtype=torch.float64, device=device)) * len(of_class) / count
        )
        drawn.append(of_class[place.long().clamp(max=len(of_class) - 1)])
        stands_for.append(len(of_class) / count)
    return torch.cat(drawn).sort()[0], (stands_for[0], stands_for[1])


# -- the model on all rows --------------------------------------------------------------------------------------------
class Final:
    """Rows, labels and weights of the final fit, on the device."""

    def __init__(self, rows: Any, is_positive: Tensor, weight: Tensor | None, goal: Goal) -> None:
        import torch

        self.rows, self.is_positive, self.weight, self.goal = rows, is_positive, weight, goal
        self.signs = torch.where(is_positive, 1, -1).to(torch.int8)

    def solve(self, model: CostModel, tol: float, seed: int, weight: Tensor | None) -> Any:
        return cost_sensitive.solve(
            self.rows, self.signs, model.c_pos, model.c_neg, model.C, tol, model.loss, sample_weight=weight, seed=seed
        )

    def without(self, left_out: slice) -> Tensor:
        """The weights, 0 for the rows left out: a model that has not seen them, and no copy of the others."""
        import torch

        kept = torch.ones(self.rows.n_rows, dtype=self.rows.X.dtype, device=self.rows.X.device)
        kept = kept if self.weight is None else kept * self.weight
        kept[left_out] = 0.0
        return kept

    def part(self, which: slice) -> tuple[Tensor, Tensor | None]:
        return self.is_positive[which], None if self.weight is None else self.weight[which]


def _refit(estimator: Any, model: CostModel, data: Final) -> None:
    from ..tensors import frontier

    every, keeps = _every(estimator.cv)
    left_out = slice(0, None, every)
    kept = data.without(left_out)
    first = data.solve(model, estimator.tol, 0, kept)
    points = frontier.scan(data.rows.take(left_out).scores(first.w), *data.part(left_out))
    best = points.best(data.goal.measure, data.goal.constraints)
    final, threshold = first, best.threshold
    if not keeps:
        final = data.solve(model, estimator.tol, 0, data.weight)
        called = data.rows.scores(first.w) > best.threshold
        share = float((called * kept).sum(dtype=kept.double().dtype) / kept.sum(dtype=kept.double().dtype))
        if 0.0 < share < 1.0:
            threshold = frontier.quantile(data.rows.scores(final.w), 1.0 - share, data.weight)
    offset = data.rows.constant * final.w[-1] if estimator.fit_intercept else 0.0
    estimator.C_, estimator.loss_, estimator.costs_ = model.C, model.loss, (model.c_pos, model.c_neg)
    estimator.gap_, estimator.n_iter_, estimator.best_score_ = final.gap, max(1, final.n_iter), best.value
    estimator.frontier_, estimator.promise_ = points.thinned(), None
    estimator._set_model(final.w[: estimator.n_features_in_], offset - threshold)
    if estimator.verbose:
        print(f"MeasureClassifier: {model}, {best.value:.4f} on rows left out, gap {final.gap:.1e}")


def _every(cv: Any) -> tuple[int, bool]:
    """Each which row is left out, and whether the model fitted on the others is kept."""
    if isinstance(cv, numbers.Integral) and int(cv) >= 2:
        return int(cv), False
    if isinstance(cv, numbers.Real) and 0.0 < float(cv) < 1.0:
        return max(2, round(1.0 / float(cv))), True
    raise ValueError(
        f"on a tensor of more than {HOST_ROWS} rows cv is a number of folds or a held-out share; got {cv!r}"
    )
