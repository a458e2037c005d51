"""NeymanPearsonClassifier: cv, gamma and C mean what they mean elsewhere."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import StratifiedKFold

import steelyard as sy
from steelyard.solvers.kernel import neyman_pearson


@pytest.fixture(scope="module")
def moons():
    return make_moons(1200, noise=0.3, random_state=0)


def test_a_share_is_held_out_with_and_without_a_promise(moons):
    X, y = moons
    for given in ({}, {"delta": 0.1}):
        model = sy.NeymanPearsonClassifier(0.1, cv=0.3, gamma=1000.0, C=100.0, random_state=0, **given).fit(
            X[:400], y[:400]
        )
        assert 250 <= len(model.support_) <= 280  # a kernel this narrow needs nearly every row it has: 280 of 400
        assert model.fpr_train_ < model.fpr_heldout_ <= 0.1


def test_no_cv_is_five_folds_or_with_a_promise_a_share(moons):
    X, y = moons
    X, y = X[:400], y[:400]
    same = lambda a, b: np.array_equal(a.fit(X, y).decision_function(X), b.fit(X, y).decision_function(X))
    new = partial(sy.NeymanPearsonClassifier, 0.1, random_state=0)
    assert same(new(), new(cv=5))
    assert same(new(), new(cv=StratifiedKFold(5)))
    assert same(new(delta=0.1), new(delta=0.1, cv=0.3))


def test_gamma_auto_is_that_of_scikit_learn(moons):
    X, y = moons
    model = sy.NeymanPearsonClassifier(0.1, gamma="auto", offset="train").fit(X[:200], y[:200])
    assert model.gamma_ == 0.5


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_lists_of_gamma_and_C_are_tried_on_rows_left_out(moons):
    X, y = moons
    model = sy.NeymanPearsonClassifier(0.1, gamma=[1e-6, 1.0], C=[1e-6, 1.0]).fit(X[:300], y[:300])
    assert (model.gamma_, model.C_) == (1.0, 1.0)


@pytest.mark.parametrize("gamma", ["search", [0.1, 1.0]])
def test_a_kernel_without_gamma_does_not_search_for_one(gamma, moons, monkeypatch):
    X, y = moons
    made, solve = [], neyman_pearson.solve
    monkeypatch.setattr(neyman_pearson, "solve", lambda *args: made.append(1) or solve(*args))
    sy.NeymanPearsonClassifier(0.1, kernel="linear", gamma=gamma).fit(X[:200], y[:200])
    assert len(made) == 1
