"""The border between users and solvers: X becomes `Rows` and y becomes `Labels`, checked once; a call that fails leaves
the estimator as it was.

scikit-learn's `validate_data` does what it is for (data frames, names and number of the columns, shapes), but not its
own pass for NaN and infinity: `Rows.of` looks at every number once, says where the bad one is, and knows broken CSR.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..labels import is_object, plain_labels, refuse_columns
from ..rows import Check, Rows, refuse_masked

PLAIN_X = (np.ndarray, sp.csr_matrix, sp.csr_array)
KINDS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}


def rows_and_y(
    estimator: BaseEstimator, X: Any, y: Any, *, reset: bool = True, check: Check = True
) -> tuple[Rows, Any]:
    """X as rows and y as a column of the same length; what ``check`` leaves to the solver's loop says `Rows.of`."""
    if not _plain(X, y) or _known_width(estimator, reset) not in (None, X.shape[1]):
        _check_table(X)
        y = refuse_columns(plain_labels(y))
        with said_of_a_column(X):
            X, y = validate_data(estimator, X, y, reset=reset, **KINDS)
    elif reset:
        vars(estimator).pop("feature_names_in_", None)
        vars(estimator)["n_features_in_"] = X.shape[1]
    return Rows.of(X, check=check), y


def _plain(X: Any, y: Any) -> bool:
    """Whether `validate_data` would hand these back as they are: arrays without names, of kinds that need no change, as
    long as each other. To ask it takes 0.3 ms after a fit has emptied the caches, time for 6,000 rows of a stream."""
    if type(X) not in PLAIN_X or type(y) is not np.ndarray or X.ndim != 2 or y.ndim != 1:
        return False
    return X.dtype in KINDS["dtype"] and y.dtype.kind in "iubU" and len(y) == X.shape[0] > 0 and X.shape[1] > 0


def _known_width(estimator: BaseEstimator, reset: bool) -> int | None:
    """How many columns X must have; -1 where there are names to compare, and None where X says it."""
    if reset:
        return None
    return -1 if hasattr(estimator, "feature_names_in_") else getattr(estimator, "n_features_in_", -1)


def rows_to_score(estimator: BaseEstimator, X: Any) -> Rows:
    """New rows for a fitted estimator."""
    check_is_fitted(estimator)
    _check_table(X)
    with said_of_a_column(X):
        X = validate_data(estimator, X, reset=False, **KINDS)
    return Rows.of(X)


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


@contextmanager
def said_of_a_column(X: Any) -> Iterator[None]:
    """What cannot be made a number is named with its column, and what to do about it."""
    try:
        yield
    except (ValueError, TypeError, OverflowError) as error:
        reason = _not_numbers(X)
        if reason is None:
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{reason} ({error})") from error


MISSING = "Drop or impute such rows first, for instance with sklearn.impute.SimpleImputer"
ENCODE = "encode it as numbers first, for instance with sklearn.preprocessing.OneHotEncoder"


def _not_numbers(X: Any) -> str | None:
    """The first column of X that holds no numbers, and what it does hold; None if that is not what is wrong."""
    if isinstance(X, (list, tuple)) and X and isinstance(X[0], dict):
        return "the rows of X are dictionaries: sklearn.feature_extraction.DictVectorizer makes columns of them"
    names = getattr(X, "columns", None)
    if names is None:
        X = np.asarray(X, dtype=object) if isinstance(X, (list, tuple)) else X
        if not is_object(getattr(X, "dtype", None)) or getattr(X, "ndim", 0) != 2:
            return None
        columns = [(k, X[:, k]) for k in range(X.shape[1])]
    else:
        for name, times in Counter(names).most_common(1):
            if times > 1:
                return f"X has more than one column named {name!r}: give each a name of its own"
        columns = [(name, X[name]) for name in names]
    for name, column in columns:
        values = np.asarray(column)
        if values.dtype.kind in "mM":
            return f"column {name!r} of X holds dates or durations: say as numbers what they mean, in some unit"
        if getattr(getattr(column, "dtype", None), "fill_value", 0) != 0:
            return f"column {name!r} of X is sparse, and not with zeros: take X.sparse.to_dense()"
        try:
            values.astype(np.float64)
        except (ValueError, TypeError, OverflowError):
            return f"column {name!r} of X holds {_no_number_in(values.tolist())}"
    return None


def _no_number_in(column: list[Any]) -> str:
    """The first value that is no number, and what to do about it."""
    for row, value in enumerate(column):
        try:
            float(value)
        except OverflowError:
            return f"a number beyond those of 64 bits in row {row}: divide by a unit"
        except (ValueError, TypeError):
            if type(value).__name__ in ("NAType", "NaTType"):
                return f"NaN: row {row} has no value there. {MISSING}"
            return f"{type(value).__name__}, not numbers: {ENCODE}"
    return "no numbers"


def _check_table(X: Any) -> None:
    """For rows that are read here: what can be no table, before numpy makes one object of it."""
    _check_form(X)
    is_list = hasattr(X, "__len__") and hasattr(X, "__getitem__") and not isinstance(X, Mapping)
    if not (is_list or hasattr(X, "shape") or hasattr(X, "__array__")):
        raise TypeError(f"X is a {type(X).__name__}, not a table: make an array or a data frame of its numbers")
    fields = getattr(getattr(X, "dtype", None), "names", None)
    if fields:
        make = "numpy.lib.recfunctions.structured_to_unstructured(X)"
        raise TypeError(f"X is a structured array with the fields {', '.join(fields)}: {make} makes a table of it")
    if hasattr(X, "columns") and getattr(X, "shape", (1,))[-1] == 0:
        raise ValueError(f"X has no columns: found 0 feature(s) (shape={X.shape}) while a minimum of 1 is required")


def _check_shape_of_it(X: Any) -> None:
    """What is no table at all, though it may lead to one."""
    if X is None:
        raise ValueError("X is None: rows and columns are needed")
    if isinstance(X, (str, bytes)):
        raise ValueError(f"X is text, {X[:40]!r}: read the file that it names, or stream it with steelyard.streams")
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows yet: call X.collect() first")
    if hasattr(X, "__next__"):
        raise TypeError(
            f"X is a {type(X).__name__}, not a table: make a list of its rows, or give chunks to "
            "OnlineClassifier.fit_stream"
        )


def _check_form(X: Any) -> None:
    """Before scikit-learn reads it: what is no table, masks it does not look at, dates it takes for numbers, and other
    formats than CSR are converted by scipy, which trusts their indices."""
    _check_shape_of_it(X)
    refuse_masked(X)
    if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        raise TypeError(
            f"X holds dates or durations ({X.dtype}): say as numbers what they mean, in a unit of your choice"
        )
    if sp.issparse(X) and X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a sparse array of shape {X.shape} instead: X.reshape(1, -1) is a row")
    if not sp.issparse(X) or X.format == "csr":
        return
    if hasattr(X, "check_format"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        for what, numbers, size in zip(("row", "column"), (X.row, X.col), X.shape, strict=True):
            if len(numbers) and not (numbers.min() >= 0 and numbers.max() < size):
                bad = numbers[(numbers < 0) | (numbers >= size)][0]
                raise ValueError(f"X is no valid COO matrix: it names {what} {bad}, its shape is {X.shape}")
