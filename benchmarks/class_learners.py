"""Several classes: the linear learners beside logistic regression, as it is, with offsets, and with balanced weights.

Each set is split 70 : 30, stratified, by the seed; at most 6,000 rows, of covertype 15,000. All opponents are linear
and have standardised columns; `LogisticRegression` has its default C, the offsets are those of `ThresholdClassifier` on
out-of-fold scores, `OnlineClassifier` goes three times over the rows. Differences come with their standard error over
the splits of a set, and over the sets.

    python benchmarks/class_learners.py [sets]          all if none is named
    python benchmarks/class_learners.py online          only OnlineClassifier anew, in what there is
"""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import raw

SETS = {
    "vehicle": "small/vehicle", "segment": "small/segment", "wine-quality-red": "small/wine-quality-red",
    "satimage": "satimage", "shuttle": "shuttle", "letter": "letter", "covertype": "covertype",
}  # fmt: skip
MOST = {"covertype": 15_000}
SPLITS, FEWEST = 5, 8  # rows of a class, below which a split could miss it
MEASURES = {
    "macro F1": m.macro(m.FBeta(1)), "G-mean": m.geometric(m.Recall()), "worst recall": m.worst(m.Recall()),
}  # fmt: skip
OURS = ("MeasureClassifier", "OnlineClassifier")
OTHERS = ("argmax", "offsets", "balanced")


def table(name):
    X, y = raw(SETS[name])
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    most = MOST.get(name, 6_000)
    if len(y) > most:
        keep = train_test_split(np.arange(len(y)), train_size=most, stratify=y, random_state=0)[0]
        X, y = X[keep], y[keep]
    labels, counts = np.unique(y, return_counts=True)
    kept = np.isin(y, labels[counts >= FEWEST])
    X, y = X[kept], y[kept]
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y


def one(name, seed):
    X, y = table(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    model = LogisticRegression(max_iter=300)
    plain = model.fit(X_train, y_train).predict(X_test)
    balanced = LogisticRegression(max_iter=300, class_weight="balanced").fit(X_train, y_train).predict(X_test)
    found, seconds = {}, {}
    for goal, measure in MEASURES.items():
        found[goal] = {"argmax": measure.score(y_test, plain), "balanced": measure.score(y_test, balanced)}
        learners = {
            "offsets": sy.ThresholdClassifier(LogisticRegression(max_iter=300), measure),
            "MeasureClassifier": sy.MeasureClassifier(measure, random_state=seed),
            "OnlineClassifier": sy.OnlineClassifier(measure, max_iter=3, random_state=seed),
        }
        for who, learner in learners.items():
            start = time.perf_counter()
            called = learner.fit(X_train, y_train).predict(X_test)
            seconds.setdefault(who, []).append(time.perf_counter() - start)
            found[goal][who] = measure.score(y_test, called)
    return found, {who: float(np.mean(some)) for who, some in seconds.items()}


def spread(values):
    values = np.asarray(values)
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def summary(records):
    cells = []
    names = list(dict.fromkeys(record["set"] for record in records))
    for goal in MEASURES:
        for who in OURS:
            for name in [*names, "all"]:
                some = [r for r in records if name in (r["set"], "all")]
                cell = {"measure": goal, "ours": who, "set": name, "against": {}}
                cell["value"] = spread([r["values"][goal][who] for r in some])[0]
                for other in OTHERS:
                    apart = [[r["values"][goal][who] - r["values"][goal][other] for r in some if r["set"] == one]
                             for one in names if name in (one, "all")]  # fmt: skip
                    means = [float(np.mean(part)) for part in apart]
                    difference, error = spread(means if name == "all" else apart[0])
                    cell["against"][other] = {"difference": difference, "error": error}
                    if name == "all":
                        cell["against"][other]["sets"] = [
                            int(sum(x > 0 for x in means)),
                            int(sum(x < 0 for x in means)),
                        ]
                cells.append(cell)
    return cells


def online_again(records):
    for record in records:
        X, y = table(record["set"])
        split = train_test_split(X, y, test_size=0.3, stratify=y, random_state=record["seed"])
        seconds = []
        for goal, measure in MEASURES.items():
            start = time.perf_counter()
            learner = sy.OnlineClassifier(measure, max_iter=3, random_state=record["seed"]).fit(split[0], split[2])
            seconds.append(time.perf_counter() - start)
            record["values"][goal]["OnlineClassifier"] = measure.score(split[3], learner.predict(split[1]))
        record["seconds"]["OnlineClassifier"] = float(np.mean(seconds))
    write("class_learners", {"splits": SPLITS, "cells": summary(records), "records": records}, show=False)


def main(sets):
    warnings.simplefilter("ignore")
    path = RESULTS / "class_learners.json"
    records = json.loads(path.read_text())["records"] if path.exists() else []
    if sets == ["online"]:
        return online_again(records)
    records = [record for record in records if record["set"] not in sets]
    for name in sets:
        for seed in range(SPLITS):
            values, seconds = one(name, seed)
            records.append({"set": name, "seed": seed, "values": values, "seconds": seconds})
            figures = {"splits": SPLITS, "cells": summary(records), "records": records}
            write("class_learners", figures, show=False)
            print(name, seed, seconds, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))
