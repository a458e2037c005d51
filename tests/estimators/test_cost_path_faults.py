"""CostPath: weights, costs and numbers at their ends, calls that fail or are stopped, and what is kept."""

import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

import steelyard as sy

X, Y = make_classification(900, 6, weights=[0.7], flip_y=0.1, random_state=1)
TRAIN, TEST = slice(0, 600), slice(600, None)


@pytest.fixture(scope="module")
def path():
    return sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])


def test_weights_that_sum_to_one_leave_probabilities_as_they_are():
    """C = 600 with weights of 1 / 600 is C = 1 with weights of 1."""
    plain = sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN]).predict_proba(X[TEST])
    light = sy.CostPath(C=60.0).fit(X[TRAIN], Y[TRAIN], sample_weight=np.full(600, 1 / 600)).predict_proba(X[TEST])
    np.testing.assert_allclose(light, plain, atol=1e-6)


@pytest.mark.parametrize("kind", ["rows", "weights"])
def test_an_approximate_path_out_of_reach_ends_and_says_so(kind):
    rows, weight = (X[:120] * 1e8, None) if kind == "rows" else (X[:120], np.full(120, 1e12))
    path = sy.CostPath(method="approximate")
    with pytest.warns(ConvergenceWarning, match=r"limit reached: the relative gap is .* near tau = .*, above tol"):
        path.fit(rows, Y[:120], sample_weight=weight)
    assert path.tol < path.gap_ <= 1.0
    assert len(path.kinks_) < 500
    assert np.isfinite(path.predict_proba(rows)).all()


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_costs_that_overflow_are_refused(method, kernel):
    for options, weight in (({"C": 1e306}, None), ({}, np.full(120, 1e306))):
        with pytest.raises(ValueError, match="too large to compute with"):
            sy.CostPath(**options, method=method, kernel=kernel).fit(X[:120], Y[:120], sample_weight=weight)
    if kernel == "linear":
        with pytest.raises(ValueError, match="overflow"):
            sy.CostPath(method=method).fit(X[:120] * 1e200, Y[:120])


def test_a_failed_refit_leaves_the_path_as_it_was():
    path = sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])
    before = dict(vars(path))
    path.C = 1e306
    with pytest.raises(ValueError, match="too large"):
        path.fit(X[:50, :3], np.where(Y[:50] == 1, "a", "b"))
    path.C = 0.1
    assert vars(path) == before


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("form", ["dense", "csr", "64-bit indices"])
def test_float32_rows_have_the_path_of_the_same_numbers(method, form):
    narrow = X.astype(np.float32)
    wide = narrow.astype(np.float64)
    rows = narrow
    if form != "dense":
        rows = csr_matrix(narrow)
        if form == "64-bit indices":
            rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    options = {"C": 0.1, "method": method, "tol": 1e-4, "random_state": 0}
    ours, plain = sy.CostPath(**options).fit(rows[TRAIN], Y[TRAIN]), sy.CostPath(**options).fit(wide[TRAIN], Y[TRAIN])
    assert ours._train.source.dtype == np.float32
    atol = 1e-6 if method == "exact" else 1e-3
    np.testing.assert_allclose(ours.coefficients([0.2, 0.7])[0], plain.coefficients([0.2, 0.7])[0], atol=atol)
    np.testing.assert_allclose(ours.predict_proba(rows[TEST]), plain.predict_proba(wide[TEST]), atol=5 * atol)


@pytest.mark.parametrize("options", [{"method": "exact"}, {"method": "approximate"}, {"kernel": "rbf"}])
def test_the_training_rows_are_kept_once(options):
    """Not copied in fit, and once in a pickle, though equal rows were merged."""
    rows = np.repeat(X[:300], 2, axis=0)
    path = sy.CostPath(C=0.01, **options).fit(rows, np.repeat(Y[:300], 2))
    assert path._train.source is rows
    if path.method_ == "exact":
        assert path._path.problem.rows.source is rows
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(path)).at(0.4).predict(rows), path.at(0.4).predict(rows))
    assert pickle.dumps(path).count(rows.tobytes()) == 1


# Loops that are not in the table of faults/long_calls.py.
INTERRUPTED = {
    "one long knot": ((5_000, 1_500), "sy.CostPath(C=1e3, method='approximate', tol=1e-6)", "fit(X, y)"),
    "factor of a kernel": ((6_000, 10), "sy.CostPath(method='approximate', kernel='rbf', gamma=0.5)", "fit(X, y)"),
    "probabilities": ((3_000, 10), "sy.CostPath(C=0.01, kernel='rbf').fit(X, y)", "predict_proba(np.tile(X, (10, 1)))"),
    "audit": ((6_000, 30), "sy.CostPath(C=1e-3).fit(X, y)._path", "audit()"),
}


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently")
@pytest.mark.slow
@pytest.mark.parametrize("name", INTERRUPTED)
def test_a_signal_is_heard_and_leaves_things_as_they_were(name):
    """By real signals to a real process: what the handler raises arrives as it was raised, within 0.3 s."""
    shape, made, call = INTERRUPTED[name]
    code = f"""
        import signal, time, warnings
        import numpy as np, steelyard as sy
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        X = rng.normal(size={shape})
        y = (X[:, 0] + 3 * rng.normal(size=len(X)) > 0).astype(int)
        made = {made}
        before, sent = dict(vars(made)), []
        def handler(number, frame):
            raise TimeoutError("too late")
        signal.signal(signal.SIGALRM, handler)
        for delay in (0.4, 0.9):
            signal.setitimer(signal.ITIMER_REAL, delay)
            start = time.perf_counter()
            try:
                made.{call}
                print("finished", time.perf_counter() - start)
            except TimeoutError as error:
                assert str(error) == "too late"
                print("heard" if time.perf_counter() - start - delay < 0.3 else time.perf_counter() - start - delay)
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert vars(made) == before
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300)
    assert out.stdout.split() == ["heard", "heard"], out.stdout + out.stderr
