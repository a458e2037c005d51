"""Rows: every way a table can come is the same rows; views equal copies; what is broken is refused with its place."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from steelyard import _core
from steelyard.rows import Rows

rng = np.random.default_rng(0)
DENSE = np.where(rng.random((60, 7)) < 0.4, rng.normal(size=(60, 7)), 0.0)
W = rng.normal(size=(3, 7))
A = rng.normal(size=(2, 60))


def wide(X):
    X = sp.csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def mixed(X):
    X = wide(X)
    X.indices = X.indices.astype(np.int32)
    return X


def unsorted(X):
    X = sp.csr_matrix(X)
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    X.has_sorted_indices = False
    return X


def doubled(X):
    """Every entry stored as two halves."""
    X = sp.csr_matrix(X)
    made = sp.csr_matrix(X.shape)
    made.data, made.indices, made.indptr = np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr
    return made


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


WAYS = {
    "C": lambda X: X,
    "list": lambda X: X.tolist(),
    "Fortran": np.asfortranarray,
    "read-only": read_only,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "part of the columns": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "every second column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "big-endian": lambda X: X.astype(">f8"),
    "CSR": sp.csr_matrix,
    "CSR array": sp.csr_array,
    "CSC": sp.csc_matrix,
    "COO": sp.coo_matrix,
    "64-bit indices": wide,
    "mixed indices": mixed,
    "unsorted": unsorted,
    "duplicates": doubled,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_way_gives_the_same_rows(way, kind):
    X = DENSE.astype(kind)
    rows = Rows.of(WAYS[way](X))
    tol = 1e-12 if kind is np.float64 else 1e-6
    np.testing.assert_allclose(rows.scores(W), X.astype(float) @ W.T, atol=tol)
    np.testing.assert_allclose(rows.scores(W[0]), X.astype(float) @ W[0], atol=tol)
    np.testing.assert_allclose(rows.sums(A), A @ X.astype(float), atol=10 * tol)
    np.testing.assert_allclose(rows.squared_norms(), (X.astype(float) ** 2).sum(1), atol=tol)


@pytest.mark.parametrize("way", ["C", "CSR", "64-bit indices", "part of the columns"])
def test_views_equal_copies(way):
    which = rng.integers(0, 60, 35)
    view = Rows.of(WAYS[way](DENSE)).take(which).with_constant(2.5)
    copy = np.hstack([DENSE[which], np.full((35, 1), 2.5)])
    models, coefficients = rng.normal(size=(2, 8)), rng.normal(size=35)
    np.testing.assert_allclose(view.scores(models), copy @ models.T, atol=1e-12)
    np.testing.assert_allclose(view.sums(coefficients), coefficients @ copy, atol=1e-12)
    np.testing.assert_allclose(view.squared_norms(), (copy**2).sum(1), atol=1e-12)
    again = view.take(slice(3, 30, 3)).take(np.arange(9) % 2 == 0)
    np.testing.assert_allclose(again.scores(models), copy[3:30:3][::2] @ models.T, atol=1e-12)
    assert again.with_constant(0.0).shape == (5, 7)


def test_nothing_is_copied_that_can_be_read_where_it_lies():
    for X in (DENSE, DENSE.astype(np.float32), DENSE[::2], DENSE[:, 2:]):
        assert np.shares_memory(Rows.of(X).source, X)
    X = sp.csr_matrix(DENSE)
    assert np.shares_memory(Rows.of(X).take([1, 2]).with_constant().source.data, X.data)


def test_sums_have_the_same_bits_for_any_number_of_threads():
    X = np.random.default_rng(1).normal(size=(50_000, 5))
    a = np.random.default_rng(2).normal(size=50_000)
    rows = Rows.of(X)
    assert all(np.array_equal(rows.sums(a), rows.sums(a, n_threads)) for n_threads in (2, 3, 16))


def test_owners_stay_alive():
    rows = Rows.of(np.random.default_rng(0).normal(size=(1000, 50))).take(np.arange(999)).with_constant()
    before = rows.scores(np.ones(51))
    rubbish = [np.full((1000, 50), 7.0) for _ in range(20)]
    assert np.array_equal(before, rows.scores(np.ones(51))), len(rubbish)


def test_pickles():
    for rows in (Rows.of(DENSE), Rows.of(sp.csr_matrix(DENSE)).take([3, 1]).with_constant(2.0)):
        again = pickle.loads(pickle.dumps(rows))
        w = np.ones(rows.n_cols)
        assert np.array_equal(again.scores(w), rows.scores(w))


def bad_csr(**parts):
    X = sp.csr_matrix(DENSE)
    for name, (at, value) in parts.items():
        getattr(X, name)[at] = value
    return X


BROKEN = {
    "column too large": (lambda: bad_csr(indices=(3, 100_000_000)), "names column 100000000"),
    "column negative": (lambda: bad_csr(indices=(3, -1)), "names column -1"),
    "starts fall": (lambda: bad_csr(indptr=(4, 1_000)), "row starts"),
    "starts beyond the data": (lambda: bad_csr(indptr=(-1, 100_000)), "row starts"),
    "starts below 0": (lambda: bad_csr(indptr=(0, -2)), "row starts"),
    "NaN": (lambda: bad_csr(data=(5, np.nan)), "contains NaN: row"),
    "infinity": (lambda: bad_csr(data=(5, np.inf)), "contains infinity"),
    "unsorted, and a bad column later": (lambda: _bad_last(unsorted(DENSE)), "names column"),
    "dense NaN": (lambda: _with(DENSE.copy(), (7, 2), np.nan), "NaN: row 7, column 2"),
    "one dimension": (lambda: np.ones(5), "two dimensions"),
}


def _bad_last(X):
    X.indices[-1] = 99
    return X


def _with(X, at, value):
    X[at] = value
    return X


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_refused_with_its_place(case):
    make, words = BROKEN[case]
    with pytest.raises(ValueError, match=words):
        Rows.of(make())


@pytest.mark.parametrize("which", [[60], [-1], [True]])
def test_rows_that_are_not_there(which):
    with pytest.raises(IndexError):
        Rows.of(DENSE).take(which)


def test_lengths_are_checked():
    rows = Rows.of(DENSE)
    with pytest.raises(ValueError, match="one number a column"):
        rows.scores(np.ones(6))
    with pytest.raises(ValueError, match="59 entries; there are 60 rows"):
        rows.sums(np.ones(59))


@pytest.mark.parametrize("kind", [np.float32, np.float64, sp.csr_matrix])
def test_large_tables_are_looked_at_and_scored_on_the_cores_there_are_with_the_same_bits(kind, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 30))
    X = kind(X) if kind is sp.csr_matrix else X.astype(kind)
    w, found = rng.normal(size=30), []
    for cores in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", cores)
        rows = Rows.of(X)
        assert 1 <= rows.cores <= int(cores)
        found.append(rows.scores(w, int(cores)))
    np.testing.assert_array_equal(*found)
    assert Rows.of(X[:100]).cores == 1


def test_the_first_bad_row_is_named_whatever_the_threads():
    X = np.zeros((50_000, 3))
    X[[31_000, 17_000, 45_000], 1] = np.nan
    rows = Rows.of(X, check=False)
    for threads in (1, 2, 5):
        assert rows.core.first_fault(threads) == ("not finite", 17_000)


def csr_of(data, indices, indptr, d):
    made = sp.csr_matrix((len(indptr) - 1, d))
    made.data, made.indices, made.indptr = data, indices, indptr
    return made


def first_fault(X):
    """(fault, row) by looking at each row: outside or not finite before unordered, and the first row of each."""
    unordered = ("", -1)
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        columns, values = X.indices[part], X.data[part]
        if ((columns < 0) | (columns >= X.shape[1])).any():
            return "outside", i
        if not np.isfinite(values).all():
            return "not finite", i
        if not unordered[0] and (np.diff(columns) <= 0).any():
            unordered = ("unordered", i)
    return unordered


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_faults_of_sparse_rows_are_found_where_they_are(index):
    """Rows of any length, none at all among them, in blocks that are looked at as one long row."""
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(600):
        n, d = int(rng.integers(1, 400)), int(rng.integers(1, 6))
        X = sp.random(n, d, density=rng.choice([0.05, 0.4, 1.0]), format="csr", random_state=rng)
        X.sort_indices()
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        for _ in range(int(rng.integers(0, 3)) if X.nnz else 0):
            k = int(rng.integers(X.nnz))
            kind = rng.integers(4)
            if kind == 0:
                X.data[k] = rng.choice([np.nan, np.inf, -np.inf])
            elif kind == 1:
                X.indices[k] = rng.choice([-1, d, d + 7, 2**31 - 1])
            else:
                X.indices[k] = rng.integers(d)
        found = _core.Rows.csr(X.data, X.indices, X.indptr, d).first_fault(1)
        assert found == first_fault(X)
        shape = csr_of(np.ones(X.nnz), X.indices, X.indptr, d)  # numbers are not looked at
        assert _core.Rows.csr(X.data, X.indices, X.indptr, d).first_fault(1, False) == first_fault(shape)
        seen.add(found[0])
    assert seen == {"", "outside", "not finite", "unordered"}


def test_an_empty_row_does_not_hide_the_next():
    """Columns 3 | none | 1, 0: they fall twice, once from row to row and once in the last."""
    rows = _core.Rows.csr(np.ones(3), np.array([3, 1, 0]), np.array([0, 1, 1, 3]), 4)
    assert rows.first_fault(1) == ("unordered", 2)


def test_numbers_are_left_to_who_looks_at_scores():
    X = np.ones((4, 2))
    X[2, 1] = np.nan
    rows = Rows.of(X, check="columns")
    assert np.isnan(rows.scores([1.0, 0.0])[2])
    with pytest.raises(ValueError, match="NaN: row 2, column 1"):
        rows.checked()
    with pytest.raises(ValueError, match="names column 9"):
        Rows.of(csr_of(np.ones(1), np.array([9]), np.array([0, 1]), 2), check="columns")
