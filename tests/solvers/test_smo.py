"""SMO: against a dense quadratic program and LIBSVM, with any boxes, any cache and any way to give the data."""

import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

from reference.kernel_machines import count_smo_steps, solve_dual
from steelyard.rows import Rows
from steelyard.solvers.kernel import smo

KERNELS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "poly": {"gamma": 0.2, "degree": 2, "coef0": 1.0},
}


def problem(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1, -1
    return rng, X, y


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", KERNELS)
def test_any_boxes_against_a_quadratic_program(name, seed):
    rng, X, y = problem(seed)
    K = pairwise_kernels(X, metric=name, **KERNELS[name])
    shifted = rng.random(len(y)) < 0.3
    box = rng.uniform(0.1, 3.0, len(y))
    lower, upper = np.where(shifted, -box, 0.0), np.where(shifted, 0.0, box)
    p = rng.uniform(0.2, 2.0, len(y))
    found = smo.solve(smo.Kernel(X, name, **KERNELS[name]), y, p, lower, upper, tol=1e-6)
    _, best = solve_dual(K, y, p, lower, upper)
    a = y * found.signed
    assert found.converged
    assert found.violation <= 1e-6
    assert (a >= lower).all()
    assert (a <= upper).all()
    assert abs(found.signed.sum()) < 1e-9
    assert found.objective == pytest.approx(p @ a - 0.5 * found.signed @ K @ found.signed, rel=1e-5, abs=1e-7)
    assert found.objective == pytest.approx(best, rel=1e-6, abs=1e-6)
    free = (a > lower) & (a < upper)
    assert np.abs((y * found.scores - p)[free]).max(initial=0.0) <= 1e-5


@pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
def test_the_standard_box_is_libsvm(C):
    X, y = make_classification(1500, 10, flip_y=0.1, random_state=0)
    gamma = 0.1
    y = 2.0 * y - 1
    theirs = SVC(C=C, gamma=gamma, tol=1e-5).fit(X, y)
    ours = smo.solve(smo.Kernel(X, "rbf", gamma=gamma), y, 1.0, 0.0, C, tol=1e-5)
    b = np.zeros(len(y))
    b[theirs.support_] = theirs.dual_coef_[0]
    objective = np.abs(b).sum() - 0.5 * b @ pairwise_kernels(X, metric="rbf", gamma=gamma) @ b
    assert ours.objective == pytest.approx(objective, rel=1e-6)
    assert ours.bias == pytest.approx(theirs.intercept_[0], abs=2e-3)


def test_every_way_to_give_the_data_is_one_problem():
    _, X, y = problem(3, n=300, d=5)
    X[np.abs(X) < 0.5] = 0.0
    K = pairwise_kernels(X, metric="rbf", gamma=0.3)
    ways = {
        "dense": smo.Kernel(X, "rbf", gamma=0.3),
        "float32": smo.Kernel(X.astype(np.float32), "rbf", gamma=0.3),
        "csr": smo.Kernel(sp.csr_array(X), "rbf", gamma=0.3),
        "precomputed": smo.Kernel(K, "precomputed"),
        "two rows of cache": smo.Kernel(X, "rbf", gamma=0.3, cache_size=1e-9),
    }
    found = {name: smo.solve(kernel, y, 1.0, 0.0, 5.0, tol=1e-5) for name, kernel in ways.items()}
    for name, one in found.items():
        assert one.objective == pytest.approx(found["dense"].objective, rel=1e-6), name
    assert (found["two rows of cache"].signed == found["dense"].signed).all()
    assert ways["two rows of cache"].n_computed > ways["dense"].n_computed


def test_a_sparse_precomputed_matrix_whose_rows_leave_the_cache():
    _, X, y = problem(4, n=80, d=12)
    X[np.abs(X) < 1.0] = 0.0
    K = X @ X.T
    assert (K == 0.0).mean() > 0.1, "too dense to say anything"
    dense = smo.solve(smo.Kernel(K, "precomputed"), y, 1.0, 0.0, 1.0, tol=1e-5)
    few = smo.solve(smo.Kernel(sp.csr_array(K), "precomputed", cache_size=1e-9), y, 1.0, 0.0, 1.0, tol=1e-5)
    assert few.objective == pytest.approx(dense.objective, rel=1e-6)
    assert few.products == pytest.approx(K @ few.signed, abs=1e-5)


def test_the_cache_stays_within_its_size():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    kernel = smo.Kernel(X, "rbf", cache_size=0.1)  # 4 kB a row
    assert kernel.core.n_slots == 26
    assert smo.Kernel(X, "rbf", cache_size=1e9).core.n_slots == 1000


def test_shrinking_changes_the_time_and_not_the_answer():
    X, y = make_classification(2500, 8, flip_y=0.2, random_state=1)
    y = 2.0 * y - 1
    kernel = smo.Kernel(X, "rbf", gamma=0.2)
    plain, shrunk = (smo.solve(kernel, y, 1.0, 0.0, 20.0, tol=1e-4, shrinking=s) for s in (False, True))
    assert plain.n_iter > 3000, "too easy to say anything"
    assert shrunk.objective == pytest.approx(plain.objective, rel=1e-7)
    assert np.abs(shrunk.products - kernel.product(shrunk.signed)).max() < 1e-6
    assert np.abs(shrunk.scores - plain.scores).max() < 1e-2


@pytest.mark.parametrize(("name", "C"), [("rbf", 10.0), ("poly", 1.0)])
def test_pairs_are_chosen_by_their_second_order_gain(name, C):
    steps = {"first order": 0, "second order": 0, "all rows": 0, "shrinking": 0}
    for seed in range(100, 105):
        rng, X, y = problem(seed, n=150, d=6)
        X *= rng.uniform(0.3, 2.0, (150, 1))  # diagonals of the polynomial kernel that differ
        K = pairwise_kernels(X, metric=name, **KERNELS[name]).astype(np.float32).astype(float)
        kernel = smo.Kernel(X, name, **KERNELS[name])
        steps["first order"] += count_smo_steps(K, y, 1.0, 0.0, C, 1e-3, second_order=False)
        steps["second order"] += count_smo_steps(K, y, 1.0, 0.0, C, 1e-3)
        steps["all rows"] += smo.solve(kernel, y, 1.0, 0.0, C, shrinking=False).n_iter
        steps["shrinking"] += smo.solve(kernel, y, 1.0, 0.0, C).n_iter
    assert steps["first order"] > 1.3 * steps["second order"], "too easy to say anything"
    assert steps["all rows"] == pytest.approx(steps["second order"], rel=0.1)
    assert steps["shrinking"] == pytest.approx(steps["second order"], rel=0.1)


def test_no_free_row_puts_the_constant_in_the_middle():
    X, y = np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])
    found = smo.solve(smo.Kernel(X, "linear"), y, 1.0, 0.0, 0.1)
    assert found.signed == pytest.approx([-0.1, 0.1])
    assert found.bias == pytest.approx((-1.0 + 0.9) / 2)  # y f <= 1 for both: from -1 to 0.9


