"""Counting several classes under prior shift: our methods and QuaPy's, on the same probabilities.

    python benchmarks/counting_classes.py            the comparison; goes on where it was stopped
    python benchmarks/counting_classes.py ours       our methods of it anew, on the same batches
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
DIVISIONS, DRAWS = {"wine-quality-red": 40}, 40  # else 8 divisions; few labelled rows scatter more
PRIORS = ((3.0, prevalence.RIDGE), (3.0, 1.0), (10.0, 3.0), (30.0, 10.0), (100.0, 30.0))


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


def one_split(X, y, seed, whose=""):
    """Both settings, of the methods whose name begins so; classes are codes."""
    labelled, pool = divided(y, seed)
    k = int(y.max()) + 1
    fit, judge = train_test_split(labelled, train_size=0.6, stratify=y[labelled], random_state=seed)
    model = clone(MODEL).fit(X[fit], y[fit])
    seen, new = model.predict_proba(X[judge]), model.predict_proba(X[pool])
    batches = {"upp": uniform(new, y[pool], seed), "app": grid(new, y[pool], seed)}
    found = {"given": tried(named(given(k, (seen, y[judge])), whose), (seen, y[judge]), batches)}
    batches = {"upp": uniform(X[pool], y[pool], seed)}
    return found | {"own": tried(named(own(), whose), (X[labelled], y[labelled]), batches)}


def named(quantifiers, start):
    return {who: quantifier for who, quantifier in quantifiers.items() if who.startswith(start)}


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


def ours():
    """Our methods once more where all were compared; goes on where it was stopped."""
    sets, done = known()["sets"], known().get("ours_again", [])
    for seed in range(SPLITS):
        for name, path in SETS.items():
            if [name, seed] in done:
                continue
            X, y = table(path)
            Remembered.fitted.clear()
            for setting, rows in one_split(X, y, seed, "Quantifier").items():
                sets[name]["splits"][seed][setting] |= rows
            done.append([name, seed])
            keep(sets=sets, ours_again=done if len(done) < SPLITS * len(SETS) else [])
            print(name, seed, flush=True)


class Held:
    """How often intervals and regions hold the prevalence."""

    names = ("interval", "all_intervals", "region", "width")

    def __init__(self):
        self.found = []

    def ask(self, quantifier, batch, p):
        low, high = quantifier.predict_interval(batch)
        held = (low - 1e-9 <= p) & (p <= high + 1e-9)
        self.found.append((held.mean(), held.all(), p in quantifier.predict_region(batch), (high - low).mean()))

    def shares(self):
        return dict(zip(self.names, np.mean(self.found, axis=0).tolist(), strict=True))


def at_most(rows):
    """The share of a class up to which a batch has no more of it than so many rows: mean and three deviations."""
    return ((np.sqrt(9.0 + 4.0 * np.asarray(rows)) - 3.0) / 2.0) ** 2 / SIZE


def covered(X, y, seed):
    """*fresh*: no row twice in a batch, so that batch and labelled rows are two samples of one population; prevalences
    for which the pool has the rows. *again*: rows drawn with replacement, which makes the pool the population, and a
    pool of a few rows of a class is another one than that of the labelled rows."""
    rng = np.random.default_rng(seed)
    labelled, pool = divided(y, seed)
    quantifier = sy.Quantifier(clone(MODEL)).fit(X[labelled], y[labelled])
    sides = [pool[y[pool] == c] for c in range(int(y.max()) + 1)]
    rows = np.array([len(side) for side in sides])
    fresh, again = Held(), Held()
    while len(fresh.found) < DRAWS:
        p = rng.dirichlet(np.ones(len(sides)))
        counts = rng.multinomial(SIZE, p)
        if len(again.found) < DRAWS:
            batch = np.concatenate([rng.choice(side, n) for side, n in zip(sides, counts, strict=True)])
            again.ask(quantifier, X[batch], p)
        if (p <= at_most(rows)).all() and (counts <= rows).all():
            drawn = [rng.choice(side, n, replace=False) for side, n in zip(sides, counts, strict=True)]
            fresh.ask(quantifier, X[np.concatenate(drawn)], p)
    return fresh.shares() | {f"{name}_again": share for name, share in again.shares().items()}


def coverage():
    sets = known().get("coverage", {})
    for name, path in SETS.items():
        if name in sets:
            continue
        X, y = table(path)
        found = [covered(X, y, 100 + division) for division in range(DIVISIONS.get(name, 8))]
        pool = np.bincount(y[divided(y, 100)[1]])
        sets[name] = {"classes": int(y.max()) + 1, "smallest_pool": int(pool.min())}
        sets[name] |= {key: [one[key] for one in found] for key in found[0]}
        keep(coverage=sets)
        print(name, {key: np.mean(value).round(3) for key, value in sets[name].items()}, flush=True)
    keep(known_truth=known_truth())


def known_truth(name="wine-quality-red", repeats=100, draws=5):
    """The same where rows can be had without end: normal distributions as wide as those of the set's classes, as many
    labelled rows and as large a pool of each as there. Fresh rows from the population, or drawn again from the pool."""
    X, y = table(SETS[name])
    k = int(y.max()) + 1
    middle = [X[y == c].mean(axis=0) for c in range(k)]
    whole = sum(np.cov(X[y == c].T) * np.mean(y == c) for c in range(k))
    roots = [np.linalg.cholesky((np.cov(X[y == c].T) + whole) / 2.0) for c in range(k)]
    labelled, pool = (np.bincount(y[part]) for part in divided(y, 100))
    found = {"fresh": [], "again": []}
    for seed in range(repeats):
        rng = np.random.default_rng(seed)

        def rows(counts, rng=rng):
            return [m + rng.normal(size=(n, len(m))) @ r.T for n, m, r in zip(counts, middle, roots, strict=True)]

        codes = rng.permutation(np.repeat(np.arange(k), labelled))
        known_rows = np.empty((len(codes), X.shape[1]))
        for c, part in enumerate(rows(labelled)):
            known_rows[codes == c] = part
        quantifier = sy.Quantifier(LogisticRegression(max_iter=1000)).fit(known_rows, codes)
        kept, fresh, again = rows(pool), Held(), Held()
        for _ in range(draws):
            p = rng.dirichlet(np.ones(k))
            counts = rng.multinomial(SIZE, p)
            fresh.ask(quantifier, np.concatenate(rows(counts)), p)
            drawn = [part[rng.integers(len(part), size=n)] for part, n in zip(kept, counts, strict=True)]
            again.ask(quantifier, np.concatenate(drawn), p)
        found["fresh"].append(fresh.shares())
        found["again"].append(again.shares())
    print({how: np.mean([one["interval"] for one in runs]).round(4) for how, runs in found.items()}, flush=True)
    shares = {how: {key: [one[key] for one in runs] for key in Held.names} for how, runs in found.items()}
    return {"set": name, "labelled": labelled.tolist(), "pool": pool.tolist(), "draws": draws} | shares


def choose():
    """Methods with four classifiers, at most 1,000 labelled rows; and the default's error by the calibration's priors
    where 40 % of these rows judge a model fitted on the others."""
    models = {
        "logistic": MODEL, "linear SVM": LinearSVC(), "naive Bayes": GaussianNB(),
        "forest": RandomForestClassifier(50, random_state=0),
    }  # fmt: skip
    found = known().get("choice", {})
    usual = prevalence.PULL, prevalence.OFFSET
    for name, path in DEVELOPMENT.items():
        if name in found.get("priors", {}):
            continue
        X, y = table(path)
        labelled, pool = divided(y, 0, 1_000)
        X_pool, y_pool = X[pool], y[pool]
        drawn = list(UPP(X_pool, y_pool, sample_size=SIZE, repeats=20, random_state=1))
        rows, batches = (X[labelled], y[labelled]), {"upp": drawn, "app": grid(X_pool, y_pool, 1)[::8]}
        for label, model in models.items():
            judges = {
                method: judged(sy.Quantifier(clone(model), method=method), rows, batches)
                for method in ("pacc", "emq", "aemq", "blend", "kdey", "edy")
            }
            for protocol in batches:
                one = {method: figures[protocol] for method, figures in judges.items()}
                found.setdefault(f"methods_{protocol}", {})[f"{name}, {label}"] = one
        for priors in PRIORS:
            prevalence.PULL, prevalence.OFFSET = priors
            for label, model in models.items():
                figures = judged(sy.Quantifier(clone(model), cv=0.4, random_state=0), rows, batches)
                one = found.setdefault("priors", {}).setdefault(name, {}).setdefault(label, {})
                one["{:g}, {:g}".format(*priors)] = [figures["upp"], figures["app"]]
        prevalence.PULL, prevalence.OFFSET = usual
        keep(choice=found)
        print(name, found["priors"][name], flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"coverage": coverage, "choose": choose, "ours": ours}.get(sys.argv[-1], compare)()
