"""What estimators share: one reading of cv, one check of parameters, and a border that leaves things as they were."""

import inspect

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.validation import validate_data

import steelyard as sy
from steelyard.estimators._binary import encode_labels
from steelyard.estimators._border import KINDS, as_before, rows_and_y
from steelyard.estimators._parameters import (
    COUNT,
    FLAG,
    NOTHING,
    POSITIVE,
    SHARE,
    Checked,
    ListOf,
    Number,
    ParameterError,
    Words,
    check_parameter,
)
from steelyard.estimators._splits import Stratum, read_cv, reshuffled
from steelyard.rows import Rows

IS_POSITIVE = np.arange(40) % 4 == 0
ROWS = Stratum.of(IS_POSITIVE)


# -- cv ---------------------------------------------------------------------------------------------------------------
def test_a_number_of_folds_is_scikit_learns():
    found = read_cv(4, ROWS)
    wanted = list(StratifiedKFold(4).split(np.zeros(40), IS_POSITIVE))
    assert all(
        np.array_equal(a, c) and np.array_equal(b, d) for (a, b), (c, d) in zip(found.pairs, wanted, strict=True)
    )
    assert found.refits
    assert not found.prefit
    assert not found.held_out


def test_a_share_is_held_out_and_stratified():
    found = read_cv(0.25, ROWS, random_state=0)
    ((train, test),) = found.pairs
    assert found.held_out
    assert not found.refits
    assert sorted([*train, *test]) == list(range(40))
    assert len(test) == 10
    assert abs(IS_POSITIVE[test].mean() - 0.25) < 0.1
    assert np.array_equal(test, read_cv(0.25, ROWS, random_state=0).tests[0])


def test_splitters_lists_and_prefit():
    groups = np.arange(40) // 8
    by_splitter = read_cv(GroupKFold(5), Stratum.of(IS_POSITIVE, groups))
    by_number = read_cv(5, Stratum.of(IS_POSITIVE, groups))
    for found in (by_splitter, by_number):
        assert all(len(set(groups[test]) & set(groups[train])) == 0 for train, test in found.pairs)
    given = [(np.arange(20), np.arange(20, 40))]
    assert read_cv(given, ROWS).refits
    assert read_cv("prefit", ROWS).prefit


def test_other_folds_are_others_and_reproducible():
    first, other = read_cv(4, ROWS), reshuffled(4, ROWS, 0)
    assert any(not np.array_equal(a, b) for a, b in zip(first.tests, other.tests, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(other.tests, reshuffled(4, ROWS, 0).tests, strict=True))


@pytest.mark.parametrize(
    ("cv", "words"),
    [
        ("loo", "cv is a number of folds"),
        (1, "at least 2 folds"),
        (0, "at least 2 folds"),
        (1.5, "strictly between 0 and 1"),
        (0.01, "both parts need a row of each"),
        (None, "cv is a number of folds"),
        (True, "cv is a number of folds"),
        ([], "no split with rows"),
        ([(np.flatnonzero(IS_POSITIVE), np.arange(3))], "fold 1 of 1 has no negative row"),
    ],
)
def test_what_cv_cannot_be(cv, words):
    with pytest.raises(ValueError, match=words):
        read_cv(cv, ROWS)


def test_few_rows_of_a_class():
    few = Stratum.of(np.arange(40) < 3)
    with pytest.warns(UserWarning, match="3 positive rows, so 3 folds are used instead of 5"):
        assert len(read_cv(5, few).pairs) == 3
    with pytest.raises(ValueError, match="only one positive row"):
        read_cv(5, Stratum.of(np.arange(40) < 1))


# -- parameters -------------------------------------------------------------------------------------------------------
GOOD = [(POSITIVE, 1), (POSITIVE, np.float32(0.1)), (COUNT, np.int64(3)), (SHARE, 0.5), (Words("a", "b"), "b"), (NOTHING, None),
        (FLAG, np.True_), (ListOf(POSITIVE), [1, 2.0]), (Number(2, whole=True), 2)]  # fmt: skip
BAD = [(POSITIVE, 0), (POSITIVE, np.inf), (POSITIVE, np.nan), (POSITIVE, True), (POSITIVE, "1"), (COUNT, 0), (COUNT, 2.0),
       (SHARE, 1.0), (Words("a", "b"), "c"), (Words("a"), None), (FLAG, 1), (ListOf(POSITIVE), []), (ListOf(POSITIVE), [1, -1])]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), GOOD)
def test_good_values(kind, value):
    check_parameter("p", value, kind)


@pytest.mark.parametrize(("kind", "value"), BAD)
def test_bad_values_are_named(kind, value):
    with pytest.raises(ParameterError, match=r"^p must be .*; got "):
        check_parameter("p", value, kind)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (POSITIVE, "a finite number above 0"),
        (SHARE, "a finite number above 0 and below 1"),
        (Number(0, 1), "a finite number from 0 to 1"),
        (Number(0, 1, low_too=False), "a finite number above 0 and at most 1"),
        (Number(0, 1, high_too=False), "a finite number from 0 and below 1"),
        (COUNT, "a whole number of at least 1"),
        (Number(high=3, meaning="rounds"), "a finite number of at most 3 (rounds)"),
    ],
)
def test_words_for_numbers(kind, words):
    assert str(kind) == words


CHECKED = [
    getattr(sy, name)
    for name in sy.__all__
    if isinstance(getattr(sy, name), type) and issubclass(getattr(sy, name), Checked)
]


