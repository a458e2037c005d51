"""Checkpoints: killed at any moment and called again, the same bits; damaged files are refused."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import steelyard as sy
import steelyard.measures as m
from steelyard.files.layout import pack, unpack
from steelyard.streams import CheckpointError, from_arrays
from steelyard.streams.checkpoint import Checkpoint, previous
from steelyard.streams.seen import _digest

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


@pytest.mark.slow
def test_kill_9(tmp_path):
    """Whole processes, each with imports of its own; faults/test_disk.py kills forks, sooner and more often."""
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


def test_another_stream_of_equal_length_is_refused(tmp_path):
    X, y = rows()
    file = tmp_path / "run.ckpt"
    whole = make().fit_stream(from_arrays(X, y, 500), checkpoint=file, every=1000)
    again = make().fit_stream(from_arrays(sp.csr_matrix(X), y, 700), checkpoint=file)  # the same rows, otherwise held
    assert bits(again) == bits(whole)
    for row in (0, 1, 2, 64, 4096):
        other = X.copy()
        other[row, 3] += 1e-9
        with pytest.raises(CheckpointError, match=f"another stream: row {row} is not"):
            make().fit_stream(from_arrays(other, y, 500), checkpoint=file)
        labels = y.copy()
        labels[row] = "yes" if y[row] == "no" else "no"
        with pytest.raises(CheckpointError, match=f"another stream: row {row} is not"):
            make().fit_stream(from_arrays(X, labels, 700), checkpoint=file)
    weighted = from_arrays(X, y, 500, sample_weight=np.full(len(y), 2.0))
    with pytest.raises(CheckpointError, match="another stream: row 0 is not"):
        make().fit_stream(weighted, checkpoint=file)


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


def unread():
    raise AssertionError("nothing should be read")
    yield


def test_a_place_that_cannot_be_written_is_noticed_before_learning(tmp_path):
    for place in (tmp_path / "nowhere" / "run.ckpt", tmp_path):
        with pytest.raises(CheckpointError, match=r"no folder|cannot be written"):
            make().fit_stream(unread(), checkpoint=place)


def test_a_checkpoint_that_cannot_be_used_leaves_the_model_that_was_there(tmp_path):
    X, y = rows()
    file = tmp_path / "run.ckpt"
    model = make().fit(X, y)
    before, has = bits(model), dict(vars(model))
    make("cap").fit_stream(from_arrays(X, y, 500), checkpoint=file)
    with pytest.raises(CheckpointError, match="another problem"):
        model.fit_stream(unread(), checkpoint=file)
    file.write_bytes(b"nothing")
    previous(file).unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="not a steelyard checkpoint"):
        model.fit_stream(unread(), checkpoint=file)
    assert bits(model) == before
    assert vars(model) == has


def test_links_and_permissions_stay(tmp_path):
    X, y = rows()
    real, link = tmp_path / "real.ckpt", tmp_path / "link.ckpt"
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    link.symlink_to(real)
    make().fit_stream(from_arrays(X, y, 500), checkpoint=link, every=1000)
    assert link.is_symlink()
    assert real.exists()
    assert real.stat().st_mode == plain.stat().st_mode  # as any new file of this user


def forged(good, change):
    """The checkpoint with a part of its header or its state changed, and checksums that fit."""
    sections = {name: bytes(part) for name, part in unpack(good, "checkpoint").items()}
    header = json.loads(sections["tree"])["dict"]
    where = str(header["state"]["bytes"])
    header, state = change(header, sections[where])
    tree = header if isinstance(header, bytes) else json.dumps({"dict": header}).encode()
    return pack("checkpoint", {**sections, "tree": tree, where: state})


FORGERIES = {
    "no json": lambda h, s: (b"{", s),
    "no text": lambda h, s: (b"\xff\xfe", s),
    "a list": lambda h, s: (b"[]", s),
    "no rows": lambda h, s: ({k: v for k, v in h.items() if k != "rows"}, s),
    "one more": lambda h, s: ({**h, "more": 1}, s),
    "rows in words": lambda h, s: ({**h, "rows": "many"}, s),
    "negative rows": lambda h, s: ({**h, "rows": -1}, s),
    "dtype": lambda h, s: ({**h, "classes": {**h["classes"], "dtype": "nonsense"}}, s),
    "objects": lambda h, s: ({**h, "classes": {**h["classes"], "dtype": "|O8"}}, s),
    "shape": lambda h, s: ({**h, "classes": {**h["classes"], "shape": [2**62, 2]}}, s),
    "three classes": lambda h, s: ({**h, "classes": {"objects": ["a", "b", "c"]}}, s),
    "equal classes": lambda h, s: ({**h, "classes": {"objects": ["a", "a"]}}, s),
    "third positive": lambda h, s: ({**h, "positive": 2}, s),
    "no features": lambda h, s: ({**h, "n_features": 0}, s),
    "other features": lambda h, s: ({**h, "n_features": 6}, s),
    "too many features": lambda h, s: ({**h, "n_features": 2**40}, s),
    "names": lambda h, s: ({**h, "feature_names": {"objects": ["x"]}}, s),
    "problem": lambda h, s: ({**h, "problem": 3}, s),
    "state": lambda h, s: ({**h, "state": {"bytes": 99}}, s),
    "digests": lambda h, s: ({**h, "seen": [3]}, s),
    "short state": lambda h, s: (h, s[:-40]),
    "long state": lambda h, s: (h, s + b"1234"),
    "no state": lambda h, s: (h, b""),
    "noise": lambda h, s: (h, os.urandom(len(s))),
}


@pytest.mark.parametrize("kind", ["auto", "mini-batch"])
@pytest.mark.parametrize("change", FORGERIES)
def test_forged_checkpoints_are_refused_with_one_error_and_the_one_before_is_tried(kind, change, tmp_path):
    X, y = rows(3000)
    file = tmp_path / "run.ckpt"
    whole = make(kind).fit_stream(from_arrays(X, y, 500), checkpoint=file, every=1000)
    bad = forged(file.read_bytes(), FORGERIES[change])
    file.write_bytes(bad)
    with pytest.warns(UserWarning, match="The one before it"):
        again = make(kind).fit_stream(from_arrays(X, y, 500), checkpoint=file, every=10_000)
    assert bits(again) == bits(whole)
    file.write_bytes(bad)
    previous(file).write_bytes(bad)
    with pytest.raises(CheckpointError, match="cannot go on from"):
        make(kind).fit_stream(unread(), checkpoint=file)


@pytest.mark.slow
def test_a_state_with_wild_places_cannot_crash():
    """Any eight bytes of the state replaced: refused, or a model that learns and predicts."""
    code = textwrap.dedent("""
        import warnings
        import numpy as np, steelyard as sy, steelyard.measures as m
        warnings.simplefilter("ignore")
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 4)); y = (X[:, 0] > 1).astype(int)
        taken = refused = 0
        for make in (lambda: sy.OnlineClassifier(m.BAKLD(), random_state=0), lambda: sy.OnlineClassifier(m.GMean(), solver="1pmb", random_state=0)):
            model = make().partial_fit(X[:320], y[:320])
            good = model._learner.save()
            for trial in range(400):
                at = int(rng.integers(len(good) - 8)) if trial % 2 else len(good) - 8 * int(rng.integers(1, 600))
                value = rng.choice(np.array([-1, 1, 2**40, 2**62, 5], dtype=np.int64)).tobytes()
                other = make().partial_fit(X[:320], y[:320])
                try:
                    other._learner.load(good[:at] + value + good[at + 8:])
                except ValueError:
                    refused += 1
                    continue
                taken += 1
                try:
                    other.partial_fit(X, y).predict(X)
                except ValueError:
                    pass
        print(taken > 10, refused > 10)
    """)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["True", "True"]


def test_a_row_that_is_not_noted_for_want_of_memory_is_an_error():
    class Table:
        def __getitem__(self, rows):
            raise MemoryError

    with pytest.raises(MemoryError):
        _digest(SimpleNamespace(X=Table(), y=np.zeros(3), sample_weight=None), 0)
