"""Rows and labels on their way to the compiled loop: checked without a pass over X of their own.

scikit-learn's finiteness check reads all of X before anything is learned; here the loop itself notices a row that is
not finite, at the cost of one comparison, and takes nothing from its chunk. Labels of two integer values are told
apart in three passes over y where sorting would take longer than learning.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from ..solvers.stream.learner import BadRowError
from ._binary import check_weight, encode_labels, positive_label


def check_rows(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, np.ndarray]:
    """X as C-ordered float32/float64 or CSR, y as a column, of one length; NaN and infinity are left to the loop."""
    X, y = validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], order="C",
        ensure_all_finite=False,
    )  # fmt: skip
    if sp.issparse(X) and X.indices.dtype != X.indptr.dtype:
        X = sp.csr_matrix(X)
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X, y


def signs_of_new(y: np.ndarray, pos_label: Any) -> tuple[np.ndarray, Any, np.ndarray]:
    """``(classes, positive label, labels as -1 and +1)`` for labels never seen before; both classes must be there."""
    if y.dtype.kind in "iub" and len(y):
        low, high = y.min(), y.max()
        is_high = y == high
        if low != high and np.count_nonzero(is_high) + np.count_nonzero(y == low) == len(y):
            classes = np.array([low, high], dtype=y.dtype)
            positive = positive_label(classes, pos_label)
            return classes, positive, _signs(is_high if positive == high else ~is_high)
    classes, is_positive, positive = encode_labels(y, pos_label)
    return classes, positive, _signs(is_positive)


def signs_of_known(y: np.ndarray, classes: np.ndarray, positive: Any) -> np.ndarray:
    """Labels of known classes as -1 and +1; one class alone is fine."""
    is_positive = y == positive
    negative = classes[0] if positive == classes[1] else classes[1]
    strangers = ~(is_positive | (y == negative))
    if np.any(strangers):
        stranger = np.asarray(y)[strangers][0]
        raise ValueError(
            f"y has the label {stranger!r}, which is not one of the classes {classes.tolist()} given first"
        )
    return _signs(np.asarray(is_positive))


def check_classes(classes: Any) -> np.ndarray:
    found = np.unique(np.asarray(classes))
    if len(found) != 2:
        raise ValueError(f"Only binary classification is supported: classes must hold two labels; got {found.tolist()}")
    return found


def check_chunk_weight(sample_weight: Any, X: Any, signs: np.ndarray, *, both: bool) -> np.ndarray | None:
    return check_weight(sample_weight, X, signs > 0 if both else None)


def explain(error: BadRowError, X: Any, name: str) -> ValueError:
    """What is wrong with the row, in the words of scikit-learn and with its place."""
    if sp.issparse(X):
        entries = slice(X.indptr[error.row], X.indptr[error.row + 1])
        values, columns = X.data[entries], X.indices[entries]
    else:
        values, columns = X[error.row], np.arange(X.shape[1])
    intact = f"Nothing of this chunk was learned and {name} is as it was before it"
    outside = columns[(columns < 0) | (columns >= X.shape[1])]
    if len(outside):
        return ValueError(
            f"X is no valid CSR matrix: row {error.row} has column {outside[0]}, its shape is {X.shape}. {intact}"
        )
    at = int(np.flatnonzero(~np.isfinite(values))[0])
    what = "NaN" if np.isnan(values[at]) else f"infinity or a value too large for {X.dtype}"
    return ValueError(
        f"Input X contains {what}: row {error.row}, column {int(columns[at])}. {intact}. "
        "Drop or impute such rows first, for instance with sklearn.impute.SimpleImputer"
    )


def _signs(is_positive: np.ndarray) -> np.ndarray:
    return (is_positive.view(np.int8) * np.int8(2)) - np.int8(1)
