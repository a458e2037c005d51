"""OnlineClassifier when things go wrong: no memory, signals, several threads, constraints that cannot be met."""

import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import steelyard as sy
import steelyard.measures as m
from steelyard.rows import Rows
from steelyard.solvers.stream.problem import Pass
from steelyard.statistics.frontier import InfeasibleError

KINDS = {
    "plain": {"measure": m.BAKLD()},
    "cap": {"measure": m.Recall(), "subject_to": m.fpr <= 0.05},
    "scan to the letter": {"measure": m.CQReward(), "guard": False, "eta0": 0.1},
    "mini-batch": {"measure": m.GMean(), "solver": "1pmb"},
}


def rows(n=4000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + rng.normal(size=n) > 2.0).astype(int)


def bits(model):
    return np.r_[model.coef_.ravel(), model.intercept_]


# -- no memory --------------------------------------------------------------------------------------------------------
@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space")
def test_without_memory_nothing_of_a_chunk_is_learned():
    code = textwrap.dedent("""
        import resource
        import numpy as np, steelyard as sy, steelyard.measures as m
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2000, 3000)); y = (X[:, 0] > 0.5).astype(int)
        make = lambda: sy.OnlineClassifier(m.BAKLD(), random_state=0).partial_fit(X[:50], y[:50])
        model, twin = make(), make()
        before = model.coef_.copy()
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        short = 0
        for room in range(0, 200 * 2**20, 2**19):
            resource.setrlimit(resource.RLIMIT_AS, (used + room, resource.RLIM_INFINITY))
            try:
                model.partial_fit(X, y)
                break
            except MemoryError:
                short += 1
            finally:
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            assert np.array_equal(model.coef_, before)
        twin.partial_fit(X, y)
        for one in (model, twin):
            one.partial_fit(X[:20], y[:20])
        assert np.array_equal(model.coef_, twin.coef_)
        print("short of memory", short > 3)
    """)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["short", "of", "memory", "True"]


# -- signals ----------------------------------------------------------------------------------------------------------
class AlarmError(Exception):
    pass


@pytest.fixture
def alarm():
    """Raise `AlarmError` on the main thread after some seconds, as a handler of a signal."""
    rung = []

    def ring(*_):
        rung.append(time.perf_counter())
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    yield lambda after: (signal.setitimer(signal.ITIMER_REAL, after), rung)[1]
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", ["fit", "again", "partial_fit", "fit_stream"])
def test_a_signal_is_heard_and_leaves_it_as_it_was(kind, call, alarm):
    X, y = rows(400_000, 20)
    model = sy.OnlineClassifier(**KINDS[kind], random_state=0, max_iter=100)
    if call != "fit":
        model.set_params(max_iter=1).partial_fit(X[:3000, :10], y[:3000])
        model.set_params(max_iter=100)
    X = X if call in ("fit", "fit_stream") else X[:, :10]
    if call == "partial_fit" and kind != "mini-batch":
        X, y = np.repeat(X, 12, axis=0), np.repeat(y, 12)  # a chunk that takes longer than the alarm
    before = dict(vars(model)), None if call == "fit" else bits(model)
    model.set_params(warm_start=call == "again")
    calls = {"partial_fit": lambda: model.partial_fit(X, y), "fit_stream": lambda: model.fit_stream([(X, y)] * 100)}
    rung = alarm(0.03 if call == "partial_fit" else 0.1)
    with pytest.raises(AlarmError):
        calls.get(call, lambda: model.fit(X, y))()
    assert time.perf_counter() - rung[0] < 0.3
    model.set_params(warm_start=False)
    assert vars(model) == before[0]
    if call != "fit":
        assert np.array_equal(bits(model), before[1])


# -- threads ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["plain", "cap", "mini-batch"])
def test_predicting_while_learning_leaves_no_stale_model(kind):
    X, y = rows(60_000 if kind == "mini-batch" else 1_500_000)
    model = sy.OnlineClassifier(**KINDS[kind], random_state=0).partial_fit(X[:1000], y[:1000])
    twin = sy.OnlineClassifier(**KINDS[kind], random_state=0).partial_fit(X[:1000], y[:1000])
    failed = []

    def learn():
        for part in np.array_split(np.arange(1000, len(y)), 5):
            model.partial_fit(X[part[0] : part[-1] + 1], y[part[0] : part[-1] + 1])

    def look():
        while learner.is_alive():
            try:
                model.predict(X[:5])
            except Exception as error:
                failed.append(error)
                return

    learner = threading.Thread(target=learn)
    lookers = [threading.Thread(target=look) for _ in range(2)]
    learner.start()
    [one.start() for one in lookers]
    learner.join()
    [one.join() for one in lookers]
    assert not failed
    assert np.array_equal(bits(model), bits(twin.partial_fit(X[1000:], y[1000:])))


def test_threads_that_train_one_classifier_take_turns():
    X, y = rows(200_000)
    model = sy.OnlineClassifier(random_state=0)
    threads = [
        threading.Thread(target=model.partial_fit, args=(X[k::4], y[k::4]), kwargs={"classes": [0, 1]})
        for k in range(4)
    ]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert model.history_["rows"][-1] > 199_000
    assert m.BalancedAccuracy().score(y, model.predict(X)) > 0.8