@pytest.mark.parametrize("estimator", CHECKED)
def test_every_parameter_is_declared_and_its_default_taken(estimator):
    assert set(estimator._parameters) == set(inspect.signature(estimator).parameters)
    made = estimator(
        **{name: "?" for name, p in inspect.signature(estimator).parameters.items() if p.default is p.empty}
    )
    made._check_parameters()


# -- the border -------------------------------------------------------------------------------------------------------
def test_a_failed_call_leaves_the_estimator_as_it_was():
    model = sy.StructuralSVM()
    model.kept = 1

    def fail():
        with as_before(model):
            model.kept, model.new = 2, 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert model.kept == 1
    assert not hasattr(model, "new")


@pytest.mark.parametrize("kind", [sp.csc_matrix, sp.coo_matrix, sp.csr_matrix])
def test_broken_sparse_rows_never_reach_scipys_conversions(kind):
    X = kind(np.eye(6))
    (X.row if kind is sp.coo_matrix else X.indices)[2] = 10**8
    with pytest.raises(ValueError):  # noqa: PT011 - the words are scipy's own for two of the three
        rows_and_y(sy.StructuralSVM(), X, np.arange(6) % 2)


# -- plain arrays, which scikit-learn need not look at --------------------------------------------------------------
TABLE = np.random.default_rng(0).normal(size=(6, 3))
TWO = np.array([0, 1, 0, 1, 1, 0])
PLAIN = {
    "float64": (TABLE, TWO),
    "float32": (TABLE.astype(np.float32), TWO.astype(bool)),
    "columns first": (np.asfortranarray(TABLE), TWO.astype(np.uint8)),
    "words": (TABLE, np.array(["a", "b"])[TWO]),
    "CSR": (sp.csr_matrix(TABLE), TWO),
    "CSR array": (sp.csr_array(TABLE), TWO),
}


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_arrays_are_taken_as_scikit_learn_would(kind, monkeypatch):
    X, y = PLAIN[kind]
    with monkeypatch.context() as patch:
        patch.setattr("steelyard.estimators._border.validate_data", lambda *_args, **_kwargs: pytest.fail("asked"))
        model = sy.OnlineClassifier()
        rows, labels = rows_and_y(model, X, y)
    looked_at = sy.OnlineClassifier()
    wanted, column = validate_data(looked_at, X, y, **KINDS)
    assert vars(model) == vars(looked_at)
    assert labels.dtype == column.dtype
    np.testing.assert_array_equal(labels, column)
    np.testing.assert_array_equal(rows.scores(np.eye(3)), Rows.of(wanted).scores(np.eye(3)))


NOT_PLAIN = {
    "names": (pd.DataFrame(TABLE, columns=list("abc")), TWO, None),
    "whole numbers": (np.ones((6, 3), dtype=int), TWO, None),
    "the other byte order": (TABLE.astype(">f8"), TWO, None),
    "a matrix in a file": (None, TWO, None),
    "labels of a column": (TABLE, TWO[:, None], "1d array was expected"),
    "labels too few": (TABLE, TWO[:5], "inconsistent numbers of samples"),
    "labels that are NaN": (TABLE, np.where(TWO, 1.0, np.nan), "NaN"),
    "no rows": (TABLE[:0], TWO[:0], "0 sample"),
    "no columns": (TABLE[:, :0], TWO, "0 feature"),
    "no labels": (TABLE, None, "requires y"),
    "one dimension": (TABLE[0], TWO[:3], "2D array"),
}


@pytest.mark.filterwarnings("error::sklearn.exceptions.DataConversionWarning")
@pytest.mark.parametrize("kind", NOT_PLAIN)
def test_all_others_are_looked_at_by_scikit_learn(kind, tmp_path):
    X, y, message = NOT_PLAIN[kind]
    if kind == "a matrix in a file":
        X = np.memmap(tmp_path / "X", dtype=np.float64, mode="w+", shape=(6, 3))
    model = sy.OnlineClassifier()
    if message is None:
        rows_and_y(model, X, y)
        assert model.n_features_in_ == 3
        assert list(getattr(model, "feature_names_in_", [])) == (["a", "b", "c"] if kind == "names" else [])
    else:
        with pytest.raises((ValueError, DataConversionWarning), match=message):
            rows_and_y(model, X, y)
        assert not hasattr(model, "feature_names_in_")


def test_names_are_compared_and_forgotten_as_by_scikit_learn():
    model = sy.OnlineClassifier()
    rows_and_y(model, *NOT_PLAIN["names"][:2])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        rows_and_y(model, TABLE, TWO, reset=False)
    rows_and_y(model, TABLE, TWO)
    assert not hasattr(model, "feature_names_in_")
    rows_and_y(model, TABLE, TWO, reset=False)
    with pytest.raises(ValueError, match="X has 2 features, but OnlineClassifier is expecting 3 features"):
        rows_and_y(model, TABLE[:, :2], TWO, reset=False)


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("pos_label", [None, 0])
def test_two_whole_numbers_are_told_apart_as_sorting_does(kind, pos_label):
    y = TWO.astype(kind)
    classes, is_positive, positive = encode_labels(y, pos_label)
    assert classes.dtype == kind
    assert classes.tolist() == np.unique(y).tolist()
    np.testing.assert_array_equal(is_positive, y == (1 if pos_label is None else 0))
    assert positive == (1 if pos_label is None else 0)


@pytest.mark.parametrize(
    ("y", "message"),
    [([0, 1, 2], "y holds 3 classes"), ([1, 1, 1], "only one class, 1"), ([True, True], "only one class, True")],
)
def test_one_or_three_whole_numbers_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        encode_labels(np.array(y))
