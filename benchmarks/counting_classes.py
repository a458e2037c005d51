"""Counting several classes under prior shift: our methods and QuaPy's, on the same probabilities.

    python benchmarks/counting_classes.py            the comparison; goes on where it was stopped
    python benchmarks/counting_classes.py coverage   do intervals and regions hold what they say?
    python benchmarks/counting_classes.py choose     our methods on six other sets, where the default was chosen

For each of six sets and three splits at most 2,000 rows are labelled, of at most 12,000. *given*: a logistic regression
is fitted on 60 % of them, and every method gets the same probabilities, of the other 40 % to learn from and of the
batches. *own*: every method gets the rows, has the same logistic regression inside, and does with them as it does by
default. Batches of 200 rows: 50 with prevalences uniform on the simplex, drawn by QuaPy's UPP, and for *given* those of
the finest grid with at most 100 points (APP). QuaPy's APP lists the product of all classes' grids, which for 20 classes
is too many, so the same grid is drawn by ours. Classes with fewer than 50 rows are left out. Needs QuaPy, quadprog,
abstention and cvxpy.
"""

import json
import sys
import time
import warnings
from math import comb
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import steelyard as sy
from _run import RESULTS, write
from _sets import raw
from steelyard.quantification import errors
from steelyard.quantification.protocols import APP, UPP
from steelyard.statistics import prevalence

SETS = {
    "wine-quality-red": "small/wine-quality-red", "satimage": "satimage", "covertype": "covertype",
    "optdigits": "small/optdigits", "20news": "20news-bydate", "letter": "letter",
}  # fmt: skip
DEVELOPMENT = {
    "segment": "small/segment", "vehicle": "small/vehicle", "texture": "small/texture", "penbased": "small/penbased",
    "cmc": "small/cmc", "wine-quality-white": "small/wine-quality-white",
}  # fmt: skip
ROWS, LABELLED, FEWEST, SPLITS = 12_000, 2_000, 50, 3
SIZE, BATCHES, GRID = 200, 50, 100
OURS = ("auto", "aemq", "emq", "pacc", "kdey", "edy", "dys")
THEIRS = ("CC", "PCC", "ACC", "PACC", "EMQ", "KDEyML", "DMy", "EDy", "RLLS")
DIVISIONS, DRAWS = 8, 40


class Remembered(ClassifierMixin, BaseEstimator):
    """A logistic regression that is fitted once on the same rows, whoever asks."""

    fitted: ClassVar[dict] = {}

    def fit(self, X, y):
        key = (X.shape, float(X.sum()), y.tobytes())
        if key not in self.fitted:
            self.fitted[key] = LogisticRegression(max_iter=1000).fit(X, y)
        self.model_ = self.fitted[key]
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def predict_proba(self, X):
        return self.model_.predict_proba(X)

    def decision_function(self, X):
        return self.model_.decision_function(X)


MODEL = Remembered()


class AsGiven(ClassifierMixin, BaseEstimator):
    """Rows that are probabilities already."""

    def __init__(self, k):
        self.k = k
        self.classes_ = np.arange(k)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


def table(path):
    X, y = raw(path)
    labels, counts = np.unique(y, return_counts=True)
    kept = np.flatnonzero(np.isin(y, labels[counts >= FEWEST]))
    kept = np.random.default_rng(0).permutation(kept)[:ROWS]
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    if sp.issparse(X):
        return (X @ sp.diags(1 / np.maximum(abs(X).max(axis=0).toarray().ravel(), 1e-12))).tocsr(), y
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y


