"""The approximate cost path: its certified gap holds at every tau, by comparison with the exact path."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from reference.cost_path import objective
from steelyard.solvers.path import approximate as approximate_path
from steelyard.solvers.path import exact as cost_path


def data(seed, n=300, one_hot=False):
    rng = np.random.default_rng(seed)
    X = np.eye(4)[rng.integers(0, 4, (n, 3))].reshape(n, 12) if one_hot else rng.normal(size=(n, 6))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0.8, 1.0, -1.0)
    return np.c_[X, np.ones(n)], y


def excess(X, y, C, path, exact, tau, weight=None):
    """(objective - optimum) / objective at each tau."""
    ours = np.array([objective(X, y, w, t, C, weight) for t, w in zip(tau, path.models(tau), strict=True)])
    best = np.array([objective(X, y, w, t, C, weight) for t, w in zip(tau, exact.models(tau), strict=True)])
    return 1 - best / ours


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_gap_holds_between_the_knots(one_hot, tol, C):
    X, y = data(0, one_hot=one_hot)
    path, exact = approximate_path.trace(X, y, C, tol=tol), cost_path.trace(X, y, C)
    assert path.converged
    assert path.gap <= tol
    assert (path.start, path.end) == (0.0, 1.0)
    assert (np.diff(path.tau) > 0).all()
    between = np.r_[np.random.default_rng(1).uniform(0, 1, 200), (path.tau[1:] + path.tau[:-1]) / 2, path.tau]
    seen = excess(X, y, C, path, exact, between)
    assert seen.max() <= path.gap + 1e-7  # 1e-7: the exact path's own perturbation
    assert seen.min() >= -1e-7


def test_a_smaller_tolerance_takes_more_knots_and_bites():
    X, y = data(2)
    exact, tau = cost_path.trace(X, y, 0.1), np.random.default_rng(3).uniform(0, 1, 300)
    knots, seen = [], []
    for tol in (1e-1, 1e-2, 1e-3):
        path = approximate_path.trace(X, y, 0.1, tol=tol)
        knots.append(len(path.tau))
        seen.append(excess(X, y, 0.1, path, exact, tau).max())
    assert knots[0] < knots[1] < knots[2]
    assert seen[0] > seen[1] > seen[2] > 1e-6  # the bound is a bound on something


def test_sparse_rows_weights_and_a_part_of_the_range():
    X, y = data(4, one_hot=True)
    tau = np.linspace(0.2, 0.7, 21)
    weight = np.random.default_rng(5).integers(1, 4, len(y)).astype(float)
    exact = cost_path.trace(X, y, 0.1, sample_weight=weight)
    for rows in (X, csr_matrix(X)):
        path = approximate_path.trace(rows, y, 0.1, (0.2, 0.7), 1e-3, weight)
        assert (path.start, path.end) == (0.2, 0.7)
        assert excess(X, y, 0.1, path, exact, tau, weight).max() <= path.gap + 1e-7


@pytest.mark.parametrize("tol", [0.0, 1.0, -1.0, np.nan])
def test_bad_tolerances_are_refused(tol):
    with pytest.raises(ValueError, match="tol is"):
        approximate_path.trace(np.eye(2), [1, -1], tol=tol)
