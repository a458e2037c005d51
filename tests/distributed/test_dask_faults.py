"""Workers that die in the middle of a fit, all of them, and a scheduler that restarts: the same bits, or a clear error
and a checkpoint that goes on. All on real processes."""

import contextlib
import functools
import os
import signal
import threading
import time

import numpy as np
import pytest

pytest.importorskip("dask.array", reason='rows in partitions need Dask (pip install "steelyard[dask]")')
distributed = pytest.importorskip("distributed")

import dask  # noqa: E402
import dask.array as da  # noqa: E402

import steelyard as sy  # noqa: E402
import steelyard.measures as m  # noqa: E402
from steelyard.distributed import rounds, rows  # noqa: E402
from steelyard.distributed.rounds import ClusterLostError, Rounds  # noqa: E402
from steelyard.estimators import _measure_elsewhere  # noqa: E402
from steelyard.solvers.linear import cost_sensitive  # noqa: E402

N, D, PARTS = 12_000, 6, 6
KILLED_IN = (0, 2, 8, 13, 20)  # rounds: the sample, a pass and the Hessian of the first grid, the second, a quantile
ROUNDS = 22


def collections():
    """Rows that their partitions make themselves: those of a worker that is lost are made again."""
    rng = da.random.default_rng(0)
    X, noise = rng.normal(size=(N, D), chunks=(N // PARTS, D)), rng.normal(size=N, chunks=N // PARTS)
    return X, ((X * np.arange(D)).sum(axis=1) + 3.0 * noise > 4.0).astype(int)


@contextlib.contextmanager
def cluster(n_workers=2, **how):
    client = distributed.Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, **how)
    try:
        yield client
    finally:
        with contextlib.suppress(KeyError):  # LocalCluster's last look at a worker that a restart has replaced
            client.close()


@pytest.fixture(autouse=True)
def few_on_the_host(monkeypatch):
    monkeypatch.setattr(_measure_elsewhere, "HOST_ROWS", 3000)
    monkeypatch.setattr(_measure_elsewhere, "OF_A_CLASS", 300)
    monkeypatch.setattr(rows, "SAMPLE", 1000)


def fit(**how):
    """In `ROUNDS` rounds."""
    model = sy.MeasureClassifier(m.FBeta(1), C=0.01, loss="logistic", tol=1e-9, random_state=0)
    return model.fit(*collections(), **how)


def same(one, other):
    return np.array_equal(one.coef_, other.coef_) and np.array_equal(one.intercept_, other.intercept_)


def slowly(function):
    """A function that takes its time; made here, it goes to the workers as it is: they cannot import these tests."""

    def takes_its_time(*given):
        time.sleep(0.4)
        return function(*given)

    return takes_its_time


def during(monkeypatch, number, act):
    """`act` once, while round `number` is computed, and the list of rounds up to now."""
    ask, count = Rounds._ask, []

    def asked(self, function, *given):
        count.append(function.__name__)
        if len(count) == number + 1:
            threading.Timer(0.2, act).start()
            function = slowly(function)
        return ask(self, function, *given)

    monkeypatch.setattr(Rounds, "_ask", asked)
    return count


def kill(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_processes_give_the_model_of_threads(monkeypatch):
    here = fit()
    with cluster(2):
        assert same(fit(), here)


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_no_bit(monkeypatch):
    with cluster(3) as client:
        whole = fit()
        for number in KILLED_IN:
            client.wait_for_workers(3, timeout=60)
            pids = list(client.run(os.getpid).values())
            with monkeypatch.context() as patch:
                rounds_of = during(patch, number, functools.partial(kill, pids[:1]))
                assert same(fit(), whole), number
                assert len(rounds_of) == ROUNDS
            assert pids[0] not in client.run(os.getpid).values()


@pytest.mark.slow
def test_without_workers_a_fit_ends_and_its_checkpoint_goes_on(monkeypatch, tmp_path):
    here = fit()
    monkeypatch.setattr(rounds, "PATIENCE", 3.0)
    monkeypatch.setattr(Rounds.__init__, "__defaults__", (None, 3.0))
    with cluster(2, processes=True) as client, monkeypatch.context() as patch:
        during(patch, 5, lambda: client.cluster.scale(0))
        with pytest.raises(ClusterLostError, match=r"no worker.*checkpoint"):
            fit(checkpoint=tmp_path / "fit")
    count = []
    ask = Rounds._ask
    monkeypatch.setattr(Rounds, "_ask", lambda self, f, *given: (count.append(f.__name__), ask(self, f, *given))[1])
    with cluster(2):
        assert same(fit(checkpoint=tmp_path / "fit"), here)
    assert len(count) == ROUNDS - 3  # it did not begin again: of those before the fifth all but samples were known


@pytest.mark.slow
def test_all_workers_killed_at_once_are_replaced(monkeypatch):
    here = fit()
    with cluster(2) as client, monkeypatch.context() as patch:
        pids = list(client.run(os.getpid).values())
        during(patch, 4, lambda: kill(pids))
        assert same(fit(), here)


@pytest.mark.slow
def test_a_scheduler_that_restarts_is_named_and_the_checkpoint_goes_on(monkeypatch, tmp_path):
    here = fit()
    with cluster(2) as client:
        with monkeypatch.context() as patch:
            during(patch, 4, lambda: client.restart(timeout=60))
            with pytest.raises(ClusterLostError, match="checkpoint"):
                fit(checkpoint=tmp_path / "fit")
        client.wait_for_workers(2, timeout=60)
        time.sleep(0.5)
        assert same(fit(checkpoint=tmp_path / "fit"), here)


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_named(monkeypatch):
    with cluster(1) as client, monkeypatch.context() as patch:
        during(patch, 4, lambda: client.cluster.close(timeout=10))
        with pytest.raises((ClusterLostError, OSError)):
            fit()


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_any_number_of_processes(n_workers):
    X, y = (np.asarray(part) for part in dask.compute(*collections()))
    dX, dy = collections()
    with cluster(n_workers):
        for loss in ("squared_hinge", "logistic"):
            mine = cost_sensitive.solve(X, 2 * y - 1, C=0.01, tol=1e-8, loss=loss)
            theirs = cost_sensitive.solve(dX, 2 * dy - 1, C=0.01, tol=1e-8, loss=loss)
            np.testing.assert_allclose(theirs.w, mine.w, atol=1e-6 * np.abs(mine.w).max(), rtol=0.0)


@pytest.mark.slow
def test_what_a_round_moves_does_not_grow_with_the_rows():
    """Between workers: a model up and sums down, for a partition of any length."""

    def moved(dask_worker):
        return dask_worker.transfer_outgoing_bytes_total

    found = []
    with cluster(2) as client:
        for times in (1, 8):
            X = da.random.default_rng(0).normal(size=(20_000 * times, 10), chunks=(5_000 * times, 10)).persist()
            y = da.where(X[:, 0] > 1.0, 1, -1).persist()
            distributed.wait([X, y])
            before = sum(client.run(moved).values())
            one = cost_sensitive.solve(X, y, C=1e-3, tol=1e-2, loss="logistic")
            found.append((sum(client.run(moved).values()) - before) / max(one.n_passes, 1.0))
    assert found[1] < 2.0 * found[0] + 2e5
