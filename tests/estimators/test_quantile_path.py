"""QuantilePath: every quantile is the regression of that quantile, and what it promises beyond scikit-learn's contract."""

import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.metrics.pairwise import rbf_kernel

import steelyard as sy
from reference.quantile_path import objective, pinball, quantile_programme
from steelyard.solvers.status import Ended, Status

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 4))
Y = X @ [1.0, -0.5, 0.0, 0.2] + 3 + np.exp(0.5 * X[:, 0]) * RNG.standard_t(4, 700)
TRAIN, TEST = slice(0, 300), slice(300, None)


@pytest.fixture(scope="module")
def path():
    return sy.QuantilePath(C=1.0).fit(X[TRAIN], Y[TRAIN])


def sample(kind, rng, n=14):
    rows = rng.normal(size=(n, 3))
    y = rng.normal(size=n)
    if kind == "ties":
        rows, y = rng.integers(-1, 2, (n, 3)).astype(float), rng.integers(0, 3, n).astype(float)
    elif kind == "duplicates":
        keep = rng.integers(0, n // 2, n)
        rows, y = rows[keep], np.where(rng.random(n) < 0.5, y[keep], y)
    elif kind == "wide":
        rows = rng.normal(size=(n, 20))
    elif kind == "constant":
        rows[:, 1] = 2.0
        y = y.round()
    return rows, y


@pytest.mark.parametrize("kind", ["normal", "ties", "duplicates", "wide", "constant"])
def test_every_quantile_is_the_quadratic_programme(kind):
    pytest.importorskip("piqp", reason="PIQP is an independent quadratic programming solver")
    rng = np.random.default_rng(len(kind))
    for trial in range(60):
        rows, y = sample(kind, rng)
        C, weight = 10.0 ** rng.uniform(-2, 1.5), rng.integers(1, 4, len(y)) if trial % 3 == 0 else None
        path = sy.QuantilePath(C=C).fit(rows, y, sample_weight=weight)
        middle = np.median(y if weight is None else np.repeat(y, weight))
        Z = np.c_[rows, np.ones(len(y))]
        for tau in rng.uniform(0, 1, 4):
            point = path.at(tau)
            ours = np.r_[point.coef_, point.intercept_ - middle]
            best = objective(Z, y - middle, quantile_programme(Z, y - middle, tau, C, weight), tau, C, weight)
            assert objective(Z, y - middle, ours, tau, C, weight) == pytest.approx(best, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("tau", [0.05, 0.5, 0.8])
def test_without_regularisation_it_is_scikit_learns(tau):
    """The linear programme: C so large that |w|^2 does not matter."""
    theirs = QuantileRegressor(quantile=tau, alpha=0.0).fit(X[TRAIN], Y[TRAIN])
    ours = sy.QuantilePath(C=1e4).fit(X[TRAIN], Y[TRAIN]).at(tau)
    loss = pinball(Y[TRAIN], theirs.predict(X[TRAIN]), tau)
    assert pinball(Y[TRAIN], ours.predict(X[TRAIN]), tau) == pytest.approx(loss, rel=1e-5)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_predict_is_at_for_each_quantile(path):
    quantiles = [0.9, 0.1, 0.5]
    found = path.predict(X[TEST], quantiles=quantiles)
    assert found.shape == (400, 3)
    for k, tau in enumerate(quantiles):
        np.testing.assert_allclose(found[:, k], path.at(tau).predict(X[TEST]), atol=1e-9)
        np.testing.assert_allclose(found[:, k], X[TEST] @ path.at(tau).coef_ + path.at(tau).intercept_, atol=1e-9)
    np.testing.assert_array_equal(path.predict(X[TEST]), path.predict(X[TEST], quantiles=0.5))
    assert path.predict(X[TEST], quantiles=[]).shape == (400, 0)


def test_a_share_tau_of_the_rows_lies_below(path):
    for tau in (0.1, 0.5, 0.9):
        assert (Y[TRAIN] < path.at(tau).predict(X[TRAIN])).mean() == pytest.approx(tau, abs=0.03)
        assert (Y[TEST] < path.at(tau).predict(X[TEST])).mean() == pytest.approx(tau, abs=0.06)


def test_between_two_kinks_the_path_is_linear(path):
    k = len(path.kinks_) // 2
    low, high = path.kinks_[[k, k + 1]]
    ends = path.at(low).coef_ + path.at(high).coef_
    np.testing.assert_allclose(path.at((low + high) / 2).coef_, ends / 2, atol=1e-8)


def test_a_shift_of_y_shifts_every_prediction(path):
    far = sy.QuantilePath(C=1.0).fit(X[TRAIN], Y[TRAIN] + 1e4)
    tau = [0.2, 0.5, 0.7]
    np.testing.assert_allclose(far.predict(X[TEST], tau), path.predict(X[TEST], tau) + 1e4, atol=1e-5)


def test_rearranged_quantiles_do_not_cross_and_lose_nothing():
    small = sy.QuantilePath(C=100.0).fit(X[:25], Y[:25])
    tau = np.linspace(0.02, 0.98, 49)[::-1]
    plain, sorted_ = (small.predict(X[TEST], tau, rearrange=how) for how in (False, True))
    assert (np.diff(plain, axis=1) > 0).any(), "nothing crosses here: the test shows nothing"
    assert (np.diff(sorted_, axis=1) <= 0).all()
    np.testing.assert_array_equal(np.sort(plain), np.sort(sorted_))
    loss = [sum(mean_pinball_loss(Y[TEST], q[:, k], alpha=t) for k, t in enumerate(tau)) for q in (plain, sorted_)]
    assert loss[1] < loss[0]


def test_sparse_frames_and_pickles(path):
    expected = path.predict(X[TEST], [0.3, 0.8])
    sparse = sy.QuantilePath(C=1.0).fit(csr_matrix(X[TRAIN]), Y[TRAIN])
    np.testing.assert_allclose(sparse.predict(csr_matrix(X[TEST]), [0.3, 0.8]), expected, atol=1e-6)
    for frame in (pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd"))):
        framed = sy.QuantilePath(C=1.0).fit(frame[TRAIN], Y[TRAIN])
        np.testing.assert_allclose(framed.predict(frame[TEST], [0.3, 0.8]), expected, atol=1e-9)
        if hasattr(framed, "feature_names_in_"):  # scikit-learn 1.7 knows the names of pandas' columns only
            assert list(framed.at(0.3).feature_names_in_) == list("abcd")
    assert list(sy.QuantilePath().fit(pd.DataFrame(X, columns=list("abcd")), Y).at(0.3).feature_names_in_) == list(
        "abcd"
    )
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.predict(X[TEST], [0.3, 0.8]), expected)
    point = pickle.loads(pickle.dumps(path.at(0.3)))
    np.testing.assert_array_equal(point.predict(X[TEST]), path.at(0.3).predict(X[TEST]))


def test_weights_are_repetitions():
    weight = np.random.default_rng(0).integers(0, 3, 300)
    heavy = sy.QuantilePath(C=0.3).fit(X[TRAIN], Y[TRAIN], sample_weight=weight)
    repeated = sy.QuantilePath(C=0.3).fit(np.repeat(X[TRAIN], weight, 0), np.repeat(Y[TRAIN], weight))
    tau = np.linspace(0, 1, 11)
    np.testing.assert_allclose(heavy.predict(X[TEST], tau), repeated.predict(X[TEST], tau), atol=1e-6)


def test_kernels_bend():
    x = np.linspace(-2, 2, 120)[:, None]
    y = np.sin(3 * x[:, 0])
    bent = sy.QuantilePath(C=50.0, kernel="rbf", gamma=2.0).fit(x, y)
    assert bent.score(x, y) > 0.99
    given = sy.QuantilePath(C=50.0, kernel="precomputed").fit(rbf_kernel(x, gamma=2.0), y)
    np.testing.assert_allclose(given.predict(rbf_kernel(x, gamma=2.0), [0.2]), bent.predict(x, [0.2]), atol=1e-6)
    assert not hasattr(bent.at(0.5), "coef_")


@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_regularisation(C):
    rows, y = sample("duplicates", np.random.default_rng(5))
    path = sy.QuantilePath(C=C).fit(rows, y)
    for tau in (0.1, 0.6):
        if C < 1:
            np.testing.assert_allclose(path.at(tau).predict(rows), np.median(y), atol=1e-5)
        else:
            best = pinball(y, QuantileRegressor(quantile=tau, alpha=0.0).fit(rows, y).predict(rows), tau)
            assert pinball(y, path.at(tau).predict(rows), tau) == pytest.approx(best, rel=1e-5)


def test_one_row_and_equal_targets():
    assert sy.QuantilePath().fit([[1.0, 2.0]], [7.0]).predict([[5.0, 5.0]]) == pytest.approx([7.0])
    level = sy.QuantilePath().fit(X[TRAIN], np.full(300, -2.5))
    np.testing.assert_allclose(level.predict(X[TEST], [0.1, 0.9]), -2.5, atol=1e-6)


def test_mistakes_are_named(path):
    for tau in (-0.1, 1.5, np.nan):
        with pytest.raises(ValueError, match="share of y, one number between 0 and 1"):
            path.at(tau)
        with pytest.raises(ValueError, match="share of y, one number between 0 and 1"):
            path.predict(X, quantiles=[0.5, tau])
    with pytest.raises(ValueError, match="flat list"):
        path.predict(X, quantiles=[[0.5]])
    part = sy.QuantilePath(tau_range=(0.6, 0.9)).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match=r"tau in \[0.6, 0.9\]"):
        part.predict(X)
    for wrong, message in (({"C": 0.0}, "C must be a finite number above 0"), ({"kernel": "sigmoid"}, "kernel must be one of"), ({"tau_range": (0.0, 2.0)}, "tau_range")):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            sy.QuantilePath(**wrong).fit(X[:50], Y[:50])
    with pytest.raises(ValueError, match="zero"):
        sy.QuantilePath().fit(X[:50], Y[:50], sample_weight=np.zeros(50))
    with pytest.raises(NotFittedError):
        sy.QuantilePath().at(0.5)
    with pytest.raises(TypeError, match="comes fitted"):
        clone(path.at(0.5)).fit(X, Y)


def test_float32_rows_stay_float32_and_overflowing_costs_are_refused():
    narrow = X[TRAIN].astype(np.float32)
    ours = sy.QuantilePath(C=1.0).fit(narrow, Y[TRAIN])
    plain = sy.QuantilePath(C=1.0).fit(narrow.astype(np.float64), Y[TRAIN])
    assert ours._path.problem.rows.source is narrow
    np.testing.assert_allclose(ours.predict(narrow, [0.2, 0.8]), plain.predict(narrow, [0.2, 0.8]), atol=1e-8)
    with pytest.raises(ValueError, match="too large to compute with"):
        sy.QuantilePath(C=1e306).fit(narrow, Y[TRAIN])


def test_a_path_that_rounding_has_ended_says_so_where_it_is_asked_beyond_its_end():
    """As that of rows times 1e30 in float32, at 0.035 on one processor."""
    model = sy.QuantilePath(C=0.1).fit(X[:60], Y[:60])
    model._path, model.tau_range_ = SimpleNamespace(status=Status(Ended.TROUBLE, "rows tie")), (0.0, 0.035)
    with pytest.raises(ValueError, match=r"tau in \[0, 0.035\]; numerical trouble: rows tie: scale the columns of X"):
        model.predict(X)
