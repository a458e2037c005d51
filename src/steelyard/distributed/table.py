"""From Dask collections to partitions that solvers can ask: looked at once, refused by number where they do not fit.

X is a Dask array (one or more chunks of rows, dense or `scipy.sparse`) or a frame; y and weights are collections with
partitions of the same lengths, or arrays where the lengths of X's are known. Each partition is looked at where it is
(`look`): sizes, labels, columns, numbers that are none. What is wrong comes back as a sentence with the partition's
number. Partitions may be uneven, and empty; one may hold a single class.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..elsewhere.part import Part
from ..rows import Rows
from . import need_dask
from .blocks import blocks_with
from .frames import labels_of, matrix_of, weights_of
from .rounds import Rounds, client_of, computed
from .rows import DaskRows

Array = NDArray[np.float64]
KEPT = 0.4  # of the workers' memory, what partitions may take of it: Dask writes to disk from 0.6 on
FEW_LABELS = 4  # distinct ones that are found by comparing, a pass each: two are wanted
MANY_LABELS = 100  # distinct ones of a partition that are told


@dataclass(frozen=True, eq=False)
class Seen:
    """What a look at one partition has found."""

    number: int
    fault: str = ""
    n_rows: int = 0
    n_cols: int = 0
    labels: Any = ()
    mass: Any = ()  # weight, or rows, of each label
    counts: Any = ()  # rows of each label
    squares: float = 0.0  # sum of |x|^2, by weight
    n_bytes: int = 0


@dataclass(frozen=True)
class How:
    """How a partition is read: the names of a frame's columns, and whether X is made of numbers that are looked at."""

    names: tuple[Any, ...] | None = None
    numbers: bool = True


def look(number: int, X: Any, y: Any, weight: Any, how: How) -> list[Seen]:
    """In a list of one: lists add up."""
    try:
        rows, labels, weight = _checked(X, y, weight, how)
    except (ValueError, TypeError) as error:
        return [Seen(number, f"partition {number}: {error}")]
    n_cols = int(X.shape[1]) if rows is None else rows.n_cols
    if not len(labels):
        return [Seen(number, n_cols=n_cols)]
    distinct, mass, counts = _tallied(labels, weight)
    seen = Seen(number, "", len(labels), n_cols, distinct, mass, counts)
    if rows is None:
        return [seen]
    squares, source = rows.squared_norms(), rows.source
    n_bytes = source.data.nbytes + source.indices.nbytes if sp.issparse(source) else source.nbytes
    total = float(squares.sum() if weight is None else squares @ weight)
    return [replace(seen, squares=total, n_bytes=int(n_bytes + 9 * rows.n_rows))]


def _tallied(labels: NDArray[Any], weight: Array | None) -> tuple[NDArray[Any], Array, NDArray[np.int64]]:
    """Distinct labels in order, with their weights and numbers. A few are found by comparing: sorting takes longer."""
    few: list[Any] = []
    left = labels
    while len(left) and len(few) < FEW_LABELS:
        few.append(left[0])
        left = left[left != left[0]]
    distinct = np.sort(np.array(few, dtype=labels.dtype)) if not len(left) else np.unique(labels)[:MANY_LABELS]
    ones = [labels == label for label in distinct]
    counts = np.array([np.count_nonzero(one) for one in ones])
    return distinct, counts.astype(float) if weight is None else np.array([weight @ one for one in ones]), counts


def _checked(X: Any, y: Any, weight: Any, how: How) -> tuple[Any, NDArray[Any], Array | None]:
    rows = Rows.of(matrix_of(X, how.names)) if how.numbers else None
    labels, weight = labels_of(y), weights_of(weight)
    n_rows = int(X.shape[0])
    if len(labels) != n_rows:
        raise ValueError(f"it has {n_rows} rows in X and {len(labels)} labels in y")
    if weight is not None and len(weight) != n_rows:
        raise ValueError(f"it has {n_rows} rows in X and {len(weight)} weights")
    return rows, labels, weight


def made(number: int, X: Any, y: Any, weight: Any, how: How, positive: Any, constant: float) -> Part:
    """The partition as rounds ask for it."""
    rows, labels, weight = _checked(X, y, weight, how)
    signs = np.where(labels == positive, 1, -1).astype(np.int8)
    return Part(rows.with_constant(constant), signs, weight, number)