# -- what was asked for -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("passes", [1, 40])
@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e4])
def test_the_sample_is_the_rows_whatever_the_passes_and_the_weights(passes, scale):
    """KLD is smoothed by one over twice the sample size; a row seen again is no new row."""
    X, y = rows(300)
    weight = None if scale == 1.0 else np.full(300, scale)
    model = sy.OnlineClassifier(m.NegKLD(), random_state=0, max_iter=passes, fit_intercept=True).fit(X, y, weight)
    found = model._learner.model()
    assert found.value == pytest.approx(m.NegKLD()(found.tpr, found.tnr, y.mean(), sample_size=300), rel=1e-9)
    assert model._learner._core.rows_once == 300
    model.partial_fit(X[:100], y[:100])
    assert model._learner._core.rows_once == 400


def test_the_sample_of_the_algorithm_to_the_letter_does_not_grow_with_the_passes():
    # In a second pass over the same rows the duals see the smoothing of the first, not half of it.
    X, y = rows(40)
    options = {"guard": False, "eta0": 0.1, "shuffle": False, "average": False, "random_state": 0}
    smoothed, plain = (
        sy.OnlineClassifier(measure, **options, max_iter=3).fit(X, y).coef_ for measure in (m.NegKLD(), m.GMean())
    )
    chunks = sy.OnlineClassifier(m.NegKLD(), **options)
    flat = sy.OnlineClassifier(m.GMean(), **options)
    for _ in range(3):
        chunks.partial_fit(X, y)
        flat.partial_fit(X, y)
    np.testing.assert_allclose(flat.coef_, plain, rtol=1e-12)  # nothing to smooth
    assert np.abs(chunks.coef_ - smoothed).max() > 1e-6  # three chunks are a larger sample, three passes are not


def impossible():
    return sy.OnlineClassifier(m.Recall(), subject_to=m.Precision() >= 0.999, random_state=0)


def noise(n=3000):
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, (n, 3)).astype(float), (rng.random(n) < 0.3).astype(int)


def test_a_constraint_that_cannot_be_met():
    X, y = noise()
    model = impossible()
    with pytest.raises(InfeasibleError, match=r"closest reachable point has TPR"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(InfeasibleError):
        model.fit_stream([(X, y)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # more rows may mend it, and to look at the model is not to use it
        model.partial_fit(X, y)
        before = bits(model)
        assert model.history_
    with pytest.warns(UserWarning, match=r"infeasible: no threshold meets .*closest reachable point"):
        model.predict(X[:5])
    with pytest.raises(InfeasibleError):
        model.fit(X, y)
    assert np.array_equal(bits(model), before)


def test_a_failed_refit_keeps_the_old_model():
    X, y = rows()
    model = sy.OnlineClassifier(random_state=0).fit(X, y)
    before = dict(vars(model))
    bad = X[:, :3].copy()
    bad[17, 2] = np.nan
    for call in (model.fit, model.set_params(warm_start=True).fit, lambda *a: model.fit_stream([a])):
        with pytest.raises(ValueError):  # noqa: PT011
            call(bad, np.where(y, "yes", "no"))
        model.set_params(warm_start=False)
        assert vars(model) == before
    assert len(model.predict(X)) == len(y)


def test_weights_that_overflow_are_refused_and_by_the_learner_told():
    X, y = rows()
    with pytest.raises(ValueError, match="sample_weight is too large to compute with"):
        sy.OnlineClassifier(random_state=0).fit(X, y, np.full(len(y), 1e300))
    learner = sy.OnlineClassifier(random_state=0).fit(X, y)._learner
    learner.learn(Rows.of(X), np.where(y, 1, -1).astype(np.int8), np.full(len(y), 1e300), Pass())
    model = learner.model()
    assert not np.isfinite(model.w).all()
    assert str(model.status) == "numerical trouble: the weights of the model are not finite"


def test_a_refit_warns_of_scales_again():
    X, y = rows()
    X[:, 0] *= 1e12
    model = sy.OnlineClassifier(random_state=0)
    for _ in range(2):
        with pytest.warns(UserWarning, match="StandardScaler"):
            model.fit(X, y)


def test_every_solver_has_the_whole_learning_curve():
    X, y = rows()
    keys = [set(sy.OnlineClassifier(**options).fit(X, y).history_) for options in KINDS.values()]
    assert all(one == keys[0] for one in keys)
    assert {"weight_negative", "weight_positive"} <= keys[0]


@pytest.mark.parametrize("kind", [*KINDS, "plain steps"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_columns_that_a_sparse_row_names_twice_are_added_up(kind, index):
    X, y = rows(2000)
    X[np.abs(X) < 0.3] = 0.0
    tidy = sp.csr_matrix(X)
    data = np.concatenate([np.r_[0.5 * row.data, 0.5 * row.data[::-1]] for row in tidy])
    columns = np.concatenate([np.r_[row.indices, row.indices[::-1]] for row in tidy])
    twice = sp.csr_matrix(X.shape)
    twice.data, twice.indices, twice.indptr = data, columns.astype(index), (2 * tidy.indptr).astype(index)
    options = KINDS.get(kind, {"measure": m.FBeta(1), "eta0": 0.1})
    expected = sy.OnlineClassifier(**options, random_state=0, max_iter=2).fit(tidy, y)
    model = sy.OnlineClassifier(**options, random_state=0, max_iter=2).fit(twice, y)
    np.testing.assert_allclose(bits(model), bits(expected), rtol=1e-9, atol=1e-12)
    in_chunks = sy.OnlineClassifier(**options, random_state=0)
    for i in range(0, 2000, 3):
        in_chunks.partial_fit(twice[i : i + 3], y[i : i + 3], classes=[0, 1])
    whole = sy.OnlineClassifier(**options, random_state=0).partial_fit(tidy, y)
    np.testing.assert_allclose(bits(in_chunks), bits(whole), rtol=1e-9, atol=1e-12)
