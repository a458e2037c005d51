"""One partition as numbers: whatever Dask hands over (arrays, `scipy.sparse`, pandas) as a matrix, labels and weights.

Columns of categories hold their values, not their codes, which differ between partitions. What is no number is named by
its column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..labels import check_one_kind, plain_labels

Array = NDArray[np.float64]


def matrix_of(X: Any, names: Sequence[Any] | None = None) -> Any:
    if hasattr(X, "to_scipy_sparse"):  # of the package `sparse`
        return X.to_scipy_sparse().tocsr()
    if sp.issparse(X) or not hasattr(X, "columns"):
        return X
    if names is not None and list(X.columns) != list(names):
        raise ValueError(f"its columns are {list(X.columns)[:5]}, those of the frame {list(names)[:5]}")
    return _numbers(X)


def _numbers(X: Any) -> NDArray[Any]:
    kinds = set(X.dtypes)
    if len(kinds) == 1 and isinstance(kind := next(iter(kinds)), np.dtype) and kind.kind in "biuf":
        return np.ascontiguousarray(X.to_numpy())  # as pandas holds them: a third of the time
    columns = []
    for name in X.columns:
        column = np.asarray(X[name])
        if column.dtype.kind in "mM":
            raise TypeError(
                f"column {name!r} of X holds dates or durations: say as numbers what they mean, in some unit"
            )
        if column.dtype.kind not in "biuf":
            try:
                column = column.astype(np.float64)
            except (ValueError, TypeError):
                raise ValueError(
                    f"column {name!r} of X holds {type(column.tolist()[0]).__name__}, not numbers: encode it first, "
                    "with the same categories in every partition"
                ) from None
        columns.append(column)
    if not columns:
        raise ValueError("X has no columns")
    return np.column_stack(columns)


def labels_of(y: Any) -> NDArray[Any]:
    labels: NDArray[Any] = np.asarray(plain_labels(y))
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y is one label for each row; got shape {labels.shape}")
    check_one_kind(labels)
    missing = labels != labels if labels.dtype.kind in "fc" else np.zeros(0, dtype=bool)
    if missing.any():
        row = int(np.argmax(missing))
        raise ValueError(f"Input y contains NaN or None: the label of row {row} is missing. Drop such rows")
    return labels


def weights_of(weight: Any) -> Array | None:
    if weight is None:
        return None
    column = np.asarray(weight, dtype=np.float64).ravel()
    if not (np.isfinite(column).all() and (column >= 0.0).all()):
        raise ValueError("sample_weight must be finite and not negative")
    return column
