"""Structural SVMs against a quadratic program over all label vectors, and what does not change the answer."""

import signal

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

import steelyard.measures as m
from reference.structural import LOSSES, optimum
from steelyard.solvers.structural import solve, threshold_of

X, Y = make_classification(600, 6, n_informative=4, weights=[0.8], flip_y=0.05, random_state=2)
Y = Y == 1


def tiny(seed, n=8, positives=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) < positives)
    return rng.normal(size=(n, 2)) + y[:, None] * rng.uniform(0, 2), y


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_optimum_is_that_of_the_quadratic_program(name, C):
    for seed in range(3):
        rows, y = tiny(seed)
        for intercept in (True, False):
            found = solve(rows, y, name, C, tol=1e-9, fit_intercept=intercept)
            assert found.converged
            assert found.objective == pytest.approx(optimum(rows, y, name, C, intercept), rel=2e-6, abs=1e-9)


def test_errors_as_loss_are_a_linear_svm():
    found = solve(X, Y, "zero_one", C=1.0, tol=1e-7)
    svm = LinearSVC(loss="hinge", C=100 / len(Y), intercept_scaling=1.0, tol=1e-9, max_iter=1_000_000)
    svm.fit(X, Y)
    w = np.append(svm.coef_[0], svm.intercept_)
    hinge = np.maximum(0, 1 - np.where(Y, 1, -1) * svm.decision_function(X)).sum()
    assert found.objective == pytest.approx(w @ w / 2 + 100 / len(Y) * hinge, rel=1e-5)


@pytest.mark.parametrize("loss", ["kld", "f1", "q", "prec@50", m.GMean()], ids=str)
def test_dense_sparse_float_rows_threads_and_search_agree(loss):
    base = solve(X, Y, loss, 1.0, tol=1e-6)
    assert base.converged
    shuffle = np.random.default_rng(0).permutation(len(Y))
    others = {
        "sparse": solve(csr_matrix(X), Y, loss, 1.0, tol=1e-6),
        "rows": solve(X[shuffle], Y[shuffle], loss, 1.0, tol=1e-6),
        "table": solve(X, Y, loss, 1.0, tol=1e-6, search="table"),
    }
    for found in others.values():
        assert found.objective == pytest.approx(base.objective, rel=3e-6)
    wide = csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(solve(wide, Y, loss, 1.0, tol=1e-6).coef, others["sparse"].coef)
    single = X.astype(np.float32)
    assert solve(single, Y, loss, 1.0, tol=1e-6).objective == pytest.approx(base.objective, rel=1e-4)


def test_same_bits_for_any_number_of_threads():
    big, labels = make_classification(20_000, 5, random_state=0)
    one, two = (solve(big, labels == 1, "f1", 1.0, n_threads=k) for k in (1, 3))
    np.testing.assert_array_equal(one.coef, two.coef)


def test_flipping_both_labels_and_rows_changes_nothing_for_a_symmetric_loss():
    found, mirrored = solve(X, Y, "kld", 1.0, tol=1e-7), solve(-X, ~Y, "kld", 1.0, tol=1e-7)
    assert mirrored.objective == pytest.approx(found.objective, rel=1e-6)
    np.testing.assert_allclose(mirrored.coef, found.coef, atol=1e-3 * np.abs(found.coef).max())


def test_the_bound_never_crosses_and_the_gap_is_certified():
    seen = []
    found = solve(X, Y, "q", 10.0, tol=1e-5, callback=seen.append)
    objectives, bounds = [s.objective for s in seen], [s.bound for s in seen]
    assert (np.diff(objectives) <= 0).all()
    assert (np.diff(bounds) >= 0).all()
    assert max(bounds) <= min(objectives) * (1 + 1e-12)
    assert found.n_iter == len(seen)
    assert found.gap <= 1e-5


@pytest.mark.parametrize("C", [1e-8, 1e8])
@pytest.mark.parametrize("loss", ["kld", "f1", "zero_one"])
def test_extreme_C(C, loss):
    found = solve(X, Y, loss, C)
    assert found.converged
    assert np.isfinite(found.coef).all()
    if C < 1:
        at_zero = found.loss.value([0, Y.sum(), 0, Y.sum()], [0, 0, (~Y).sum(), (~Y).sum()]).max()
        assert found.objective == pytest.approx(C * at_zero, rel=1e-3)


def test_equal_scores_and_constant_rows():
    flat = np.ones((40, 2))
    y = np.arange(40) < 10
    for loss in ("kld", "f1", "q", "prec@5", "rec@20", "prbep"):
        found = solve(flat, y, loss, 1.0, tol=1e-6)
        assert found.converged
        score = flat @ found.coef + found.intercept
        assert len(np.unique(score)) == 1


def test_threshold_of_ties_and_ends():
    scores = np.array([1.0, 5.0, 5.0, 2.0, 1.0])
    called = [int((scores > threshold_of(scores, k)).sum()) for k in range(1, 6)]
    assert called == [0, 2, 3, 3, 5]
    high = np.nextafter(1.0, 2.0)
    assert threshold_of(np.array([high, 1.0]), 1) == 1.0


@pytest.mark.parametrize("scale", [0.0, 1e-160])
def test_tiny_rows(scale):
    found = solve(scale * X, Y, "f1", 1.0)
    assert found.objective == pytest.approx(100.0)


def test_huge_rows_are_refused():
    with pytest.raises(ValueError, match="squares of X overflow: scale the features"):
        solve(1e160 * X, Y, "f1", 1.0)


def test_an_interrupt_stops_at_the_next_cut():
    seen = []

    def press(state):
        seen.append(state)
        if state.n_iter == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        solve(X, Y, "f1", 100.0, tol=1e-12, callback=press)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"C": 0.0}, "C must be positive"), ({"C": np.inf}, "C must be positive"), ({"n_threads": 0}, "at least 1")],
)
def test_bad_parameters_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        solve(X, Y, "f1", **kwargs)
    with pytest.raises(ValueError, match="both classes; got 0 positives"):
        solve(X, np.zeros(len(X), dtype=bool), "f1")
