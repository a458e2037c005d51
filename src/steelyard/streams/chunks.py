"""A chunk of a stream, and anything that can be iterated over as chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Chunk:
    """Some rows of a stream: X, y and perhaps weights, of one length.

    Parameters
    ----------
    X, y : rows and labels
        Of one length.
    sample_weight : array-like, default=None
        How much each row counts.

    See Also
    --------
    from_arrays : Chunks of arrays.
    """

    X: Any
    y: Any
    sample_weight: Any = None

    def __len__(self) -> int:
        return len(self.y)

    def last(self, n: int) -> Chunk:
        """The last `n` rows."""
        weight = None if self.sample_weight is None else self.sample_weight[len(self) - n :]
        start = len(self) - n
        X = self.X.iloc[start:] if hasattr(self.X, "iloc") else self.X[start:]
        y = self.y.iloc[start:] if hasattr(self.y, "iloc") else self.y[start:]
        return Chunk(X, y, weight)


def as_chunks(stream: Iterable[Any]) -> Iterator[Chunk]:
    """Chunks from an iterable of chunks, ``(X, y)`` or ``(X, y, sample_weight)``; empty ones are skipped."""
    for number, item in enumerate(stream):
        if isinstance(item, Chunk):
            chunk = item
        elif isinstance(item, (tuple, list)) and len(item) in (2, 3):
            chunk = Chunk(*item)
        else:
            raise TypeError(
                f"a stream yields (X, y) or (X, y, sample_weight); item {number} is a {type(item).__name__}"
            )
        rows = chunk.X.shape[0] if hasattr(chunk.X, "shape") else len(chunk.X)
        if rows != len(chunk):
            raise ValueError(f"chunk {number} has {rows} rows but {len(chunk)} labels")
        if len(chunk):
            yield chunk


@dataclass(frozen=True)
class ArrayStream:
    """Chunks of arrays that are in memory (or memory-mapped); can be iterated over again."""

    X: Any
    y: Any
    chunk: int = 10_000
    sample_weight: Any = None

    def __iter__(self) -> Iterator[Chunk]:
        y = np.asarray(self.y)
        for start in range(0, len(y), self.chunk):
            rows = slice(start, start + self.chunk)
            weight = None if self.sample_weight is None else self.sample_weight[rows]
            yield Chunk(self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows], y[rows], weight)


def from_arrays(X: Any, y: Any, chunk: int = 10_000, sample_weight: Any = None) -> ArrayStream:
    """Chunks of `chunk` rows of arrays, sparse matrices or data frames.

    >>> import numpy as np
    >>> [len(chunk) for chunk in from_arrays(np.zeros((25, 2)), np.zeros(25), chunk=10)]
    [10, 10, 5]
    """
    return ArrayStream(X, y, check_chunk(chunk), sample_weight)


def check_chunk(chunk: Any) -> int:
    if not isinstance(chunk, (int, np.integer)) or isinstance(chunk, bool) or chunk < 1:
        raise ValueError(f"chunk is a number of rows, at least 1; got {chunk!r}")
    return int(chunk)
