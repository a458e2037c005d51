"""ThresholdClassifier: bad input, and calls that fail."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit

import steelyard as sy
import steelyard.measures as m

X, Y = make_classification(1200, 8, weights=[0.85], flip_y=0.08, random_state=3)
TRAIN, TEST = slice(0, 800), slice(800, None)


def fitted(*args, **kwargs):
    return sy.ThresholdClassifier(*args, **kwargs).fit(X[TRAIN], Y[TRAIN])


class Broken(LogisticRegression):
    """A model whose scores go wrong on rows whose first feature is above 1.5."""

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        proba[np.asarray(X)[:, 0] > 1.5] = np.nan
        return proba


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fitted(Broken()), "scores are NaN or infinite"),
        (lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X, np.zeros(len(X))), r"only one class, 0\.0"),
        (
            lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X, np.arange(len(X)) % 3),
            "Only binary classification",
        ),
        (lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X, np.where(Y, np.nan, 0.0)), "NaN"),
        (lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X[:5], Y[:6]), "inconsistent numbers of samples"),
        (
            lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X, Y, sample_weight=-np.ones(len(Y))),
            "not be negative",
        ),
        (
            lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X, Y, sample_weight=1.0 * Y),
            "only one class with weight",
        ),
        (lambda: fitted(LogisticRegression(), pos_label=7), r"pos_label=7 is not one of the classes in y, \[0, 1\]"),
        (lambda: fitted(LogisticRegression(), cv=1), "cv=1 leaves nothing to judge by"),
        (lambda: fitted(LogisticRegression(), cv=1.5), "strictly between 0 and 1; got cv=1.5"),
        (lambda: fitted(LogisticRegression(), cv="loo"), "or 'prefit'; got 'loo'"),
        (lambda: fitted(LogisticRegression(), cv=[]), "cv made no split with rows to judge by"),
        (
            lambda: fitted(LogisticRegression(), cv=[(np.arange(400), np.arange(0))]),
            "cv made no split with rows to judge by",
        ),
        (
            lambda: fitted(LogisticRegression(), cv=PredefinedSplit(Y[TRAIN])),
            "fold 1 of 2 has no negative row to fit on",
        ),
        (lambda: fitted(LogisticRegression(), response_method="predict"), "response_method must be one of 'auto'"),
        (lambda: sy.ThresholdClassifier(LogisticRegression()).fit(X[:4], [0, 0, 0, 1]), "only one positive row"),
        (
            lambda: sy.ThresholdClassifier(FrozenEstimator(LogisticRegression().fit(X, Y))).fit(X, Y + 1),
            r"labels \[2\] that the fitted model does not know",
        ),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match=r"measure must be a measure, a name.*got 'f7'"):
        fitted(LogisticRegression(), "f7")
    with pytest.raises(TypeError, match="subject_to takes a constraint"):
        fitted(LogisticRegression(), subject_to=0.05)
    with pytest.raises(NotFittedError):
        sy.ThresholdClassifier(LogisticRegression(), cv="prefit").fit(X, Y)
    with pytest.raises(NotFittedError):
        sy.ThresholdClassifier(LogisticRegression()).predict(X)


def test_few_rows_of_a_class_mean_fewer_folds_and_a_warning():
    y = np.zeros(60, dtype=int)
    y[:3] = 1
    with pytest.warns(UserWarning, match="there are 3 positive rows, so 3 folds are used instead of 5"):
        sy.ThresholdClassifier(LogisticRegression()).fit(X[:60], y)


def test_bad_scores_at_prediction_are_refused():
    model = Broken().fit(X[TRAIN], Y[TRAIN])
    calm = X[TEST][X[TEST][:, 0] <= 1.5]
    tuned = sy.ThresholdClassifier(model, cv="prefit").fit(calm, Y[TEST][X[TEST][:, 0] <= 1.5])
    with pytest.raises(ValueError, match="NaN or infinite"):
        tuned.predict(X[TEST])


def test_constant_scores_call_all_or_nothing():
    flat = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(np.zeros((100, 2)), np.arange(100) % 2)
    assert len(flat.frontier_) >= 2
    assert set(flat.predict(np.zeros((3, 2))).tolist()) == {1}


def test_a_refit_that_fails_leaves_the_model_as_it_was():
    model = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(X, np.where(Y == 1, "b", "a"))
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    model.set_params(subject_to=m.fpr <= -1)
    with pytest.raises(sy.InfeasibleError):
        model.fit(X[:, :3], Y)
    assert {name: value for name, value in vars(model).items() if name.endswith("_")} == before
    assert model.predict(X[:5]).tolist() == model.classes_[(model.decision_function(X[:5]) > 0).astype(int)].tolist()


def test_what_is_infeasible_says_which_point_is_closest():
    with pytest.raises(sy.InfeasibleError, match="closest reachable point") as raised:
        fitted(LogisticRegression(), m.FBeta(1), subject_to=[m.tpr >= 0.99, m.fpr <= 0.001])
    closest = pickle.loads(pickle.dumps(raised.value)).closest
    assert 0.0 <= closest.tpr <= 1.0
    assert min(closest.tpr - 0.99, closest.tnr - 0.999) < 0.0
    points = fitted(LogisticRegression(), m.FBeta(1)).frontier_
    by_hand = np.minimum(points.tpr - 0.99, points.tnr - 0.999).max()
    assert min(closest.tpr - 0.99, closest.tnr - 0.999) == pytest.approx(by_hand, abs=1e-12)


def test_folds_of_groups_leave_out_whole_groups():
    groups = np.arange(len(Y)) % 6

    class Remembers(LogisticRegression):
        def fit(self, X, y):
            seen.append({int(row[-1]) for row in X})
            return super().fit(X, y)

    seen = []
    sy.ThresholdClassifier(Remembers(), cv=3).fit(np.column_stack([X, groups]), Y, groups=groups)
    assert sorted(map(len, seen)) == [4, 4, 4, 6]
