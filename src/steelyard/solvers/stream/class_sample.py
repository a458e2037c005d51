"""A uniform sample of the rows of each class of a stream, the same however the stream is cut into chunks.

Row number i of the stream has a key that is drawn from i and the seed alone, and of each class the rows with the least
keys are kept. While there are fewer rows than features a share of the rows is for the sample only: a model that fits
every row it has seen says nothing about offsets for others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...files.kinds import Array as Numbers
from ...files.kinds import Each, Fields, Is, check_fields
from ...rows import Rows
from .settings import SAMPLE

Array = NDArray[np.float64]
Words = NDArray[np.uint64]
# What a saved sample has of each class.
_KEPT: Fields = {"rows": Is(Rows), "weight": Numbers("f8", "n", low=0), "number": Numbers("i8", "n", low=0)}


@dataclass(frozen=True, eq=False)
class _Kept:
    """Rows of one class, by their number in the stream."""

    rows: Rows
    weight: Array
    number: NDArray[np.int64]


@dataclass(eq=False)
class ClassSample:
    kept: list[_Kept]
    capacity: int
    n_features: int
    seed: int

    @classmethod
    def new(cls, k: int, n_features: int, seed: int) -> ClassSample:
        """As many rows of a class as two classes have of each."""
        capacity = max(min(SAMPLE.rows, SAMPLE.values // n_features), SAMPLE.fewest_rows)
        none = _Kept(Rows.of(np.empty((0, n_features))), np.empty(0), np.empty(0, dtype=np.int64))
        return cls([none] * k, capacity, n_features, seed)

    def copy(self) -> ClassSample:
        return ClassSample(list(self.kept), self.capacity, self.n_features, self.seed)

    def count(self, k: int) -> int:
        return len(self.kept[k].weight)

    def rows(self, k: int) -> Rows:
        return self.kept[k].rows

    def weights(self, k: int) -> Array:
        return self.kept[k].weight

    def offer(
        self,
        rows: Rows,
        codes: NDArray[np.int32],
        weight: Array | None,
        order: NDArray[np.intp],
        first: int,
        *,
        again: bool,
    ) -> NDArray[np.bool_]:
        """Rows `order` of a chunk, the first of them number `first` of the stream; which of them are only for the
        sample comes back. `again`: they have been offered before."""
        numbers = first + np.arange(len(order), dtype=np.int64)
        wide = numbers < self.n_features
        held = wide & (_uniform(self.seed + 1, numbers) < SAMPLE.held_while_wide)
        if not again:
            offered = held | ~wide
            for k in np.unique(codes[order[offered]]):
                mine = np.flatnonzero(offered & (codes[order] == k))
                self._keep(int(k), rows, order[mine], numbers[mine], None if weight is None else weight[order[mine]])
        return held

    def _keep(
        self, k: int, rows: Rows, which: NDArray[np.intp], numbers: NDArray[np.int64], weight: Array | None
    ) -> None:
        old = self.kept[k]
        both = np.concatenate([old.number, numbers])
        if len(both) > self.capacity:
            keys = _uniform(self.seed, both)
            least = np.sort(np.argpartition(keys, self.capacity)[: self.capacity])
        else:
            least = np.arange(len(both))
        stay, come = least[least < len(old.number)], least[least >= len(old.number)] - len(old.number)
        if not len(come):
            return
        new = np.ones(len(come)) if weight is None else weight[come]
        taken = rows.take(which[come])
        self.kept[k] = _Kept(
            Rows.of(_stacked(_own(old.rows.take(stay)), _own(taken)), check=False),
            np.concatenate([old.weight[stay], new]),
            both[least],
        )

    # -- bytes --------------------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        return {"kept": [{"rows": one.rows, "weight": one.weight, "number": one.number} for one in self.kept]}

    @classmethod
    def of(cls, state: dict[str, Any], k: int, n_features: int, seed: int) -> ClassSample:
        check_fields({"kept": Each(Is(dict), type=list)}, state)
        made = cls.new(k, n_features, seed)
        if len(state["kept"]) != k:
            raise ValueError("the sample is of another number of classes")
        for place, one in enumerate(state["kept"]):
            check_fields(_KEPT, one)
            rows = one["rows"]
            if rows.shape != (len(one["weight"]), n_features) or rows.which is not None or rows.constant != 0.0:
                raise ValueError("the rows of the sample are not as many as their weights, or of other features")
            made.kept[place] = _Kept(rows, one["weight"], one["number"])
        return made


def _uniform(seed: int, numbers: NDArray[np.int64]) -> Array:
    """A number in [0, 1) for each, from the seed and itself alone (splitmix64: Steele, Lea & Flood 2014)."""
    with np.errstate(over="ignore"):
        z = (numbers.astype(np.uint64) + np.uint64(seed) * np.uint64(0xD1342543DE82EF95)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def _own(rows: Rows) -> Any:
    return rows.source.copy() if rows.which is None else rows.source[rows.which]


def _stacked(first: Any, second: Any) -> Any:
    """Both, as the second is: the first may be empty, and of another kind."""
    if sp.issparse(second):
        return sp.vstack([sp.csr_matrix(first), second], format="csr")
    first = first.toarray() if sp.issparse(first) else first
    return np.concatenate([first.astype(second.dtype, copy=False), second])
