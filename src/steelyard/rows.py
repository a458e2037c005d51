"""Rows of numbers: made and checked once at the border, read by every solver, viewed instead of copied.

Given is a table X, dense (float32 or float64, in any memory order, read-only or not) or CSR (with 32- or 64-bit
indices). `Rows.of` checks lengths, numbers and the structure of CSR, so that nothing below has to. float32 stays
float32. What the core cannot read where it lies is copied once: columns in Fortran order, whole numbers, CSR whose
columns are unsorted or named twice (they are added up).

A view is another `Rows` on the same memory: `take` for a part of the rows (folds, samples, held-out parts), and
`with_constant` for one more column that is the same number in every row, so that an intercept is a weight like any
other.

What an engine may ask of data is `RowOperations`. Arrays in memory answer it here; wherever else rows may be, on a GPU
or on the machines of a cluster, whoever answers it can be trained on.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from . import _core
from .threads import available_cores

Array = NDArray[np.float64]
Check = bool | Literal["columns"]

SPARSE_BELOW = 0.15  # share of non-zeros under which dense rows are faster as CSR (benchmarks/batch.py, a9a and w8a)
WORTH_A_THREAD = 1 << 20  # numbers: a millisecond for one thread, which takes 0.05 to start another


class RowOperations(Protocol):
    """What engines ask of rows, wherever they are."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    def take(self, which: Any) -> RowOperations:
        """The rows `which` (numbers, a mask or a slice), in that order."""
        ...

    def scores(self, w: ArrayLike) -> Array:
        """``x_i . w`` for every row; for several models (k, n_cols) one column each."""
        ...

    def sums(self, coefficients: ArrayLike) -> Array:
        """``sum_i a_i x_i``; for several sets of coefficients (k, n_rows) one row each."""
        ...

    def squared_norms(self) -> Array:
        """``|x_i|^2`` for every row."""
        ...


class Rows:
    """Rows in memory, or a view of them; see the top of this file.

    >>> rows = Rows.of([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]).take([2, 0]).with_constant()
    >>> rows.shape, rows.scores([1.0, 1.0, 10.0]).tolist()
    ((2, 3), [21.0, 13.0])
    """

    __slots__ = ("constant", "core", "source", "which")

    def __init__(self, source: Any, core: _core.Rows, which: NDArray[np.int64] | None = None, constant: float = 0.0):
        self.source = source  # the whole table as the core reads it: an array, or CSR
        self.core = core
        self.which = which  # the rows of it that this view has; None: all
        self.constant = constant

    @classmethod
    def of(cls, X: Any, *, name: str = "X", check: Check = True) -> Rows:
        """X as rows. ``check=False`` leaves numbers and columns to a loop that looks at them as it reads them,
        ``check="columns"`` the numbers to who looks at the scores, which are NaN or infinite where these are."""
        if isinstance(X, Rows):
            return X
        source = _csr(X, name) if sp.issparse(X) else _dense(X, name)
        rows = cls(source, _in_core(source))
        return rows.checked(name, values=check is True) if check else rows

    # -- views --------------------------------------------------------------------------------------------------
    def take(self, which: Any) -> Rows:
        if isinstance(which, slice):
            which = np.arange(self.n_rows)[which]
        which = np.asarray(which)
        if which.dtype == np.bool_:
            if which.shape != (self.n_rows,):
                raise IndexError(f"a mask of {self.n_rows} rows has as many entries; got shape {which.shape}")
            which = np.flatnonzero(which)
        if self.which is not None:
            which = self.which[which]
        which = np.ascontiguousarray(which, dtype=np.int64)
        return Rows(self.source, _in_core(self.source).view(which, self.constant), which, self.constant)

    def with_constant(self, constant: float = 1.0) -> Rows:
        """The same rows with one more column, `constant` in each; 0 takes it away."""
        if not np.isfinite(constant):
            raise ValueError(f"the constant column must be a finite number; got {constant!r}")
        return Rows(self.source, self.core.view(None, float(constant)), self.which, float(constant))

    def packed(self) -> Rows:
        """The same rows as CSR if they are dense, whole and mostly zero, where that is faster."""
        X = self.source
        if sp.issparse(X) or self.which is not None or not X.size or np.count_nonzero(X) >= SPARSE_BELOW * X.size:
            return self
        source = sp.csr_matrix(X)
        return Rows(source, _in_core(source).view(None, self.constant), None, self.constant)

    # -- what engines ask ---------------------------------------------------------------------------------------
    @property
    def n_rows(self) -> int:
        return int(self.core.n_rows)

    @property
    def n_cols(self) -> int:
        """Columns, the constant one among them."""
        return int(self.core.n_cols)

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self.n_cols

    @property
    def is_sparse(self) -> bool:
        return bool(sp.issparse(self.source))

    @property
    def n_entries(self) -> int:
        """Stored values of the whole table, times the share of its rows that are in this view."""
        stored = self.source.nnz if self.is_sparse else self.source.size
        return int(stored * (self.n_rows / max(self.source.shape[0], 1)))

    @property
    def cores(self) -> int:
        """Threads that are worth starting for one look at these rows: those there are, or one for a few rows. The
        bits of a result are the same for any number."""
        return available_cores() if self.n_entries >= WORTH_A_THREAD else 1

    def scores(self, w: ArrayLike, n_threads: int = 1) -> Array:
        models = np.ascontiguousarray(w, dtype=np.float64)
        found = np.asarray(self.core.scores(np.atleast_2d(models), n_threads))
        return found[:, 0] if models.ndim == 1 else found

    def sums(self, coefficients: ArrayLike, n_threads: int = 1) -> Array:
        given = np.ascontiguousarray(coefficients, dtype=np.float64)
        found = np.asarray(self.core.sums(np.atleast_2d(given), n_threads))
        return found[0] if given.ndim == 1 else found

    def squared_norms(self) -> Array:
        return np.asarray(self.core.squared_norms())

    def check_squares(self) -> Rows:
        """These rows, if their squared lengths are numbers, for those who compute with them; otherwise an error."""
        squares = self.squared_norms()
        with np.errstate(over="ignore"):
            in_order = np.isfinite(squares.sum())
        if not in_order:
            row = int(np.argmax(squares) if self.which is None else self.which[np.argmax(squares)])
            raise ValueError(f"X has values whose squares overflow, in row {row}: scale the columns (StandardScaler)")
        return self

    def checked(self, name: str = "X", *, values: bool = True) -> Rows:
        """These rows, with columns in order, if all numbers are finite; ``values=False`` does not look at them."""
        fault, row = self.core.first_fault(self.cores, values)
        if not fault:
            return self
        if fault == "unordered":  # and nothing worse: scipy may be let loose on it
            source = self.source.copy()
            source.has_canonical_format = False
            source.sum_duplicates()
            return Rows(source, _in_core(source))
        raise ValueError(explain(self.source, row, name))

    # -- inside -------------------------------------------------------------------------------------------------
    def __reduce__(self) -> Any:
        return _again, (self.source, self.which, self.constant)

    def __getstate__(self) -> dict[str, Any]:
        """For skops, which does not call functions such as `_again`."""
        return {"source": self.source, "which": self.which, "constant": self.constant}

    def __setstate__(self, state: dict[str, Any]) -> None:
        again = _again(**state)
        self.source, self.core, self.which, self.constant = again.source, again.core, again.which, again.constant


