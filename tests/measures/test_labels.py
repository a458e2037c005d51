"""Scores from labels: any two labels, weights, one class only, and scikit-learn's scoring=."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

Y, Z = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 0, 1, 0])


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), ("a", "b"), (False, True), (0.0, 1.0)])
def test_any_two_labels(labels):
    low, high = labels
    y, z = np.where(Y, high, low), np.where(Z, high, low)
    assert m.rates(y, z) == m.rates(Y, Z) == (0.5, pytest.approx(2 / 3), 0.4, 5)
    assert m.rates(y.tolist(), z.tolist()) == m.rates(Y, Z)


def test_pos_label_turns_the_table():
    turned = m.rates(Y, Z, pos_label=0)
    assert (turned.tpr, turned.tnr) == (pytest.approx(2 / 3), 0.5)


def test_weights_count_rows():
    w = np.array([1, 2, 0, 3, 1])
    repeated = np.repeat(np.arange(5), w)
    for measure in (m.FBeta(1), m.GMean(), m.NSS()):
        assert measure.score(Y, Z, sample_weight=w) == pytest.approx(measure.score(Y[repeated], Z[repeated]))


def test_one_class_is_scored_only_where_the_measure_does_not_care():
    negatives, calls = np.zeros(10), np.r_[np.ones(2), np.zeros(8)]
    assert m.Specificity().score(negatives, calls) == 0.8
    assert m.Accuracy().score(negatives, calls) == 0.8
    assert m.NegAE().score(negatives, calls) == pytest.approx(-0.2)
    assert m.FBeta(1).score(negatives, calls) == 0.0
    with pytest.raises(ValueError, match="no positives, so tpr is undefined and BalancedAccuracy"):
        m.BalancedAccuracy().score(negatives, calls)
    with pytest.raises(ValueError, match="no negatives, so tnr is undefined"):
        m.GMean().score(np.ones(4), [1, 0, 1, 1])


@pytest.mark.parametrize(
    ("y", "z", "w", "message"),
    [
        ([0, 1], [0, 1, 1], None, "2 labels and y_pred 3"),
        ([], [], None, "empty"),
        ([0, 1, 2], [0, 1, 2], None, r"two labels; y_true and y_pred have \[0, 1, 2\]"),
        ([0, 1], [0, 1], [1, -1], "not negative"),
        ([0, 1], [0, 1], [0, 0], "not all 0"),
        ([0, 1], [0, 1], [1, np.nan], "finite"),
        ([0, 1], [0, 1], [1, 1, 1], "shape"),
        ([0, np.nan], [0, 1], None, "missing labels"),
        ([[0, 1], [1, 0]], [0, 1], None, "one column"),
    ],
)
def test_bad_labels_are_refused(y, z, w, message):
    with pytest.raises(ValueError, match=message):
        m.FBeta(1).score(y, z, sample_weight=w)


def test_scorer_in_cross_validation():
    X, y = make_classification(300, weights=[0.8], random_state=0)
    names = np.where(y == 1, "spam", "ham")
    ours = cross_val_score(LogisticRegression(), X, names, scoring=m.FBeta(1).scorer())
    theirs = cross_val_score(LogisticRegression(), X, y, scoring="f1")
    np.testing.assert_allclose(ours, theirs)
    scorer = m.FBeta(1).scorer(pos_label="ham")
    assert repr(scorer) == "FBeta(beta=1).scorer(pos_label='ham')"
    model = LogisticRegression().fit(X, names)
    assert pickle.loads(pickle.dumps(scorer))(model, X, names) == m.FBeta(1).score(
        names, model.predict(X), pos_label="ham"
    )


# -- which class is positive, seen from outside -----------------------------------------------------------------------
X_TWO, Y_TWO = make_classification(400, 5, weights=[0.8], flip_y=0.1, random_state=0)
A_OR_B = np.where(Y_TWO == 1, "a", "b")  # the rare class is the smaller label


def wrapped(kind):
    inner = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1), pos_label="a")
    return {
        "itself": inner,
        "pipeline": make_pipeline(StandardScaler(), inner),
        "search": GridSearchCV(make_pipeline(StandardScaler(), inner), {"thresholdclassifier__cv": [2, 3]}, cv=2),
        "calibrated": CalibratedClassifierCV(inner, cv=2),
        "frozen": FrozenEstimator(make_pipeline(inner).fit(X_TWO, A_OR_B)),
    }[kind]


@pytest.mark.parametrize("kind", ["itself", "pipeline", "search", "calibrated", "frozen"])
def test_estimators_around_a_classifier_do_not_hide_its_positive_class(kind):
    model = wrapped(kind).fit(X_TWO, A_OR_B)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = m.FBeta(1).scorer()(model, X_TWO, A_OR_B)
    assert found == m.FBeta(1).score(A_OR_B, model.predict(X_TWO), pos_label="a")
    assert found != m.FBeta(1).score(A_OR_B, model.predict(X_TWO), pos_label="b")


def test_a_class_that_nobody_calls_positive_is_not_guessed_in_silence():
    plain = LogisticRegression().fit(X_TWO, A_OR_B)
    with pytest.warns(UserWarning, match=r"nothing says which of \['a', 'b'\] is positive: .* scored for 'b'"):
        found = m.FBeta(1).scorer()(plain, X_TWO, A_OR_B)
    assert found == m.FBeta(1).score(A_OR_B, plain.predict(X_TWO), pos_label="b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.FBeta(1).scorer(pos_label="a")(plain, X_TWO, A_OR_B)
        for labels in (Y_TWO, 2 * Y_TWO - 1, Y_TWO == 1):
            m.FBeta(1).scorer()(LogisticRegression().fit(X_TWO, labels), X_TWO, labels)


def test_models_fitted_to_other_labels_do_not_speak_for_these():
    """Inside, one against the rest is told 1 and 0; outside, 1 is a class of its own, and not the larger one."""
    labels = np.where(Y_TWO == 1, 1, 2)
    model = OneVsRestClassifier(sy.ThresholdClassifier(LogisticRegression())).fit(X_TWO, labels)
    with pytest.warns(UserWarning, match=r"nothing says which of \[1, 2\]"):
        found = m.FBeta(1).scorer()(model, X_TWO, labels)
    assert found == m.FBeta(1).score(labels, model.predict(X_TWO), pos_label=2)


def test_models_that_disagree_are_refused():
    pair = [(label, sy.ThresholdClassifier(LogisticRegression(), pos_label=label)) for label in "ab"]
    fitted = [(name, one.fit(X_TWO, A_OR_B)) for name, one in pair]
    model = StackingClassifier(fitted, final_estimator=LogisticRegression(), cv="prefit").fit(X_TWO, A_OR_B)
    with pytest.raises(ValueError, match=r"different positive labels, \['a', 'b'\]"):
        m.FBeta(1).scorer()(model, X_TWO, A_OR_B)
