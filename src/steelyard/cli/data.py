"""Tables for the command line, whole or a chunk at a time: CSV, Parquet, svmlight and npz, from a file or stdin.

A chunk is a `Block`: named columns of text (or of Parquet's values), or a matrix and labels for formats that have no
names. A line of a CSV that has too few or too many fields is refused with its number.
"""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..measures.known_names import did_you_mean
from ..streams.files import with_pyarrow
from .errors import CommandError

CHUNK = 20_000  # rows at a time: some ten megabytes of text
BY_SUFFIX = {
    ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".data": "csv", ".parquet": "parquet", ".pq": "parquet",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".npz": "npz",
}  # fmt: skip
FORMATS = ("csv", "parquet", "svmlight", "npz")
csv.field_size_limit(1 << 24)  # a field of text may be long, but not the rest of a file after a lost quote


@dataclass(frozen=True)
class Block:
    """Rows of a table; either named columns, or a matrix with labels (None where there are none)."""

    names: tuple[str, ...] = ()
    columns: tuple[NDArray[Any], ...] = ()
    matrix: Any = None
    labels: Any = None

    def __len__(self) -> int:
        return int(self.matrix.shape[0]) if self.matrix is not None else len(self.columns[0])

    def take(self, names: tuple[str, ...]) -> NDArray[Any]:
        """The columns `names` side by side, as objects."""
        found = np.empty((len(self), len(names)), dtype=object)
        for k, name in enumerate(names):
            found[:, k] = self.column(name)
        return found

    def column(self, name: str) -> NDArray[Any]:
        if name not in self.names:
            meant = did_you_mean(name, self.names)
            raise CommandError(f"there is no column {name!r}{meant}; there are {', '.join(map(repr, self.names))}")
        return self.columns[self.names.index(name)]


@dataclass(frozen=True)
class Source:
    """A file, or "-" for standard input."""

    path: str
    format: str | None = None
    delimiter: str | None = None

    @property
    def kind(self) -> str:
        if self.format is not None:
            return self.format
        if self.path == "-":
            return "csv"
        kind = BY_SUFFIX.get(Path(self.path).suffix.lower())
        if kind is None:
            os.stat(self.path)  # raises where there is no such file
            raise CommandError(f"{self.path}: its name does not say what it is; --format {'|'.join(FORMATS)} does")
        return kind

    def blocks(self, chunk: int = CHUNK, n_features: int | None = None) -> Iterator[Block]:
        kind = self.kind
        if kind == "csv":
            yield from self._csv(chunk)
        elif kind == "parquet":
            yield from self._parquet(chunk)
        elif kind == "svmlight":
            yield from self._svmlight(chunk, n_features)
        else:
            yield self._npz()

    def whole(self, n_features: int | None = None) -> Block:
        if self.kind == "svmlight":
            found = list(self._svmlight(None, n_features))
        else:
            found = list(self.blocks(n_features=n_features))
        if not found:
            raise CommandError(f"{self.path}: there are no rows")
        if len(found) == 1:
            return found[0]
        columns = zip(*(block.columns for block in found), strict=True)
        return Block(found[0].names, tuple(np.concatenate(parts) for parts in columns))

    # -- formats ------------------------------------------------------------------------------------------------
    def _csv(self, chunk: int) -> Iterator[Block]:
        with self._text() as file:
            first = file.readline()
            if not first.strip():
                raise CommandError(f"{self.path}: it is empty; a CSV begins with a line of column names")
            delimiter = self.delimiter or _delimiter(first, self.path)
            header = tuple(name.strip() for name in next(csv.reader([first.lstrip("\ufeff")], delimiter=delimiter)))
            twice = sorted({name for name in header if header.count(name) > 1})
            if twice:
                raise CommandError(f"{self.path}: two columns are called {twice[0]!r}")
            reader = csv.reader(file, delimiter=delimiter)
            while True:
                rows = list(islice(self._checked(reader, header), chunk))
                if not rows:
                    return
                yield Block(header, tuple(np.array(column, dtype=object) for column in zip(*rows, strict=True)))

    def _checked(self, reader: Any, header: tuple[str, ...]) -> Iterator[list[str]]:
        """Rows with as many fields as the header; empty lines are none. Lines are counted with the header."""
        try:
            for row in reader:
                if len(row) == len(header):
                    yield row
                elif row:
                    raise CommandError(
                        f"{self.path}: line {reader.line_num + 1} has {len(row)} fields; the header has {len(header)}"
                    )
        except csv.Error as error:
            raise CommandError(f"{self.path}: line {reader.line_num + 1}: {error}") from None
        except UnicodeDecodeError as error:
            raise CommandError(f"{self.path}: after line {reader.line_num + 1}: not UTF-8 ({error.reason})") from None

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        if self.path == "-":
            yield sys.stdin
            return
        with open(self.path, newline="", encoding="utf-8") as file:
            try:
                yield file
            except UnicodeDecodeError as error:
                raise CommandError(f"{self.path}: it is not UTF-8 text ({error.reason})") from None

    def _parquet(self, chunk: int) -> Iterator[Block]:
        parquet = with_pyarrow().parquet
        given: Any = io.BytesIO(sys.stdin.buffer.read()) if self.path == "-" else self.path
        for batch in parquet.ParquetFile(given).iter_batches(batch_size=chunk):
            columns = (column.to_numpy(zero_copy_only=False) for column in batch.columns)
            yield Block(tuple(batch.schema.names), tuple(columns))

    def _svmlight(self, chunk: int | None, n_features: int | None) -> Iterator[Block]:
        from sklearn.datasets import load_svmlight_file

        with self._bytes() as file:
            done = 0
            while lines := list(islice(file, chunk)):
                try:
                    X, y = load_svmlight_file(io.BytesIO(b"".join(lines)), n_features=n_features)
                except ValueError as error:
                    raise CommandError(
                        f"{self.path}: between lines {done + 1} and {done + len(lines)}: {error}"
                    ) from None
                done += len(lines)
                yield Block(matrix=X, labels=y.astype(int) if (y == y.astype(int)).all() else y)

    @contextmanager
    def _bytes(self) -> Iterator[Any]:
        if self.path == "-":
            yield sys.stdin.buffer
            return
        with open(self.path, "rb") as file:
            yield file

    def _npz(self) -> Block:
        given: Any = io.BytesIO(sys.stdin.buffer.read()) if self.path == "-" else self.path
        try:
            with np.load(given, allow_pickle=False) as held:
                y = held.get("y")
                if "X" in held:
                    return Block(matrix=np.asarray(held["X"], dtype=np.float64), labels=y)
                parts = held["data"].astype(np.float64), held["indices"], held["indptr"]
                return Block(matrix=sp.csr_matrix(parts, shape=tuple(held["shape"])), labels=y)
        except (KeyError, ValueError, AttributeError) as error:
            raise CommandError(
                f"{self.path}: an npz holds X and y, or data, indices, indptr, shape and y ({error})"
            ) from None


def _delimiter(header: str, path: str) -> str:
    """Of comma, semicolon and tab the one that the header has most of."""
    if path.endswith(".tsv"):
        return "\t"
    return max((",", ";", "\t"), key=header.count)
