"""The exact cost path of kernels, in the dual form, against the quadratic programme, the linear path and its own conditions."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import pairwise_kernels

from reference.cost_path import box_programme, costs
from steelyard.solvers.path.exact import trace, trace_quantiles
from steelyard.solvers.path.problem import PathKernel

KERNELS = {
    "rbf": PathKernel("rbf", gamma=0.5),
    "smooth rbf": PathKernel("rbf", gamma=1e-3),
    "poly": PathKernel("poly", gamma=0.5, coef0=1.0, degree=2),
    "no constant": PathKernel("rbf", gamma=0.5, constant=0.0),
    "precomputed": PathKernel("precomputed"),
}


def matrix(kernel, X, Z=None):
    """k(x, z) + constant by scikit-learn."""
    Z = X if Z is None else Z
    params = {"gamma": kernel.gamma} if kernel.name != "precomputed" else {"gamma": 0.5}
    if kernel.name == "poly":
        params |= {"coef0": kernel.coef0, "degree": kernel.degree}
    metric = "rbf" if kernel.name == "precomputed" else kernel.name
    return pairwise_kernels(X, Z, metric=metric, **params) + kernel.constant


def sample(rng, n, ties):
    X = rng.integers(-1, 2, (n, 2)).astype(float) if ties else rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def given(kernel, X):
    return matrix(kernel, X) - kernel.constant if kernel.name == "precomputed" else X


def coefficients(path, tau, n):
    c = np.zeros((len(np.atleast_1d(tau)), n))
    c[:, path.problem.kept] = path.models(tau)
    return c


def feasible(path, tau, n):
    """The coefficients with every multiplier put into its box; one row stands for all that equal it."""
    problem, c = path.problem, coefficients(path, tau, n)[0]
    high = problem.box[:, 2] + tau * problem.box[:, 3]
    c[problem.kept] = problem.sign * np.clip(problem.sign * c[problem.kept], 0.0, high)
    return c


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_equals_the_quadratic_programme_at_random_costs(name, ties):
    rng, kernel, cases = np.random.default_rng(0), KERNELS[name], []
    for _ in range(100):
        X, y = sample(rng, 12, ties)
        C, tau = 10.0 ** rng.uniform(-2, 1), rng.uniform(0, 1)
        path = trace(given(kernel, X), y, C, kernel=kernel)
        cases.append((matrix(kernel, X), y, C, tau, coefficients(path, tau, 12)[0], feasible(path, tau, 12)))
    roots = []
    for K, y, *_ in cases:
        values, vectors = np.linalg.eigh(K)
        roots.append(y[:, None] * vectors * np.sqrt(np.maximum(values, 0)))
    high = np.array([costs(y, tau, C) for _, y, C, tau, *_ in cases])
    _, dual = box_programme(np.array(roots), np.ones_like(high), np.zeros_like(high), high)
    for (K, y, C, tau, c, inside), d in zip(cases, dual, strict=True):
        primal = 0.5 * c @ K @ c + costs(y, tau, C) @ np.maximum(0, 1 - y * (K @ c))
        # On a smooth kernel coordinate steps end early: then the path's own multipliers, in their boxes, are the bound.
        assert max(d, np.abs(inside).sum() - 0.5 * inside @ K @ inside) == pytest.approx(primal, rel=1e-6)
        assert primal >= d * (1 - 1e-9)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_optimality_conditions_hold_at_every_kink(name, ties):
    rng, kernel = np.random.default_rng(1), KERNELS[name]
    for n in (10, 150):
        for C in (0.01, 1.0, 10.0):
            X, y = sample(rng, n, ties)
            path = trace(given(kernel, X), y, C, kernel=kernel)
            assert path.converged
            assert path.audit() < 1e-8
            assert (np.diff(path.kinks) >= 0).all()


def test_a_linear_kernel_has_the_linear_path():
    X, y = sample(np.random.default_rng(2), 80, False)
    for rows in (X, csr_matrix(X)):
        plain = trace(np.c_[X, np.ones(80)], y, 0.7)
        dual = trace(rows, y, 0.7, kernel=PathKernel("linear"))
        np.testing.assert_allclose(dual.kinks, plain.kinks, atol=1e-8)
        tau = np.linspace(0, 1, 21)
        w = dual.models(tau) @ np.c_[X, np.ones(80)]
        np.testing.assert_allclose(w, plain.models(tau), atol=1e-7)


def test_a_small_cache_changes_nothing_but_the_rows_computed():
    X, y = sample(np.random.default_rng(3), 120, False)
    whole = trace(X, y, kernel=PathKernel("rbf", gamma=0.5))
    little = trace(X, y, kernel=PathKernel("rbf", gamma=0.5, cache_bytes=5 * 120 * 8))
    np.testing.assert_array_equal(little.kinks, whole.kinks)
    assert whole.problem.on.n_computed <= 120
    assert little.problem.on.n_computed > 240


def test_a_smooth_kernel_with_large_C_keeps_its_members_in_place():
    """The factor degrades here and is made again between two kinks: the direction under way must stay what it is."""
    rng = np.random.default_rng(0)
    label, angle = rng.integers(0, 2, 2000), rng.uniform(0, np.pi, 2000)
    X = np.c_[np.cos(angle) + label - 0.5, np.sin(angle) * (1 - 2 * label) + 0.25 * (2 * label - 1)]
    X += 0.35 * rng.normal(size=X.shape)
    path = trace(X, 2.0 * label - 1, 100.0, kernel=PathKernel("rbf", gamma=1.0))
    assert path.log.refactored > 0
    assert path.audit(50) < 1e-8


def test_speeds_bound_how_scores_move():
    """Between two knots f moves by at most the way times k(x, x) ** 0.5, and the bound is not idle."""
    X, y = sample(np.random.default_rng(4), 90, False)
    kernel = PathKernel("rbf", gamma=0.5)
    path = trace(X, y, 1.0, kernel=kernel)
    fresh = np.random.default_rng(5).normal(size=(200, 2))
    share = 0.0
    for _, c, way in path.stretches():
        scores = matrix(kernel, fresh, X[path.problem.kept]) @ c.T
        moved, allowed = np.abs(np.diff(scores, axis=1)), np.sqrt(2.0) * np.diff(way)
        assert (moved <= allowed * (1 + 1e-6) + 1e-9).all()
        share = max(share, float((moved.max(0) / np.maximum(allowed, 1e-9)).max()))
    assert share > 0.2


def test_equal_rows_are_merged_and_weights_are_repetitions():
    X, y = sample(np.random.default_rng(6), 30, False)
    copies, tau = np.tile(np.arange(30), 3), np.linspace(0, 1, 9)
    for name in ("rbf", "precomputed"):
        kernel = KERNELS[name]
        once = trace(given(kernel, X), y, 0.5, sample_weight=np.full(30, 3.0), kernel=kernel)
        again = given(kernel, X)[copies]
        again = again[:, copies] if name == "precomputed" else again
        many = trace(again, y[copies], 0.5, kernel=kernel)
        assert many.problem.rows.n_rows == 30
        np.testing.assert_allclose(many.models(tau), once.models(tau), atol=1e-6)


def test_quantiles_of_a_kernel_are_optimal_and_paths_pickle():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=80)
    path = trace_quantiles(X, y, 2.0, kernel=PathKernel("rbf", gamma=0.5))
    assert path.audit() < 1e-8
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.models([0.2, 0.7]), path.models([0.2, 0.7]))
