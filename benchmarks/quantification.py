"""Counting under prior shift: the same batches for every quantifier, on real data.

    python benchmarks/quantification.py              the comparison, set by set; goes on where it was stopped
    python benchmarks/quantification.py redo NAME    one contender once more, on the same batches
    python benchmarks/quantification.py choose       our own methods on other sets: where the default was chosen

For each set at most 1,000 rows train, the others are the pool from which batches of 100 rows are drawn: 21
prevalences x 20 repeats (APP), and 100 batches as they come (NPP). All have the same logistic regression inside,
except where their name says otherwise. Seconds are processor time. Needs QuaPy and mlquantify. Intervals are judged in
`intervals.py`.
"""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import binary
from steelyard.quantification import errors
from steelyard.quantification.protocols import APP, NPP

SETS = (
    "wdbc", "pima", "spambase", "splice", "satimage", "letter", "wilt", "ozone-8hr", "higgs-7500", "coil2000",
    "default-credit-card", "eeg-eye-state", "a9a", "ijcnn1",
)  # fmt: skip
DEVELOPMENT = (
    "australian", "german", "phoneme", "yeast1", "mammographic", "qsar-biodeg", "banknote", "optdigits",
    "steel-plates-fault", "cmc", "semeion",
)  # fmt: skip
TRAIN, SIZE, REPEATS, NATURAL = 1000, 100, 20, 100
MODEL = LogisticRegression(max_iter=1000)


class _Vector:
    """mlquantify returns a dictionary."""

    def __init__(self, quantifier):
        self.quantifier = quantifier

    def fit(self, X, y):
        self.quantifier.fit(X, y)
        return self

    def predict(self, X):
        found = self.quantifier.predict(X)
        return np.array([found[k] for k in sorted(found)]) if isinstance(found, dict) else np.asarray(found).ravel()


def contenders():
    import mlquantify.counting as theirs
    import mlquantify.likelihood as likelihood
    import mlquantify.matching as matching
    import quapy.method.aggregative as quapy

    from steelyard.interop.quapy import SVMperf

    found = {f"QuaPy {name}": getattr(quapy, name)(clone(MODEL)) for name in ("CC", "ACC", "PACC", "EMQ", "DyS", "MS")}
    found["QuaPy KDEy"] = quapy.KDEyML(clone(MODEL), random_state=0)
    found["QuaPy CC, our SVMperf(kld)"] = quapy.CC(SVMperf(loss="kld", C=1))
    found["QuaPy ACC, our SVMperf(kld)"] = quapy.ACC(SVMperf(loss="kld", C=1))
    found["mlquantify MS"] = _Vector(theirs.MS(clone(MODEL)))
    found["mlquantify EMQ"] = _Vector(likelihood.EMQ(clone(MODEL)))
    found["mlquantify DyS"] = _Vector(matching.DyS(clone(MODEL)))
    for method in ("auto", "emq", "pacc"):
        found[f"Quantifier {method}"] = sy.Quantifier(clone(MODEL), method=method, random_state=0)
    found["Quantifier auto, BAKLD"] = sy.Quantifier(sy.MeasureClassifier(m.BAKLD(0.5), random_state=0), random_state=0)
    return found


def split(name, is_small=False):
    X, y = binary(name, rows=12_000, is_small=is_small)
    n = min(len(y) // 2, TRAIN)
    return (X[:n], y[:n]), (X[n:], y[n:])


def judge(quantifier, train, batches):
    """Errors on every protocol's batches, and processor seconds to fit and to count one batch."""
    start = time.process_time()
    quantifier.fit(*train)
    row = {"fit_s": time.process_time() - start}
    for protocol, drawn in batches.items():
        start = time.process_time()
        found = np.array([quantifier.predict(X) for X, _ in drawn])
        row["predict_s"] = (time.process_time() - start) / len(drawn)
        truth = np.array([p for _, p in drawn])
        found = np.clip(found, 0.0, 1.0)
        row[protocol] = {
            "ae": errors.mae(truth, found),
            "rae": errors.mrae(truth, found, sample_size=SIZE),
            "kld": errors.mkld(truth, found, sample_size=SIZE),
        }
    return row


def one_set(name, only=None):
    """All contenders on a set, or those named."""
    train, pool = split(name)
    how = {"sample_size": SIZE, "random_state": 0}
    batches = {"shifted": list(APP(*pool, repeats=REPEATS, **how)), "natural": list(NPP(*pool, repeats=NATURAL, **how))}
    found = {"train": len(train[1]), "pool": len(pool[1]), "prevalence": float(train[1].mean()), "methods": {}}
    for who, quantifier in contenders().items():
        if only is not None and who not in only:
            continue
        try:
            found["methods"][who] = judge(quantifier, train, batches)
        except Exception as error:
            found["methods"][who] = {"failed": f"{type(error).__name__}: {error}"[:200]}
        print(name, who, found["methods"][who].get("shifted", "failed"), flush=True)
    return found


def known(result):
    path = RESULTS / f"{result}.json"
    return json.loads(path.read_text())["sets"] if path.exists() else {}


def compare(redo=None):
    sets = known("counting")
    for name in SETS:
        if redo is not None:
            sets[name]["methods"] |= one_set(name, redo)["methods"]
        elif name not in sets:
            sets[name] = one_set(name)
        write("counting", {"size": SIZE, "repeats": REPEATS, "sets": sets}, show=False)


def choose():
    """Our methods on the development sets, with three classifiers."""
    sets = {}
    for label, model in {"logistic": MODEL, "linear SVM": LinearSVC(), "naive Bayes": GaussianNB()}.items():
        for name in DEVELOPMENT:
            train, pool = split(name, is_small=True)
            drawn = {"shifted": list(APP(*pool, sample_size=SIZE, repeats=5, random_state=1))}
            sets[f"{name}, {label}"] = {
                method: judge(sy.Quantifier(clone(model), method=method, random_state=1), train, drawn)["shifted"]["ae"]
                for method in ("cc", "pcc", "acc", "pacc", "emq", "aemq", "ms")
            }
    write("counting_choice", {"sets": sets}, show=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "choose" in sys.argv:
        choose()
    else:
        compare(sys.argv[2:] if "redo" in sys.argv else None)
