"""K linear models of several classes, fitted on given rows with a weight for the rows of each class; and samples.

By the loss of several classes (`logistic`, `linear.softmax`), or each class against the rest by a margin
(`linear.cost_sensitive`). The threshold of two classes is here an offset for each, set afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rows import Rows
from ..linear import cost_sensitive, softmax
from ..status import Status
from .models import Effort

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Splits = Sequence[tuple[NDArray[np.intp], NDArray[np.intp]]]

OF_CLASS = 100  # rows of a class that a sample has at least, if there are so many: a rate to within 0.05


@dataclass(frozen=True)
class ClassModel:
    """What to fit: a loss, the weight of a row of each class, and C."""

    loss: str
    weights: tuple[float, ...]
    C: float

    def __str__(self) -> str:
        return f"{self.loss}, weights {min(self.weights):.3g} to {max(self.weights):.3g}, C {self.C:.3g}"


@dataclass(frozen=True, eq=False)
class LabelledClasses:
    """Rows with codes of K classes; `thinning` as in `models.Labelled`."""

    rows: Rows
    codes: Codes
    classes: tuple[Any, ...]
    weight: Array | None = None
    thinning: float = 1.0

    def take(self, which: NDArray[np.intp]) -> LabelledClasses:
        weight = None if self.weight is None else self.weight[which]
        return replace(self, rows=self.rows.take(which), codes=self.codes[which], weight=weight)

    @property
    def prevalence(self) -> Array:
        mass = np.bincount(self.codes, weights=self.weight, minlength=len(self.classes))
        return np.asarray(mass / mass.sum())


@dataclass(frozen=True, eq=False)
class FittedClasses:
    """K models, and how their fits ended."""

    W: Array
    gap: float
    n_iter: int
    status: Status


def fit(
    model: ClassModel,
    data: LabelledClasses,
    effort: Effort,
    start: Array | None = None,
    callback: Callable[[float], None] | None = None,
) -> FittedClasses:
    """A callback is told about what share is done."""
    weight = np.asarray(model.weights)[data.codes] * (1.0 if data.weight is None else data.weight)
    C, k = model.C * data.thinning, len(data.classes)
    if model.loss == "logistic":
        one = softmax.solve(
            data.rows, data.codes, k, C, effort.tol, weight, start=start, max_iter=effort.max_passes,
            n_jobs=effort.n_jobs, callback=callback,
        )  # fmt: skip
        return FittedClasses(one.W, one.gap, one.n_iter, one.status)
    found = []
    for j in range(k):
        signs = np.where(data.codes == j, 1.0, -1.0)
        found.append(
            cost_sensitive.solve(
                data.rows, signs, C=C, tol=effort.tol, loss=model.loss, solver=effort.solver, sample_weight=weight,
                n_jobs=effort.n_jobs, seed=effort.seed, max_passes=effort.max_passes,
            )
        )  # fmt: skip
        if callback is not None:
            callback((j + 1) / k)
    worst = max(found, key=lambda one: one.gap)
    return FittedClasses(np.stack([one.w for one in found]), worst.gap, max(o.n_iter for o in found), worst.status)


def sampled(data: LabelledClasses, splits: Splits, most: int, seed: int) -> tuple[LabelledClasses, Splits]:
    """At most so many rows, drawn by class, with the splits that they had; a small class keeps up to `OF_CLASS`.

    Rows of a class that has more than its share weigh less, so that prevalences stay.
    """
    n = data.rows.n_rows
    if n <= most:
        return data, splits
    rng, keep, factor = np.random.default_rng(seed), [], np.ones(len(data.classes))
    for k in range(len(data.classes)):
        mine = np.flatnonzero(data.codes == k)
        size = min(len(mine), max(OF_CLASS, round(most * len(mine) / n)))
        keep.append(rng.choice(mine, size, replace=False))
        factor[k] = len(mine) / size
    which = np.sort(np.concatenate(keep))
    found = data.take(which)
    weight = factor[found.codes] * (len(which) / n) * (1.0 if found.weight is None else found.weight)
    place = np.full(n, -1, dtype=np.intp)
    place[which] = np.arange(len(which))
    within = [tuple(place[part][place[part] >= 0] for part in pair) for pair in splits]
    return replace(found, weight=weight, thinning=data.thinning * n / len(which)), [(a, b) for a, b in within if len(b)]
