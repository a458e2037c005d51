"""Columns of a file as a step of a pipeline: which there are, which are numbers, and what stands for a missing entry.

It comes first in a model that the command line makes, so that the file of the model knows which columns to ask for, and
in which order. Text becomes numbers where a column has numbers, and stays text where it has categories.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from ._parameters import ANYTHING, Checked, Table

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "?")  # as spreadsheets, R, pandas and UCI write them


class TableColumns(Checked, TransformerMixin, BaseEstimator):
    """Text of the columns `names` to numbers, and to text or None in those of them that are `categorical`.

    >>> TableColumns(["age", "city"], ["city"]).transform(np.array([["31", "Pisa"], ["", "?"]], dtype=object)).tolist()
    [[31.0, 'Pisa'], [nan, None]]
    """

    _parameters: ClassVar[Table] = {"names": (ANYTHING,), "categorical": (ANYTHING,), "target": (ANYTHING,)}

    def __init__(self, names: Any = (), categorical: Any = (), target: Any = None) -> None:
        self.names = names
        self.categorical = categorical
        self.target = target

    def fit(self, X: Any, y: Any = None) -> TableColumns:
        """Nothing is learned: the kinds of the columns are parameters."""
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """A float array if all columns are numbers, else an array of objects; a data frame gives columns by name."""
        X = np.asarray(X[list(self.names)] if hasattr(X, "columns") else X, dtype=object)
        columns = [
            categories(X[:, k]) if name in self.categorical else floats(X[:, k], name)
            for k, name in enumerate(self.names)
        ]
        if not self.categorical:
            return np.column_stack(columns)
        found = np.empty((len(X), len(columns)), dtype=object)
        for k, column in enumerate(columns):
            found[:, k] = column
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return True


def is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isin(column.astype(str), MISSING)


def floats(column: NDArray[Any], name: str = "") -> NDArray[np.float64]:
    """Numbers, NaN where there is none; what is no number is named."""
    if column.dtype.kind in "iufb":
        return column.astype(np.float64)
    try:
        return np.asarray(column, dtype=np.float64)  # the usual case: none is missing
    except (TypeError, ValueError):
        filled = np.where(is_missing(column), "nan", column.astype(str))
    try:
        return filled.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"column {name!r} had numbers when the model was fitted: {error}") from None


def categories(column: NDArray[Any]) -> NDArray[Any]:
    """Text, None where there is none."""
    found = column.astype(str).astype(object)
    found[is_missing(column)] = None
    return found


def has_numbers(column: NDArray[Any]) -> bool:
    """Whether all entries that are there are numbers."""
    try:
        return bool(np.isfinite(floats(column)).any())
    except ValueError:
        return False
