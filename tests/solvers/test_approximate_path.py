"""The approximate cost path: its certified gap holds at every tau, by comparison with the exact path."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from reference.cost_path import objective
from steelyard.solvers.linear import cost_sensitive
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


def test_a_path_that_falls_short_has_an_honest_gap():
    """Columns of very different scale: some knots are out of reach, and the gap that is reported still holds."""
    X, y = data(6)
    X = X * np.logspace(0, 7, X.shape[1])
    path = approximate_path.trace(X, y, 1.0, tol=1e-6)
    assert not path.converged
    assert str(path.status).startswith("limit reached: the relative gap is")
    assert 1e-6 < path.gap <= 1.0
    assert len(path.tau) < 5000
    best = [
        cost_sensitive.solve(X, y, 2 * (1 - t), 2 * t, 1.0, tol=1e-4, max_passes=20_000).objective for t in (0.3, 0.6)
    ]
    ours = [objective(X, y, path.models(t)[0], t, 1.0) for t in (0.3, 0.6)]
    assert (np.array(ours) * (1 - path.gap) <= np.array(best) * (1 + 1e-9)).all()


def test_one_class_alone_has_a_path():
    """At tau = 1 nothing costs anything: objective and dual are 0, and the gap is proved all the same."""
    X, _ = data(7)
    path = approximate_path.trace(X, np.ones(len(X)), 1.0)
    assert path.converged
    np.testing.assert_allclose(path.models(1.0), 0.0, atol=1e-9)
