"""Labels as they come: pandas' own types and Python's own objects as numpy's, and refused where some are missing.

Given is y, one label for each row: an array, a list, a series; in memory, or one partition of many. What comes back can
be compared, so that whoever asks for two classes finds them. Which label is positive is decided elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .rows import refuse_masked


def plain_labels(y: Any) -> Any:
    """Labels of pandas' own types and Python's own objects as numpy's of the same kind, so that True stays True and 1
    stays 1 (scikit-learn makes 1.0 of both); missing ones are refused by name."""
    refuse_masked(y, "y")
    if y is None:
        return y
    if hasattr(y, "isna") and getattr(y, "ndim", 0) == 1:
        missing = np.flatnonzero(np.asarray(y.isna()))
        if len(missing):
            raise ValueError(f"Input y contains NaN or None: the label of row {missing[0]} is missing. Drop such rows")
        kind = getattr(y.dtype, "numpy_dtype", None)  # of Int64, boolean, Float64, and of Arrow's numbers
        if kind is not None and not is_object(kind):
            return np.asarray(y, dtype=kind)
    if is_object(getattr(y, "dtype", None)) and getattr(y, "ndim", 0) == 1:
        kinds = {type(label) for label in np.asarray(y).tolist()}
        if kinds == {bool}:
            return np.asarray(y, dtype=bool)
        if kinds == {int}:
            try:
                return np.asarray(y, dtype=np.int64)
            except OverflowError:
                raise ValueError("labels that are whole numbers have 64 bits: call such large ones by text") from None
    if not sp.issparse(y):  # of several labels a row
        _check_column(y)
    return y


def _check_column(y: Any) -> None:
    """What cannot be one label for each row, and the first that is no number among numbers."""
    try:
        column = np.asarray(y)
    except ValueError:
        raise ValueError(
            "y has rows of different lengths, and one label for each row is needed; of several labels a row "
            "sklearn.preprocessing.MultiLabelBinarizer makes a table"
        ) from None
    if column.ndim == 0:
        what = f"text, {y!r}" if isinstance(y, (str, bytes)) else f"a {type(y).__name__}"
        raise ValueError(f"y is {what}: y should be a 1d array, or a list, with one label for each row")
    refuse_no_numbers(column)


def refuse_no_numbers(column: NDArray[Any], name: str = "y") -> None:
    """NaN or infinity in a column of floats, with its row."""
    if column.dtype.kind != "f" or column.ndim != 1:
        return
    bad = np.flatnonzero(~np.isfinite(column))
    if len(bad):
        what = "NaN" if np.isnan(column[bad[0]]) else "infinity or a value too large for float64"
        raise ValueError(f"Input {name} contains {what}: row {bad[0]}. Drop such rows")


def refuse_columns(y: Any) -> Any:
    """y, unless there are several columns of it."""
    shape = np.asarray(y).shape
    if len(shape) > 1 and shape[1:] != (1,):
        raise ValueError(
            f"y should be a 1d array, got an array of shape {shape} instead: one label for each row is needed. Of one "
            "column for each class np.asarray(y).argmax(axis=1) makes one"
        )
    return y


def is_object(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") == "O" and isinstance(dtype, np.dtype)


def check_one_kind(column: NDArray[Any]) -> None:
    """Labels that are Python's objects can be compared with each other."""
    kinds = sorted({type(label).__name__ for label in column.tolist()}) if column.dtype == object else []
    if len(kinds) > 1 or kinds == ["NoneType"]:
        raise ValueError(f"labels are of one kind; got {', '.join(kinds)}. Are some missing?")
