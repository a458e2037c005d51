"""Odd but legal use: what pandas, polars, Arrow and Python itself offer as tables and labels, and what they do not."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m

pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3)).round(2)
Y = X[:, 0] + RNG.normal(size=200) > 0.5
MAKE = {
    "online": lambda: sy.OnlineClassifier(m.FBeta(1), random_state=0),
    "path": lambda: sy.CostPath(C=1.0),
    "structural": lambda: sy.StructuralSVM("kld"),
    "threshold": lambda: sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)),
    "expected": lambda: sy.ExpectedFBetaClassifier(LogisticRegression()),
    "quantifier": lambda: sy.Quantifier(LogisticRegression(), random_state=0),
}


def frame(**changed):
    return pd.DataFrame(X, columns=list("abc")).assign(**changed)


# Labels, and what `classes_` should hold: the kind that was given, not the floats that scikit-learn makes of some.
LABELS = {
    "boolean": (lambda: pd.Series(Y, dtype="boolean"), [False, True]),
    "Int64": (lambda: pd.Series(Y.astype(int), dtype="Int64"), [0, 1]),
    "objects True and False": (lambda: Y.astype(object), [False, True]),
    "objects that are whole numbers": (lambda: (3 * Y.astype(int)).astype(object), [0, 3]),
    "a category with a level that is not used": (
        lambda: pd.Series(pd.Categorical(np.where(Y, "p", "n"), categories=["z", "n", "p"])),
        ["n", "p"],
    ),
    "text of pandas": (lambda: pd.Series(np.where(Y, "p", "n"), dtype="string"), ["n", "p"]),
    "another index": (lambda: pd.Series(Y, index=np.arange(len(Y))[::-1]), [False, True]),
    "large whole numbers": (lambda: np.where(Y, 2**62, -(2**62)), [-(2**62), 2**62]),
    "a tuple": (lambda: tuple(Y.tolist()), [False, True]),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("name", MAKE)
def test_labels_keep_their_kind(name, labels):
    make, classes = LABELS[labels]
    model, plain = MAKE[name]().fit(X, make()), MAKE[name]().fit(X, Y)
    assert model.classes_.tolist() == classes
    assert [type(label) for label in model.classes_.tolist()] == [type(label) for label in classes]
    said, wanted = model.predict(X), plain.predict(X)
    assert np.array_equal(said if name == "quantifier" else said == classes[1], wanted)


TABLES = {
    "a column of True and False": lambda: frame(a=X[:, 0] > 0),
    "boolean": lambda: frame(a=pd.Series(X[:, 0] > 0, dtype="boolean")),
    "Int64": lambda: frame().round().astype("Int64"),
    "sparse": lambda: frame().round().astype(pd.SparseDtype("float", 0.0)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", MAKE)
def test_tables_of_pandas_are_read_as_the_numbers_they_hold(name, table):
    given = TABLES[table]()
    plain = np.asarray(given, dtype=float)
    model, wanted = MAKE[name]().fit(given, Y), MAKE[name]().fit(plain, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one has names, the other not
        assert np.allclose(model.predict(given), wanted.predict(plain), atol=1e-9)


NO_TABLES = {
    "None": (lambda: None, "X is None"),
    "a path": (lambda: "data.csv", "X is text, 'data.csv': read the file"),
    "a generator": (lambda: (row for row in X), "X is a generator, not a table: make a list"),
}


@pytest.mark.parametrize("table", NO_TABLES)
@pytest.mark.parametrize("name", MAKE)
def test_what_is_no_table_is_called_so(name, table):
    make, words = NO_TABLES[table]
    with pytest.raises((ValueError, TypeError), match=words):
        MAKE[name]().fit(make(), Y)


@pytest.mark.parametrize("name", MAKE)
def test_a_lazy_frame_is_not_collected_behind_your_back(name):
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X is a LazyFrame, which has no rows yet: call X.collect\(\)"):
        MAKE[name]().fit(pl.DataFrame(X).lazy(), Y)


@pytest.mark.parametrize("name", ["online", "path", "structural"])
def test_a_column_without_numbers_is_named(name):
    for column, words in (
        (np.where(Y, "u", "v"), "column 'b' of X holds str, not numbers: encode it.*OneHotEncoder"),
        (pd.Categorical(np.where(Y, "u", "v")), "column 'b' of X holds str"),
        (pd.Timestamp("2020-01-01"), "column 'b' of X holds dates"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            MAKE[name]().fit(frame(b=column), Y)
        with pytest.raises((ValueError, TypeError), match=words):
            MAKE[name]().fit(frame(), Y).predict(frame(b=column))
    with pytest.raises(TypeError, match="DictVectorizer"):
        MAKE[name]().fit([{"a": 1.0}] * len(Y), Y)
    with pytest.raises(ValueError, match="column 1 of X holds str"):
        MAKE[name]().fit([[1.0, "a"], [2.0, "b"]] * 100, Y)


def missing(dtype, values):
    made = pd.Series(values, dtype=dtype)
    made.iloc[3] = None
    return made


@pytest.mark.parametrize("name", MAKE)
def test_a_label_that_is_missing_is_named(name):
    for y in (missing("boolean", Y), missing("Int64", Y.astype(int)), missing("category", np.where(Y, "p", "n"))):
        with pytest.raises(ValueError, match="the label of row 3 is missing"):
            MAKE[name]().fit(X, y)
    with pytest.raises(ValueError, match="64 bits"):
        MAKE[name]().fit(X, np.array([2**70 if label else 0 for label in Y], dtype=object))
    with pytest.raises(ValueError, match="the target y is None"):
        MAKE[name]().fit(X, None)


def test_and_in_a_stream_of_labels():
    model = sy.StreamQuantifier(LogisticRegression(), random_state=0)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.partial_fit(X, np.where(Y, 1.0, np.nan))
    with pytest.raises(ValueError, match="column 'b' of X holds str"):
        model.partial_fit(frame(b="u"), Y)


@pytest.mark.parametrize("name", ["online", "path", "structural"])
def test_numbers_of_numpy_are_parameters(name):
    model = MAKE[name]()
    changed = {"alpha": np.float32(1e-3)} if name == "online" else {"C": np.float32(0.5)}
    again = MAKE[name]().set_params(**{key: float(value) for key, value in changed.items()})
    assert np.allclose(model.set_params(**changed).fit(X, Y).predict(X), again.fit(X, Y).predict(X))


def test_numbers_and_lists_that_are_none_are_refused_as_parameters():
    for model in (sy.CostPath(C=10**400), sy.MeasureClassifier(m.FBeta(1), C={0.1, 1.0})):
        with pytest.raises(ValueError, match="C must be"):
            model.fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight is a number for each row; got 'balanced'"):
        sy.CostPath().fit(X, Y, sample_weight="balanced")


def test_a_first_chunk_of_one_class_says_how_to_go_on():
    with pytest.raises(ValueError, match=r"only one class, True.*classes="):
        MAKE["online"]().partial_fit(X, np.ones(len(X), dtype=bool))
    model = MAKE["online"]().partial_fit(X, np.ones(len(X), dtype=bool), classes=[False, True])
    with pytest.raises(ValueError, match=r"the label 2, which is not one of the classes \[False, True\]"):
        model.partial_fit(X, np.full(len(X), 2))
