"""Data that breaks learners: MeasureClassifier gives a skilful model, or says clearly what is in the way."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import steelyard as sy
import steelyard.measures as m

RNG = np.random.default_rng(0)
X0 = RNG.normal(size=(600, 4))
Y0 = (X0[:, 0] + 0.5 * X0[:, 1] + 0.4 * RNG.normal(size=600) > 0.8).astype(int)


def constant_features():
    X = X0.copy()
    X[:, 2], X[:, 3] = 3.0, 0.0
    return X, Y0, {}


def duplicate_rows():
    return np.repeat(X0[:60], 10, axis=0), np.repeat(Y0[:60], 10), {}


def all_zero_rows():
    X, y = X0.copy(), Y0.copy()
    X[::3], y[::3] = 0.0, 0
    return X, y, {}


def separable_with_huge_C():
    y = (X0[:, 0] > 0.5).astype(int)
    X = X0.copy()
    X[:, 0] += np.where(y == 1, 0.5, -0.5)
    return X, y, {"C": 1e6}


def ten_positives_in_many_rows():
    X = np.random.default_rng(1).normal(size=(50_000, 2))
    y = (np.arange(50_000) < 10).astype(int)
    X[:10] += 4.0
    return X, y, {}


CASES = (constant_features, duplicate_rows, all_zero_rows, separable_with_huge_C, ten_positives_in_many_rows)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.parametrize("goal", [(m.BalancedAccuracy(), None), (m.Recall(), m.fpr <= 0.1)], ids=["BA", "cap"])
def test_a_skilful_model_without_complaint(case, goal):
    X, y, options = case()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = sy.MeasureClassifier(goal[0], subject_to=goal[1], random_state=0, **{"C": [0.01, 1.0], **options})
        model.fit(X, y)
    assert model.gap_ <= 1e-3
    assert np.isfinite(model.coef_).all()
    found = m.rates(y, model.predict(X))
    assert found.tpr + found.tnr > 1.5
    if goal[1] is not None:
        assert found.tnr > 0.85


def test_columns_on_very_different_scales_are_fitted_or_named_as_the_reason():
    X = X0 * np.array([1e-12, 1e12, 1.0, 1.0])
    model = sy.MeasureClassifier(m.BalancedAccuracy(), C=[0.01, 1.0], random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y0)
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert model.gap_ <= 1e-3 or any("StandardScaler" in message for message in said)
    assert np.isfinite(model.decision_function(X)).all()


def test_rows_of_weight_zero_may_be_anything():
    X, weight = X0.copy(), np.ones(600)
    weight[::5] = 0.0
    X[::5] = 1e6
    model = sy.MeasureClassifier(m.BalancedAccuracy(), C=[0.01, 1.0], random_state=0).fit(X, Y0, sample_weight=weight)
    counted = weight > 0
    assert m.BalancedAccuracy().score(Y0[counted], model.predict(X[counted])) > 0.8


@pytest.mark.parametrize(
    ("measure", "constraint", "called"), [(m.FBeta(1), None, 1), (m.Recall(), m.fpr <= 0.05, 0)], ids=["F1", "cap"]
)
def test_scores_that_say_nothing_are_survived(measure, constraint, called):
    X, y = np.zeros((200, 3)), (np.arange(200) % 4 == 0).astype(int)
    model = sy.MeasureClassifier(measure, subject_to=constraint, C=1.0, random_state=0).fit(X, y)
    assert (model.predict(X) == called).all()  # for F1 everything, under a cap nothing
