"""What every estimator does when the n-th allocation fails.

    LD_PRELOAD=no_memory.so python no_memory.py no_memory.so WHERE LIMIT STRIDE NAME [CALL...]

The shim (no_memory.cpp) fails one allocation of a call, the n-th, for n = 1, 1 + STRIDE, ... up to LIMIT or to where the
call has no more, in forks. WHERE is "core" (what the compiled core asks for) or "all" (numpy's arrays, Python's larger objects and
what scikit-learn asks for, too). After each try the estimator must be as it was before, or have done its work with the
same bits, and nothing may be lost of what the core got. Prints a line of JSON for each call of each estimator.
"""

import ctypes
import gc
import json
import mmap
import os
import sys
import tempfile
import traceback
import warnings

import numpy as np

import steelyard as sy

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults import saved_models
from faults.broken_disk import DONE, REFUSED, WRONG, in_child
from faults.saved_models import X, Y

MORE = saved_models.rows(300)
LEAST = 513  # bytes, for "all": smaller objects of Python come from its own arenas, which are not asked for one by one
TOGETHER = 20  # tries in a fork: whoever refuses one leaves all as it was, so that the next may follow
LOST = 0  # objects of the core that a call which fails may keep
NUMPYS = ("without exception set", "without setting an exception")  # a SystemError: numpy's word for no memory
BUFFER = 16  # numbers, the least: numpy 2.4 ends the process if it gets no buffer for a ufunc (PyErr_NoMemory without the GIL)
OVER = 6  # beside the codes of broken_disk


def same(a, b):
    return a.keys() == b.keys() and all(
        np.array_equal(a[key], b[key], equal_nan=np.asarray(a[key]).dtype.kind == "f") for key in a
    )


class Call:
    """A call that may fail, how to prepare what it is called on, and what to ask of that afterwards."""

    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.made = lambda: seeded({**saved_models.OURS, **saved_models.WITH_SKOPS}[name]())
        if kind in ("predict", "save", "load"):
            self.model = saved_models.make(name)
        self.file = tempfile.mkstemp()[1]
        if kind == "load":
            sy.save(self.model, self.file)

    def ready(self):
        if self.kind == "first fit":
            return self.made()
        if self.kind == "fit":
            return self.made().fit(X[::2], Y[::2])
        if self.kind in ("partial_fit", "update"):
            return saved_models.make(self.name)
        return getattr(self, "model", None)

    def run(self, on):
        if self.kind in ("fit", "first fit"):
            on.fit(X, Y)
        elif self.kind == "partial_fit":
            on.partial_fit(*MORE)
        elif self.kind == "update":
            on.update(MORE[0])
        elif self.kind == "predict":
            return saved_models.answers(on)
        elif self.kind == "save":
            sy.save(on, self.file)
        else:
            return saved_models.answers(sy.load(self.file))
        return None

    def answer(self, on):
        """What the call says, or what it has made of the estimator."""
        found = self.run(on)
        return self.state(on) if found is None else found

    def state(self, on):
        """What can be seen of it, so that a change shows."""
        if self.kind == "load":
            return {}
        if self.kind == "first fit" and not fitted(on):
            return {name: np.array(id(value)) for name, value in vars(on).items()}
        return saved_models.answers(on)


def seeded(estimator):
    """So that the same data give the same bits again."""
    return estimator.set_params(random_state=0) if "random_state" in estimator.get_params() else estimator


def fitted(model):
    try:
        saved_models.answers(model)
    except Exception as error:
        if type(error).__name__ != "NotFittedError":
            raise
        return False
    return True


def kinds(name):
    found = ["predict", "load", "save"]
    if name in saved_models.OURS or name in saved_models.WITH_SKOPS:
        found = ["first fit", "fit", *found]
    if name.startswith(("online", "mini-batch", "stream")):
        found.append("partial_fit")
    if name.startswith("stream"):
        found.append("update")
    return found


class Trial:
    """A call, ready to be made again and again in forks: what it is made on, what that says before, what should come."""

    def __init__(self, shim, call, where):
        self.shim, self.call, self.where = shim, call, where
        for _ in range(2):  # the second finds all caches filled
            self.wanted = call.answer(call.ready())
        self.on = call.ready()
        for _ in range(2):
            self.before = call.state(self.on)
        gc.collect()
        gc.freeze()

    def fails_at(self, n):
        """`DONE` without that allocation; `REFUSED`: MemoryError, and all is as it was; `OVER`: there is no n-th; `WRONG`."""
        error, live = None, self.shim.live()
        self.shim.arm(n, 0 if self.where == "core" else LEAST, int(self.where == "core"))
        try:
            said = self.call.run(self.on)
        except BaseException as caught:
            error = caught
        counted = self.shim.disarm()
        if error is None:
            said = self.call.state(self.on) if said is None else said
            well = DONE if counted >= n else OVER
            return well if same(self.wanted, said) else complain(n, "another answer")
        if not isinstance(error, MemoryError) and not any(word in str(error) for word in NUMPYS):
            traceback.print_exception(error)
            return complain(n, f"{type(error).__name__}: {error}")
        if not same(self.before, self.call.state(self.on)):
            return complain(n, "the estimator is not as it was")
        error.__traceback__ = None
        del error
        gc.collect()
        lost = self.shim.live() - live
        return REFUSED if lost <= LOST else complain(n, f"{lost} objects are lost")

    def again(self, n):
        """The call once more, which must do its work now."""
        return DONE if same(self.wanted, self.call.answer(self.on)) else complain(n, "another answer when called again")


def complain(n, what):
    print(f"n = {n}: {what}", file=sys.stderr, flush=True)
    return WRONG


def several(trial, some):
    """How the tries of a fork end, one after another on the same estimator, up to one that is not refused.

    After each that is, all must be as before; the last is followed by a call with all the memory there is, which must do
    its work, as one must that was not refused. A fork that ends in another way is made again with a single try in each,
    to find the one.
    """
    ended = mmap.mmap(-1, len(some))

    def task():
        for k, n in enumerate(some):
            ended[k] = 1 + trial.fails_at(n)
            if ended[k] != 1 + REFUSED:
                return DONE
        return trial.again(some[-1])

    code = in_child(task)
    found = [value - 1 for value in ended[:] if value]
    ended.close()
    if code == DONE and WRONG not in found:
        return found
    if len(some) > 1:
        singly = [several(trial, [n])[0] for n in some]
        return singly if any(one not in (DONE, REFUSED, OVER) for one in singly) else [code or WRONG]
    return [code or WRONG]


def check(trial, limit, stride):
    found = {
        "name": trial.call.name,
        "call": trial.call.kind,
        "where": trial.where,
        "tried": 0,
        "refused": 0,
        "wrong": {},
    }
    ahead = list(range(1, limit + 1, stride))
    while ahead:
        ended = several(trial, ahead[:TOGETHER])
        for n, one in zip(ahead, ended, strict=False):
            if one == OVER:
                return found
            found["tried"] += 1
            found["refused"] += one == REFUSED
            if one not in (DONE, REFUSED):
                found["wrong"][n] = one
        ahead = ahead[len(ended) :]
    return found


def main(library, where, limit, stride, name, *calls):
    warnings.simplefilter("ignore")
    np.setbufsize(BUFFER)  # so that these are smaller than `LEAST`
    shim = ctypes.CDLL(library)
    shim.live.restype = shim.disarm.restype = ctypes.c_long
    shim.arm.argtypes = ctypes.c_long, ctypes.c_size_t, ctypes.c_int
    for kind in calls or kinds(name):
        print(json.dumps(check(Trial(shim, Call(name, kind), where), int(limit), int(stride))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
