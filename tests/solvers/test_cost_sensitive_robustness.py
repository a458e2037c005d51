"""Data that breaks solvers: each case converges under ``auto``; a solver that cannot says so by its gap, never by a wrong one."""

from functools import cache

import numpy as np
import pytest

from reference.cost_sensitive import objective, row_costs
from steelyard.solvers.linear.cost_sensitive import LOSSES, solve

SOLVERS = ("auto", "coordinate", "newton", "bundle", "newton_first", "coordinate_first")
RNG = np.random.default_rng(0)
X0 = RNG.normal(size=(1500, 6))
Y0 = np.where(X0 @ RNG.normal(size=6) + RNG.normal(size=1500) > 0.5, 1.0, -1.0)


def constant_features():
    X = X0.copy()
    X[:, 2], X[:, 3] = 3.0, 0.0
    return X, Y0, 1.0, None


def duplicate_rows():
    return np.repeat(X0[:50], 40, axis=0), np.repeat(Y0[:50], 40), 1.0, None


def all_zero_rows():
    X = X0.copy()
    X[::3] = 0.0
    return X, Y0, 1.0, None


def separable_with_huge_C():
    y = np.where(X0[:, 0] > 0, 1.0, -1.0)
    X = X0.copy()
    X[:, 0] += 0.5 * y
    return X, y, 1e6, None


def weights_of_zero():
    weight = np.ones(len(Y0))
    weight[::2] = 0.0
    return X0, Y0, 1.0, weight


def wild_scales():
    return X0 * np.array([1e-12, 1e12, 1.0, 1.0, 1e3, 1e-3]), Y0, 1.0, None


def one_column_one_class_rare():
    y = -np.ones(10**6)
    y[:10] = 1.0
    X = np.random.default_rng(1).normal(size=(10**6, 2))
    X[:10] += 2.0
    return X, y, 1.0, None


CASES = (
    constant_features, duplicate_rows, all_zero_rows, separable_with_huge_C, weights_of_zero, wild_scales,
    one_column_one_class_rare,
)  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_auto_converges(case, loss):
    X, y, C, weight = case()
    r = solve(X, y, 1.5, 0.5, C, 1e-3, loss, sample_weight=weight)
    assert r.converged
    assert r.gap <= 1e-3
    assert r.objective == pytest.approx(objective(X, y, r.w, row_costs(y, 1.5, 0.5, C, weight), loss), rel=1e-8)


@cache
def best_of(case, loss):
    X, y, C, weight = case()
    return solve(X, y, 1.5, 0.5, C, 1e-6, loss, sample_weight=weight).objective


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["coordinate", "newton", "bundle"])
@pytest.mark.parametrize("case", [separable_with_huge_C, wild_scales], ids=lambda case: case.__name__)
def test_a_solver_that_fails_says_so(case, solver, loss):
    X, y, C, weight = case()
    r = solve(X, y, 1.5, 0.5, C, 1e-3, loss, solver, sample_weight=weight, max_passes=500)
    assert r.converged == (r.gap <= 1e-3)
    assert np.isfinite(r.objective)
    assert r.objective * (1 - r.gap) <= best_of(case, loss) * (1 + 1e-9)


def test_zero_weight_rows_do_not_count():
    weight = np.ones(len(Y0))
    weight[::2] = 0.0
    full = solve(X0, Y0, tol=1e-6, sample_weight=weight)
    part = solve(X0[1::2], Y0[1::2], tol=1e-6)
    assert full.objective == pytest.approx(part.objective, rel=3e-6)


def test_one_class_only_still_has_an_answer():
    r = solve(X0, np.ones(len(X0)), tol=1e-4)
    assert r.converged


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_values_are_refused(bad):
    X = X0.copy()
    X[3, 2] = bad
    with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
        solve(X, Y0)


@pytest.mark.parametrize("solver", ["auto", "newton", "bundle"])
def test_overflow_is_refused(solver):
    with pytest.raises(ValueError, match="squares overflow"):
        solve(X0 * 1e200, Y0, solver=solver)


HUGE = [(1e308, None), (1e300, None), (1e200, None), (1.0, 1e306), (1.0, 1e300)]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("C", "weight"), HUGE)
def test_no_certificate_from_numbers_that_are_not_finite(C, weight, solver, loss):
    # Two rows that are easily told apart, and many that are not: the first have a solution, |w|^2 / 2 = 1/2.
    for X, y in ((np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([1.0, -1.0])), (X0[:200], Y0[:200])):
        given = None if weight is None else np.full(len(y), weight)
        r = solve(X, y, 1.5, 0.5, C, 1e-3, loss, solver, given, max_passes=200)
        assert r.w.shape == (X.shape[1],)
        assert np.isfinite(r.w).all()
        assert r.converged == (r.gap <= 1e-3)
        assert r.status.where or r.converged
        if r.converged:
            assert np.isfinite(r.objective)
            assert len(y) == 2
            if loss == "hinge":
                np.testing.assert_allclose(r.w, [1.0, 0.0], atol=1e-6)


def test_an_objective_that_overflows_says_so():
    r = solve(np.array([[1.0, 2.0], [-1.0, 0.5]]), [1, -1], C=1e308)
    assert not r.converged
    assert r.gap == np.inf
    assert "C times costs and sample weights is too large" in str(r.status)
    assert (r.w == 0.0).all()


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_is_said(solver):
    r = solve(X0, Y0, C=10.0, tol=1e-9, solver=solver, max_passes=4)
    assert str(r.status) == "limit reached: the passes over the rows are used up"
    assert 0.0 < r.gap <= 1.0
