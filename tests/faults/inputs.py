"""Bad and odd input: what comes of the table of odd_inputs.py.

    python inputs.py OUT.json [CONTENDER...]        each call in a fork of its own; see benchmarks/inputs.py

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
import time
import warnings

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # who is asked may have no pytest, which faults/ wants
from odd_inputs import INPUTS, TO_PREDICT, Given, N, X, Y, csr, frame

PATIENCE = 30  # seconds of a processor; a fit of these rows takes a tenth of one
MEMORY = 4 << 30  # bytes beyond which a call has asked for what it should not need
CLEAR = (ValueError, TypeError)
OF_THEIR_OWN = ("LightGBMError", "XGBoostError")


# -- who is asked -------------------------------------------------------------------------------------------------


def ours():
    from sklearn.linear_model import LogisticRegression

    import steelyard as sy
    import steelyard.measures as m

    def plain():  # Newton goes to the minimum; where lbfgs stops on float32 depends on the processor
        return LogisticRegression(solver="newton-cholesky")

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
        "ThresholdClassifier": lambda: sy.ThresholdClassifier(plain(), m.FBeta(1)),
        "ExpectedFBetaClassifier": lambda: sy.ExpectedFBetaClassifier(plain()),
        "Quantifier": lambda: sy.Quantifier(plain(), random_state=0),
        "StreamQuantifier": lambda: sy.StreamQuantifier(plain(), random_state=0),
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
