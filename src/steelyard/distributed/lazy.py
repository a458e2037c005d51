"""A method of a fitted model for every partition of a collection: a Dask array that is computed when asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import need_dask


def in_partitions(model: Any, name: str, X: Any) -> Any:
    """``model.name(X)`` in partitions like those of X. What it looks like is seen on rows of zeros."""
    need_dask()
    if not hasattr(X, "chunks"):
        looks = np.asarray(getattr(model, name)(X._meta_nonempty))
        return X.map_partitions(_of_partition, model, name, looks[:0], meta=looks[:0])
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    looks = np.asarray(getattr(model, name)(np.zeros((1, X.shape[1]))))
    if looks.ndim == 1:
        return X.map_blocks(_of_partition, model, name, looks[:0], dtype=looks.dtype, drop_axis=1, meta=looks[:0])
    chunks = (X.chunks[0], (looks.shape[1],))
    return X.map_blocks(_of_partition, model, name, looks[:0], dtype=looks.dtype, chunks=chunks, meta=looks[:0])


def _of_partition(X: Any, model: Any, name: str, nothing: Any) -> Any:
    return getattr(model, name)(X) if X.shape[0] else nothing
