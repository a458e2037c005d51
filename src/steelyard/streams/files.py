"""Files larger than memory, a chunk at a time: svmlight, CSV, Parquet and Arrow.

Each reader is an object that can be iterated over again from the start, as a second pass or a restart from a checkpoint
needs. Nothing is kept of a chunk that has been handed out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from .chunks import Chunk, check_chunk
from .columns import Columns


@dataclass(frozen=True)
class SvmlightStream:
    path: Any
    n_features: int
    chunk: int
    zero_based: bool

    def __iter__(self) -> Iterator[Chunk]:
        with open(self.path, "rb") as file:
            while lines := list(islice(file, self.chunk)):
                X, y = load_svmlight_file(
                    io.BytesIO(b"".join(lines)), n_features=self.n_features, zero_based=self.zero_based
                )
                yield Chunk(X, y)


@dataclass(frozen=True)
class CsvStream:
    path: Any
    target: str
    chunk: int
    columns: Columns
    sample_weight: str | None = None
    delimiter: str = ","

    def __iter__(self) -> Iterator[Chunk]:
        with open(self.path, newline="", encoding="utf-8") as file:
            reader = csv.reader(file, delimiter=self.delimiter)
            header = next(reader, [])
            columns = self._complete(header)
            while rows := list(islice(reader, self.chunk)):
                short = next((k for k, row in enumerate(rows) if len(row) != len(header)), None)
                if short is not None:
                    raise ValueError(
                        f"{self.path}: line {reader.line_num - len(rows) + short + 1} has {len(rows[short])} fields; "
                        f"the header has {len(header)}"
                    )
                values = dict(zip(header, zip(*rows, strict=True), strict=True))
                yield _chunk(values, columns, self.target, self.sample_weight)

    def _complete(self, header: list[str]) -> Columns:
        return _complete(self.columns, header, self.target, self.sample_weight, str(self.path))


@dataclass(frozen=True)
class ArrowStream:
    """Record batches of Parquet files, of an Arrow file, or of an object that yields them."""

    source: Any
    target: str
    chunk: int
    columns: Columns
    sample_weight: str | None = None
    kind: str = field(default="parquet")

    def __iter__(self) -> Iterator[Chunk]:
        for batch in self._batches():
            names = list(batch.schema.names)
            columns = _complete(self.columns, names, self.target, self.sample_weight, str(self.source))
            needed = [*columns.names, self.target, *([self.sample_weight] if self.sample_weight else [])]
            values = {name: _to_numpy(batch.column(names.index(name))) for name in needed}
            yield _chunk(values, columns, self.target, self.sample_weight)

    def _batches(self) -> Iterator[Any]:
        pyarrow = with_pyarrow()
        if self.kind == "parquet":
            for path in sorted(Path(self.source).glob("*.parquet")) if Path(self.source).is_dir() else [self.source]:
                yield from pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=self.chunk)
        elif isinstance(self.source, (str, Path)):
            with pyarrow.memory_map(str(self.source)) as file:
                reader = pyarrow.ipc.open_file(file)
                for k in range(reader.num_record_batches):
                    yield from _cut(reader.get_batch(k), self.chunk)
        else:
            for batch in self.source.to_batches() if hasattr(self.source, "to_batches") else self.source:
                yield from _cut(batch, self.chunk)


def from_svmlight(path: Any, n_features: int, chunk: int = 10_000, zero_based: bool = False) -> SvmlightStream:
    """Chunks of an svmlight/libsvm file as CSR. The number of features must be given: a chunk does not know it."""
    return SvmlightStream(path, int(n_features), check_chunk(chunk), zero_based)


def from_csv(
    path: Any, target: str, *, chunk: int = 10_000, numeric: Sequence[str] = (), categorical: Sequence[str] = (),
    text: Sequence[str] = (), n_hashed: int = 2**18, sample_weight: str | None = None, delimiter: str = ",",
) -> CsvStream:  # fmt: skip
    """Chunks of a CSV file with a header. Columns are numbers unless `categorical` or `text`: those are hashed."""
    columns = Columns(tuple(numeric), tuple(categorical), tuple(text), n_hashed)
    return CsvStream(path, target, check_chunk(chunk), columns, sample_weight, delimiter)


def from_parquet(
    path: Any, target: str, *, chunk: int = 10_000, numeric: Sequence[str] = (), categorical: Sequence[str] = (),
    text: Sequence[str] = (), n_hashed: int = 2**18, sample_weight: str | None = None,
) -> ArrowStream:  # fmt: skip
    """Chunks of a Parquet file, or of a folder of them by name. Needs pyarrow (``pip install steelyard[arrow]``)."""
    columns = Columns(tuple(numeric), tuple(categorical), tuple(text), n_hashed)
    return ArrowStream(path, target, check_chunk(chunk), columns, sample_weight)


def from_arrow(
    source: Any, target: str, *, chunk: int = 10_000, numeric: Sequence[str] = (), categorical: Sequence[str] = (),
    text: Sequence[str] = (), n_hashed: int = 2**18, sample_weight: str | None = None,
) -> ArrowStream:  # fmt: skip
    """Chunks of an Arrow file (memory-mapped), of a table, or of anything that yields record batches. Needs pyarrow."""
    columns = Columns(tuple(numeric), tuple(categorical), tuple(text), n_hashed)
    return ArrowStream(source, target, check_chunk(chunk), columns, sample_weight, "arrow")


def _complete(columns: Columns, header: list[str], target: str, weight: str | None, where: str) -> Columns:
    """Columns that are not named are numbers; names that are not there are refused."""
    missing = [name for name in (*columns.names, target, *([weight] if weight else [])) if name not in header]
    if missing:
        raise ValueError(
            f"{where} has no column {', '.join(map(repr, missing))}; it has {', '.join(map(repr, header))}"
        )
    if columns.numeric:
        return columns
    taken = {target, weight, *columns.categorical, *columns.text}
    return Columns(
        tuple(name for name in header if name not in taken), columns.categorical, columns.text, columns.n_hashed
    )


def _chunk(values: dict[str, Any], columns: Columns, target: str, weight: str | None) -> Chunk:
    y = np.asarray(values[target])
    if y.dtype.kind in "US" and all(value.lstrip("+-").isdigit() for value in np.unique(y).tolist()):
        y = y.astype(np.int64)
    return Chunk(columns.to_rows(values), y, None if weight is None else np.asarray(values[weight], dtype=np.float64))


def _cut(batch: Any, chunk: int) -> Iterator[Any]:
    for start in range(0, batch.num_rows, chunk):
        yield batch.slice(start, chunk)


def _to_numpy(column: Any) -> NDArray[Any]:
    return np.asarray(column.to_numpy(zero_copy_only=False))


def with_pyarrow() -> Any:
    """The module, or how to get it; one that is there and cannot be loaded speaks for itself."""
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError('Parquet and Arrow need pyarrow: pip install "steelyard[arrow]"') from error
    return pyarrow
