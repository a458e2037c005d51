"""1PMB: its surrogate against every label vector, and what weights do to it."""

import itertools

import numpy as np
import pytest

import steelyard as sy
import steelyard.measures as m
from steelyard.rows import Rows
from steelyard.solvers.stream.mini_batch import Buffer, MiniBatchLearner
from steelyard.solvers.stream.problem import OnePassMiniBatch, Problem


def buffer(seed, n_pos=3, n_neg=4, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_pos + n_neg, d))
    return X, np.repeat([1, -1], [n_pos, n_neg]), rng.normal(size=d), rng.integers(1, 4, n_pos + n_neg).astype(float)


def surrogate(measure, w, X, y, weight):
    """max over all label vectors of 1 - M(z) + (1/C) sum c_i (z_i - y_i) s_i."""
    best, s = -np.inf, X @ w
    for z in itertools.product((-1, 1), repeat=len(y)):
        z = np.array(z)
        right = weight * (z == y)
        tpr, tnr = (right[y == c].sum() / weight[y == c].sum() for c in (1, -1))
        share = weight[y == 1].sum() / weight.sum()
        loss = 1 - float(measure(tpr, tnr, share, sample_size=len(y)))
        best = max(best, loss + float(weight @ ((z - y) * s)) / weight.sum())
    return best


@pytest.mark.parametrize("measure", [m.NegKLD(), m.GMean(), m.QMeasure(), m.CQReward()], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_the_surrogate_is_the_maximum_over_all_label_vectors(measure, seed):
    X, y, w, weight = buffer(seed)
    learner = MiniBatchLearner(Problem(measure, solver=OnePassMiniBatch(), fit_intercept=False), X.shape[1])
    value, slope = learner.worst(w, Buffer(Rows.of(X), y, np.ones(len(y))))
    assert value == pytest.approx(surrogate(measure, w, X, y, np.ones(len(y))), rel=1e-12)
    for other in np.random.default_rng(9).normal(size=(5, 2)):  # a subgradient of a convex function
        assert surrogate(measure, other, X, y, np.ones(len(y))) >= value + slope @ (other - w) - 1e-12
    # Weighted: a bound from below, and its slope one of the terms'.
    value, slope = learner.worst(w, Buffer(Rows.of(X), y, weight))
    assert 0 <= value <= surrogate(measure, w, X, y, weight) + 1e-12
    for other in np.random.default_rng(9).normal(size=(5, 2)):
        assert surrogate(measure, other, X, y, weight) >= value + slope @ (other - w) - 1e-12


def test_weights_are_masses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 4))
    y = (X[:, 0] + rng.normal(size=6000) > 1).astype(int)
    options = {"measure": m.NegKLD(), "solver": "1pmb", "random_state": 0, "max_iter": 3}
    keep = rng.random(6000) < 0.7
    none = sy.OnlineClassifier(**options, shuffle=False).fit(X, y, sample_weight=keep.astype(float))
    without = sy.OnlineClassifier(**options, shuffle=False).fit(X[keep], y[keep])
    assert np.array_equal(none.coef_, without.coef_)
    alike = sy.OnlineClassifier(**options).fit(X, y, sample_weight=np.full(6000, 2.5))
    assert np.array_equal(alike.coef_, sy.OnlineClassifier(**options).fit(X, y).coef_)
    times = np.where(y == 1, 3, 1)
    weighted = sy.OnlineClassifier(**options).fit(X, y, sample_weight=times.astype(float))
    repeated = sy.OnlineClassifier(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    plain = sy.OnlineClassifier(**options).fit(X, y)
    called = [model.predict(X).mean() for model in (weighted, repeated, plain)]
    assert called[0] == pytest.approx(called[1], abs=0.04)
    assert called[0] > called[2] + 0.05