def test_a_warm_start_from_other_boxes_ends_at_the_same_optimum_in_fewer_steps():
    X, y = make_classification(800, 6, flip_y=0.1, random_state=2)
    y = 2.0 * y - 1
    kernel = smo.Kernel(X, "rbf", gamma=0.2)
    first = smo.solve(kernel, y, 1.0, 0.0, 2.0)
    upper = np.where(y > 0, 2.0, 2.2)
    cold, warm = (smo.solve(kernel, y, 1.0, 0.0, upper, tol=1e-4, start=s) for s in (None, first))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)
    assert warm.n_iter < cold.n_iter


def test_rows_without_a_box_are_scored_and_take_no_part():
    _, X, y = problem(5, n=100)
    kernel = smo.Kernel(X, "rbf", gamma=0.5)
    upper = np.where(np.arange(100) < 70, 1.0, 0.0)
    found = smo.solve(kernel, y, 1.0, 0.0, upper, tol=1e-6)
    alone = smo.solve(smo.Kernel(X[:70], "rbf", gamma=0.5), y[:70], 1.0, 0.0, 1.0, tol=1e-6)
    assert np.abs(found.scores[:70] - alone.scores).max() < 1e-4
    cross = pairwise_kernels(X[70:], X[:70], metric="rbf", gamma=0.5)
    assert np.abs(found.scores[70:] - (cross @ alone.signed[:70] + alone.bias)).max() < 1e-4


@pytest.mark.parametrize("seed", range(30))
def test_feasible_points(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    low, high = -rng.uniform(0, 2, n), rng.uniform(0, 2, n)
    low[rng.random(n) < 0.2] = 0.0
    b = smo.feasible(rng.normal(size=n) * 3, low, high)
    assert (b >= low).all()
    assert (b <= high).all()
    assert abs(b.sum()) < 1e-9


def test_what_cannot_be_is_said():
    kernel = smo.Kernel(np.eye(3), "linear")
    y = np.array([1.0, 1.0, -1.0])
    with pytest.raises(ValueError, match="no point within the bounds"):
        smo.solve(kernel, y, 1.0, np.array([1.0, 1.0, 0.0]), np.array([2.0, 2.0, 1.0]))
    with pytest.raises(ValueError, match="above its upper bound"):
        smo.solve(kernel, y, 1.0, 1.0, 0.0)
    with pytest.raises(ValueError, match="square"):
        smo.Kernel(np.ones((3, 2)), "precomputed")
    with pytest.raises(ValueError, match="kernel is one of"):
        smo.Kernel(np.eye(3), "sigmoid")


def test_running_out_of_steps_is_reported():
    X, y = make_classification(500, 6, flip_y=0.1, random_state=2)
    found = smo.solve(smo.Kernel(X, "rbf", gamma=0.2), 2.0 * y - 1, 1.0, 0.0, 10.0, max_iter=20)
    assert not found.converged
    assert found.n_iter == 20
    assert str(found.status).startswith("limit reached: optimality is violated by ")
    assert str(found.status).endswith(" after 20 steps (tol 0.001)")
    y = 2.0 * y - 1
    F, low, high = found.products - y, np.minimum(0.0, 10.0 * y), np.maximum(0.0, 10.0 * y)
    assert found.violation == pytest.approx(F[found.signed > low].max() - F[found.signed < high].min())


def test_ctrl_c_is_heard_in_long_steps_long_rows_and_long_products(ctrl_c_after):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 600)), rng.choice([-1.0, 1.0], 6000)
    kernel = smo.Kernel(X, "rbf", gamma=1e-3, cache_size=1.0)  # rows of milliseconds, none of which is kept
    assert ctrl_c_after(0.5, lambda: smo.solve(kernel, y, 1.0, 0.0, 1e6)) < 0.3
    assert ctrl_c_after(0.5, lambda: kernel.product(np.ones(6000))) < 0.3
    assert kernel.product(np.eye(1, 6000, 7)[0])[7] == pytest.approx(1.0)  # as good as before


