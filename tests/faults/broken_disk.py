"""A disk that fails at the n-th call, and processes that are killed there.

    python broken_disk.py FOLDER KILLS CHUNKS CASE...        a case is "model: FAULT", "checkpoint: FAULT", "random kills"

This process makes ready what is written and forks for every try, so that the child has nothing to import before it
fails. The child's `os.open`, `os.write`, `os.fsync`, `os.link`, `os.replace` are replaced by ones that count; at the
n-th call the child is killed (before or after it), or the call fails. n rises until there is no n-th call. Prints a
line of JSON for each case: how many tries there were, and what went wrong in any of them.
"""

import errno
import json
import os
import random
import signal
import sys
import time
import traceback
import warnings

import numpy as np

import steelyard as sy
import steelyard.measures as m
from steelyard.files import replace
from steelyard.streams import from_arrays
from steelyard.streams.checkpoint import Checkpoint, previous

COUNTED = ("open", "write", "fsync", "link", "replace")
DONE, REFUSED, UNHARMED, WRONG = 0, 3, 4, 5  # how a child ends: UNHARMED by a fault that the call does not have
MUST_FAIL = {"ENOSPC": ("write", "fsync", "replace"), "EIO": ("write", "fsync", "replace"), "short": ("write",),
             "lie": ("write",)}  # fmt: skip


