"""What stands before a linear model on a table as people have it: a scikit-learn transformer, chosen by the columns.

    numbers      missing ones become the median, with a column that says so; then mean 0 and deviation 1
    categories   missing ones are a category; each of the commonest gets a column, rare and new ones share one
    sparse rows  each column divided by its largest value, which keeps zeros

It is a transformer like any other, shown to the user and fitted inside each fold.
"""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

MOST_CATEGORIES = 40  # columns for one of X: the rest are rare, and trees and linear models alike slow down


def preparation(X: Any, *, impute: bool = False) -> Any:
    """An unfitted transformer for tables such as X; it imputes if numbers are missing in X, or with `impute` in case
    they are in rows to come."""
    if sp.issparse(X):
        return MaxAbsScaler()
    if hasattr(X, "columns"):
        numeric, categorical = columns_by_kind(X)
        return _by_column(numeric, categorical, impute or any(_missing(X[name]) for name in numeric))
    if isinstance(X, np.ndarray) and X.dtype.kind == "O" and X.ndim == 2:
        is_number = [all(isinstance(value, numbers.Real) for value in column) for column in X.T]
        where, elsewhere = np.flatnonzero(is_number).tolist(), np.flatnonzero(~np.array(is_number)).tolist()
        return _by_column(where, elsewhere, impute or bool(np.isnan(X[:, where].astype(np.float64)).any()))
    return _numbers(impute or bool(np.isnan(_as_floats(X)).any()))


def _by_column(numeric: list[Any], categorical: list[Any], missing: bool) -> Any:
    parts = [(_numbers(missing), numeric)] if numeric else []
    parts += [(_categories(), categorical)] if categorical else []
    return make_column_transformer(*parts)


def columns_by_kind(X: Any) -> tuple[list[str], list[str]]:
    """The names of a data frame's columns, numbers and booleans apart from all others."""
    numeric: list[str] = []
    categorical: list[str] = []
    for name in X.columns:
        kind = str(X[name].dtype).lower()
        is_number = kind.startswith(("int", "uint", "float", "bool", "double")) and not kind.startswith("interval")
        (numeric if is_number else categorical).append(name)
    return numeric, categorical


def _numbers(missing: bool) -> Any:
    if not missing:
        return StandardScaler()
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())


def _categories() -> Any:
    """The encoder takes a missing entry, None or NaN, as a category of its own."""
    return OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False)


def _missing(column: Any) -> bool:
    counted = column.isna().any() if hasattr(column, "isna") else column.is_null().any() or _has_nan(column)
    return bool(counted)


def _has_nan(column: Any) -> bool:
    return str(column.dtype).lower().startswith("float") and bool(column.is_nan().any())


def _as_floats(X: Any) -> np.ndarray:
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            "X holds something that is not a number: give a data frame (pandas or polars), whose columns say what they "
            "are, and categories are encoded"
        ) from None
