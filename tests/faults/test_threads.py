"""Threads that share an estimator, threads that cannot be started, and a process that forks after a fit."""

import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import steelyard as sy
import steelyard.measures as m
from faults import saved_models

RNG = np.random.default_rng(0)
X = RNG.normal(size=(10_000, 3))
Y = (X[:, 0] + RNG.normal(size=len(X)) > 0.5).astype(int)


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(*tasks):
    """Runs them at once; what any of them raises is raised here."""
    raised = []

    def run(task):
        try:
            task()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]


def halves(call, size=100):
    """Two tasks: the even and the odd chunks."""

    def half(first):
        for start in range(first * size, len(X), 2 * size):
            call(X[start : start + size], Y[start : start + size])

    return (lambda: half(0)), (lambda: half(1))


def test_two_threads_in_partial_fit_lose_no_rows(quick_switches):
    model = sy.OnlineClassifier(m.FBeta(1), random_state=0)
    together(*halves(lambda A, b: model.partial_fit(A, b, classes=[0, 1])))
    assert model._learner.n_rows == len(X)


def test_a_thread_that_predicts_changes_nothing(quick_switches):
    wanted = sy.OnlineClassifier(m.FBeta(1), random_state=0).partial_fit(X, Y).partial_fit(X, Y)
    model = sy.OnlineClassifier(m.FBeta(1), random_state=0).partial_fit(X, Y)
    learns = threading.Thread(target=lambda: model.partial_fit(X, Y))
    learns.start()
    while learns.is_alive():
        model.predict(X[:5])
    learns.join()
    assert np.array_equal(model.coef_, wanted.coef_)


def test_two_threads_that_count_lose_no_rows(quick_switches):
    model = sy.StreamQuantifier(random_state=0, window=500, false_alarms=0.0).partial_fit(X[:500], Y[:500])
    together(*halves(lambda A, b: model.update(A), size=50))
    assert model.n_seen_ == len(X)


def test_and_none_of_those_with_labels(quick_switches):
    model = sy.StreamQuantifier(sy.OnlineClassifier(random_state=0), random_state=0, memory=100_000)
    model.partial_fit(X[:1000], Y[:1000])
    together(*halves(lambda A, b: model.partial_fit(A, b), size=1000))
    assert sum(len(part) for part in model._labelled) == 1000 + len(X)


def test_two_threads_on_two_estimators_and_eight_that_predict_with_one():
    wanted = sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0).fit(X[:2000], Y[:2000])
    said = wanted.predict(X)

    def fits():
        model = sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0).fit(X[:2000], Y[:2000])
        assert np.array_equal(model.coef_, wanted.coef_)

    def predicts():
        for _ in range(20):
            assert np.array_equal(wanted.predict(X), said)

    together(fits, fits, *[predicts] * 8)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["measure", "online cap", "path rbf", "structural", "np", "q-value", "threshold"])
def test_four_threads_that_fit_at_once_find_the_same_models(name, quick_switches):
    wanted = saved_models.answers(saved_models.make(name))
    found = []
    together(
        *[lambda: found.append(saved_models.answers(saved_models.OURS[name]().fit(saved_models.X, saved_models.Y)))] * 4
    )
    assert len(found) == 4
    for one in found:
        for key, value in wanted.items():  # BLAS may round kernel values by where an array lies
            assert np.array_equal(one[key], value) if value.dtype.kind in "OUb" else np.allclose(one[key], value, 1e-9)


WITHOUT_THREADS = """
import os, resource, sys, threading, warnings
import numpy as np
warnings.simplefilter("ignore")
import steelyard as sy, steelyard.measures as m
rng = np.random.default_rng(0)
X = rng.normal(size=(40_000, 20)); y = (X[:, 0] + rng.normal(size=len(X)) > 0.5).astype(int)
def models():
    return [sy.StructuralSVM(n_jobs=4).fit(X, y).coef_,
            sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0, n_jobs=4).fit(X[:4000], y[:4000]).coef_,
            sy.OnlineClassifier(random_state=0).fit(X, y).decision_function(X)]
wanted = models()
if os.getuid() == 0:
    os.setuid(65534)  # root may start what it likes
for limit in map(int, sys.argv[1:]):
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, resource.getrlimit(resource.RLIMIT_NPROC)[1]))
    assert all(np.array_equal(a, b) for a, b in zip(wanted, models()))
try:
    threading.Thread(target=print).start()
    print("threads after all")
except RuntimeError:
    print("none")
"""


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="no limits here")
def test_threads_that_cannot_be_started_are_done_without():
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(WITHOUT_THREADS), "3", "2", "1"],
        capture_output=True, text=True, timeout=120, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.strip() in ("none", "threads after all")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_after_a_fit_with_threads_fits_too():
    def coefficients(_=None):
        return sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0, n_jobs=2).fit(X[:2000], Y[:2000]).coef_

    wanted = coefficients()
    queue = multiprocessing.get_context("fork").SimpleQueue()
    child = multiprocessing.get_context("fork").Process(target=lambda: queue.put(coefficients()))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert np.array_equal(queue.get(), wanted)


BESIDE = """
import sys, threading, warnings
import numpy as np
warnings.simplefilter("ignore")
import steelyard as sy, steelyard.measures as m
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 20)); y = (X[:, 0] + rng.normal(size=len(X)) > 0.5).astype(int)

def ours():
    return [sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0, n_jobs=2).fit(X, y).coef_,
            sy.StructuralSVM(n_jobs=2).fit(X, y).coef_, sy.CostPath(C=0.01).fit(X, y).at(0.3).coef_]

def of_scikit_learn():
    from sklearn.ensemble import HistGradientBoostingClassifier
    return [HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y).predict_proba(X)]

def of_torch():
    import torch
    torch.set_num_threads(2)
    A = torch.from_numpy(X)
    return [(A.T @ A).numpy(), torch.sigmoid(A @ A[0]).numpy()]

theirs = {"scikit-learn": of_scikit_learn, "torch": of_torch}[sys.argv[1]]
wanted, found, went_wrong = [ours(), theirs()], [], []

def run(task, expected):
    try:
        for _ in range(3):
            assert all(np.allclose(a, b, rtol=1e-9) for a, b in zip(task(), expected))
        found.append(1)
    except BaseException as error:
        went_wrong.append(repr(error))

threads = [threading.Thread(target=run, args=args) for args in ((ours, wanted[0]), (theirs, wanted[1])) * 2]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), *went_wrong)
"""


@pytest.mark.slow
@pytest.mark.parametrize("other", ["scikit-learn", "torch"])
def test_beside_the_threads_of_others(other):
    """Their OpenMP, and ours of the language: both at work in one process, taking turns and at once."""
    if other == "torch":
        pytest.importorskip("torch")
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BESIDE), other],
        capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "2"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["4"]
