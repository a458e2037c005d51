"""Logistic regression of several classes against the book and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from tests.reference import class_models

from steelyard.rows import Rows
from steelyard.solvers.linear import softmax
from steelyard.solvers.status import Ended

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CODES = (X @ RNG.normal(size=(3, 4)) + RNG.gumbel(size=(60, 4))).argmax(axis=1)
WEIGHT = RNG.integers(0, 4, 60).astype(float)


def test_it_is_the_minimum_by_the_book():
    W, least = class_models.softmax(X, CODES, 4, 0.7, WEIGHT)
    found = softmax.solve(Rows.of(X), CODES, 4, 0.7, 1e-9, WEIGHT)
    assert found.converged
    assert found.gap <= 1e-9
    np.testing.assert_allclose(found.W, W, atol=1e-3)
    assert found.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("tol", [0.3, 1e-2, 1e-4])
def test_the_gap_is_certified(tol):
    least = softmax.solve(Rows.of(X), CODES, 4, 5.0, 1e-12).objective
    found = softmax.solve(Rows.of(X), CODES, 4, 5.0, tol)
    assert (found.objective - least) / found.objective <= found.gap <= tol
    assert found.objective == pytest.approx(class_models.softmax_objective(found.W, X, CODES, 5.0, np.ones(60)))


def test_it_is_scikit_learns():
    ours = softmax.solve(Rows.of(X), CODES, 4, 1.0, 1e-10).W
    theirs = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(X, CODES).coef_
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_sparse_rows_starts_and_limits():
    dense = softmax.solve(Rows.of(X), CODES, 4, 1.0, 1e-8)
    sparse = softmax.solve(Rows.of(sp.csr_matrix(X)), CODES, 4, 1.0, 1e-8)
    np.testing.assert_allclose(sparse.W, dense.W, atol=1e-3)
    again = softmax.solve(Rows.of(X), CODES, 4, 1.0, 1e-7, start=dense.W)
    assert again.n_iter == 1
    assert again.converged
    short = softmax.solve(Rows.of(X), CODES, 4, 1e4, 1e-12, max_iter=3)
    assert short.status.ended is Ended.LIMIT
    assert short.gap > 1e-12
    huge = softmax.solve(Rows.of(X), CODES, 4, 1e308)
    assert huge.status.ended is Ended.TROUBLE
    assert huge.gap == np.inf
    assert not huge.W.any()
