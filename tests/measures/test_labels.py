"""Scores from labels: any two labels, weights, one class only, and scikit-learn's scoring=."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

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
