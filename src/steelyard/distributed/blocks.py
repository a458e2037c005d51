"""The partitions of X, y and weights beside each other, as Dask's delayed values.

Series of one frame are read with it in one go: a reader of files that is asked for few columns joins partitions, so
that X and y, each for itself, would have others. Arrays are cut alike where their lengths are known; where not, they
have as many partitions, whose lengths are compared when they are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BESIDE = ("steelyard's y", "steelyard's weight")  # columns of a frame that are nobody else's


def blocks_with(X: Any, y: Any, weight: Any) -> list[tuple[Any, Any, Any]]:
    """X, y and the weight (or None) of every partition."""
    beside_it = [one for one in (y, weight) if one is not None]
    if hasattr(X, "columns") and all(_is_series(one) for one in beside_it):
        joined = _in_one_frame(X, beside_it)
        if joined is not None:
            return joined
    xs = blocks_of(X)
    ys = beside(y, X, len(xs), "y")
    weights = [None] * len(xs) if weight is None else beside(weight, X, len(xs), "sample_weight")
    return list(zip(xs, ys, weights, strict=True))


def _is_series(one: Any) -> bool:
    return hasattr(one, "dask") and hasattr(one, "divisions") and not hasattr(one, "columns")


def _in_one_frame(X: Any, beside_it: list[Any]) -> list[tuple[Any, Any, Any]] | None:
    """None where Dask does not know them to be of the same partitions."""
    from dask import delayed

    if any(one.npartitions != X.npartitions for one in beside_it):
        return None
    names = BESIDE[: len(beside_it)]
    try:
        frame = X.assign(**dict(zip(names, beside_it, strict=True)))
    except (ValueError, NotImplementedError):
        return None
    if frame.npartitions != X.npartitions:
        return None
    columns, column = delayed(_columns, pure=False), delayed(_column, pure=False)
    found = []
    for block in frame.to_delayed():
        series = [column(block, name) for name in names]
        found.append((columns(block, list(X.columns)), series[0], series[1] if len(series) > 1 else None))
    return found


def _columns(frame: Any, names: list[Any]) -> Any:
    return frame[names]


def _column(frame: Any, name: str) -> Any:
    return frame[name]


def blocks_of(X: Any) -> list[Any]:
    """The partitions of X, delayed, in their order."""
    if not hasattr(X, "chunks"):
        return list(X.to_delayed(optimize_graph=False))  # by its own partitions: reading fewer columns may join some
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; got {X.ndim}")
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    return list(X.to_delayed().ravel())


def beside(given: Any, X: Any, n_blocks: int, name: str) -> list[Any]:
    """The partitions of y or weights, one for each of X."""
    lengths = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * n_blocks
    known = not np.isnan(lengths).any()
    if not hasattr(given, "dask"):
        column = np.asarray(given)
        if not known:
            raise ValueError(
                f"{name} is in memory and the partitions of X have lengths that are not known: give {name} as a Dask "
                "collection too, or call X.compute_chunk_sizes() first"
            )
        if column.shape != (sum(lengths),):
            raise ValueError(f"{name} has shape {column.shape}; X has {sum(lengths)} rows")
        return np.split(column, np.cumsum(lengths)[:-1])
    if hasattr(given, "chunks") and given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if hasattr(given, "chunks") and known and not np.isnan(given.chunks[0]).any():
        if sum(given.chunks[0]) != sum(lengths):
            raise ValueError(f"{name} has {sum(given.chunks[0])} entries; X has {sum(lengths)} rows")
        given = given.rechunk((tuple(lengths),))
    blocks = list(np.ravel(given.to_delayed())) if hasattr(given, "chunks") else blocks_of(given)
    if len(blocks) != n_blocks:
        raise ValueError(
            f"{name} has {len(blocks)} partitions and X has {n_blocks}, of lengths that are not known: make them of "
            "the same frame, or call compute_chunk_sizes() on both"
        )
    return blocks
