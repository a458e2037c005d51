"""Bad and odd input: a table of what goes in, and of what should come of it; inputs.py tries it.

Numbers are whole and small, so that every kind of number holds them exactly, and the same table in other clothes must
give the same model. What should come of an input is one of three things:

    same      the answers of the model of the plain table
    refused   an error that a caller can act on
    answered  either, but no crash and no hang
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

N, D = 120, 5
SAME, ROUNDED = 1e-10, 1e-5  # of scores: of float64 rows, and of those that are float32 inside


def plain():
    rng = np.random.default_rng(7)
    X = rng.integers(-8, 9, size=(N, D)).astype(float)
    return X, (X[:, 0] - X[:, 1] + 6 * rng.normal(size=N) > 3).astype(int)


X, Y = plain()


@dataclass(frozen=True)
class Given:
    """What is handed over, and what should come of it."""

    X: Any = None
    y: Any = None
    weight: Any = None
    want: str = "same"
    tol: float = SAME


def csr(change=None, X=X):
    made = sp.csr_matrix(X)
    if change is not None:
        change(made)
    return made


def with_(array, *changes):
    made = np.array(array)
    for where, value in changes:
        made[where] = value
    return made


def reversed_columns(made):
    for i in range(made.shape[0]):
        part = slice(made.indptr[i], made.indptr[i + 1])
        made.indices[part], made.data[part] = made.indices[part][::-1].copy(), made.data[part][::-1].copy()
    made.has_sorted_indices = False


def named_twice():
    whole = csr()
    parts = (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), whole.indptr * 2)
    made = sp.csr_matrix(whole.shape)
    made.data, made.indices, made.indptr = parts
    return made


def with_room():
    made = csr()
    made.data, made.indices = np.append(made.data, [7.0, 9.0]), np.append(made.indices, [1, 2]).astype(np.int32)
    return made


def set_(**parts):
    def change(made):
        for name, (where, value) in parts.items():
            getattr(made, name)[where] = value

    return change


def retyped(**kinds):
    def change(made):
        for name, kind in kinds.items():
            setattr(made, name, getattr(made, name).astype(kind))

    return change


def short(name):
    return lambda made: setattr(made, name, getattr(made, name)[:-3])


def frame(names="abcde", kind=None):
    import pandas as pd

    made = pd.DataFrame(X, columns=list(names))
    return made if kind is None else made.astype(kind)


def series(values, **how):
    import pandas as pd

    return pd.Series(values, **how)


def mapped():
    made = np.memmap(tempfile.mkstemp()[1], dtype=float, mode="w+", shape=X.shape)
    made[:] = X
    return made


def still(array):
    array.setflags(write=False)
    return array


def masked(array, where):
    made = np.ma.array(array)
    made[where] = np.ma.masked
    return made


def coo_outside():
    made = sp.coo_matrix(X)
    made.col[3] = D + 2
    return made


def csc_outside():
    made = sp.csc_matrix(X)
    made.indices[3] = N + 5
    return made


NAN, INF = float("nan"), float("inf")
FEW, WIDE = np.r_[np.flatnonzero(Y == 1)[:1], np.flatnonzero(Y == 0)[:1]], np.tile(X[:20], (1, 40))
TEXT = np.array(["no", "yes"])

# name: a function that makes what is given. X None is the plain table, y None the plain labels.
INPUTS = {
    # the same table in other clothes
    "Fortran order": lambda: Given(np.asfortranarray(X)),
    "every other row of an array": lambda: Given(np.repeat(X, 2, axis=0)[::2]),
    "every other column of an array": lambda: Given(np.repeat(X, 2, axis=1)[:, ::2]),
    "reversed rows, read backwards": lambda: Given(X[::-1].copy()[::-1]),
    "read-only": lambda: Given(still(X.copy())),
    "memory-mapped": lambda: Given(mapped()),
    "not aligned": lambda: Given(np.frombuffer(b"\0" + X.tobytes(), offset=1).reshape(X.shape)),
    "big-endian": lambda: Given(X.astype(">f8")),
    "big-endian float32": lambda: Given(X.astype(">f4"), tol=ROUNDED),
    "float32": lambda: Given(X.astype(np.float32), tol=ROUNDED),
    "float16": lambda: Given(X.astype(np.float16), tol=ROUNDED),
    "long double": lambda: Given(X.astype(np.longdouble)),
    "int8": lambda: Given(X.astype(np.int8), tol=ROUNDED),
    "int64": lambda: Given(X.astype(np.int64)),
    "objects that are numbers": lambda: Given(X.astype(object)),
    "list of lists": lambda: Given(X.tolist()),
    "masked array, nothing masked": lambda: Given(np.ma.array(X)),
    "data frame": lambda: Given(frame()),
    "data frame of Float64": lambda: Given(frame(kind="Float64")),
    "CSR": lambda: Given(csr()),
    "CSR, array class": lambda: Given(sp.csr_array(X)),
    "CSR of float32": lambda: Given(csr().astype(np.float32), tol=ROUNDED),
    "CSR of integers": lambda: Given(csr().astype(np.int64)),
    "CSR, big-endian": lambda: Given(csr(retyped(data=">f8"))),
    "CSR, big-endian indices": lambda: Given(csr(retyped(indices=">i4", indptr=">i4"))),
    "CSR, 64-bit indices": lambda: Given(csr(retyped(indices=np.int64, indptr=np.int64))),
    "CSR, 64-bit row starts only": lambda: Given(csr(retyped(indptr=np.int64))),
    "CSR, columns unsorted": lambda: Given(csr(reversed_columns)),
    "CSR, columns named twice": lambda: Given(named_twice()),
    "CSR, zeros stored": lambda: Given(sp.csr_matrix((X.ravel(), np.tile(np.arange(D), N), np.arange(N + 1) * D))),
    "CSR with room behind": lambda: Given(with_room()),
    "CSC": lambda: Given(sp.csc_matrix(X)),
    "COO": lambda: Given(sp.coo_matrix(X)),
    "LIL": lambda: Given(sp.lil_matrix(X)),
    "DOK": lambda: Given(sp.dok_matrix(X)),
    "BSR": lambda: Given(sp.bsr_matrix(X)),
    "DIA": lambda: Given(sp.dia_matrix(X)),
    "labels of text": lambda: Given(y=TEXT[Y]),
    "labels True and False": lambda: Given(y=Y == 1),
    "labels -1 and 1": lambda: Given(y=2 * Y - 1),
    "labels of float": lambda: Given(y=Y.astype(float)),
    "labels as a column": lambda: Given(y=Y[:, None]),
    "labels of a data frame's category": lambda: Given(y=series(TEXT[Y], dtype="category")),
    "labels as a list": lambda: Given(y=Y.tolist()),
    "weights of one": lambda: Given(weight=np.ones(N)),
    "weights of float32": lambda: Given(weight=np.ones(N, dtype=np.float32)),
    # what no model can be made of
    "NaN": lambda: Given(with_(X, ((3, 2), NAN)), want="refused"),
    "infinity": lambda: Given(with_(X, ((3, 2), INF)), want="refused"),
    "minus infinity, float32": lambda: Given(with_(X, ((3, 2), -INF)).astype(np.float32), want="refused"),
    "NaN in CSR": lambda: Given(csr(set_(data=(9, NAN))), want="refused"),
    "infinity in CSR": lambda: Given(csr(set_(data=(9, INF))), want="refused"),
    "NaN in a data frame": lambda: Given(frame().mask(frame() == 8.0), want="refused"),
    "missing in a data frame of Float64": lambda: Given(frame(kind="Float64").mask(frame() == 8.0), want="refused"),
    "masked array": lambda: Given(masked(X, (3, 2)), want="refused"),
    "one dimension": lambda: Given(X[:, 0].copy(), want="refused"),
    "three dimensions": lambda: Given(X[:, :, None], want="refused"),
    "a number": lambda: Given(3.0, want="refused"),
    "None": lambda: Given([None] * N, want="refused"),
    "no rows": lambda: Given(X[:0], Y[:0], want="refused"),
    "no columns": lambda: Given(X[:, :0], want="refused"),
    "text": lambda: Given(np.full((N, D), "a"), want="refused"),
    "objects, one of them None": lambda: Given(with_(X.astype(object), ((3, 2), None)), want="refused"),
    "objects, one of them text": lambda: Given(with_(X.astype(object), ((3, 2), "a")), want="refused"),
    "complex": lambda: Given(X + 1j, want="refused"),
    "dates": lambda: Given(X.astype("timedelta64[s]"), want="refused"),
    "a dictionary": lambda: Given({"a": 1}, want="refused"),
    "rows of different lengths": lambda: Given([[1.0, 2.0], [3.0]] * (N // 2), want="refused"),
    "CSR, column -1": lambda: Given(csr(set_(indices=(9, -1))), want="refused"),
    "CSR, column beyond the last": lambda: Given(csr(set_(indices=(9, D + 2))), want="refused"),
    "CSR, column of 10^9": lambda: Given(csr(set_(indices=(9, 10**9))), want="refused"),
    "CSR, row starts that fall": lambda: Given(csr(set_(indptr=(5, 400))), want="refused"),
    "CSR, row start -1": lambda: Given(csr(set_(indptr=(5, -1))), want="refused"),
    "CSR, row starts beyond the data": lambda: Given(csr(set_(indptr=(-1, 10**6))), want="refused"),
    "CSR, too few row starts": lambda: Given(csr(short("indptr")), want="refused"),
    "CSR, fewer columns than values": lambda: Given(csr(short("indices")), want="refused"),
    "CSC, row beyond the last": lambda: Given(csc_outside(), want="refused"),
    "COO, column beyond the last": lambda: Given(coo_outside(), want="refused"),
    "labels too few": lambda: Given(y=Y[:-1], want="refused"),
    "labels of one class": lambda: Given(y=np.zeros(N, dtype=int), want="refused"),
    "labels with NaN": lambda: Given(y=with_(Y.astype(float), (3, NAN)), want="refused"),
    "labels with None": lambda: Given(y=with_(Y.astype(object), (3, None)), want="refused"),
    "labels of two kinds": lambda: Given(y=with_(Y.astype(object), (3, "a")), want="refused"),
    "labels masked": lambda: Given(y=masked(Y, 3), want="refused"),
    "labels with infinity": lambda: Given(y=with_(Y.astype(float), (3, INF)), want="refused"),
    "labels that are measurements": lambda: Given(y=Y + X[:, 2] / 7, want="refused"),
    "labels in two columns": lambda: Given(y=np.column_stack([Y, 1 - Y]), want="refused"),
    "weights too few": lambda: Given(weight=np.ones(N - 1), want="refused"),
    "weights with NaN": lambda: Given(weight=with_(np.ones(N), (3, NAN)), want="refused"),
    "weights with infinity": lambda: Given(weight=with_(np.ones(N), (3, INF)), want="refused"),
    "weights below zero": lambda: Given(weight=with_(np.ones(N), (3, -1.0)), want="refused"),
    "weights all zero": lambda: Given(weight=np.zeros(N), want="refused"),
    "weights of text": lambda: Given(weight=np.full(N, "a"), want="refused"),
    "weights in two columns": lambda: Given(weight=np.ones((N, 2)), want="refused"),
    # what may be learned from or not
    "one row of each class": lambda: Given(X[FEW], Y[FEW], want="answered"),
    "more columns than rows": lambda: Given(WIDE, Y[:20], want="answered"),
    "all rows alike": lambda: Given(np.ones((N, D)), want="answered"),
    "a constant column": lambda: Given(with_(X, ((slice(None), 0), 3.0)), want="answered"),
    "a column that is the label": lambda: Given(np.column_stack([X, 2.0 * Y]), want="answered"),
    "values times 1e300": lambda: Given(X * 1e300, want="answered"),
    "values times 1e-300": lambda: Given(X * 1e-300, want="answered"),
    "values times 1e30, float32": lambda: Given((X * 1e30).astype(np.float32), want="answered"),
    "subnormal values": lambda: Given(X * 5e-324, want="answered"),
    "three classes": lambda: Given(y=np.arange(N) % 3, want="answered"),
    "weights of 1e300": lambda: Given(weight=np.full(N, 1e300), want="answered"),
    "weights of 1e-300": lambda: Given(weight=np.full(N, 1e-300), want="answered"),
    "no weight on one class": lambda: Given(weight=Y.astype(float), want="answered"),
}
# For `predict` of a model of the plain table (a data frame for the last ones).
TO_PREDICT = {
    "a column too few": lambda: Given(X[:, :-1].copy(), want="refused"),
    "a column too many": lambda: Given(np.column_stack([X, X[:, 0]]), want="refused"),
    "CSR with a column too few": lambda: Given(csr(X=X[:, :-1]), want="refused"),
    "data frame, columns in another order": lambda: Given(frame()[list("edcba")], want="refused"),
    "data frame, another name": lambda: Given(frame("abcdx"), want="refused"),
    "data frame, a column missing": lambda: Given(frame()[list("abcd")], want="refused"),
}
