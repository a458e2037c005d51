"""From blocks of a file to what an estimator takes: labels, and rows in the order that a model knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from ..estimators._table import TableColumns, has_numbers, is_missing
from .data import Block
from .errors import USAGE, CommandError


@dataclass(frozen=True)
class Labelled:
    """Rows and labels of one block, and the step that reads more of the same table (None for a matrix)."""

    X: Any
    y: NDArray[Any]
    reader: TableColumns | None


def labelled(block: Block, target: str | None, reader: TableColumns | None = None) -> Labelled:
    """The first block of a table says which columns are numbers; later ones are read as it was."""
    if block.matrix is not None:
        if block.labels is None:
            raise CommandError("there are no labels: an npz for training holds y")
        return Labelled(block.matrix, np.asarray(block.labels).ravel(), None)
    if target is None:
        raise CommandError("--target says which column is to be predicted", USAGE)
    y = labels_of(block.column(target), target)
    if reader is None:
        names = tuple(name for name in block.names if name != target)
        if not names:
            raise CommandError(f"there is no column but {target!r}: nothing to predict it from")
        kinds = tuple(name for name in names if not has_numbers(block.column(name)))
        reader = TableColumns(list(names), list(kinds), target)
    return Labelled(reader.transform(block.take(tuple(reader.names))), y, reader)


def labels_of(column: NDArray[Any], target: str) -> NDArray[Any]:
    """Whole numbers if all are, else text; missing ones are refused."""
    missing = np.flatnonzero(is_missing(column))
    if len(missing):
        raise CommandError(f"the label of row {missing[0] + 1} is missing (column {target!r}); leave such rows out")
    if column.dtype.kind in "biu":
        return column
    text = column.astype(str)
    known = np.unique(text)
    if all(value.lstrip("+-").isdigit() for value in known.tolist()):
        return text.astype(np.int64)
    return text


def prepared_by(table: Labelled, prepare: Any) -> str:
    """The rows, and which columns the transformer takes for what: it knows them by their numbers."""
    said = [f"{len(table.y):,} rows"]
    if table.reader is not None:
        kinds = table.reader.categorical
        said += [f"numbers: {', '.join(name for name in table.reader.names if name not in kinds) or 'none'}"]
        said += [f"categories: {', '.join(kinds) or 'none'}"]
    return "\n".join([*said, f"prepared by {prepare}"])


def positive_of(given: str | None, classes: NDArray[Any]) -> Any:
    """--pos-label as one of the labels."""
    if given is None:
        return None
    found = [label for label in classes.tolist() if str(label) == given]
    if not found:
        raise CommandError(f"--pos-label {given}: the labels are {', '.join(map(repr, classes.tolist()))}", USAGE)
    return found[0]


def rows_for(model: Any, block: Block) -> Any:
    """The rows of a block as the model takes them."""
    if block.matrix is not None:
        return block.matrix
    reader = reader_in(model)
    if reader is None:
        n = getattr(model, "n_features_in_", None)
        raise CommandError(f"the model was fitted on a matrix of {n} columns without names; give npz or svmlight")
    missing = [name for name in reader.names if name not in block.names]
    if missing:
        raise CommandError(f"the model needs a column {missing[0]!r}; there are {', '.join(map(repr, block.names))}")
    return block.take(tuple(reader.names))


def reader_in(model: Any) -> TableColumns | None:
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    return first if isinstance(first, TableColumns) else None


def with_reader(reader: TableColumns | None, model: Any) -> Any:
    """A fitted model behind the step that reads its columns."""
    return model if reader is None else Pipeline([("columns", reader), ("model", model)])
