"""Clip of columns: quantiles by their definition, dense and sparse alike, and what a freak row can no longer do."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.rows import Rows
from steelyard.solvers.decoys.bounds import Clip, Soft

VALUES = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 3)), min_size=1, max_size=20)


@given(VALUES, st.sampled_from([0.0, 0.1, 0.25, 0.4]))
def test_quantiles_are_their_definition_and_weights_repeat(table, tail):
    values, weight = (np.array(column, dtype=float) for column in zip(*table, strict=True))
    repeated = sorted(np.repeat(values, weight.astype(int)).tolist())
    quantile = lambda share: next(v for k, v in enumerate(repeated) if (k + 1) / len(repeated) >= share - 1e-9)
    found = Clip.of(Rows.of(values[:, None]), tail, weight)
    assert (found.low[0], found.high[0]) == (quantile(tail), quantile(1 - tail))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_columns_have_the_bounds_of_dense_ones_with_0_between_them(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 4)) * (rng.random((500, 4)) < 0.3)).astype(dtype)
    X[:, 3] = 5.0 + rng.random(500)  # no zero at all
    dense, sparse = Clip.of(Rows.of(X), 0.05), Clip.of(Rows.of(sp.csr_matrix(X)), 0.05)
    assert sparse.low.tolist() == [*dense.low[:3].tolist(), 0.0]
    assert sparse.high.tolist() == dense.high.tolist()
    clipped = sparse(Rows.of(sp.csr_matrix(X))).source
    assert clipped.dtype == dtype
    assert np.array_equal(clipped.toarray(), np.clip(X, sparse.low.astype(dtype), sparse.high.astype(dtype)))
    part = np.arange(0, 500, 7)
    assert np.array_equal(dense(Rows.of(X).take(part)).source, dense(Rows.of(X)).source[part])


def test_pieces_are_the_rows_in_their_order(monkeypatch):
    X = np.random.default_rng(1).normal(size=(100, 3))
    bounds = Clip.of(Rows.of(X), 0.1)
    monkeypatch.setattr("steelyard.solvers.decoys.bounds.PIECE", 21)
    whole = np.empty_like(X)
    for part, rows in bounds.pieces(Rows.of(X)):
        assert rows.n_rows <= 7
        whole[part] = rows.source
    assert np.array_equal(whole, bounds(Rows.of(X)).source)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_freak_decoy_does_not_rank_first(sparse):
    rng = np.random.default_rng(2)
    n = 3000
    right = rng.random(n) < 0.3
    target = right | (rng.random(n) < 0.5)
    X = rng.normal(size=(n, 3))
    X[right, :2] += 2.0
    freaks = np.flatnonzero(~target)[:3]
    X[freaks, 0] = 60.0
    given = sp.csr_matrix(X) if sparse else X
    ranks = {}
    for bound in (3.0, None):
        model = sy.QValueClassifier(0.05, bound=bound, random_state=0).fit(given, target)
        scores = model.decision_function(given)
        ranks[bound] = (scores > scores[freaks].min()).sum()
    assert ranks[3.0] > 100
    assert ranks[None] < 10


@pytest.mark.parametrize("kind", [sp.csr_matrix, np.asarray])
def test_soft_bounds_by_their_formula(kind):
    rng = np.random.default_rng(3)
    X = np.column_stack([
        rng.normal(5.0, 2.0, 4000), rng.normal(size=4000) * (rng.random(4000) < 0.1), rng.random(4000) < 0.001, np.ones(4000),
    ])  # fmt: skip
    X[:5, 0] = 1e6  # freaks do not move the bounds
    soft = Soft.of(Rows.of(kind(X)), 3.0)
    assert soft.centre == pytest.approx([5.0, 0.0, 0.0, 1.0], abs=0.15)
    assert soft.reach[0] == pytest.approx(6.0, rel=0.05)
    assert soft.reach[2] == pytest.approx(3 * X[:, 2].std())
    assert soft.reach[3] == 1.0
    found = soft(Rows.of(kind(X))).source
    found = found.toarray() if sp.issparse(found) else found
    level = lambda x: soft.centre + soft.reach * np.tanh((x - soft.centre) / soft.reach)
    assert found == pytest.approx(level(X) - level(np.zeros(4)))
    assert soft.at_zero == pytest.approx(level(np.zeros(4)))


@pytest.mark.parametrize("bound", [0.0, -1.0, "3 sd", True])
def test_a_bound_that_is_none_is_refused(bound):
    with pytest.raises(ValueError, match="bound must be"):
        sy.QValueClassifier(bound=bound).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_rows_far_beyond_the_reach_of_tiny_columns_are_at_their_bound():
    tiny = 5e-324 * np.arange(9.0)[:, None]
    soft = Soft.of(Rows.of(tiny), 3.0)
    found = soft(Rows.of([[-1.0], [0.0], [1.0]])).source.ravel()
    assert (np.isfinite(found) & (np.abs(found) < 1e-300)).all()
    assert found[0] <= found[1] <= found[2]
    assert found[1] == 0.0
