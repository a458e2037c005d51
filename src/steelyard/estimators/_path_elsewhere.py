"""What `CostPath` needs of rows elsewhere: in a tensor, or in the partitions of a Dask collection."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..elsewhere import is_dask
from ..elsewhere.models import Source
from . import _on_tensors
from ._on_tensors import HOST_ROWS


@dataclass(frozen=True, eq=False)
class Signed:
    """Rows with their signs, as the path asks for them; `rows` is what they were made of."""

    source: Source
    rows: Any
    labels: Any
    n_features: int
    names: Any
    size: float  # rows, or their weight

    def some_in_memory(self) -> Any:
        """Up to about `HOST_ROWS` rows, without their constant column."""
        if hasattr(self.rows, "drawn"):
            share = min(1.0, HOST_ROWS / self.rows.n_rows)
            return self.rows.drawn((share, share), 0).rows.with_constant(0.0)
        return _on_tensors.some_in_memory(self.rows)


def signed(X: Any, y: Any, sample_weight: Any, pos_label: Any, constant: float) -> Signed:
    if is_dask(X):
        from ..distributed.table import Table
        from ._dask_table import labels_of, names_of

        table = Table(X, y, sample_weight)
        labels = labels_of(table, pos_label)
        rows = table.signed(labels.positive, constant)
        mass = sum(table.of_label(label, "mass") for label in labels.classes)
        return Signed(rows, rows, labels, table.n_features, names_of(table), max(table.n_rows, mass))
    from ..tensors.source import OnDevice

    data, found = _on_tensors.signed_rows(X, y, sample_weight, pos_label, constant)
    size = max(data.rows.n_rows, 0.0 if data.weight is None else float(data.weight.sum()))
    return Signed(OnDevice(data), data.rows, found, int(data.rows.X.shape[1]), None, size)


def in_memory(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows elsewhere as arrays, for what is read in memory; anything else as it is."""
    if not is_dask(X):
        return _on_tensors.in_memory(X, y)
    from ..distributed.table import Table
    from ._dask_table import in_memory as here

    table = Table(X, y)
    if table.n_rows > HOST_ROWS:
        raise ValueError(f"this reads at most {HOST_ROWS} rows of a Dask collection; got {table.n_rows}: give a part")
    return here(table)[:2]
