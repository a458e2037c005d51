"""Checkpoints: killed at any moment and called again, the same bits; damaged files are refused."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import steelyard as sy
import steelyard.measures as m
from steelyard.streams import CheckpointError, from_arrays
from steelyard.streams.checkpoint import Checkpoint, previous

KINDS = {
    "auto": {"measure": m.BAKLD()},
    "letter": {"measure": m.QMeasure(), "guard": False, "dual_rates": "surrogate", "eta0": 0.1},
    "scan": {"measure": m.CQReward(), "guard": False, "eta0": 0.1},
    "cap": {"measure": m.Recall(), "subject_to": m.fpr <= 0.1},
    "mini-batch": {"measure": m.GMean(), "solver": "1pmb"},
}


def rows(n=6000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 1, "yes", "no")


def make(kind="auto"):
    return sy.OnlineClassifier(**KINDS[kind], random_state=0)


def bits(model):
    return np.r_[model.coef_.ravel(), model.intercept_].tobytes()


class StoppedError(Exception):
    pass


def stops_after(stream, n):
    for k, chunk in enumerate(stream):
        if k == n:
            raise StoppedError
        yield chunk


@pytest.mark.parametrize("kind", KINDS)
def test_stopped_and_resumed_with_other_chunks(kind, tmp_path):
    X, y = rows()
    whole = make(kind).fit_stream(from_arrays(X, y, 500), classes=["no", "yes"])
    file = tmp_path / "run.ckpt"
    with pytest.raises(StoppedError):
        make(kind).fit_stream(
            stops_after(from_arrays(X, y, 500), 7), checkpoint=file, every=1000, classes=["no", "yes"]
        )
    assert Checkpoint.load(file).rows == 3000
    again = make(kind).fit_stream(from_arrays(X, y, 700), checkpoint=file, every=1000, classes=["no", "yes"])
    assert bits(again) == bits(whole)
    assert again.classes_.tolist() == ["no", "yes"]
    third = make(kind).fit_stream(from_arrays(X, y, 700), checkpoint=file, every=1000)  # nothing left to learn
    assert bits(third) == bits(whole)


def test_kill_9(tmp_path):
    code = textwrap.dedent("""
        import sys, time
        import numpy as np, steelyard as sy, steelyard.measures as m
        path, pause = sys.argv[1], float(sys.argv[2])
        rng = np.random.default_rng(0)
        X = rng.normal(size=(60_000, 10)); y = (X[:, 0] + rng.normal(size=60_000) > 1.5).astype(int)
        def chunks():
            for i in range(0, len(y), 500):
                time.sleep(pause)
                yield X[i:i + 500], y[i:i + 500]
        c = sy.OnlineClassifier(m.BAKLD(), random_state=0)
        c.fit_stream(chunks(), checkpoint=path, every=500, classes=[0, 1])
        print(c.coef_.tobytes().hex(), c.intercept_.tobytes().hex())
    """)

    def run(path):
        return subprocess.run(
            [sys.executable, "-c", code, path, "0"], capture_output=True, text=True, check=True
        ).stdout

    whole, file = run(f"{tmp_path}/whole"), f"{tmp_path}/killed"
    for wait in (0.05, 0.21):  # killed twice
        job = subprocess.Popen([sys.executable, "-c", code, file, "0.01"], stdout=subprocess.DEVNULL)
        while not os.path.exists(file) and job.poll() is None:
            time.sleep(0.01)
        time.sleep(wait)
        assert job.poll() is None, "ended before it could be killed"
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
    assert run(file) == whole


@pytest.mark.parametrize("damage", ["cut", "bit", "foreign", "empty", "version"])
def test_damaged_files_are_refused(damage, tmp_path):
    X, y = rows()
    file = tmp_path / "run.ckpt"
    whole = make().fit_stream(from_arrays(X, y, 500), checkpoint=file, every=1000)
    good = file.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    other = bytearray(good)
    other[8] = 99
    file.write_bytes(
        {
            "cut": good[:-100],
            "bit": bytes(flipped),
            "foreign": b"PK\x03\x04" + good,
            "empty": b"",
            "version": bytes(other),
        }[damage]
    )
    with pytest.warns(UserWarning, match=r"run.ckpt.*The one before it"):
        again = make().fit_stream(from_arrays(X, y, 500), checkpoint=file, every=1000)
    assert bits(again) == bits(whole)
    file.write_bytes(b"nothing")
    previous(file).write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match="not a steelyard checkpoint"):
        make().fit_stream(from_arrays(X, y, 500), checkpoint=file)


def test_other_problems_and_streams_are_refused(tmp_path):
    X, y = rows()
    file = tmp_path / "run.ckpt"
    make().fit_stream(from_arrays(X, y, 500), checkpoint=file)
    with pytest.raises(CheckpointError, match="another problem"):
        make("cap").fit_stream(from_arrays(X, y, 500), checkpoint=file)
    with pytest.raises(ValueError, match="only 500"):
        make().fit_stream(from_arrays(X[:500], y[:500], 500), checkpoint=file)
    with pytest.raises(CheckpointError, match="another random_state"):
        make().set_params(random_state=1).fit_stream(from_arrays(X, y, 500), checkpoint=file)
    with pytest.raises(ValueError, match="stream is empty"):
        make().fit_stream([])


def test_a_random_seed_is_kept(tmp_path):
    X, y = rows()
    file = tmp_path / "run.ckpt"
    model = sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.1)
    with pytest.raises(StoppedError):
        model.fit_stream(stops_after(from_arrays(X, y, 500), 7), checkpoint=file, every=500)
    seed = Checkpoint.load(file).seed
    other = sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.1).fit_stream(from_arrays(X, y, 500), checkpoint=file)
    assert other._learner.problem.seed == seed
    assert not hasattr(model, "coef_")  # what was learned before the end is in the checkpoint


def test_no_temporary_files_are_left(tmp_path):
    X, y = rows()
    make().fit_stream(from_arrays(X, y, 500), checkpoint=tmp_path / "run.ckpt", every=500)
    assert sorted(os.listdir(tmp_path)) == ["run.ckpt", "run.ckpt.previous"]
