"""What users hand over and estimators pass on: their classifiers, and an X of any kind, of which rows can be taken.

A model that checks X itself (a text pipeline, trees that take NaN) gets X as it came: an array, CSR, a data frame, a
list of texts. So nothing is asked of X here but its number of rows and a part of them.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

RowNumbers = NDArray[np.intp]
Fitted = TypeVar("Fitted", bound="Classifier")


class Classifier(Protocol):
    """A scikit-learn classifier; besides, it has `decision_function` or `predict_proba`, which `hasattr` finds out."""

    @property
    def classes_(self) -> Any: ...
    def fit(self: Fitted, X: Any, y: Any, **params: Any) -> Fitted: ...
    def predict(self, X: Any) -> Any: ...


def n_rows(X: Any) -> int:
    """How many rows X has."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) > 0:
        return int(shape[0])
    if shape is None and hasattr(X, "__len__"):
        return len(X)
    if shape is None and hasattr(X, "__array__"):
        return n_rows(np.asarray(X))
    raise TypeError(f"X is a table with rows; got {type(X).__name__}")


def part_of(X: Any, which: RowNumbers) -> Any:
    """The rows `which` of X, of the same kind as X; an array of their own."""
    if sp.issparse(X):
        return X.tocsr()[which]
    if hasattr(X, "iloc"):  # pandas
        return X.iloc[which]
    if isinstance(X, (list, tuple)):
        return [X[k] for k in which]
    if hasattr(X, "schema") and hasattr(X, "take"):  # Arrow
        return X.take(which)
    return X[which]  # numpy, polars, tensors


def parts_of(params: dict[str, Any], which: RowNumbers, n: int) -> dict[str, Any]:
    """Parameters of a call for the rows `which` of n: what has an entry for every row is cut to size."""

    def has_rows(value: Any) -> bool:
        is_table = hasattr(value, "__len__") or hasattr(value, "shape")
        return is_table and not isinstance(value, (str, bytes, dict)) and n_rows(value) == n

    return {name: part_of(value, which) if has_rows(value) else value for name, value in params.items()}