def break_disk(how, at):
    """From now on: the `at`-th of the counted calls of this process goes wrong; what comes back lists all of them."""
    calls = {name: getattr(os, name) for name in COUNTED}
    seen = []

    def replaced(name):
        def call(*args, **options):
            seen.append(name)
            if len(seen) != at or (how in ("ENOSPC", "EIO") and name == "open"):
                return calls[name](*args, **options)
            if how == "kill before":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "kill after":
                try:
                    calls[name](*args, **options)
                finally:
                    os.kill(os.getpid(), signal.SIGKILL)
            if name == "write" and how in ("short", "half", "lie"):
                written = calls["write"](args[0], args[1][: len(args[1]) // 2])
                if how != "short":
                    return written if how == "half" else len(args[1])
                raise OSError(errno.ENOSPC, "no space left, by order of the test")
            if how in ("ENOSPC", "EIO"):
                raise OSError(getattr(errno, how), "by order of the test")
            return calls[name](*args, **options)

        return call

    for name in COUNTED:
        setattr(os, name, replaced(name))
    return seen


def came_through(seen, how, at):
    """How a child ends that was told of no error."""
    if len(seen) < at:
        return DONE
    return WRONG if seen[at - 1] in MUST_FAIL.get(how, ()) else UNHARMED


def in_child(task):
    """How a forked process ends that does the task: its exit code, or minus the signal."""
    child = os.fork()
    if child == 0:
        code = WRONG
        try:
            code = task()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# -- models ---------------------------------------------------------------------------------------------------------
def models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    old = sy.OnlineClassifier(m.FBeta(1), random_state=0).fit(X, X[:, 0] > 0)
    new = sy.OnlineClassifier(m.FBeta(1), random_state=0).fit(X, X[:, 1] > 0)
    return X, old, new


def saving(how, folder):
    """A model is saved over another one, and the n-th call goes wrong."""
    X, old, new = models()
    path, wrong = os.path.join(folder, "model"), []
    sy.save(old, path)
    os.chmod(path, 0o640)
    with open(path, "rb") as file:
        before = file.read()
    replace.PIECE = len(before) // 3 + 1  # three writes for a file
    at = late = 0
    while True:
        at += 1
        code = in_child(lambda at=at: _save(how, at, new, path))
        with open(path, "rb") as file:
            now = file.read()
        is_new = np.array_equal(sy.load(path).decision_function(X), new.decision_function(X))
        left = sorted(os.listdir(folder))
        if how.startswith("kill"):
            good = (now == before or is_new) and (code == -signal.SIGKILL or code == DONE)
        else:
            # An error at the sync of the folder comes after the rename: the new file is there, whole.
            good = code in (REFUSED, UNHARMED, DONE) and left == ["model"]
            good &= now == before if code == REFUSED and not is_new else is_new
            late += code == REFUSED and is_new
        if not good:
            wrong.append([at, code, left, now == before, is_new])
        sy.save(old, path)
        if sorted(os.listdir(folder)) != ["model"] or os.stat(path).st_mode & 0o777 != 0o640:
            wrong.append([at, "left", os.listdir(folder)])
        if code == DONE:
            return at, wrong if late <= 1 else [*wrong, [late, "errors after the rename"]]


def _save(how, at, model, path):
    seen = break_disk(how, at)
    try:
        sy.save(model, path)
    except OSError:
        return REFUSED
    return came_through(seen, how, at)


# -- checkpoints ----------------------------------------------------------------------------------------------------
def stream(n_chunks, pause=0.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250 * n_chunks, 8))
    y = (X[:, 0] + rng.normal(size=len(X)) > 1).astype(int)
    for chunk in from_arrays(X, y, 250):
        time.sleep(pause)
        yield chunk


def learn(path, n_chunks=6, pause=0.0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = sy.OnlineClassifier(m.BAKLD(), random_state=0)
        return model.fit_stream(stream(n_chunks, pause), checkpoint=path, every=250, classes=[0, 1])


def bits(model):
    return np.r_[model.coef_.ravel(), model.intercept_].tobytes()


def checkpoints(how, folder, n_chunks):
    """Killed at the n-th call of a run with checkpoints, or that call fails; then the run is called again."""
    whole = bits(learn(None, n_chunks))
    path, wrong, at = os.path.join(folder, "run.ckpt"), [], 0
    while True:
        at += 1
        for file in os.listdir(folder):
            os.unlink(os.path.join(folder, file))

        def task(at=at):
            seen = break_disk(how, at)
            try:
                learn(path, n_chunks)
            except OSError:
                return REFUSED
            return came_through(seen, how, at)

        code = in_child(task)
        if not how.startswith("kill"):
            wrong += _left(folder, at)
        wrong += _resumed(path, n_chunks, whole, at)
        if code == DONE:
            return at, wrong
        if code not in ((-signal.SIGKILL,) if how.startswith("kill") else (REFUSED, UNHARMED)):
            wrong.append([at, code])


def random_kills(folder, count, n_chunks=12):
    """Killed again and again at random moments, resumed each time, and run to its end now and then."""
    whole = bits(learn(None, n_chunks))
    path, wrong, rng, killed = os.path.join(folder, "run.ckpt"), [], random.Random(0), 0
    while killed < count:
        child = os.fork()
        if child == 0:
            learn(path, n_chunks, pause=0.002)
            os._exit(DONE)
        time.sleep(rng.uniform(0.0, 0.05))
        os.kill(child, signal.SIGKILL)
        killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        if not _loads(path):
            wrong.append([killed, "nothing loads", os.listdir(folder)])
        if killed % 10 == 9:
            wrong += _resumed(path, n_chunks, whole, killed)
            for file in os.listdir(folder):
                os.unlink(os.path.join(folder, file))
    return killed, wrong


def _loads(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Checkpoint.load(path)
    return found is not None or not (os.path.exists(path) or os.path.exists(previous(path)))


def _resumed(path, n_chunks, whole, at):
    """What is wrong after the kill: nothing loads, other bits, or files that nobody needs."""
    folder = os.path.dirname(path)
    wrong = [] if _loads(path) else [[at, "nothing loads", os.listdir(folder)]]
    if bits(learn(path, n_chunks)) != whole:
        wrong.append([at, "other bits"])
    return wrong + _left(folder, at)


def _left(folder, at):
    left = sorted(set(os.listdir(folder)) - {"run.ckpt", "run.ckpt.previous"})
    return [[at, "left", left]] if left else []


def main(folder, n_kills, n_chunks, *cases):
    for number, case in enumerate(cases):
        here = os.path.join(folder, str(number))
        os.mkdir(here)
        what, _, how = case.partition(": ")
        if what == "random kills":
            tries, wrong = random_kills(here, int(n_kills))
        elif what == "checkpoint":
            tries, wrong = checkpoints(how, here, int(n_chunks))
        else:
            tries, wrong = saving(how, here)
        print(json.dumps({"case": case, "tries": tries, "wrong": wrong}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