class Table:
    """Partitions of X, y and weights, looked at."""

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, *, numbers: bool = True) -> None:
        need_dask()
        self.names = list(X.columns) if hasattr(X, "columns") else None
        self.how = How(None if self.names is None else tuple(self.names), numbers)
        self.weighted = sample_weight is not None
        self.blocks = [(number, *block) for number, block in enumerate(blocks_with(X, y, sample_weight))]
        self.seen: list[Seen] = self._look()
        filled = [one for one in self.seen if one.n_rows]
        if not filled:
            raise ValueError(f"all {len(self.seen)} partitions of X are empty: there is nothing to learn from")
        widths = {one.n_cols for one in filled}
        if len(widths) > 1:
            odd = next(one for one in filled if one.n_cols != filled[0].n_cols)
            raise ValueError(
                f"partition {odd.number} has {odd.n_cols} columns, partition {filled[0].number} has {filled[0].n_cols}"
            )
        self.n_features, self.n_rows = filled[0].n_cols, sum(one.n_rows for one in filled)

    def _look(self) -> list[Seen]:
        from dask import delayed

        from .rounds import add

        looks = [delayed(look, pure=False)(*block, self.how) for block in self.blocks]
        seen: list[Seen] = computed(delayed(add, pure=False)(looks))
        faults = [one.fault for one in seen if one.fault]
        if faults:
            more = f" ({len(faults) - 1} more partitions have faults)" if len(faults) > 1 else ""
            raise ValueError(faults[0] + more)
        return seen

    def labels(self) -> NDArray[Any]:
        """All distinct ones."""
        return np.unique(np.concatenate([one.labels for one in self.seen if one.n_rows]))

    def of_label(self, label: Any, what: str) -> float:
        """The `mass` or `counts` of a label, over all partitions."""
        return float(sum(np.sum(getattr(one, what)[one.labels == label]) for one in self.seen if one.n_rows))

    def typical_norm(self) -> float:
        mass = sum(float(np.sum(one.mass)) for one in self.seen)
        norm = float(np.sqrt(sum(one.squares for one in self.seen) / mass))
        return norm if 0.0 < norm < np.inf else 1.0

    def whose(self) -> str:
        """What the partitions hold, for a checkpoint to be compared with."""
        return repr([(one.n_rows, one.n_cols, one.squares, list(map(float, one.mass))) for one in self.seen])

    def signed(self, positive: Any, constant: float = 0.0) -> DaskRows:
        """All partitions that are not empty, kept in the workers' memory if there is room."""
        n_bytes = sum(one.n_bytes for one in self.seen)
        rounds = self.each(made, positive, constant, persist=n_bytes <= KEPT * memory_there())
        counts = self.n_rows - self.of_label(positive, "counts"), self.of_label(positive, "counts")
        return DaskRows(rounds, counts, self.n_features, constant, weighted=self.weighted)

    def each(self, make: Callable[..., Any], *given: Any, persist: bool) -> Rounds:
        """``make(number, X, y, weight, how, *given)`` of every partition that is not empty, to be asked in rounds."""
        import dask

        task, shared = dask.delayed(make, pure=False), [dask.delayed(_same, pure=False)(one) for one in given]
        filled = [block for block, one in zip(self.blocks, self.seen, strict=True) if one.n_rows]
        parts = [task(*block, self.how, *shared) for block in filled]
        return Rounds(dask.persist(*parts) if persist else parts)

    def in_memory(self) -> tuple[Any, NDArray[Any], Array | None]:
        """All of it here, for who has asked how many rows there are."""
        X, labels, weights = zip(*self.each(_listed, persist=False).ask(_itself), strict=True)
        sparse = any(sp.issparse(one) for one in X)
        whole = sp.csr_matrix(sp.vstack([sp.csr_matrix(one) for one in X])) if sparse else np.concatenate(X)
        return whole, np.concatenate(labels), None if not self.weighted else np.concatenate(weights)


def _same(given: Any) -> Any:
    return given


def _itself(part: list[Any]) -> list[Any]:
    return part


def _listed(number: int, X: Any, y: Any, weight: Any, how: How) -> list[Any]:
    rows, labels, weight = _checked(X, y, weight, how)
    return [(rows.source, labels, weight)]


def signed(X: Any, y: Any, sample_weight: Any = None) -> DaskRows:
    """Rows with labels that are -1 and 1 already."""
    if isinstance(X, DaskRows):
        return X
    table = Table(X, y, sample_weight)
    found = table.labels()
    if not set(found.tolist()) <= {-1, 1}:
        raise ValueError(f"y must be -1 or 1 at this level; got {found[:5]}")
    return table.signed(1)


def memory_there() -> float:
    """Bytes that the workers may use; of this machine where there are none."""
    client = client_of()
    if client is not None:
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
        limits = [worker.get("memory_limit") or 0 for worker in workers]
        if limits and all(limits):
            return float(sum(limits))
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if hasattr(os, "sysconf") else 4e9
