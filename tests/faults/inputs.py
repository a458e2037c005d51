"""Bad and odd input: what goes in, what should come of it, and what does.

    python inputs.py OUT.json [CONTENDER...]        each call in a fork of its own; see benchmarks/inputs.py

Numbers are whole and small, so that every kind of number holds them exactly, and the same table in other clothes must
give the same model. What should come of an input is one of three things:

    same      the answers of the model of the plain table
    refused   an error that a caller can act on
    answered  either, but no crash and no hang

The rules, for all who are asked:

1. Each call has a process of its own, `PATIENCE` seconds of a processor (ten times as many by the clock, for one that
   waits) and `MEMORY` bytes of address space. Whoever takes more hangs, or has asked for too much.
2. A clear error is a ValueError, a TypeError, or of the class of errors that the library has for its own.
3. The same model has the same labels, and scores within `SAME` of the largest; within `ROUNDED` if the numbers came in
   at most 32 bits; within the root of the tolerance at which its solver stops, where it states one (`STOPS_AT`): the
   objective is square in the model around its best. Where the documents say that zeros which are not stored are
   treated differently (`DIFFER`), the model of the plain table as CSR is as good.
4. What the documents of a library say that it takes, it may take (`TAKEN`): that counts as an answer.
5. Nobody's verdict is set by hand, and nobody's is left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

N, D = 120, 5
PATIENCE = 30  # seconds of a processor; a fit of these rows takes a tenth of one
MEMORY = 4 << 30  # bytes beyond which a call has asked for what it should not need
CLEAR = (ValueError, TypeError)
OF_THEIR_OWN = ("LightGBMError", "XGBoostError")
SAME, ROUNDED = 1e-10, 1e-5  # of scores: of float64 rows, and of those that are float32 inside


def plain():
    rng = np.random.default_rng(7)
    X = rng.integers(-8, 9, size=(N, D)).astype(float)
    return X, (X[:, 0] - X[:, 1] + 6 * rng.normal(size=N) > 3).astype(int)


X, Y = plain()


@dataclass(frozen=True)
class Given:
    """What is handed over, and what should come of it."""

    X: Any = None
    y: Any = None
    weight: Any = None
    want: str = "same"
    tol: float = SAME


def csr(change=None, X=X):
    made = sp.csr_matrix(X)
    if change is not None:
        change(made)
    return made


def with_(array, *changes):
    made = np.array(array)
    for where, value in changes:
        made[where] = value
    return made


def reversed_columns(made):
    for i in range(made.shape[0]):
        part = slice(made.indptr[i], made.indptr[i + 1])
        made.indices[part], made.data[part] = made.indices[part][::-1].copy(), made.data[part][::-1].copy()
    made.has_sorted_indices = False


def named_twice():
    whole = csr()
    parts = (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), whole.indptr * 2)
    made = sp.csr_matrix(whole.shape)
    made.data, made.indices, made.indptr = parts
    return made


def with_room():
    made = csr()
    made.data, made.indices = np.append(made.data, [7.0, 9.0]), np.append(made.indices, [1, 2]).astype(np.int32)
    return made


def set_(**parts):
    def change(made):
        for name, (where, value) in parts.items():
            getattr(made, name)[where] = value

    return change


def retyped(**kinds):
    def change(made):
        for name, kind in kinds.items():
            setattr(made, name, getattr(made, name).astype(kind))

    return change


def short(name):
    return lambda made: setattr(made, name, getattr(made, name)[:-3])


def frame(names="abcde", kind=None):
    import pandas as pd

    made = pd.DataFrame(X, columns=list(names))
    return made if kind is None else made.astype(kind)


def series(values, **how):
    import pandas as pd

    return pd.Series(values, **how)


def mapped():
    made = np.memmap(tempfile.mkstemp()[1], dtype=float, mode="w+", shape=X.shape)
    made[:] = X
    return made


def still(array):
    array.setflags(write=False)
    return array


def masked(array, where):
    made = np.ma.array(array)
    made[where] = np.ma.masked
    return made


def coo_outside():
    made = sp.coo_matrix(X)
    made.col[3] = D + 2
    return made


def csc_outside():
    made = sp.csc_matrix(X)
    made.indices[3] = N + 5
    return made


NAN, INF = float("nan"), float("inf")
FEW, WIDE = np.r_[np.flatnonzero(Y == 1)[:1], np.flatnonzero(Y == 0)[:1]], np.tile(X[:20], (1, 40))
TEXT = np.array(["no", "yes"])

# name: a function that makes what is given. X None is the plain table, y None the plain labels.
INPUTS = {
    # the same table in other clothes
    "Fortran order": lambda: Given(np.asfortranarray(X)),
    "every other row of an array": lambda: Given(np.repeat(X, 2, axis=0)[::2]),
    "every other column of an array": lambda: Given(np.repeat(X, 2, axis=1)[:, ::2]),
    "reversed rows, read backwards": lambda: Given(X[::-1].copy()[::-1]),
    "read-only": lambda: Given(still(X.copy())),
    "memory-mapped": lambda: Given(mapped()),
    "not aligned": lambda: Given(np.frombuffer(b"\0" + X.tobytes(), offset=1).reshape(X.shape)),
    "big-endian": lambda: Given(X.astype(">f8")),
    "big-endian float32": lambda: Given(X.astype(">f4"), tol=ROUNDED),
    "float32": lambda: Given(X.astype(np.float32), tol=ROUNDED),
    "float16": lambda: Given(X.astype(np.float16), tol=ROUNDED),
    "long double": lambda: Given(X.astype(np.longdouble)),
    "int8": lambda: Given(X.astype(np.int8), tol=ROUNDED),
    "int64": lambda: Given(X.astype(np.int64)),
    "objects that are numbers": lambda: Given(X.astype(object)),
    "list of lists": lambda: Given(X.tolist()),
    "masked array, nothing masked": lambda: Given(np.ma.array(X)),
    "data frame": lambda: Given(frame()),
    "data frame of Float64": lambda: Given(frame(kind="Float64")),
    "CSR": lambda: Given(csr()),
    "CSR, array class": lambda: Given(sp.csr_array(X)),
    "CSR of float32": lambda: Given(csr().astype(np.float32), tol=ROUNDED),
    "CSR of integers": lambda: Given(csr().astype(np.int64)),
    "CSR, big-endian": lambda: Given(csr(retyped(data=">f8"))),
    "CSR, big-endian indices": lambda: Given(csr(retyped(indices=">i4", indptr=">i4"))),
    "CSR, 64-bit indices": lambda: Given(csr(retyped(indices=np.int64, indptr=np.int64))),
    "CSR, 64-bit row starts only": lambda: Given(csr(retyped(indptr=np.int64))),
    "CSR, columns unsorted": lambda: Given(csr(reversed_columns)),
    "CSR, columns named twice": lambda: Given(named_twice()),
    "CSR, zeros stored": lambda: Given(sp.csr_matrix((X.ravel(), np.tile(np.arange(D), N), np.arange(N + 1) * D))),
    "CSR with room behind": lambda: Given(with_room()),
    "CSC": lambda: Given(sp.csc_matrix(X)),
    "COO": lambda: Given(sp.coo_matrix(X)),
    "LIL": lambda: Given(sp.lil_matrix(X)),
    "DOK": lambda: Given(sp.dok_matrix(X)),
    "BSR": lambda: Given(sp.bsr_matrix(X)),
    "DIA": lambda: Given(sp.dia_matrix(X)),
    "labels of text": lambda: Given(y=TEXT[Y]),
    "labels True and False": lambda: Given(y=Y == 1),
    "labels -1 and 1": lambda: Given(y=2 * Y - 1),
    "labels of float": lambda: Given(y=Y.astype(float)),
    "labels as a column": lambda: Given(y=Y[:, None]),
    "labels of a data frame's category": lambda: Given(y=series(TEXT[Y], dtype="category")),
    "labels as a list": lambda: Given(y=Y.tolist()),
    "weights of one": lambda: Given(weight=np.ones(N)),
    "weights of float32": lambda: Given(weight=np.ones(N, dtype=np.float32)),
    # what no model can be made of
    "NaN": lambda: Given(with_(X, ((3, 2), NAN)), want="refused"),
    "infinity": lambda: Given(with_(X, ((3, 2), INF)), want="refused"),
    "minus infinity, float32": lambda: Given(with_(X, ((3, 2), -INF)).astype(np.float32), want="refused"),
    "NaN in CSR": lambda: Given(csr(set_(data=(9, NAN))), want="refused"),
    "infinity in CSR": lambda: Given(csr(set_(data=(9, INF))), want="refused"),
    "NaN in a data frame": lambda: Given(frame().mask(frame() == 8.0), want="refused"),
    "missing in a data frame of Float64": lambda: Given(frame(kind="Float64").mask(frame() == 8.0), want="refused"),
    "masked array": lambda: Given(masked(X, (3, 2)), want="refused"),
    "one dimension": lambda: Given(X[:, 0].copy(), want="refused"),
    "three dimensions": lambda: Given(X[:, :, None], want="refused"),
    "a number": lambda: Given(3.0, want="refused"),
    "None": lambda: Given([None] * N, want="refused"),
    "no rows": lambda: Given(X[:0], Y[:0], want="refused"),
    "no columns": lambda: Given(X[:, :0], want="refused"),
    "text": lambda: Given(np.full((N, D), "a"), want="refused"),
    "objects, one of them None": lambda: Given(with_(X.astype(object), ((3, 2), None)), want="refused"),
    "objects, one of them text": lambda: Given(with_(X.astype(object), ((3, 2), "a")), want="refused"),
    "complex": lambda: Given(X + 1j, want="refused"),
    "dates": lambda: Given(X.astype("timedelta64[s]"), want="refused"),
    "a dictionary": lambda: Given({"a": 1}, want="refused"),
    "rows of different lengths": lambda: Given([[1.0, 2.0], [3.0]] * (N // 2), want="refused"),
    "CSR, column -1": lambda: Given(csr(set_(indices=(9, -1))), want="refused"),
    "CSR, column beyond the last": lambda: Given(csr(set_(indices=(9, D + 2))), want="refused"),
    "CSR, column of 10^9": lambda: Given(csr(set_(indices=(9, 10**9))), want="refused"),
    "CSR, row starts that fall": lambda: Given(csr(set_(indptr=(5, 400))), want="refused"),
    "CSR, row start -1": lambda: Given(csr(set_(indptr=(5, -1))), want="refused"),
    "CSR, row starts beyond the data": lambda: Given(csr(set_(indptr=(-1, 10**6))), want="refused"),
    "CSR, too few row starts": lambda: Given(csr(short("indptr")), want="refused"),
    "CSR, fewer columns than values": lambda: Given(csr(short("indices")), want="refused"),
    "CSC, row beyond the last": lambda: Given(csc_outside(), want="refused"),
    "COO, column beyond the last": lambda: Given(coo_outside(), want="refused"),
    "labels too few": lambda: Given(y=Y[:-1], want="refused"),
    "labels of one class": lambda: Given(y=np.zeros(N, dtype=int), want="refused"),
    "labels with NaN": lambda: Given(y=with_(Y.astype(float), (3, NAN)), want="refused"),
    "labels with None": lambda: Given(y=with_(Y.astype(object), (3, None)), want="refused"),
    "labels of two kinds": lambda: Given(y=with_(Y.astype(object), (3, "a")), want="refused"),
    "labels masked": lambda: Given(y=masked(Y, 3), want="refused"),
    "labels with infinity": lambda: Given(y=with_(Y.astype(float), (3, INF)), want="refused"),
    "labels that are measurements": lambda: Given(y=Y + X[:, 2] / 7, want="refused"),
    "labels in two columns": lambda: Given(y=np.column_stack([Y, 1 - Y]), want="refused"),
    "weights too few": lambda: Given(weight=np.ones(N - 1), want="refused"),
    "weights with NaN": lambda: Given(weight=with_(np.ones(N), (3, NAN)), want="refused"),
    "weights with infinity": lambda: Given(weight=with_(np.ones(N), (3, INF)), want="refused"),
    "weights below zero": lambda: Given(weight=with_(np.ones(N), (3, -1.0)), want="refused"),
    "weights all zero": lambda: Given(weight=np.zeros(N), want="refused"),
    "weights of text": lambda: Given(weight=np.full(N, "a"), want="refused"),
    "weights in two columns": lambda: Given(weight=np.ones((N, 2)), want="refused"),
    # what may be learned from or not
    "one row of each class": lambda: Given(X[FEW], Y[FEW], want="answered"),
    "more columns than rows": lambda: Given(WIDE, Y[:20], want="answered"),
    "all rows alike": lambda: Given(np.ones((N, D)), want="answered"),
    "a constant column": lambda: Given(with_(X, ((slice(None), 0), 3.0)), want="answered"),
    "a column that is the label": lambda: Given(np.column_stack([X, 2.0 * Y]), want="answered"),
    "values times 1e300": lambda: Given(X * 1e300, want="answered"),
    "values times 1e-300": lambda: Given(X * 1e-300, want="answered"),
    "values times 1e30, float32": lambda: Given((X * 1e30).astype(np.float32), want="answered"),
    "subnormal values": lambda: Given(X * 5e-324, want="answered"),
    "three classes": lambda: Given(y=np.arange(N) % 3, want="answered"),
    "weights of 1e300": lambda: Given(weight=np.full(N, 1e300), want="answered"),
    "weights of 1e-300": lambda: Given(weight=np.full(N, 1e-300), want="answered"),
    "no weight on one class": lambda: Given(weight=Y.astype(float), want="answered"),
}
# For `predict` of a model of the plain table (a data frame for the last ones).
TO_PREDICT = {
    "a column too few": lambda: Given(X[:, :-1].copy(), want="refused"),
    "a column too many": lambda: Given(np.column_stack([X, X[:, 0]]), want="refused"),
    "CSR with a column too few": lambda: Given(csr(X=X[:, :-1]), want="refused"),
    "data frame, columns in another order": lambda: Given(frame()[list("edcba")], want="refused"),
    "data frame, another name": lambda: Given(frame("abcdx"), want="refused"),
    "data frame, a column missing": lambda: Given(frame()[list("abcd")], want="refused"),
}


# -- who is asked -------------------------------------------------------------------------------------------------


def ours():
    from sklearn.linear_model import LogisticRegression

    import steelyard as sy
    import steelyard.measures as m

    return {
        "MeasureClassifier": lambda: sy.MeasureClassifier(m.FBeta(1), C=[0.1, 1.0], random_state=0),
        "OnlineClassifier": lambda: sy.OnlineClassifier(m.FBeta(1), random_state=0),
        "OnlineClassifier, cap": lambda: sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.4, random_state=0),
        "CostPath": lambda: sy.CostPath(C=0.1, random_state=0),
        "CostPath, rbf": lambda: sy.CostPath(C=1.0, kernel="rbf", gamma=0.02, random_state=0),
        "CostPath, approximate": lambda: sy.CostPath(C=0.1, method="approximate", random_state=0),
        "QuantilePath": lambda: sy.QuantilePath(C=0.1, random_state=0),
        "StructuralSVM": lambda: sy.StructuralSVM("kld"),
        "NeymanPearsonClassifier": lambda: sy.NeymanPearsonClassifier(0.3, C=1.0, random_state=0),
        "NeymanPearsonClassifier, linear": lambda: sy.NeymanPearsonClassifier(
            0.3, kernel="linear", C=1.0, random_state=0
        ),
        "QValueClassifier": lambda: sy.QValueClassifier(0.3, random_state=0),
        "ThresholdClassifier": lambda: sy.ThresholdClassifier(LogisticRegression(max_iter=500), m.FBeta(1)),
        "ExpectedFBetaClassifier": lambda: sy.ExpectedFBetaClassifier(LogisticRegression(max_iter=500)),
        "Quantifier": lambda: sy.Quantifier(LogisticRegression(max_iter=500), random_state=0),
        "StreamQuantifier": lambda: sy.StreamQuantifier(LogisticRegression(max_iter=500), random_state=0),
    }


def others():
    found = {}
    from sklearn.linear_model import SGDClassifier
    from sklearn.svm import LinearSVC

    found["SGDClassifier"] = lambda: SGDClassifier(random_state=0)
    found["LinearSVC"] = lambda: LinearSVC(random_state=0)
    try:
        import xgboost

        found["XGBoost"] = lambda: xgboost.XGBClassifier(n_estimators=5, n_jobs=1)
    except ImportError:
        pass
    try:
        import lightgbm

        found["LightGBM"] = lambda: lightgbm.LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1, min_child_samples=5)
    except ImportError:
        pass
    return found


# The tolerance that a contender's solver states for its objective, where rule 3 needs it: `tol` of these.
STOPS_AT = {"CostPath, approximate": 1e-3, "SGDClassifier": 1e-3, "LinearSVC": 1e-4}
# Zeros that are not stored are missing values to XGBoost, and SGDClassifier takes shorter steps with the intercept.
DIFFER = ("XGBoost", "SGDClassifier")
# NaN is a missing value to trees, infinity a large one or missing, a class need not have a second one; XGBoost has
# models for several labels at once.
MISSING = (
    "NaN", "NaN in CSR", "infinity", "minus infinity, float32", "infinity in CSR", "masked array",
    "NaN in a data frame", "missing in a data frame of Float64", "objects, one of them None", "labels of one class",
)  # fmt: skip
TAKEN = {"XGBoost": (*MISSING, "labels in two columns"), "LightGBM": MISSING}


def answers(model):
    """What a fitted model says of the plain rows, as numbers that do not depend on how the labels are called."""
    if hasattr(model, "update"):
        return np.asarray(model.update(X).prevalence_)
    if not hasattr(model, "classes_"):  # QuantilePath
        return np.asarray(model.predict(X)).ravel()
    if hasattr(model, "method") and not hasattr(model, "decision_function") and hasattr(model, "cv"):
        return np.asarray(model.predict(X))  # Quantifier
    said = np.asarray(model.predict(X))
    return said == np.asarray(model.classes_)[-1]


def scores(model):
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X), dtype=float)
    return np.zeros(1)


def call(name, model, kind, given):
    """Does what is tried; returns what there is to compare."""
    A = X if given.X is None else given.X
    y = Y if given.y is None else given.y
    if name == "QuantilePath":
        y = X[:, 1] + X[:, 2] / 8 if given.y is None and len(y) == N else y
    more = {} if given.weight is None else {"sample_weight": given.weight}
    if kind == "fit":
        model.fit(A, y, **more)
        return answers(model), scores(model)
    if kind == "partial_fit":
        if name == "SGDClassifier":  # it must be told
            more["classes"] = np.unique(np.asarray(y))
        model.partial_fit(A, y, **more)
        return answers(model), scores(model)
    said = model.update(A).prevalence_ if hasattr(model, "update") else model.predict(A)
    said = np.asarray(said)
    return (said if said.dtype.kind == "f" else said == np.asarray(model.classes_)[-1]), np.zeros(1)


def calls(name, model, key, given):
    """The calls that an input can be tried on."""
    if given.weight is not None and "sample_weight" not in model.fit.__code__.co_varnames:
        return []
    if name == "QuantilePath" and given.y is not None and given.want != "refused":
        return []
    if name == "QuantilePath" and key in ("labels of one class", "labels that are measurements"):
        return []
    found = ["fit"]
    if hasattr(model, "partial_fit"):
        found.append("partial_fit")
    if given.y is None and given.weight is None and given.want != "answered":
        found.append("predict")
    return found


# -- one try ------------------------------------------------------------------------------------------------------


def same(one, other, tol):
    """Answers, and scores where there are any, as far apart as rounding may bring them."""
    for a, b in zip(one, other, strict=True):
        a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if a.shape != b.shape or not np.isfinite(b).all():
            return False
        if np.abs(a - b).max(initial=0.0) > tol * max(1.0, np.abs(a).max(initial=0.0)):
            return False
    return True


def judged(name, make, kind, key, given, reference):
    """(verdict, what was said): "same", "refused", "answered" or what went wrong."""
    want = "answered" if key in TAKEN.get(name, ()) else given.want
    model = make()
    if kind == "predict" or key in TO_PREDICT:
        model.fit(frame() if key.startswith("data frame,") else X, X[:, 1] if name == "QuantilePath" else Y)
    try:
        found = call(name, model, kind, given)
    except MemoryError as error:
        return "asked for too much memory", str(error)
    except Exception as error:
        if not isinstance(error, CLEAR) and type(error).__name__ not in OF_THEIR_OWN:
            return "error of another kind", f"{type(error).__name__}: {error}"
        return ("refused" if want != "same" else "refused, though it could be read"), str(error)
    if want == "refused":
        return "taken in silence", ""
    if want == "answered":
        return ("answered" if all(np.isfinite(np.asarray(part, dtype=float)).all() for part in found) else "NaN"), ""
    tol = max(given.tol, STOPS_AT.get(name, 0.0) ** 0.5)
    return ("same" if any(same(one, found, tol) for one in reference) else "another model"), ""


def in_fork(task):
    """(how it ended, what it said) in a process of its own."""
    ours_, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(ours_)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, PATIENCE)
            signal.alarm(10 * PATIENCE)  # for one that waits
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
            os.write(theirs, pickle.dumps(task()))
            os._exit(0)
        except BaseException as error:
            os.write(theirs, pickle.dumps(("the trial failed", repr(error))))
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours_, "rb") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code in (-signal.SIGALRM, -signal.SIGPROF):
        return "hang", ""
    if code != 0 or not said:
        return "crash", f"signal {-code}"
    return pickle.loads(said)


def references(name, make, is_sparse):
    """What each call says of the plain table."""
    A = csr() if is_sparse else X
    one = make().fit(A, X[:, 1] + X[:, 2] / 8 if name == "QuantilePath" else Y)
    other = make().fit(X, X[:, 1]) if name == "QuantilePath" else make().fit(X, Y)
    said = call(name, other, "predict", Given(A))
    found = {"fit": (answers(one), scores(one)), "predict": said}
    if hasattr(one, "partial_fit"):
        found["partial_fit"] = call(name, make(), "partial_fit", Given(A))
    return found


def trials(name, make, keys=None, kinds=("fit", "partial_fit", "predict")):
    """Every input on every call of one contender: lists of (call, input, verdict, message)."""
    model, found = make(), []
    # In forks too: OpenMP does not outlive a fork of a process that has used it.
    reference = {is_sparse: in_fork(lambda s=is_sparse: references(name, make, s)) for is_sparse in (False, True)}
    for key, given in {**INPUTS, **TO_PREDICT}.items():
        if keys is not None and key not in keys:
            continue
        made = given()
        wanted = list(reference.values()) if name in DIFFER and sp.issparse(made.X) else [reference[False]]
        for kind in ["predict"] if key in TO_PREDICT else calls(name, model, key, made):
            if kind in kinds:
                ended = in_fork(
                    lambda k=kind, key=key, made=made, w=wanted: judged(name, make, k, key, made, [one[k] for one in w])
                )
                found.append((kind, key, *ended))
    return found


BAD = ("crash", "hang", "taken in silence", "another model", "NaN", "asked for too much memory",
       "error of another kind", "the trial failed")  # fmt: skip


def main(out, *names):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    known = {}
    with contextlib.suppress(ImportError):
        known |= ours()
    known |= others()
    found = {}
    for name in names or known:
        started = time.monotonic()
        found[name] = trials(name, known[name])
        bad = [one for one in found[name] if one[2] in BAD]
        with open(out, "w") as file:
            json.dump(found, file, indent=0)
        print(f"{name}: {len(found[name])} calls, {len(bad)} bad, {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
