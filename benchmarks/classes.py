"""Several classes: offsets by `ThresholdClassifier` against the argmax, class weights, and tuned one-vs-rest models.

Each set is split 70 : 30, stratified, by the seed; at most 6,000 rows. Opponents have the same model: as it is, with
``class_weight="balanced"`` (logistic regression and the forest), and one-vs-rest where each class has a threshold of
its own, tuned for F1, and the class furthest above its threshold is called. Differences come with their standard error
over the sets, and with Wilcoxon's test over the means of the sets.

    python benchmarks/classes.py [models]        logistic, boosting, forest; all if none is named
"""

import json
import sys
import time
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import raw

SETS = {
    "satimage": "satimage", "letter": "letter", "covertype": "covertype", "segment": "small/segment",
    "vehicle": "small/vehicle", "glass": "small/glass", "penbased": "small/penbased", "optdigits": "small/optdigits",
    "wine-quality-red": "small/wine-quality-red", "shuttle": "shuttle", "cmc": "small/cmc",
}  # fmt: skip
MOST, SPLITS, FEWEST = 6_000, 5, 8  # rows of a set; splits; rows of a class, below which a split could miss it
MODELS = {
    "logistic": LogisticRegression(max_iter=300),
    "boosting": HistGradientBoostingClassifier(random_state=0, max_iter=50),
    "forest": RandomForestClassifier(100, random_state=0),
}
MEASURES = {
    "macro F1": m.macro(m.FBeta(1)), "G-mean": m.geometric(m.Recall()), "worst recall": m.worst(m.Recall()),
    "kappa": m.Kappa(), "prevalence KLD": m.NegPrevalenceKLD(),
}  # fmt: skip


def table(name):
    X, y = raw(SETS[name])
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    if len(y) > MOST:
        keep = train_test_split(np.arange(len(y)), train_size=MOST, stratify=y, random_state=0)[0]
        X, y = X[keep], y[keep]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= FEWEST])
    X, y = X[kept], y[kept]
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y


def contenders(model):
    yield "argmax", lambda X, y: clone(model).fit(X, y)
    if "class_weight" in model.get_params():
        yield "class weights", lambda X, y: clone(model).set_params(class_weight="balanced").fit(X, y)
    tuned = OneVsRestClassifier(sy.ThresholdClassifier(clone(model), m.FBeta(1), cv=3))
    yield "one-vs-rest", lambda X, y: tuned.fit(X, y)


def one(name, model, seed):
    X, y = table(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    found = {}
    for who, fit in contenders(model):
        called = fit(X_train, y_train).predict(X_test)
        found[who] = {goal: measure.score(y_test, called) for goal, measure in MEASURES.items()}
    found["ours"] = {}
    for goal, measure in MEASURES.items():
        tuned = sy.ThresholdClassifier(clone(model), measure, cv=3).fit(X_train, y_train)
        found["ours"][goal] = measure.score(y_test, tuned.predict(X_test))
    return found


def summary(records):
    cells = {}
    for model in MODELS:
        for goal in MEASURES:
            of_model = [r for r in records if r["model"] == model]
            cell = {"ours": float(np.mean([r["values"]["ours"][goal] for r in of_model])), "against": {}}
            for who in {who for r in of_model for who in r["values"]} - {"ours"}:
                apart = {}
                for r in of_model:
                    apart.setdefault(r["set"], []).append(r["values"]["ours"][goal] - r["values"][who][goal])
                means = np.array([np.mean(one) for one in apart.values()])
                p = float(wilcoxon(means).pvalue) if np.any(means != 0.0) else 1.0
                error = float(means.std(ddof=1) / np.sqrt(len(means)))
                score = [int((means > 0).sum()), int((means == 0).sum()), int((means < 0).sum())]
                cell["against"][who] = {"difference": float(means.mean()), "error": error, "p": p, "sets": score}
            if of_model:
                cells[f"{model}, {goal}"] = cell
    return cells


def speed():
    """Seconds for the offsets alone: 581,012 x 7 and 15,000 x 26 probabilities of a world where they are right."""
    from steelyard.statistics import offsets

    out = {}
    for n, k in ((581_012, 7), (15_000, 26)):
        rng = np.random.default_rng(0)
        z = 2.0 * rng.normal(size=(n, k)) + np.linspace(2.0, 0.0, k)
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        rows = offsets.ScoredClasses.of(np.log(p), y, range(k), None)
        start = time.perf_counter()
        offsets.search(rows, offsets.Goal(m.macro(m.FBeta(1))))
        out[f"{n:,} x {k}"] = time.perf_counter() - start
    return out


def main(models):
    warnings.simplefilter("ignore")
    path = RESULTS / "classes.json"
    records = json.loads(path.read_text())["records"] if path.exists() else []
    records = [r for r in records if r["model"] not in models]
    for model in models:
        for name in SETS:
            for seed in range(SPLITS):
                records.append({"model": model, "set": name, "seed": seed, "values": one(name, MODELS[model], seed)})
            print(model, name, flush=True)
            write("classes", {"splits": SPLITS, "speed": {}, "cells": summary(records), "records": records}, show=False)
    write("classes", {"splits": SPLITS, "speed": speed(), "cells": summary(records), "records": records}, show=False)


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODELS))
