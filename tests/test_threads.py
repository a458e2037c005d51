"""Tasks side by side: in order, ended together, and with fewer threads where the system gives fewer."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_classification

import steelyard as sy
import steelyard.measures as m
from steelyard import _core
from steelyard.solvers.linear import cost_sensitive
from steelyard.threads import available_cores, side_by_side


@pytest.fixture
def none_left():
    """No thread outlives the test but those that were there before it: other tests and their libraries keep some."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def test_results_are_in_the_order_of_the_tasks():
    def task(k):
        time.sleep(0.01 * (5 - k))
        return k, threading.get_ident()

    found = side_by_side([lambda k=k: task(k) for k in range(5)], 3)
    assert [k for k, _ in found] == list(range(5))
    assert len({thread for _, thread in found}) > 1
    assert side_by_side([], 2) == []


@pytest.mark.parametrize("bad", [0, 3])
def test_a_failure_is_raised_and_ends_the_rest(bad, none_left):
    begun = []

    def task(k):
        begun.append(k)
        time.sleep(0.01)
        if k == bad:
            raise MemoryError(f"task {k}")

    with pytest.raises(MemoryError, match=f"task {bad}"):
        side_by_side([lambda k=k: task(k) for k in range(100)], 2)
    assert len(begun) < 10


def test_a_thread_that_cannot_be_started_is_one_less(monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    assert side_by_side([lambda k=k: k for k in range(4)], 3) == [0, 1, 2, 3]


def test_ctrl_c_ends_the_other_threads_too(none_left, interrupts):
    """Both tasks would take minutes; the signal reaches the main thread, and the other one hears of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 300)) * 10.0 ** rng.uniform(-3, 3, size=300)
    y = np.where(rng.random(4000) < 0.5, -1.0, 1.0)

    def task():
        return cost_sensitive.solve(X, y, C=1e6, tol=1e-14, solver="coordinate", max_passes=10**9)

    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        side_by_side([task, task], 2)
    assert time.perf_counter() - sent[0] < 0.5
    timer.join()


def test_short_calls_hear_it_too():
    """Calls of less than 50 ms never look; whoever makes many of them is told at the next one."""
    halt, said = _core.Halt(), []
    rows = sy.rows.Rows.of(np.eye(3))

    def work():
        halt.heed()
        rows.scores(np.ones(3))
        halt.set()
        try:
            rows.scores(np.ones(3))
        except KeyboardInterrupt:
            said.append("ended")

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    assert said == ["ended"]
    assert rows.scores(np.ones(3)).tolist() == [1.0, 1.0, 1.0]  # this thread heeds nothing


def test_folds_side_by_side_give_the_same_bits():
    X, y = make_classification(6000, 8, weights=[0.8], flip_y=0.1, random_state=0)
    one, two = (sy.MeasureClassifier(m.FBeta(1), random_state=0, n_jobs=n).fit(X, y) for n in (1, 2))
    assert np.array_equal(one.coef_, two.coef_)
    assert np.array_equal(one.intercept_, two.intercept_)


def test_cores_are_those_that_others_leave(monkeypatch):
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert available_cores() == bound
    for told, cores in (("1", 1), ("0", bound), ("many", bound), (str(bound + 5), bound)):
        monkeypatch.setenv("OMP_NUM_THREADS", told)
        assert available_cores() == cores
