"""Fits on the partitions of a Dask collection: the same model, what a round moves, how long it takes, and memory.

python benchmarks/cluster.py equal bytes time scale stream memory faults     (one or more parts; results are kept)

Rows are made in their partitions from a seed, so that none of them travels in a graph. Workers are processes of this
machine with one thread each. Where other work runs beside, processor seconds (of all processes together) are the
fairer clock; both are written. The file has a part for each question; a part that is run again replaces its own.
"""

import argparse
import json
import os
import signal
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
from dask.distributed import Client

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from steelyard.distributed.rounds import Rounds
from steelyard.distributed.table import signed
from steelyard.solvers.linear import cost_sensitive

PAIRS, C = [(1.8, 0.2)], 1e-4
COLUMNS = 50


def rows_of(seed, number, n_rows, n_cols=COLUMNS, dtype=np.float64):
    rng = np.random.default_rng((seed, number))
    X = rng.normal(size=(n_rows, n_cols)).astype(dtype)
    w = np.random.default_rng(seed).normal(size=n_cols) / np.sqrt(n_cols)
    y = (X @ w + 0.7 * rng.normal(size=n_rows) > 1.2).astype(np.int64)
    return X, y


def collections(n_rows, n_parts, seed=0, n_cols=COLUMNS):
    size = n_rows // n_parts
    parts = [dask.delayed(rows_of)(seed, k, size, n_cols) for k in range(n_parts)]
    X = da.concatenate([da.from_delayed(part[0], (size, n_cols), np.float64) for part in parts])
    y = da.concatenate([da.from_delayed(part[1], (size,), np.int64) for part in parts])
    return X, y


