"""The border between users and solvers: X becomes `Rows` and y becomes `Labels`, checked once; a call that fails leaves
the estimator as it was.

scikit-learn's `validate_data` does what it is for (data frames, names and number of the columns, shapes), but not its
own pass for NaN and infinity: `Rows.of` looks at every number once, says where the bad one is, and knows broken CSR.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..rows import Rows, refuse_masked

KINDS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}


def rows_and_y(estimator: BaseEstimator, X: Any, y: Any, *, reset: bool = True, check: bool = True) -> tuple[Rows, Any]:
    """X as rows and y as a column of the same length; ``check=False`` leaves the numbers to the solver's loop."""
    _check_form(X)
    refuse_masked(y, "y")
    X, y = validate_data(estimator, X, y, reset=reset, **KINDS)
    return Rows.of(X, check=check), y


def rows_to_score(estimator: BaseEstimator, X: Any) -> Rows:
    """New rows for a fitted estimator."""
    check_is_fitted(estimator)
    _check_form(X)
    return Rows.of(validate_data(estimator, X, reset=False, **KINDS))


@contextmanager
def as_before(estimator: BaseEstimator) -> Iterator[None]:
    """Whatever goes wrong inside (an error, Ctrl-C), the estimator has the attributes that it had before."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_form(X: Any) -> None:
    """For rows that somebody else will read, who trusts the indices of sparse matrices: scikit-learn's models do."""
    _check_form(X)
    if not sp.issparse(X) or X.format != "csr":
        return
    Rows.of(X, check=False)  # lengths and row starts
    outside = np.flatnonzero((X.indices < 0) | (X.indices >= X.shape[1]))
    if len(outside):
        row = int(np.searchsorted(X.indptr, outside[0], side="right")) - 1
        raise ValueError(
            f"X is no valid CSR matrix: row {row} names column {X.indices[outside[0]]}, its shape is {X.shape}"
        )


def _check_form(X: Any) -> None:
    """Before scikit-learn reads it: masks it does not look at, dates it takes for numbers, and other formats than CSR
    are converted by scipy, which trusts their indices."""
    refuse_masked(X)
    if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        raise TypeError(
            f"X holds dates or durations ({X.dtype}): say as numbers what they mean, in a unit of your choice"
        )
    if not sp.issparse(X) or X.format == "csr":
        return
    if hasattr(X, "check_format"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        for what, numbers, size in zip(("row", "column"), (X.row, X.col), X.shape, strict=True):
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < size):
                bad = numbers[(numbers < 0) | (numbers >= size)][0]
                raise ValueError(f"X is no valid COO matrix: it names {what} {bad}, its shape is {X.shape}")
