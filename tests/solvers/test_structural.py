"""Structural SVMs against a quadratic program over all label vectors, and what does not change the answer."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

import steelyard.measures as m
from reference.structural import LOSSES, optimum
from steelyard import _core
from steelyard.rows import Rows
from steelyard.solvers.status import Ended
from steelyard.solvers.structural.confusion import resolve
from steelyard.solvers.structural.cutting_planes import StructuralOptions, solve, threshold_of

# Easy enough that no loss has its best bound at w = 0, where every test would be empty.
X, Y = make_classification(
    600, 6, n_informative=4, n_clusters_per_class=1, weights=[0.8], flip_y=0.02, class_sep=1.5, random_state=2
)
Y = Y == 1
MEASURES = [
    (m.GMean(), "gmean"), (m.BAKLD(), "bakld"), (m.MCC(), "mcc"), (m.Jaccard(), "jaccard"), (m.tpr * m.tnr, "product"),
]  # fmt: skip
LARGER = [{"rec@5": "rec@200", "prec@2": "prec@50"}.get(name, name) for name in LOSSES]  # for these 600 rows


def tiny(seed, n=8, positives=3):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) < positives)
    return rng.normal(size=(n, 2)) + y[:, None] * rng.uniform(0, 2), y


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_optimum_is_that_of_the_quadratic_program(name, C):
    moved = 0
    for seed in range(3):
        rows, y = tiny(seed)
        for intercept in (True, False):
            found = solve(rows, y, name, C, tol=1e-9, fit_intercept=intercept)
            assert found.converged
            assert found.objective == pytest.approx(optimum(rows, y, name, C, intercept), rel=2e-6, abs=1e-9)
            moved += found.coef.any()
    assert moved >= 3  # else the test says little


@pytest.mark.parametrize(("measure", "name"), MEASURES)
def test_measures_reach_the_optimum_of_the_quadratic_program_too(measure, name):
    for seed in range(3):
        rows, y = tiny(seed)
        found = solve(rows, y, measure, C=0.3, tol=1e-9)
        assert found.objective == pytest.approx(optimum(rows, y, name, 0.3), rel=2e-6, abs=1e-9)


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
    assert base.coef.any()
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


def worst_loss(loss):
    """Over all confusion matrices that count: what xi is at w = 0."""
    a, b = np.meshgrid(np.arange(loss.n_pos + 1), np.arange(loss.n_neg + 1), indexing="ij")
    counts = (a + b >= loss.least) & (a + b <= loss.most)
    return loss.value(a[counts], b[counts]).max()


@pytest.mark.parametrize("loss", [*LARGER, m.GMean(), m.MCC()], ids=str)
def test_extreme_C(loss):
    for C in (1e-8, 1e8):
        found = solve(X, Y, loss, C)
        assert found.converged
        assert np.isfinite(found.coef).all()
        at_zero = C * worst_loss(found.loss)
        assert found.objective <= at_zero
        if C < 1:
            assert found.objective == pytest.approx(at_zero, rel=1e-3)
        else:
            assert found.coef.any()


@pytest.mark.parametrize("loss", ["f1", "q", "prbep", m.GMean()], ids=str)
def test_the_bound_is_best_at_zero_exactly_where_no_direction_helps(loss):
    """These losses are 100 as soon as no positive is called, so xi < 100 needs a w with ``sum of s_i`` over the
    positives above ``sum of max(0, s_i)`` over the negatives. A linear program over ``|w_j| <= 1`` finds one or none;
    for `prbep` all K calls are then negatives, so the K highest of them count."""
    useful = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y = np.arange(60) < 15
        rows = np.column_stack([rng.normal(size=(60, 2)) + seed / 5 * y[:, None], np.ones(60)])
        gain = most_gain(rows, y, exactly=15 if loss == "prbep" else None)
        found = solve(rows, y, loss, C=1e4, fit_intercept=False, tol=1e-7)
        assert (gain > 1e-9) == (found.objective < 1e4 * 100 * (1 - 1e-6))
        useful += gain > 1e-9
    assert 0 < useful < 8


def most_gain(rows, y, exactly):
    """max over w of the positives' sum less the negatives' positive parts, or less their `exactly` highest scores."""
    n_neg, d = int((~y).sum()), rows.shape[1]
    # Variables w, u >= 0 and t: the sum of the K highest is min over t of K t + sum of max(0, s - t).
    k = 0.0 if exactly is None else float(exactly)
    cost = np.concatenate([-rows[y].sum(axis=0), np.ones(n_neg), [k]])
    above = np.hstack([rows[~y], -np.eye(n_neg), np.full((n_neg, 1), -1.0 if k else 0.0)])
    bounds = [(-1, 1)] * d + [(0, None)] * n_neg + [(None, None) if k else (0, 0)]
    return -linprog(cost, A_ub=above, b_ub=np.zeros(n_neg), bounds=bounds).fun


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


def test_an_interrupt_stops_at_the_next_cut(interrupts):
    seen = []

    def press(state):
        seen.append(state)
        if state.n_iter == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        solve(X, Y, "f1", 100.0, tol=1e-12, callback=press)
    assert len(seen) == 3


def test_views_of_rows_are_as_good_as_copies():
    which = np.random.default_rng(0).integers(0, len(Y), 900)
    for rows in (X, csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        view, copy = solve(Rows.of(rows).take(which), Y[which], "q"), solve(rows[which], Y[which], "q")
        np.testing.assert_array_equal(view.coef, copy.coef)


@pytest.mark.parametrize("C", [1e307, 1e308])
def test_no_certificate_comes_from_what_overflows(C):
    found = solve(X, Y, "f1", C)
    assert not found.converged
    assert found.status.ended is Ended.TROUBLE
    assert found.gap == np.inf
    assert np.isfinite(found.coef).all()


def test_idle_cuts_are_dropped_and_the_answer_is_the_same():
    wide, labels = make_classification(1500, 30, n_informative=10, flip_y=0.05, random_state=0)
    kept, dropped = (
        solve(wide, labels == 1, "f1", 100.0, tol=1e-8, options=StructuralOptions(idle=idle)) for idle in (10**9, 3)
    )
    assert min(kept.n_iter, dropped.n_iter) > 64  # below, none is looked for
    assert dropped.objective == pytest.approx(kept.objective, rel=1e-7)
    assert dropped.gap <= 1e-8


def test_one_solver_may_be_asked_by_two_threads():
    loss = resolve("kld", int(Y.sum()), int((~Y).sum()))
    options = _core.StructuralOptions(10.0, smallest_mu=0.05, idle=20, max_pivots=100, n_threads=1)
    svm = _core.StructuralSvm(Rows.of(X).core, Y, loss.core(), options)
    workers = [threading.Thread(target=lambda: [svm.step(0.0) for _ in range(30)]) for _ in range(3)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        assert np.isfinite(svm.weights()).all()
    objective, bound, _, _ = svm.step(0.0)
    assert bound <= objective * (1 + 1e-12)
    assert objective == pytest.approx(solve(X, Y, "kld", 10.0, fit_intercept=False).objective, rel=2e-3)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently")
def test_a_signal_is_heard_inside_a_search_and_arrives_as_it_was_raised():
    """The table of 30,000 x 30,000 confusion matrices takes many seconds."""

    class RingError(Exception):
        pass

    def ring(*_):
        raise RingError

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60_000, 2))
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        with pytest.raises(RingError):
            solve(rows, np.arange(60_000) % 2 == 0, "f1", search="table")
        assert time.monotonic() - start < 3  # 0.05 s after the alarm; the rest is for a busy machine
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"C": 0.0}, "C must be positive"), ({"C": np.inf}, "C must be positive"), ({"n_threads": 0}, "at least 1")],
)
def test_bad_parameters_are_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        solve(X, Y, "f1", **kwargs)
    with pytest.raises(ValueError, match="both classes; got 0 positives"):
        solve(X, np.zeros(len(X), dtype=bool), "f1")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float64, np.float32, csr_matrix])
@pytest.mark.parametrize("max_iter", [1, 2000])
def test_a_number_that_is_none_is_named_wherever_it_is(value, kind, max_iter):
    """Nobody looks for it: the scores of the second cut are none, the slope of the first, or there was one cut only."""
    rng = np.random.default_rng(0)
    for row, column in ((0, 0), (17, 1), (len(X) - 1, 2), *rng.integers(0, [len(X), X.shape[1]], (20, 2))):
        broken = np.array(X)
        broken[row, column] = value
        broken = kind(broken) if kind is csr_matrix else broken.astype(kind)
        with pytest.raises(ValueError, match=f"Input X contains (NaN|infinity.*): row {row}, column {column}"):
            solve(broken, Y, "kld", max_iter=max_iter)


def test_finite_numbers_whose_scores_overflow_are_another_matter():
    """The squares of the slope of the first cut overflow, or the scores of the second."""
    with pytest.raises(ValueError, match="scale the features"):
        solve(1e300 * X, Y, "kld")


def test_columns_are_looked_at_before_anything_else():
    broken = csr_matrix(X)
    broken.indices[5] = 10**6
    with pytest.raises(ValueError, match="names column 1000000"):
        solve(broken, Y, "kld")
    wanted, turned = solve(csr_matrix(X), Y, "kld"), csr_matrix(X)
    for i in range(len(Y)):
        part = slice(turned.indptr[i], turned.indptr[i + 1])
        turned.indices[part], turned.data[part] = turned.indices[part][::-1].copy(), turned.data[part][::-1].copy()
    turned.has_sorted_indices = False
    np.testing.assert_array_equal(solve(turned, Y, "kld").coef, wanted.coef)
