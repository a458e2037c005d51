"""What users hand over by mistake: every estimator refuses it alike, and says what it is, where, and what to do."""

import collections
import datetime
import pathlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

from faults.inputs import ours
from faults.odd_inputs import N, X, Y
from steelyard.measures import FBeta

pd = pytest.importorskip("pandas")
MAKE = ours()
# Those that hand X on to a classifier of scikit-learn, and leave to it what it can read.
WRAPPERS = ("ThresholdClassifier", "ExpectedFBetaClassifier", "Quantifier", "StreamQuantifier")
READERS = [name for name in MAKE if name not in WRAPPERS]
FRAME = pd.DataFrame(X, columns=list("abcde"))
FIELDS = np.zeros(N, dtype=[("a", float), ("b", float)])


def changed(array, row, value, kind=None):
    made = np.array(array, dtype=kind)
    made[row] = value
    return made


def refused(call, words):
    with pytest.raises((ValueError, TypeError), match=re.escape(words)):
        call()


def target(name):
    return X[:, 1] if name == "QuantilePath" else Y


TABLES = {
    "a value that is missing among objects": (
        lambda: FRAME.astype(object).mask(FRAME == 8.0, pd.NA),
        "column 'a' of X holds NaN: row 0 has no value there. Drop or impute",
    ),
    "a name twice": (
        lambda: FRAME.set_axis(list("abcda"), axis=1),
        "X has more than one column named 'a': give each a name of its own",
    ),
    "a frame without columns": (lambda: FRAME[[]], "X has no columns"),
    "an empty frame": (lambda: pd.DataFrame(), "X has no columns"),
    "sparse, but not with zeros": (
        lambda: FRAME.mask(FRAME == 8.0).astype(pd.SparseDtype("float", np.nan)),
        "column 'a' of X is sparse, and not with zeros: take X.sparse.to_dense()",
    ),
    "a number of Python's own that is too large": (
        lambda: [[1.0, 10**400]] * N,
        "column 1 of X holds a number beyond those of 64 bits in row 0",
    ),
    "a dictionary": (lambda: {"a": X[:, 0]}, "X is a dict, not a table"),
    "a set": (lambda: {1.0, 2.0}, "X is a set, not a table"),
    "a path": (lambda: pathlib.Path("a.csv"), "X is a PosixPath, not a table"),
    "a function": (lambda: len, "X is a builtin_function_or_method, not a table"),
    "groups of a frame": (lambda: FRAME.groupby("a").a.sum, "X is a method, not a table"),
    "fields": (lambda: FIELDS, "X is a structured array with the fields a, b: numpy.lib.recfunctions"),
    "one row of a sparse array": (lambda: sp.coo_array(X[0]), "Expected 2D array, got a sparse array of shape (5,)"),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", READERS)
def test_a_table_that_is_none_is_named(name, table):
    make, words = TABLES[table]
    refused(lambda: MAKE[name]().fit(make(), target(name)), words)
    refused(lambda: MAKE[name]().fit(FRAME, target(name)).predict(make()), words)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_sparse_array_of_one_dimension_is_named_before_others_read_it(name):
    refused(lambda: MAKE[name]().fit(sp.coo_array(X[0]), Y), "Expected 2D array, got a sparse array of shape (5,)")


def test_what_is_like_a_list_is_a_table():
    rows = collections.deque(map(tuple, X.tolist()))
    assert np.array_equal(MAKE["CostPath"]().fit(rows, Y).predict(rows), MAKE["CostPath"]().fit(X, Y).predict(X))


LABELS = {
    "a column for each class": (
        lambda: np.eye(2)[Y],
        "got an array of shape (120, 2) instead: one label for each row is needed. Of one column for each class",
    ),
    "a name": (lambda: "target", "y is text, 'target': y should be a 1d array, or a list, with one label for each row"),
    "a generator": (lambda: (label for label in Y), "y is a generator: y should be a 1d array"),
    "a set": (lambda: {0, 1}, "y is a set: y should be a 1d array"),
    "a dictionary": (lambda: {"y": Y}, "y is a dict: y should be a 1d array"),
    "lists of labels": (lambda: [[1] * k for k in Y], "sklearn.preprocessing.MultiLabelBinarizer makes a table"),
    "NaN": (lambda: changed(Y, 7, np.nan, float), "Input y contains NaN: row 7. Drop such rows"),
    "NaN in a list": (lambda: changed(Y, 7, np.nan, float).tolist(), "Input y contains NaN: row 7. Drop such rows"),
    "infinity": (lambda: changed(Y, 7, -np.inf, float), "Input y contains infinity or a value too large for float64"),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", MAKE)
def test_labels_that_are_none_are_named(name, labels):
    make, words = LABELS[labels]
    refused(lambda: MAKE[name]().fit(X, make()), words)


def test_a_quantile_is_one_of_numbers():
    path = MAKE["QuantilePath"]()
    refused(lambda: path.fit(X, np.array(["a", "b"])[Y]), "y holds no numbers, and quantiles are of numbers")
    refused(lambda: path.fit(X, Y.astype("datetime64[D]")), "y holds dates or durations (datetime64[D])")
    refused(lambda: path.fit(X, [None] * N), "Input y contains NaN: row 0")


def test_labels_are_missing_where_a_path_is_asked():
    refused(lambda: MAKE["CostPath"]().fit(X, Y).best(FBeta(1), X, None), "but the target y is None")


def test_classes_of_a_stream_are_of_one_kind_and_may_be_a_set():
    refused(lambda: MAKE["OnlineClassifier"]().partial_fit(X, Y, classes=[0, None]), "labels are of one kind; got")
    assert MAKE["OnlineClassifier"]().partial_fit(X, Y, classes={1, 0}).classes_.tolist() == [0, 1]


WEIGHTS = {
    "masked": (
        lambda: np.ma.array(np.ones(N), mask=np.arange(N) == 3),
        "sample_weight is a masked array with 1 values missing, the first at (3,)",
    ),
    "durations": (lambda: np.full(N, datetime.timedelta(1), dtype="m8[s]"), "got dates or durations (timedelta64[s])"),
    "a dictionary": (lambda: {0: 1.0, 1: 2.0}, "sample_weight is a number for each row; got a dict"),
    "a generator": (lambda: (1.0 for _ in Y), "sample_weight is a number for each row; got a generator"),
    "none": (lambda: [], "sample_weight is empty: it is a number for each row"),
    "NaN": (lambda: changed(np.ones(N), 7, np.nan), "Input sample_weight contains NaN: row 7"),
    "None": (lambda: [1.0, None] * (N // 2), "Input sample_weight contains NaN: row 1"),
    "infinity": (lambda: changed(np.ones(N), 7, np.inf), "Input sample_weight contains infinity"),
    "one below zero": (lambda: changed(np.ones(N), 7, -2.0), "must not be negative; the smallest is -2.0, in row 7"),
    "below the normal numbers": (lambda: np.full(N, 5e-324), "sample_weight is too small to compute with"),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize(
    "name", [name for name, make in MAKE.items() if "sample_weight" in make().fit.__code__.co_varnames]
)
def test_weights_that_are_none_are_named(name, weights):
    make, words = WEIGHTS[weights]
    refused(lambda: MAKE[name]().fit(X, target(name), sample_weight=make()), words)