def test_two_threads_on_one_kernel_take_turns():
    """A mutex that is waited for with the GIL would never come free: this hung."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 5)), rng.choice([-1.0, 1.0], 1500)
    kernel = smo.Kernel(X, "rbf", gamma=0.2, cache_size=1.0)
    alone = smo.solve(kernel, y, 1.0, 0.0, 5.0)
    found = []

    def work():
        first = smo.solve(kernel, y, 1.0, 0.0, 1.0)
        found.append(smo.solve(kernel, y, 1.0, 0.0, 5.0, start=first))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert [one.objective for one in found] == [found[0].objective] * 3
    assert found[0].objective == pytest.approx(alone.objective, rel=1e-3)


def test_ctrl_c_is_heard_while_another_thread_has_the_kernel(ctrl_c_after):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 300)), rng.choice([-1.0, 1.0], 3000)
    kernel = smo.Kernel(X, "rbf", gamma=1e-3, cache_size=1.0)
    other = threading.Thread(target=smo.solve, args=(kernel, y, 1.0, 0.0, 1e6), kwargs={"max_iter": 2000})
    other.start()
    time.sleep(0.2)
    assert other.is_alive()
    assert ctrl_c_after(0.2, lambda: kernel.product(np.ones(3000))) < 0.3
    other.join()


def test_bad_data_is_refused_before_it_is_read():
    broken = sp.csr_array(np.eye(4))
    broken.indices[2] = -1
    with pytest.raises(ValueError, match="names column -1"):
        smo.Kernel(broken, "linear")
    with pytest.raises(ValueError, match="too large to compute with: scale"):
        smo.Kernel(np.full((3, 2), 1e200), "rbf")
    with pytest.raises(ValueError, match="too large to compute with: scale"):
        smo.Kernel(np.full((3, 2), 1e25), "linear")  # finite, but not as floats
    kernel = smo.Kernel(np.eye(3), "linear")
    with pytest.raises(ValueError, match="b has 2 entries; there are 3 rows"):
        kernel.product(np.ones(2))
    with pytest.raises(ValueError, match=r"broadcast|entries"):
        smo.solve(kernel, np.ones(2), 1.0, 0.0, 1.0)


def test_duplicate_and_wide_csr_is_the_same_kernel():
    _, X, y = problem(3, n=100, d=5)
    X[np.abs(X) < 0.5] = 0.0
    plain = sp.csr_array(X)
    doubled = sp.csr_array(
        (np.repeat(plain.data / 2, 2), np.repeat(plain.indices, 2), 2 * plain.indptr), shape=plain.shape
    )
    wide = sp.csr_array((plain.data, plain.indices.astype(np.int64), plain.indptr.astype(np.int64)), shape=plain.shape)
    found = [smo.solve(smo.Kernel(K, "rbf", gamma=0.3), y, 1.0, 0.0, 5.0).signed for K in (plain, doubled, wide)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_a_view_is_the_rows_that_it_names():
    _, X, y = problem(5, n=100)
    rows = np.random.default_rng(0).permutation(100)[:60]
    alone = smo.solve(smo.Kernel(X[rows], "rbf", gamma=0.5), y[rows], 1.0, 0.0, 1.0)
    K = pairwise_kernels(X, metric="rbf", gamma=0.5)
    for kernel in (
        smo.Kernel(Rows.of(X).take(rows), "rbf", gamma=0.5),
        smo.Kernel(Rows.of(K).take(rows), "precomputed"),
        smo.Kernel(Rows.of(sp.csr_array(K)).take(rows), "precomputed"),
    ):
        assert smo.solve(kernel, y[rows], 1.0, 0.0, 1.0).scores == pytest.approx(alone.scores, abs=1e-3)


def test_what_a_kernel_takes_is_said():
    X = np.random.default_rng(0).normal(size=(1000, 50))
    cache = 1000 * 1000 * 4
    assert smo.Kernel(X, "rbf").n_bytes == pytest.approx(cache + X.nbytes, rel=0.03)
    assert smo.Kernel(X.astype(np.float32), "rbf").n_bytes == pytest.approx(cache + X.nbytes / 2, rel=0.03)
    assert smo.Kernel(sp.csr_array(X), "rbf").n_bytes == cache
