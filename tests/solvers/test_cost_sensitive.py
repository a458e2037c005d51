"""SOLVERS x LOSSES: certified, right against slow references, and indifferent to how the data is presented."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

from reference.cost_sensitive import objective, optimum, row_costs
from steelyard.rows import Rows
from steelyard.solvers.linear.cost_sensitive import LOSSES, BundleOptions, solve, solve_grid

SOLVERS = ("auto", "coordinate", "newton", "bundle", "coordinate_first")
COSTS = [(1.8, 0.2), (1.0, 1.0), (0.4, 1.6)]
CS = [1e-2, 0.3, 10.0]


def make(n=80, d=5, seed=0, flip=0.15):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.normal(size=(n, d)), np.ones(n)]
    y = np.where(X @ rng.normal(size=d + 1) > 0.3, 1.0, -1.0)
    y[rng.random(n) < flip] *= -1
    return X, y


everything = pytest.mark.parametrize(("solver", "loss"), [(s, loss) for s in SOLVERS for loss in LOSSES])


@everything
def test_every_grid_point_is_certified_and_right(solver, loss):
    X, y = make()
    weight = np.random.default_rng(1).uniform(0.0, 2.0, len(y))
    grid = solve_grid(X, y, COSTS, CS, 1e-4, loss=loss, solver=solver, sample_weight=weight)
    assert [(r.c_pos, r.c_neg, r.C) for r in grid] == [(p, n, C) for p, n in COSTS for C in CS]
    for r in grid:
        cost = row_costs(y, r.c_pos, r.c_neg, r.C, weight)
        best = optimum(X, y, cost, loss)
        assert r.converged
        assert r.gap <= 1e-4
        assert r.objective == pytest.approx(objective(X, y, r.w, cost, loss), rel=1e-9)
        assert r.objective * (1 - r.gap) <= best * (1 + 1e-8) <= r.objective * (1 + 1e-7)


@everything
def test_the_certificate_holds_before_convergence_too(solver, loss):
    # Stopped early, at any point, the bound must still lie below the optimum, and a disturbed w above the objective.
    X, y = make(seed=3)
    best = optimum(X, y, row_costs(y, 1.5, 0.5, 3.0), loss)
    gaps = []
    for passes in (1, 3, 6, 12, 30):
        r = solve(X, y, 1.5, 0.5, 3.0, 1e-9, loss, solver, max_passes=passes)
        assert r.objective * (1 - r.gap) <= best * (1 + 1e-8)
        assert r.objective >= best * (1 - 1e-8)
        gaps.append(r.gap)
    assert gaps[0] > 0.01  # really stopped early, so that the bound was tested off the optimum
    cost = row_costs(y, 1.5, 0.5, 3.0)
    rng = np.random.default_rng(0)
    for size in (1e-3, 1e-1, 1.0):
        disturbed = objective(X, y, r.w + size * rng.normal(size=r.w.shape), cost, loss)
        assert disturbed >= r.objective * (1 - r.gap)


@pytest.mark.parametrize("solver", SOLVERS)
def test_agrees_with_liblinear_at_a_tiny_tolerance(solver):
    X, y = make(2000, 8, seed=5)
    for (p, n), C in zip(COSTS, CS, strict=True):
        theirs = LinearSVC(
            loss="hinge", C=C, class_weight={1: p, -1: n}, fit_intercept=False, tol=1e-10, max_iter=200_000
        )
        best = objective(X, y, theirs.fit(X, y).coef_[0], row_costs(y, p, n, C))
        r = solve(X, y, p, n, C, 1e-4, "hinge", solver)
        assert r.gap <= 1e-4
        assert r.objective <= best / (1 - r.gap)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_solvers_agree_to_the_last_digits_where_they_are_asked_for_them(loss):
    X, y = make(2000, 8, seed=6)
    X[np.random.default_rng(2).random(X.shape) < 0.5] = 0.0
    found = [solve(X, y, 1.7, 0.3, 0.01, 1e-8, loss, solver) for solver in SOLVERS]
    found.append(solve(sp.csr_matrix(X), y, 1.7, 0.3, 0.01, 1e-8, loss))
    for r in found:
        assert r.gap <= 1e-8
        np.testing.assert_allclose(r.w, found[0].w, rtol=0.0, atol=1e-8 * np.abs(found[0].w).max())


@everything
def test_labels_flipped(solver, loss):
    X, y = make(seed=7)
    a = solve(X, y, 1.7, 0.3, 1.0, 1e-6, loss, solver)
    b = solve(X, -y, 0.3, 1.7, 1.0, 1e-6, loss, solver)
    np.testing.assert_allclose(a.w, -b.w, rtol=2e-2, atol=2e-3)
    assert a.objective == pytest.approx(b.objective, rel=1e-5)


@everything
def test_row_order_and_repeated_rows(solver, loss):
    X, y = make(seed=8)
    order = np.random.default_rng(0).permutation(len(y))
    counts = np.random.default_rng(1).integers(0, 4, len(y))
    a = solve(X[order], y[order], 1.0, 2.0, 1.0, 1e-5, loss, solver)
    b = solve(X, y, 1.0, 2.0, 1.0, 1e-5, loss, solver)
    assert a.objective == pytest.approx(b.objective, rel=2e-5)
    c = solve(np.repeat(X, counts, axis=0), np.repeat(y, counts), C=0.5, tol=1e-5, loss=loss, solver=solver)
    d = solve(X, y, C=0.5, tol=1e-5, loss=loss, solver=solver, sample_weight=counts)
    assert c.objective == pytest.approx(d.objective, rel=2e-5)


@everything
def test_dense_sparse_and_single_precision_agree(solver, loss):
    X, y = make(300, 6, seed=9)
    X[np.random.default_rng(2).random(X.shape) < 0.5] = 0.0
    dense = solve(X, y, tol=1e-5, loss=loss, solver=solver)
    for other in (
        sp.csr_matrix(X),
        sp.csr_array(X),
        X.astype(np.float32),
        sp.csr_matrix(X.astype(np.float32)),
        np.asfortranarray(X),
    ):
        r = solve(other, y, tol=1e-5, loss=loss, solver=solver)
        assert r.objective == pytest.approx(dense.objective, rel=1e-4)


@everything
def test_same_bits_for_any_number_of_threads(solver, loss):
    X, y = make(20_000, 4, seed=10)
    one = solve_grid(X, y, COSTS, CS, 1e-3, loss=loss, solver=solver, n_jobs=1)
    three = solve_grid(X, y, COSTS, CS, 1e-3, loss=loss, solver=solver, n_jobs=3)
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a.w, b.w)
        assert a.gap == b.gap


@everything
def test_a_view_is_the_rows_it_stands_for(solver, loss):
    X, y = make(200, 5, seed=14)
    X = np.ascontiguousarray(X[:, :-1])
    which = np.random.default_rng(4).permutation(200)[:150]
    weight = np.random.default_rng(5).uniform(0.0, 2.0, 150)
    copied = np.c_[X[which], np.full(150, 0.7)]
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    expected = solve(copied, y[which], tol=1e-5, loss=loss, solver=solver, sample_weight=weight)
    for source in (X, wide):
        rows = Rows.of(source).take(which).with_constant(0.7)
        r = solve(rows, y[which], tol=1e-5, loss=loss, solver=solver, sample_weight=weight)
        np.testing.assert_allclose(r.w, expected.w, rtol=1e-6, atol=1e-8)


def crowded(n=6000, d=6, sparse=False):
    """A class that is given up at small C: then all rows of the other one are at the margin."""
    rng = np.random.default_rng(15)
    X = np.c_[rng.normal(size=(n, d)), np.ones(n)]
    y = np.where(rng.random(n) < 0.03, 1.0, -1.0)
    X[y > 0, :2] += 1.5
    if sparse:
        X[:, :d] *= rng.random((n, d)) < 0.3
    return (sp.csr_matrix(X) if sparse else X), y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_more_rows_than_the_sample(loss, sparse):
    # Here Newton sees some rows only, and where a class is given up hands over to coordinate descent.
    X, y = crowded(sparse=sparse)
    Cs = [1e-3, 1e-2, 1e-1]
    grid = solve_grid(X, y, COSTS, Cs, 1e-3, loss=loss, solver="newton_first")
    exact = solve_grid(X, y, COSTS, Cs, 1e-6, loss=loss, solver="coordinate")
    threads = solve_grid(X, y, COSTS, Cs, 1e-3, loss=loss, solver="newton_first", n_jobs=3)
    for r, best, same in zip(grid, exact, threads, strict=True):
        assert r.converged
        assert r.gap <= 1e-3
        assert r.objective == pytest.approx(objective(X, y, r.w, row_costs(y, r.c_pos, r.c_neg, r.C), loss), rel=1e-9)
        assert r.objective * (1 - r.gap) <= best.objective
        assert r.objective <= best.objective / (1 - 1e-3)
        np.testing.assert_array_equal(r.w, same.w)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_sparse_rows_of_many_columns(loss):
    # Few rows, many columns: Newton finds its direction by products, on as many threads as there are with the same bits.
    rng = np.random.default_rng(4)
    X = (rng.random((200, 150)) < 0.03) * rng.normal(size=(200, 150))
    y = np.where(X @ rng.normal(size=150) + 0.3 * rng.normal(size=200) > 0.0, 1.0, -1.0)
    grid = [solve_grid(sp.csr_matrix(X), y, COSTS, CS, 1e-6, loss=loss, solver="newton", n_jobs=k) for k in (1, 3)]
    dense = solve_grid(X, y, COSTS, CS, 1e-6, loss=loss, solver="newton")
    for one, other, known in zip(*grid, dense, strict=True):
        assert one.converged
        assert (one.w == other.w).all()
        assert one.objective == pytest.approx(known.objective, rel=2e-6)


def test_order_of_C_is_the_callers():
    X, y = make()
    up, down = solve_grid(X, y, COSTS, CS, 1e-4), solve_grid(X, y, COSTS, CS[::-1], 1e-4)
    assert [r.C for r in down[:3]] == CS[::-1]
    np.testing.assert_array_equal(up[0].w, down[2].w)


def test_mostly_zero_dense_data_is_converted():
    X, y = make(400, 20, seed=11)
    X[np.random.default_rng(3).random(X.shape) < 0.95] = 0.0
    a, b = solve(X, y, solver="coordinate", tol=1e-5), solve(sp.csr_matrix(X), y, solver="coordinate", tol=1e-5)
    np.testing.assert_array_equal(a.w, b.w)


def test_line_search_makes_the_bundle_monotone_and_shorter():
    X, y = make(3000, 10, seed=12)
    with_search = solve(X, y, C=0.05, tol=1e-3, solver="bundle")
    without = solve(X, y, C=0.05, tol=1e-3, solver="bundle", bundle=BundleOptions(line_search=False))
    assert (np.diff(with_search.history) <= 1e-9 * with_search.objective).all()
    assert (np.diff(without.history) > 0).any()  # the fluctuation of Cheng et al., Figure 2
    assert len(with_search.history) < len(without.history)
    assert with_search.converged
    assert without.converged


def test_shared_cuts_save_rounds():
    X, y = make(3000, 10, seed=13)
    costs = [(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, 9)]
    rounds = {}
    for share in (True, False):
        grid = solve_grid(X, y, costs, [0.01, 0.1, 1.0], 1e-3, solver="bundle", bundle=BundleOptions(share_cuts=share))
        assert max(r.gap for r in grid) <= 1e-3
        rounds[share] = sum(len(r.history) for r in grid)
    assert rounds[True] < rounds[False]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.zeros(80)}, "y must be -1 or 1"),
        ({"C": 0.0}, "C must be positive"),
        ({"c_pos": -1.0}, "costs must be finite and not negative"),
        ({"loss": "hugs"}, "loss must be one of"),
        ({"solver": "magic"}, "solver must be one of"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"sample_weight": -np.ones(80)}, "not negative"),
        ({"sample_weight": np.ones(3)}, "X has 80 rows"),
    ],
)
def test_errors_teach(arguments, message):
    X, y = make()
    with pytest.raises(ValueError, match=message):
        solve(**{"X": X, "y": y, **arguments})


def far_out(n, seed=0):
    """Counts standardised to a hundred deviations in a few rows, and classes that a plane all but separates."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.2, 1.0, -1.0)
    X = rng.normal(size=(n, 6)) + 1.5 * y[:, None] * (np.arange(6) < 3)
    X[:, 3:] *= np.exp(2.0 * rng.normal(size=(n, 1))) * (rng.random((n, 3)) < 0.02)
    X = (X - X.mean(0)) / X.std(0)
    return np.hstack([X, np.ones((n, 1))]), y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_rows_far_out_do_not_take_newton_for_ever(loss, kind):
    # No sample stands for such rows; Newton on all of them ends after some dozen steps, with the same model.
    X, y = far_out(6_000)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    found = solve(kind(X), y, 1.0, 1.0, 10.0, 1e-4, loss, "newton", weight)
    exact = solve(X, y, 1.0, 1.0, 10.0, 1e-6, loss, "coordinate", weight)
    assert found.gap <= 1e-4
    assert found.n_passes < 200
    assert found.objective <= exact.objective * (1 + 1.1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("n", [1_000, 6_000])  # the sample is all rows, and is not
def test_a_start_near_the_solution_saves_passes_and_changes_nothing(loss, n):
    X, y = far_out(n)
    costs = [(1.0, 1.0), (2.0, 0.5)]
    cold = solve_grid(X, y, costs, [1.0], 1e-3, loss=loss, solver="newton")
    exact = solve_grid(X, y, costs, [1.0], 1e-6, loss=loss, solver="newton")
    warm = solve_grid(X, y, costs, [1.0], 1e-3, loss=loss, solver="newton", start=[one.w for one in exact])
    assert sum(one.n_passes for one in warm) < sum(one.n_passes for one in cold)
    for one, best in zip(warm, exact, strict=True):
        assert one.gap <= 1e-3
        assert one.objective <= best.objective * (1 + 1.1e-3)


def test_a_start_of_the_wrong_shape_is_refused():
    X, y = far_out(100)
    with pytest.raises(ValueError, match="start needs a row for every pair"):
        solve_grid(X, y, [(1.0, 1.0)], [1.0], solver="newton", start=np.zeros((2, 7)))