def divided(y, seed, labelled=LABELLED):
    """Labelled rows and the pool, stratified."""
    return train_test_split(np.arange(len(y)), train_size=min(len(y) // 2, labelled), stratify=y, random_state=seed)


def uniform(X, y, seed):
    """QuaPy's own batches."""
    from quapy import protocol
    from quapy.data import LabelledCollection

    drawn = protocol.UPP(LabelledCollection(X, y), sample_size=SIZE, repeats=BATCHES, random_state=seed)
    return [(batch, np.asarray(p)) for batch, p in drawn()]


def grid(X, y, seed):
    k = int(y.max()) + 1
    steps = max(s for s in range(1, 21) if s == 1 or comb(s + k - 1, k - 1) <= GRID)
    return list(APP(X, y, sample_size=SIZE, n_prevalences=steps + 1, repeats=1, random_state=seed))


def given(k, judge):
    """Quantifiers around probabilities; `judge` are those of labelled rows."""
    import quapy.method.aggregative as quapy

    how = {"fit_classifier": False, "val_split": None}
    found = {f"QuaPy {name}": getattr(quapy, name)(AsGiven(k), **how) for name in THEIRS if name not in ("CC", "PCC")}
    found |= {f"QuaPy {name}": getattr(quapy, name)(AsGiven(k), fit_classifier=False) for name in ("CC", "PCC")}
    found["QuaPy EMQ-BCTS"] = quapy.EMQ.EMQ_BCTS(AsGiven(k), fit_classifier=False, val_split=judge)
    return found | {f"Quantifier {name}": sy.Quantifier(AsGiven(k), method=name, cv="prefit") for name in OURS}


def own():
    import quapy.method.aggregative as quapy

    found = {f"QuaPy {name}": getattr(quapy, name)(clone(MODEL)) for name in THEIRS}
    found["QuaPy EMQ-BCTS"] = quapy.EMQ.EMQ_BCTS(clone(MODEL))
    return found | {f"Quantifier {name}": sy.Quantifier(clone(MODEL), method=name) for name in OURS}


def judged(quantifier, labelled, batches):
    """Mean errors over the batches of each protocol, and seconds of the processor for a batch."""
    quantifier.fit(*labelled)
    found = {}
    for protocol, drawn in batches.items():
        start = time.process_time()
        estimates = np.array([np.clip(quantifier.predict(X), 0.0, 1.0) for X, _ in drawn])
        found["batch_s"] = round((time.process_time() - start) / len(drawn), 6)
        truth = np.array([p for _, p in drawn])
        found[protocol] = round(float(errors.mae(truth, estimates)), 6)
        found[f"{protocol}_rae"] = round(float(errors.mrae(truth, estimates, sample_size=SIZE)), 4)
    return found


def tried(quantifiers, labelled, batches):
    found = {}
    for who, quantifier in quantifiers.items():
        try:
            found[who] = judged(quantifier, labelled, batches)
        except Exception as error:
            found[who] = {"failed": f"{type(error).__name__}: {error}"[:200]}
    return found


def one_split(X, y, seed):
    """Both settings; classes are codes."""
    labelled, pool = divided(y, seed)
    k = int(y.max()) + 1
    fit, judge = train_test_split(labelled, train_size=0.6, stratify=y[labelled], random_state=seed)
    model = clone(MODEL).fit(X[fit], y[fit])
    seen, new = model.predict_proba(X[judge]), model.predict_proba(X[pool])
    batches = {"upp": uniform(new, y[pool], seed), "app": grid(new, y[pool], seed)}
    found = {"given": tried(given(k, (seen, y[judge])), (seen, y[judge]), batches)}
    batches = {"upp": uniform(X[pool], y[pool], seed)}
    return found | {"own": tried(own(), (X[labelled], y[labelled]), batches)}


def known():
    path = RESULTS / "counting_classes.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(**parts):
    found = {name: part for name, part in known().items() if name != "machine"} | parts
    write("counting_classes", {"size": SIZE, "batches": BATCHES} | found, show=False)


def compare():
    sets = known().get("sets", {})
    for seed in range(SPLITS):
        for name, path in SETS.items():
            if len(sets.get(name, {}).get("splits", [])) > seed:
                continue
            X, y = table(path)
            Remembered.fitted.clear()
            one = sets.setdefault(name, {"classes": int(y.max()) + 1, "labelled": min(len(y) // 2, LABELLED)})
            start = time.perf_counter()
            one.setdefault("splits", []).append(one_split(X, y, seed))
            keep(sets=sets)
            print(name, seed, f"{time.perf_counter() - start:.0f} s", flush=True)


def covered(X, y, seed):
    """Shares of intervals that hold their class, of batches in which all do, and of regions that hold the vector."""
    rng = np.random.default_rng(seed)
    labelled, pool = divided(y, seed)
    quantifier = sy.Quantifier(clone(MODEL)).fit(X[labelled], y[labelled])
    sides = [pool[y[pool] == c] for c in range(int(y.max()) + 1)]
    found = []
    for _ in range(DRAWS):
        p = rng.dirichlet(np.ones(len(sides)))
        rows = np.concatenate([rng.choice(side, n) for side, n in zip(sides, rng.multinomial(SIZE, p), strict=True)])
        low, high = quantifier.predict_interval(X[rows])
        held = (low - 1e-9 <= p) & (p <= high + 1e-9)
        found.append((held.mean(), held.all(), p in quantifier.predict_region(X[rows]), (high - low).mean()))
    return np.mean(found, axis=0).tolist()


def coverage():
    sets = known().get("coverage", {})
    for name, path in SETS.items():
        if name in sets:
            continue
        X, y = table(path)
        found = [covered(X, y, 100 + division) for division in range(DIVISIONS)]
        names = ("interval", "all_intervals", "region", "width")
        sets[name] = {"classes": int(y.max()) + 1} | dict(zip(names, np.transpose(found).tolist(), strict=True))
        keep(coverage=sets)
        print(name, {key: np.mean(sets[name][key]).round(3) for key in names}, flush=True)


def choose():
    """Methods with four classifiers, at most 1,000 labelled rows; and the default's error by the pull to one scale."""
    models = {
        "logistic": MODEL, "linear SVM": LinearSVC(), "naive Bayes": GaussianNB(),
        "forest": RandomForestClassifier(50, random_state=0),
    }  # fmt: skip
    methods, pulls, usual = {}, {}, prevalence.PULL
    for name, path in DEVELOPMENT.items():
        X, y = table(path)
        labelled, pool = divided(y, 0, 1_000)
        drawn = list(UPP(X[pool], y[pool], sample_size=SIZE, repeats=20, random_state=1))
        rows, batches = (X[labelled], y[labelled]), {"upp": drawn}
        for label, model in models.items():
            methods[f"{name}, {label}"] = {
                method: judged(sy.Quantifier(clone(model), method=method), rows, batches)["upp"]
                for method in ("acc", "pacc", "emq", "aemq", "blend", "kdey", "edy", "dys")
            }
        for pull in (prevalence.RIDGE, 1.0, 3.0, 10.0, 100.0):
            prevalence.PULL = pull
            pulls.setdefault(name, {})[f"{pull:g}"] = judged(sy.Quantifier(clone(MODEL)), rows, batches)["upp"]
        prevalence.PULL = usual
        keep(choice={"methods": methods, "pulls": pulls})
        print(name, pulls[name], flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"coverage": coverage, "choose": choose}.get(sys.argv[-1], compare)()
