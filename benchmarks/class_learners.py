"""Several classes: the linear learners beside logistic regression, as it is, with offsets, and with balanced weights.

Each set is split 70 : 30, stratified, by the seed; at most 6,000 rows, of covertype 15,000. All opponents are linear
and have standardised columns; `LogisticRegression` has its default C, the offsets are those of `ThresholdClassifier` on
out-of-fold scores, `OnlineClassifier` goes three times over the rows. Differences come with their standard error over
the splits of a set, and over the sets.

    python benchmarks/class_learners.py [sets]          all if none is named
    python benchmarks/class_learners.py quick           only the quick ones anew, in what there is
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
from _sets import several_classes

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
    X, y = several_classes(SETS[name], MOST.get(name, 6_000), FEWEST)
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y


def learners_of(measure, seed):
    return {
        "offsets": sy.ThresholdClassifier(LogisticRegression(max_iter=300), measure),
        "MeasureClassifier": sy.MeasureClassifier(measure, random_state=seed),
        "OnlineClassifier": sy.OnlineClassifier(measure, max_iter=3, random_state=seed),
    }


def one(name, seed, record=None, wanted=("offsets", *OURS)):
    """The values and seconds of one split; of `record`, if there is one, only those of the `wanted` are new."""
    X, y = table(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    record = record or {"set": name, "seed": seed, "values": {goal: {} for goal in MEASURES}, "seconds": {}}
    if "argmax" not in record["values"]["G-mean"]:
        for who, weights in (("argmax", None), ("balanced", "balanced")):
            called = LogisticRegression(max_iter=300, class_weight=weights).fit(X_train, y_train).predict(X_test)
            for goal, measure in MEASURES.items():
                record["values"][goal][who] = measure.score(y_test, called)
    for who in wanted:
        seconds = []
        for goal, measure in MEASURES.items():
            start = time.perf_counter()
            called = learners_of(measure, seed)[who].fit(X_train, y_train).predict(X_test)
            seconds.append(time.perf_counter() - start)
            record["values"][goal][who] = measure.score(y_test, called)
        record["seconds"][who] = float(np.mean(seconds))
    return record


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


def main(sets):
    warnings.simplefilter("ignore")
    path = RESULTS / "class_learners.json"
    records = json.loads(path.read_text())["records"] if path.exists() else []
    again = [record for record in records if sets == ["quick"]]
    sets = [] if sets == ["quick"] else sets
    for record in again:
        one(record["set"], record["seed"], record, ("offsets", "OnlineClassifier"))
        print(record["set"], record["seed"], record["seconds"], flush=True)
    records = [record for record in records if record["set"] not in sets]
    for name in sets:
        for seed in range(SPLITS):
            records.append(one(name, seed))
            write("class_learners", {"splits": SPLITS, "cells": summary(records), "records": records}, show=False)
            print(name, seed, records[-1]["seconds"], flush=True)
    write("class_learners", {"splits": SPLITS, "cells": summary(records), "records": records}, show=False)


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETS))
