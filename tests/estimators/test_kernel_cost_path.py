"""CostPath and QuantilePath with kernels: the same promises as without, on the dual form."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import rbf_kernel

import steelyard as sy
import steelyard.measures as m

X, Y = make_classification(420, 6, weights=[0.7], flip_y=0.1, random_state=1)
TRAIN, TEST = slice(0, 300), slice(300, None)
GAMMA = 0.2


@pytest.fixture(scope="module")
def path():
    return sy.CostPath(C=0.5, kernel="rbf", gamma=GAMMA).fit(X[TRAIN], Y[TRAIN])


def test_auto_takes_the_exact_path(path):
    assert path.method_ == "exact"
    assert (path.tau_range_, path.gap_) == ((0.0, 1.0), 0.0)


def test_probabilities_and_rates_are_those_of_the_models(path):
    tau = (np.arange(400) + 0.5) / 400
    called = np.array([path.at(t).decision_function(X[TEST]) > 0 for t in tau])
    np.testing.assert_allclose(
        path.predict_proba(X[TEST])[:, 1], called.mean(0).clip(0.5 / 300, 1 - 0.5 / 300), atol=5 / 400
    )
    points = path.rates(X[TEST], Y[TEST])
    at = np.searchsorted(points.thresholds, tau, side="right") - 1
    np.testing.assert_allclose(points.tpr[at], called[:, Y[TEST] == 1].mean(1), atol=1e-12)
    np.testing.assert_allclose(points.tnr[at], 1 - called[:, Y[TEST] == 0].mean(1), atol=1e-12)
    best = path.best(m.FBeta(1), X[TEST], Y[TEST])
    score = m.FBeta(1)(tpr=points.tpr, tnr=points.tnr, prevalence=Y[TEST].mean())
    assert m.FBeta(1).score(Y[TEST], best.predict(X[TEST])) == pytest.approx(score.max(), abs=1e-12)
    assert 0.0 <= path.recrossing_ <= 0.5


def test_a_precomputed_kernel_is_the_same_path(path):
    K = rbf_kernel(X, X[TRAIN], gamma=GAMMA)
    given = sy.CostPath(C=0.5, kernel="precomputed").fit(K[TRAIN], Y[TRAIN])
    np.testing.assert_allclose(given.kinks_, path.kinks_, atol=1e-7)
    np.testing.assert_allclose(given.predict_proba(K[TEST]), path.predict_proba(X[TEST]), atol=1e-6)
    np.testing.assert_allclose(
        given.at(0.3).decision_function(K[TEST]), path.at(0.3).decision_function(X[TEST]), atol=1e-7
    )
    assert given.recrossing_ == pytest.approx(path.recrossing_, abs=0.02)


def test_sparse_rows_and_pickles(path):
    sparse = sy.CostPath(C=0.5, kernel="rbf", gamma=GAMMA).fit(csr_matrix(X[TRAIN]), Y[TRAIN])
    np.testing.assert_allclose(sparse.predict_proba(csr_matrix(X[TEST])), path.predict_proba(X[TEST]), atol=1e-6)
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.predict_proba(X[TEST]), path.predict_proba(X[TEST]))
    point = pickle.loads(pickle.dumps(path.at(0.4)))
    np.testing.assert_array_equal(point.decision_function(X[TEST]), path.at(0.4).decision_function(X[TEST]))
    assert len(pickle.dumps(path.at(0.4))) < len(pickle.dumps(X[TRAIN])), "a point carries its support vectors only"


@pytest.mark.parametrize("kernel", ["poly", "precomputed"])
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_weights_are_repetitions(kernel, method):
    """A row without weight is no row: its column of a precomputed kernel stays in X and counts for nothing."""
    weight = np.random.default_rng(0).integers(0, 3, 300)
    repeated = np.repeat(np.arange(300), weight)
    options = {"C": 0.2, "kernel": kernel, "degree": 2, "coef0": 1.0, "gamma": GAMMA, "method": method, "tol": 1e-6}
    rows = rbf_kernel(X, X[TRAIN], gamma=GAMMA) if kernel == "precomputed" else X
    copies = rows[TRAIN][repeated], rows[TEST]
    if kernel == "precomputed":
        copies = copies[0][:, repeated], copies[1][:, repeated]
    heavy = sy.CostPath(**options).fit(rows[TRAIN], Y[TRAIN], sample_weight=weight)
    plain = sy.CostPath(**options).fit(copies[0], Y[TRAIN][repeated])
    atol = 1e-6 if method == "exact" else 0.02
    for tau in (0.2, 0.5, 0.7):
        ours, theirs = heavy.at(tau).decision_function(rows[TEST]), plain.at(tau).decision_function(copies[1])
        np.testing.assert_allclose(ours, theirs, atol=atol)


def test_quantiles_by_a_kernel_are_those_of_the_models():
    rng = np.random.default_rng(3)
    x = rng.uniform(-2, 2, (200, 1))
    y = np.sin(2 * x[:, 0]) + 0.2 * rng.normal(size=200)
    path = sy.QuantilePath(C=2.0, kernel="rbf", gamma=1.0).fit(x, y)
    found = path.predict(x, quantiles=[0.1, 0.5, 0.9])
    for k, tau in enumerate((0.1, 0.5, 0.9)):
        np.testing.assert_allclose(path.at(tau).predict(x), found[:, k], atol=1e-9)
        assert np.mean(y <= found[:, k] + 1e-7) == pytest.approx(tau, abs=0.08)


@pytest.mark.filterwarnings("ignore:numerical trouble. margins are known to")
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_extreme_regularisation_is_right_or_said_to_be_wrong(C):
    """Tiny C: every multiplier is at its bound. Huge C: the separable set is separated, or the failure has a name."""
    kernel = sy.CostPath(C=C, kernel="rbf", gamma=1.0)
    try:
        path = kernel.fit(X[:80], Y[:80])
    except RuntimeError as error:
        assert C > 1
        assert "give a smaller C" in str(error)  # noqa: PT017
        return
    if C < 1:
        K, sign = rbf_kernel(X[:80], gamma=1.0) + 1, 2.0 * Y[:80] - 1
        score = K @ (sign * C * np.where(sign > 0, 1.2, 0.8))
        np.testing.assert_allclose(path.at(0.4).decision_function(X[:80]), score, rtol=1e-9)
    else:
        assert (path.at(0.4).predict(X[:80]) == Y[:80]).all()


def test_float32_rows_are_computed_with_in_double():
    narrow = X.astype(np.float32)
    ours = sy.CostPath(C=0.5, kernel="rbf", gamma=GAMMA).fit(narrow[TRAIN], Y[TRAIN])
    plain = sy.CostPath(C=0.5, kernel="rbf", gamma=GAMMA).fit(narrow[TRAIN].astype(np.float64), Y[TRAIN])
    wide = narrow[TEST].astype(np.float64)
    np.testing.assert_allclose(
        ours.at(0.3).decision_function(narrow[TEST]), plain.at(0.3).decision_function(wide), atol=1e-9
    )
    np.testing.assert_allclose(ours.predict_proba(narrow[TEST]), plain.predict_proba(wide), atol=1e-7)