def explain(X: Any, row: int, name: str = "X") -> str:
    """What is wrong with a row, where, and what to do about it."""
    if sp.issparse(X):
        entries = slice(X.indptr[row], X.indptr[row + 1])
        values, columns = X.data[entries], X.indices[entries]
    else:
        values, columns = X[row], np.arange(X.shape[1])
    outside = columns[(columns < 0) | (columns >= X.shape[1])]
    if len(outside):
        return f"{name} is no valid CSR matrix: row {row} names column {outside[0]}, its shape is {X.shape}"
    at = int(np.flatnonzero(~np.isfinite(values))[0])
    what = "NaN" if np.isnan(values[at]) else f"infinity or a value too large for {X.dtype}"
    return (
        f"Input {name} contains {what}: row {row}, column {int(columns[at])}. Drop or impute such rows first, for "
        "instance with sklearn.impute.SimpleImputer"
    )


def _in_core(source: Any) -> _core.Rows:
    if not sp.issparse(source):
        return _core.Rows.dense(source)
    return _core.Rows.csr(source.data, source.indices, source.indptr, source.shape[1])


def _again(source: Any, which: Any, constant: float) -> Rows:
    core = _in_core(source)
    return Rows(source, core.view(which, constant) if which is not None or constant else core, which, constant)


def refuse_masked(X: Any, name: str = "X") -> None:
    """A mask says that numbers are missing; whoever reads the array alone takes them for numbers."""
    if np.ma.is_masked(X):
        missing = np.argwhere(np.ma.getmaskarray(X))
        where = tuple(int(k) for k in missing[0])
        raise ValueError(
            f"{name} is a masked array with {len(missing)} values missing, the first at {where}: fill them "
            f"({name}.filled(value), or SimpleImputer) or leave these rows out"
        )


def _dense(X: Any, name: str) -> NDArray[Any]:
    """An array whose rows each lie in one piece."""
    refuse_masked(X, name)
    given: NDArray[Any] = np.asarray(X)
    if given.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, rows and columns; got shape {given.shape}")
    made: NDArray[Any] = given.astype(_kind(given.dtype), copy=False)
    in_one_piece = made.shape[1] <= 1 or made.strides[1] == made.itemsize
    if in_one_piece and made.strides[0] % made.itemsize == 0 and made.flags.aligned:
        return made
    return np.ascontiguousarray(made)


def _csr(X: Any, name: str) -> Any:
    """CSR with values and indices that the core reads; nothing has been checked but the shape."""
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions, rows and columns; got shape {X.shape}")
    X = X.tocsr()
    X = X.astype(_kind(X.dtype), copy=False)
    parts = [X.data, _as_index(X.indices), _as_index(X.indptr)]
    if len(parts[2]) != X.shape[0] + 1:
        raise ValueError(f"{name} is no valid CSR matrix: {X.shape[0]} rows need {X.shape[0] + 1} entries of indptr")
    if all(new is old for new, old in zip(parts, (X.data, X.indices, X.indptr), strict=True)):
        return X
    made = sp.csr_matrix(X.shape, dtype=X.dtype)
    made.data, made.indices, made.indptr = parts
    return made


def _kind(dtype: np.dtype[Any]) -> type:
    return np.float32 if dtype.kind == "f" and dtype.itemsize == 4 else np.float64


def _as_index(given: NDArray[Any]) -> NDArray[Any]:
    kind = np.int32 if given.dtype.kind == "i" and given.dtype.itemsize == 4 else np.int64
    return np.ascontiguousarray(given.astype(kind, copy=False))
