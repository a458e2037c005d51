"""By which rows a stream is known again: digests of rows number 0, 1, 2, 4, 8, ..., however it is cut into chunks.

Some forty rows of a stream of 10^12, so that it costs nothing beside learning. A row is its non-zero numbers with their
columns, dense or sparse alike, its label and its weight.
"""

from __future__ import annotations

import hashlib

import numpy as np
import scipy.sparse as sp

from .chunks import Chunk


class Seen:
    """The rows that went by so far.

    >>> seen, other = Seen(), Seen()
    >>> seen.see(Chunk(np.eye(6), np.arange(6)))
    >>> for k in range(6):
    ...     other.see(Chunk(sp.csr_matrix(np.eye(6)[k : k + 1]), [k if k != 4 else 9]))
    >>> len(seen.digests), seen.first_other_than(other.digests)
    (4, 4)
    """

    def __init__(self) -> None:
        self.digests: list[str] = []
        self.n_rows = 0

    def see(self, chunk: Chunk) -> None:
        """The next rows."""
        end = self.n_rows + len(chunk)
        while (row := _number(len(self.digests))) < end:
            self.digests.append(_digest(chunk, row - self.n_rows))
        self.n_rows = end

    def first_other_than(self, known: list[str]) -> int | None:
        """The number of the first row that is another one there, as far as both go."""
        for k, (ours, theirs) in enumerate(zip(self.digests, known, strict=False)):
            if ours != theirs:
                return _number(k)
        return None


def _number(k: int) -> int:
    """Of the k-th row that is looked at."""
    return 0 if k == 0 else 1 << (k - 1)


def _digest(chunk: Chunk, row: int) -> str:
    some = slice(row, row + 1)
    try:
        X = chunk.X.iloc[some] if hasattr(chunk.X, "iloc") else chunk.X[some]
        y = chunk.y.iloc[some] if hasattr(chunk.y, "iloc") else chunk.y[some]
        weight = "" if chunk.sample_weight is None else repr(float(np.asarray(chunk.sample_weight)[row]))
        label = repr(np.asarray(y).tolist())
        numbers = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64).ravel()
    except MemoryError:
        raise
    except Exception:  # no row of numbers, or none that can be cut out: the learner says so better
        return ""
    columns = np.flatnonzero(numbers)
    what = hashlib.sha256(columns.astype("<i8").tobytes())
    what.update(numbers[columns].astype("<f8").tobytes())
    what.update(f"{label};{weight}".encode())
    return what.hexdigest()[:32]
