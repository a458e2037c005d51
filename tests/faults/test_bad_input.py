"""Input that scikit-learn lets through and that would be silently wrong here, or end in a message about something else."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from steelyard.solvers import cost_sensitive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] + RNG.normal(size=120) > 0.3).astype(int)
MADE = {
    "measure": lambda: sy.MeasureClassifier(m.FBeta(1), C=[1.0], random_state=0),
    "online": lambda: sy.OnlineClassifier(m.FBeta(1), random_state=0),
    "path": lambda: sy.CostPath(C=0.1),
    "structural": lambda: sy.StructuralSVM(),
    "np": lambda: sy.NeymanPearsonClassifier(0.2, C=1.0),
    "q-value": lambda: sy.QValueClassifier(0.2),
    "threshold": lambda: sy.ThresholdClassifier(LogisticRegression()),
    "expected": lambda: sy.ExpectedFBetaClassifier(LogisticRegression()),
    "quantifier": lambda: sy.Quantifier(LogisticRegression()),
    "stream quantifier": lambda: sy.StreamQuantifier(LogisticRegression()),
}


@pytest.fixture(params=MADE)
def made(request):
    return MADE[request.param]()


def masked(values, *where):
    found = np.ma.array(values, mask=np.zeros(np.shape(values), dtype=bool))
    found.mask[where] = True
    return found


def test_missing_values_of_a_masked_array_are_not_taken_for_numbers(made):
    with pytest.raises(
        ValueError, match=r"X is a masked array with 1 values missing, the first at \(3, 2\): fill them"
    ):
        made.fit(masked(X, 3, 2), Y)
    with pytest.raises(ValueError, match=r"y is a masked array with 1 values missing, the first at \(5,\)"):
        made.fit(X, masked(Y, 5))
    made.fit(np.ma.array(X), Y)  # a mask that hides nothing is none
    if hasattr(made, "predict"):
        with pytest.raises(ValueError, match="masked array"):
            made.predict(masked(X, 3, 2))


def test_nor_by_a_solver():
    with pytest.raises(ValueError, match="masked array"):
        cost_sensitive.solve(masked(X, 3, 2), 2.0 * Y - 1)


@pytest.mark.parametrize("labels", [[None, "a"], [1, "a"], ["a", np.nan]], ids=str)
def test_labels_of_two_kinds_are_named(made, labels):
    y = np.array(labels, dtype=object)[Y]
    with pytest.raises(ValueError, match=r"labels are of one kind; got \w+, \w+\. Are some missing\?|contains NaN"):
        made.fit(X, y)


@pytest.mark.parametrize("size", [1e300, 1e306])
def test_weights_that_overflow_are_refused(made, size):
    if "sample_weight" not in made.fit.__code__.co_varnames:
        pytest.skip("takes no weights")
    with pytest.raises(ValueError, match="too large to compute with"):
        made.fit(X, Y, sample_weight=np.full(120, size))


def test_a_large_unit_of_weight_changes_nothing(made):
    if "sample_weight" not in made.fit.__code__.co_varnames or not hasattr(made, "decision_function"):
        pytest.skip("takes no weights or has no scores")
    if isinstance(made, sy.StructuralSVM):
        pytest.skip("takes weights as repetitions")
    heavy = made.fit(X, Y, sample_weight=np.full(120, 1e12))
    assert np.isfinite(heavy.decision_function(X)).all()


def test_columns_that_never_varied_do_not_decide():
    """All rows alike: nothing can be told apart, and new rows do not get scores of a million million."""
    with pytest.warns(UserWarning, match="infeasible"):
        model = sy.QValueClassifier(0.2).fit(np.ones((120, 4)), Y)
    assert np.abs(model.decision_function(X)).max() < 100.0


OWN = ("measure", "online", "path", "structural", "np", "q-value")  # whose X nobody else reads
BROKEN = {
    "dense": lambda A: A,
    "float32": lambda A: A.astype(np.float32),
    "columns first": np.asfortranarray,
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
}


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("kind", BROKEN)
def test_the_first_number_that_is_none_is_named_with_its_place_and_what_to_do(name, kind):
    bad = X.copy()
    bad[[70, 7], [1, 2]] = np.nan, -np.inf
    bad = BROKEN[kind](bad)
    words = r"^Input X contains infinity or a value too large for float\d\d: row 7, column 2\. Drop or impute such rows"
    model = MADE[name]()
    with pytest.raises(ValueError, match=words):
        model.fit(bad, Y)
    model.fit(X, Y)
    with pytest.raises(ValueError, match=words):
        model.predict(bad)
    if hasattr(model, "partial_fit"):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(bad, Y)
