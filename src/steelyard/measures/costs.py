"""A table of costs: what a row of one class costs when it is called another.

With shares ``s_ij`` of rows that are of class i and called j (they sum to 1) and a table ``C`` of K x K costs, the
measure is minus the mean cost of a row,

    - sum_ij C_ij s_ij.

It is affine in the shares, lies in [-max C, -min C], and never falls when a row is called rightly, if no cost in a row
of the table is below that on the diagonal. Two rates of each class do not say whom its missed rows are called, so the
shares are needed (`confusion`), unless a class costs the same whatever else it is called: then recalls are enough,
and there is a gradient. With two classes that is always so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .expression import Array, Point
from .lifted import Lift
from .rules import Interval, Slope

Cells = tuple[tuple[float, ...], ...]


class Costs(Lift):
    """Minus the mean cost of a row. `classes` are the labels of the table's rows and columns, in any order."""

    word = "costs"
    varies = True
    needs_prevalence = True

    def __init__(self, table: ArrayLike, classes: Sequence[Any] | None = None) -> None:
        self.table = read_table(table)
        self.classes = None if classes is None else tuple(classes)
        if self.classes is not None and len(set(self.classes)) != len(self.table):
            raise ValueError(f"a table of {len(self.table)} classes needs as many labels; got {list(self.classes)}")
        costs = np.array(self.table)
        apart = costs[~np.eye(len(costs), dtype=bool)].reshape(len(costs), -1)
        self._missed = apart[:, 0] if (apart == apart[:, :1]).all() else None
        self._rises = bool((costs.diagonal()[:, None] <= costs).all())

    @property
    def needs_confusion(self) -> bool:
        return self._missed is None

    def _key(self) -> tuple[Any, ...]:
        return self.table, self.classes

    def table_of(self, classes: Sequence[Any]) -> Array:
        """The table with rows and columns in this order; labels that do not occur are left out."""
        costs = np.array(self.table)
        if self.classes is None:
            if len(classes) != len(costs):
                raise ValueError(
                    f"a table of costs of {len(costs)} classes, and there are {len(classes)}: {list(classes)}. With "
                    "NegCost(table=..., classes=[...]) some of the classes may be missing"
                )
            return costs
        unknown = [label for label in classes if label not in self.classes]
        if unknown:
            raise ValueError(f"the table of costs has no class {unknown[0]!r}; it has {list(self.classes)}")
        places = [self.classes.index(label) for label in classes]
        return np.ascontiguousarray(costs[np.ix_(places, places)])

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        costs = self.table_of(point.classes)
        if point.confusion is not None:
            return np.asarray(-(costs * point.confusion).sum(axis=(-2, -1))[..., None])
        missed, right = self._by_recall(costs)
        paid = point.prevalence * (missed - (missed - right) * point.tpr)
        return np.asarray(-paid.sum(axis=-1, keepdims=True))

    def _differentiate(self, point: Point, memo: dict[int, tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        missed, right = self._by_recall(self.table_of(point.classes))
        slopes = point.prevalence * (missed - right)
        return self._evaluate(point, {}), slopes, np.zeros_like(slopes)

    def _by_recall(self, costs: Array) -> tuple[Array, Array]:
        """What a row of each class costs when it is missed, and when it is not."""
        if self._missed is None:
            raise ValueError(
                "this table of costs asks whom missed rows are called, which the rates of the classes do not say: give "
                "confusion=, the shares of rows by true and called class, or use score(y_true, y_pred)"
            )
        return costs[np.arange(len(costs)), (np.arange(len(costs)) + 1) % len(costs)], costs.diagonal()

    def _interval(self, *args: Interval) -> Interval:
        return Interval(-float(np.max(self.table)), -float(np.min(self.table)))

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return ()

    def slope(self, axis: int) -> Slope:
        return 1 if self._rises else None

    def _spell(self) -> str:
        return f"costs({[list(row) for row in self.table]})"


def read_table(table: Any) -> Cells:
    costs = np.asarray(table, dtype=np.float64)
    if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
        raise ValueError(f"a table of costs has a row and a column for each class; got shape {costs.shape}")
    if not np.isfinite(costs).all():
        raise ValueError("a table of costs must be finite; to forbid a mistake make it dear, or bound it in subject_to")
    return tuple(tuple(row) for row in costs.tolist())
