"""Labels as they come: pandas' own types and Python's own objects as numpy's, and refused where some are missing.

Given is y, one label for each row: an array, a list, a series; in memory, or one partition of many. What comes back can
be compared, so that whoever asks for two classes finds them. Which label is positive is decided elsewhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rows import refuse_masked


def plain_labels(y: Any) -> Any:
    """Labels of pandas' own types and Python's own objects as numpy's of the same kind, so that True stays True and 1
    stays 1 (scikit-learn makes 1.0 of both); missing ones are refused by name."""
    refuse_masked(y, "y")
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
    return y


def is_object(dtype: Any) -> bool:
    return getattr(dtype, "kind", "") == "O" and isinstance(dtype, np.dtype)


def check_one_kind(column: NDArray[Any]) -> None:
    """Labels that are Python's objects can be compared with each other."""
    kinds = sorted({type(label).__name__ for label in column.tolist()}) if column.dtype == object else []
    if len(kinds) > 1 or kinds == ["NoneType"]:
        raise ValueError(f"labels are of one kind; got {', '.join(kinds)}. Are some missing?")
