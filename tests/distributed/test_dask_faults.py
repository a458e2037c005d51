"""Workers that die in the middle of a fit, all of them, and a scheduler that restarts: the same bits, or a clear error
and a checkpoint that goes on. All on real processes."""

import contextlib
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
from steelyard.distributed import rounds  # noqa: E402
from steelyard.distributed.rounds import ClusterLostError, Rounds  # noqa: E402
from steelyard.estimators import _measure_elsewhere  # noqa: E402
from steelyard.solvers.linear import cost_sensitive  # noqa: E402

N, D, PARTS = 12_000, 6, 6
KILLED_AFTER = (0, 2, 4, 7, 10)  # rounds: before the first sample, in both grids, between them, among the thresholds


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


def fit(**how):
    return sy.MeasureClassifier(m.FBeta(1), C=0.01, loss="logistic", random_state=0).fit(*collections(), **how)


def same(one, other):
    return np.array_equal(one.coef_, other.coef_) and np.array_equal(one.intercept_, other.intercept_)


def after(monkeypatch, limit, act):
    """`act` once, while round number `limit` is computed."""
    ask, count = Rounds._ask, []

    def asked(self, *given):
        count.append(0)
        if len(count) == limit + 1:
            threading.Timer(0.05, act).start()
        return ask(self, *given)

    monkeypatch.setattr(Rounds, "_ask", asked)


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
        for limit in KILLED_AFTER:
            client.wait_for_workers(3, timeout=60)
            with monkeypatch.context() as patch:
                after(patch, limit, lambda: kill(list(client.run(os.getpid).values())[:1]))
                assert same(fit(), whole), limit


@pytest.mark.slow
def test_without_workers_a_fit_ends_and_its_checkpoint_goes_on(monkeypatch, tmp_path):
    here = fit()
    monkeypatch.setattr(rounds, "PATIENCE", 3.0)
    monkeypatch.setattr(Rounds.__init__, "__defaults__", (None, 3.0))
    with cluster(2, processes=True) as client, monkeypatch.context() as patch:
        after(patch, 5, lambda: client.cluster.scale(0))
        with pytest.raises(ClusterLostError, match=r"no worker.*checkpoint"):
            fit(checkpoint=tmp_path / "fit")
    count = []
    ask = Rounds._ask
    monkeypatch.setattr(Rounds, "_ask", lambda self, f, *given: (count.append(f.__name__), ask(self, f, *given))[1])
    with cluster(2):
        assert same(fit(checkpoint=tmp_path / "fit"), here)
    first = count.index("read") if "read" in count else len(count)
    assert len(count) - first < 16  # it did not begin again: a whole fit reads more often


@pytest.mark.slow
def test_all_workers_killed_at_once_are_replaced(monkeypatch):
    here = fit()
    with cluster(2) as client, monkeypatch.context() as patch:
        after(patch, 4, lambda: kill(client.run(os.getpid).values()))
        assert same(fit(), here)


@pytest.mark.slow
def test_a_scheduler_that_restarts_is_named_and_the_checkpoint_goes_on(monkeypatch, tmp_path):
    here = fit()
    with cluster(2) as client:
        with monkeypatch.context() as patch:
            after(patch, 4, lambda: client.restart(timeout=60))
            with pytest.raises(ClusterLostError, match="checkpoint"):
                fit(checkpoint=tmp_path / "fit")
        client.wait_for_workers(2, timeout=60)
        time.sleep(0.5)
        assert same(fit(checkpoint=tmp_path / "fit"), here)


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_named(monkeypatch):
    with cluster(1) as client, monkeypatch.context() as patch:
        after(patch, 4, lambda: client.cluster.close(timeout=10))
        with pytest.raises((ClusterLostError, OSError)):
            fit()


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 2, 4])
def test_any_number_of_processes(n_workers):
    X, y = (np.asarray(part) for part in dask.compute(*collections()))
    mine = cost_sensitive.solve(X, 2 * y - 1, C=0.01, tol=1e-12, loss="logistic")
    with cluster(n_workers):
        dX, dy = collections()
        theirs = cost_sensitive.solve(dX, 2 * dy - 1, C=0.01, tol=1e-12, loss="logistic")
    np.testing.assert_allclose(theirs.w, mine.w, atol=1e-6 * np.abs(mine.w).max())


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
