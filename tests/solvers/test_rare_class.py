"""A rare class on a stream: when its direction comes from the kept rows, and what that is worth."""

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score

import steelyard as sy
import steelyard.measures as m
from steelyard.solvers.stream import rare_class


@pytest.mark.parametrize("measure", [m.NegKLD(), m.NSS(), 0.5 * m.NegKLD() + 0.5 * m.NSS()], ids=repr)
def test_counting_alone_asks_for_no_skill(measure):
    assert rare_class.asks_for_no_skill(measure)


@pytest.mark.parametrize("measure", [m.BAKLD(), m.FBeta(1), m.GMean(), m.QMeasure(1), m.Recall()], ids=repr)
def test_others_do(measure):
    assert not rare_class.asks_for_no_skill(measure)


def test_when_it_applies():
    assert rare_class.applies((2048, 100), (50_000, 100), 50)
    assert rare_class.applies((90, 2048), (100, 50_000), 50)
    assert not rare_class.applies((8192, 5000), (50_000, 5000), 50)  # not rare
    assert not rare_class.applies((2048, 60), (50_000, 100), 50)  # some of its rows were never kept
    assert not rare_class.applies((2048, 100), (50_000, 100), 500)  # too many features
    assert not rare_class.applies((2048, 0), (50_000, 0), 50)


def test_it_is_logistic_regression_when_all_rows_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    y = X @ [1.0, -1.0, 0.5, 0.0, 0.0] + rng.logistic(size=1200) > 2.5
    ours = rare_class.direction(X, y, np.ones(1200))
    theirs = LogisticRegression(tol=1e-8).fit(X, y).coef_[0]
    np.testing.assert_allclose(ours, theirs, atol=0.03)


def ill_conditioned(n, seed):
    """A class of one row in four hundred, told by the small difference of two columns that vary together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    hidden = X[:, 1].copy()
    X[:, 1] = X[:, 0] + 0.3 * hidden
    return X, (hidden + 0.2 * rng.normal(size=n) > 2.85).astype(int)


def test_a_rare_class_is_found_in_one_pass(monkeypatch):
    X, y = ill_conditioned(30_000, 0)
    assert y.sum() < 100

    def precision(model):
        X_test, y_test = ill_conditioned(60_000, 50)
        return average_precision_score(y_test, model.fit(X, y).decision_function(X_test))

    wanted = precision(LogisticRegression())
    assert precision(sy.OnlineClassifier(m.NegKLD(), random_state=0)) > wanted - 0.04
    monkeypatch.setattr(rare_class, "OPTIONS", dataclasses.replace(rare_class.OPTIONS, rows=0))
    assert precision(sy.OnlineClassifier(m.NegKLD(), random_state=0)) < wanted - 0.08  # the steps alone