def in_memory(n_rows, n_parts, seed=0, n_cols=COLUMNS):
    parts = [rows_of(seed, k, n_rows // n_parts, n_cols) for k in range(n_parts)]
    return np.concatenate([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def local(n_workers, **how):
    return Client(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, **how)


def _cpu():
    used = psutil.Process().cpu_times()
    return used.user + used.system


def _moved(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


class Watch:
    """Wall and processor seconds, rounds and bytes between workers, of what runs inside."""

    def __init__(self, client):
        self.client = client

    def __enter__(self):
        self.rounds, ask = 0, Rounds._ask

        def counted(rounds, *given):
            self.rounds += 1
            return ask(rounds, *given)

        self.ask, Rounds._ask = ask, counted
        self.before = self._now()
        return self

    def _now(self):
        workers = sum(self.client.run(_cpu).values())
        moved = sum(self.client.run(_moved).values())
        return time.perf_counter(), _cpu() + workers, moved

    def __exit__(self, *_):
        Rounds._ask = self.ask
        self.wall, self.cpu, self.moved = (b - a for a, b in zip(self.before, self._now(), strict=True))


# -- the same model -------------------------------------------------------------------------------------------------
def equal():
    """Coefficients and thresholds against the fit in memory, on 1, 2 and 4 processes."""
    n, d, out = 200_000, 20, []
    X, y = in_memory(n, 8, n_cols=d)
    signs = 2 * y - 1
    for workers in (1, 2, 4):
        with local(workers):
            dX, dy = collections(n, 8, n_cols=d)
            for loss in cost_sensitive.LOSSES:
                tols = (1e-8, 1e-11) if loss != "hinge" else (1e-8,)
                for tol in tols:
                    how = {"costs": PAIRS, "Cs": [C], "loss": loss}
                    mine = cost_sensitive.solve_grid(X, signs, tol=tol, **how)[0]
                    exact = cost_sensitive.solve_grid(X, signs, tol=1e-12, **how)[0]
                    theirs = cost_sensitive.solve_grid(dX, 2 * dy - 1, tol=tol, **how)[0]
                    size = np.abs(exact.w).max()
                    out.append({
                        "workers": workers, "loss": loss, "tol": tol,
                        "difference": float(np.abs(mine.w - theirs.w).max() / size),
                        "of_memory": float(np.abs(mine.w - exact.w).max() / size),
                        "of_cluster": float(np.abs(theirs.w - exact.w).max() / size),
                        "gap_memory": mine.gap, "gap_cluster": theirs.gap,
                    })  # fmt: skip
            model = sy.MeasureClassifier(m.FBeta(1), C=C, loss="logistic", random_state=0).fit(X[:20000], y[:20000])
            for measure in (m.FBeta(1), m.BAKLD(), m.GMean()):
                a = sy.ThresholdClassifier(model, measure, cv="prefit").fit(X, y).best_threshold_
                b = sy.ThresholdClassifier(model, measure, cv="prefit").fit(dX, dy).best_threshold_
                out.append({"workers": workers, "threshold": repr(measure), "same_bits": bool(a == b)})
    return {"rows": n, "columns": d, "partitions": 8, "fits": out}


# -- what a round moves ---------------------------------------------------------------------------------------------
def moved():
    out = []
    with local(2) as client:
        for n in (100_000, 400_000, 1_600_000):
            dX, dy = collections(n, 16)
            rows = signed(dX, 2 * dy - 1)
            rows.share_called(np.zeros(COLUMNS), 0.0)  # a round, so that the partitions are where they stay
            with Watch(client) as grid:
                cost_sensitive.solve_grid(rows, (), PAIRS, [C], tol=1e-3)
            out.append({
                "rows": n, "grid_rounds": grid.rounds, "grid_bytes": grid.moved, "bytes_of_X": n * COLUMNS * 8
            })  # fmt: skip
            save("bytes", {"columns": COLUMNS, "partitions": 16, "workers": 2, "runs": out})
    return {"columns": COLUMNS, "partitions": 16, "workers": 2, "runs": out}


# -- how long it takes ----------------------------------------------------------------------------------------------
def _memory_seconds(X, signs, y):
    out = {}
    for name, job in {
        "grid": lambda: cost_sensitive.solve_grid(X, signs, PAIRS, [C], tol=1e-3),
        "classifier": lambda: sy.MeasureClassifier(m.FBeta(1), C=C, loss="hinge", random_state=0).fit(X, y),
    }.items():
        start, used = time.perf_counter(), _cpu()
        job()
        out[name] = {"wall": time.perf_counter() - start, "cpu": _cpu() - used}
    return out


def _cluster_seconds(client, dX, dy, jobs=("grid", "classifier")):
    """With the partitions loaded, as the arrays in memory are."""
    dX, dy = client.persist([dX, dy])
    dask.distributed.wait([dX, dy])
    out = {}
    for name, job in {
        "grid": lambda: cost_sensitive.solve_grid(dX, 2 * dy - 1, PAIRS, [C], tol=1e-3),
        "classifier": lambda: sy.MeasureClassifier(m.FBeta(1), C=C, loss="hinge", random_state=0).fit(dX, dy),
    }.items():
        if name not in jobs:
            continue
        with Watch(client) as watch:
            job()
        out[name] = {"wall": watch.wall, "cpu": watch.cpu, "rounds": watch.rounds}
    return out


def seconds():
    """2,000,000 x 50: in memory on one thread, and on workers by number and by partitions."""
    n, out = 2_000_000, []
    X, y = in_memory(n, 8)
    memory = [_memory_seconds(X, 2 * y - 1, y) for _ in range(1)]
    print(memory, flush=True)
    best = {job: {clock: min(run[job][clock] for run in memory) for clock in ("wall", "cpu")} for job in memory[0]}
    del X, y
    for workers, n_parts, jobs in (
        (1, 8, ("grid", "classifier")), (1, 32, ("grid",)), (2, 8, ("grid",)), (4, 8, ("grid",)),
    ):  # fmt: skip
        with local(workers) as client:
            took = _cluster_seconds(client, *collections(n, n_parts), jobs)
        out.append({"workers": workers, "partitions": n_parts, **took})
        save("time", {"rows": n, "columns": COLUMNS, "memory": best, "runs": out})
    return {"rows": n, "columns": COLUMNS, "memory": best, "runs": out}


def watched(client, model, dX, dy):
    with Watch(client) as watch:
        model.fit(dX, dy)
    return watch.wall, watch.cpu, watch.rounds


# -- a model of it --------------------------------------------------------------------------------------------------
def scale():
    """Seconds of a round by rows and partitions on one worker: three sizes make the model, two check it."""
    out = []
    with local(1) as client:
        for n, n_parts in (
            (250_000, 4),
            (500_000, 8),
            (1_000_000, 8),
            (1_000_000, 32),
            (1_500_000, 16),
            (2_500_000, 32),
        ):
            dX, dy = client.persist(collections(n, n_parts))
            dask.distributed.wait([dX, dy])
            batch = sy.MeasureClassifier(m.FBeta(1), C=C, loss="hinge", random_state=0)
            stream = sy.OnlineClassifier(m.FBeta(1), random_state=0)
            (wall, cpu, rounds), (stream_wall, stream_cpu, _) = (
                min(watched(client, model, dX, dy) for _ in range(3)) for model in (batch, stream)
            )
            out.append({
                "rows": n, "partitions": n_parts, "wall": wall, "cpu": cpu, "rounds": rounds,
                "stream_wall": stream_wall, "stream_cpu": stream_cpu,
            })  # fmt: skip
            save("scale", {"columns": COLUMNS, "runs": out})
            del dX, dy
    return {"columns": COLUMNS, "runs": out}


# -- streams ---------------------------------------------------------------------------------------------------------
def stream():
    """What merged streams lose against one: the measure on new rows, over ten seeds."""
    from steelyard.estimators import _online_on_dask as on_dask

    kept, losses = on_dask.A_STREAM, {}
    measures = {"F1": m.FBeta(1), "BAKLD": m.BAKLD(), "G-mean": m.GMean()}
    n, d, seeds = 400_000, 20, 10
    for seed in range(seeds):
        X, y = in_memory(n, 64, seed, d)
        new, truth = rows_of(seed, 10_000, 200_000, d)
        dX, dy = da.from_array(X, chunks=(n // 64, -1)), da.from_array(y, chunks=n // 64)
        for name, measure in measures.items():
            one = sy.OnlineClassifier(measure, random_state=seed).fit(X, y)
            reached = measure.score(truth, one.predict(new))
            for streams in (2, 8, 64):
                on_dask.A_STREAM = n // streams
                merged = sy.OnlineClassifier(measure, random_state=seed).fit(dX, dy)
                losses.setdefault((name, streams), []).append(reached - measure.score(truth, merged.predict(new)))
    on_dask.A_STREAM = kept
    out = [
        {"measure": name, "streams": streams, "loss": float(np.mean(lost)),
         "error": float(np.std(lost, ddof=1) / np.sqrt(seeds))}
        for (name, streams), lost in losses.items()
    ]  # fmt: skip
    return {"rows": n, "columns": d, "seeds": seeds, "runs": out}


# -- more than memory ------------------------------------------------------------------------------------------------
def _peak(dask_worker):
    return dask_worker.monitor.get_process_memory()


def memory():
    """Parquet of four times the workers' memory limit, which Dask enforces."""
    limit, per_part, parts = 512 * 2**20, 25_000, 430
    with tempfile.TemporaryDirectory() as folder:
        for k in range(parts):
            X, y = rows_of(1, k, per_part, dtype=np.float32)
            frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
            frame["label"] = y
            frame.to_parquet(Path(folder) / f"{k:04d}.parquet")
        with local(1, memory_limit=limit) as client:
            frame = dd.read_parquet(folder)
            y, X = frame["label"], frame.drop(columns="label")
            peaks, done = [], threading.Event()

            def look():
                while not done.wait(0.5):
                    peaks.extend(client.run(_peak).values())

            threading.Thread(target=look, daemon=True).start()
            pids = set(client.run(os.getpid).values())
            with Watch(client) as watch:
                model = sy.MeasureClassifier(m.FBeta(1), C=C, loss="hinge", random_state=0).fit(X, y)
            done.set()
            same = pids == set(client.run(os.getpid).values())
        new, truth = rows_of(1, 10_000, 200_000)
        F1 = m.FBeta(1).score(truth, model.predict(pd.DataFrame(new, columns=model.feature_names_in_)))
    n = per_part * parts
    return {
        "rows": n, "columns": COLUMNS, "bytes": n * COLUMNS * 4, "limit": limit, "times": n * COLUMNS * 4 / limit,
        "peak": max(peaks), "rounds": watch.rounds, "wall": watch.wall, "cpu": watch.cpu, "gap": model.gap_,
        "F1": F1, "no_worker_restarted": same,
    }  # fmt: skip


# -- faults ----------------------------------------------------------------------------------------------------------
def faults(runs=20):
    """A worker killed at moments spread over the rounds of a fit, twenty times, each in a cluster of its own (Dask does
    not always replace a worker that dies young): the same bits, and no hang."""
    n, out = 200_000, []

    def fit():
        start = time.perf_counter()
        model = sy.MeasureClassifier(m.FBeta(1), C=C, loss="hinge", random_state=0).fit(*collections(n, 8, n_cols=20))
        return model, time.perf_counter() - start

    with local(2):
        fit()  # imports in the workers
        with timing() as rounds:
            first, took = fit()
    for k in range(runs):
        share = (k + 0.5) / runs
        with local(2) as client:
            pid = sorted(client.run(os.getpid).values())[k % 2]
            client.run(_ready)
            at = share * len(rounds)
            with killing(pid, int(at), 0.5 * (at % 1.0) * rounds[int(at)]) as killed:
                again, seconds = fit()
                in_time = killed.is_set()
        same = np.array_equal(first.coef_, again.coef_) and np.array_equal(first.intercept_, again.intercept_)
        out.append({"at": share, "seconds": seconds, "in_time": in_time, "same_bits": bool(same)})
        save("faults", {"rows": n, "workers": 2, "seconds": took, "runs": out})
    return {"rows": n, "workers": 2, "seconds": took, "runs": out}


@contextmanager
def timing():
    """The seconds of every round."""
    ask, took = Rounds._ask, []

    def timed(rounds, *given):
        start = time.perf_counter()
        found = ask(rounds, *given)
        took.append(time.perf_counter() - start)
        return found

    Rounds._ask = timed
    yield took
    Rounds._ask = ask


@contextmanager
def killing(pid, number, seconds):
    """SIGKILL so many seconds after a round began."""
    ask, count, killed = Rounds._ask, [], threading.Event()

    def kill():
        os.kill(pid, signal.SIGKILL)
        killed.set()

    def counted(rounds, *given):
        count.append(0)
        if len(count) == number + 1:
            threading.Timer(seconds, kill).start()
        return ask(rounds, *given)

    Rounds._ask = counted
    yield killed
    Rounds._ask = ask


def _ready():
    """What a worker imports when it is first asked."""
    import steelyard.distributed.table  # noqa: F401


PARTS = {
    "equal": equal, "bytes": moved, "time": seconds, "scale": scale, "stream": stream, "memory": memory,
    "faults": faults,
}  # fmt: skip


def save(name, found):
    """One part of the file; the others stay."""
    file = RESULTS / "cluster.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    known.pop("machine", None)
    write("cluster", known | {name: found}, show=False)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    for part in parser.parse_args().parts:
        found = PARTS[part]()
        print(part, json.dumps(found, indent=1))
        save(part, found)
