"""Recall under a cap on false alarms: OnlineClassifier against tuned logistic regression, over orders of the rows.

Each set (at most 60,000 rows of it) is put into another order for each of five seeds, of twenty where there are fewer
than 10,000 rows, since 1 % of a thousand negatives are ten rows; 70 % are learned from, in one pass (the
default) and in three, and the rest judges: the Neyman-Pearson score of Gasso et al. (2011) with its sign turned,
``TPR - max(0, FPR - a) / a``. The baseline is logistic regression with the exact threshold on scores out of five
folds. A difference comes with its standard error over the orders. Claims, over the twelve sets and three caps: the mean
difference is not negative, and none is below -0.03. Seven more sets and two of text are shown beside them.

`choices` shows what each part of the rule does: with the sample read once, with rows that were learned from, without a
margin, and with more or fewer passes over the sample.

Results are written after every set, and a set that is there is not run again: remove the file to start anew.

    STEELYARD_DATA=... python benchmarks/stream_caps.py [set ...]
"""

import dataclasses
import json
import sys
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import binary
from steelyard.solvers.stream import learner, second_reading

TWELVE = (
    "letter", "adult", "ijcnn1", "covertype", "a9a", "w8a", "satimage", "spambase", "coil2000", "default-credit-card",
    "occupancy", "eeg-eye-state",
)  # fmt: skip
MORE = ("elec2", "higgs-7500", "wilt", "mc1", "ozone-8hr", "skin", "shuttle", "reuters-money-fx", "spamassassin")
CAPS = (0.01, 0.05, 0.1)
PASSES = (1, 3)
PLAN = {"rows": 60_000, "orders": 5, "orders_of_small_sets": 20, "small": 10_000, "test_share": 0.3}


class Change:
    """Another rule, while it lasts."""

    def __init__(self, options=None, margin=True):
        self.options, self.margin = options or {}, margin

    def __enter__(self):
        self.kept = second_reading.OPTIONS, learner.choose
        second_reading.OPTIONS = dataclasses.replace(second_reading.OPTIONS, **self.options)
        if not self.margin:
            learner.choose = lambda points, problem, rows: self.kept[1](points, problem, (1e12, 1e12))

    def __exit__(self, *_):
        second_reading.OPTIONS, learner.choose = self.kept


CHOICES = {
    "as it is": Change(),
    "no margin": Change(margin=False),
    "rows that were learned from": Change({"rows_per_feature": 0}),
    "the sample read once": Change({"passes": 1}),
    "5 passes": Change({"passes": 5}),
    "20 passes": Change({"passes": 20}),
}


def judged(model, X, y, cap):
    rates = m.rates(y, model.predict(X), pos_label=1)
    return rates.tpr - max(0.0, 1.0 - rates.tnr - cap) / cap, rates.tpr, 1.0 - rates.tnr


def one_order(X, y, seed):
    """cap -> contender -> (score, TPR, FPR)."""
    Xa, Xb, ya, yb = train_test_split(X, y, test_size=PLAN["test_share"], random_state=seed, stratify=y)
    found = {cap: {} for cap in CAPS}
    for cap in CAPS:
        options = {"subject_to": m.fpr <= cap}
        tuned = sy.ThresholdClassifier(LogisticRegression(max_iter=500), m.Recall(), cv=5, **options)
        found[cap]["logistic"] = judged(tuned.fit(Xa, ya), Xb, yb, cap)
        for passes in PASSES:
            online = sy.OnlineClassifier(m.Recall(), max_iter=passes, random_state=seed, **options).fit(Xa, ya)
            found[cap][f"{passes}"] = judged(online, Xb, yb, cap)
        for name, change in CHOICES.items():
            with change:
                online = sy.OnlineClassifier(m.Recall(), random_state=seed, **options).fit(Xa, ya)
                found[cap][name] = judged(online, Xb, yb, cap)
    return found


def measure(name):
    X, y = binary(name, PLAN["rows"])
    orders = PLAN["orders_of_small_sets" if len(y) < PLAN["small"] else "orders"]
    runs = [one_order(X, y, seed) for seed in range(orders)]
    rows = []
    for cap in CAPS:
        table = {who: np.array([run[cap][who] for run in runs]) for who in runs[0][cap]}
        base = table.pop("logistic")
        row = {"set": name, "cap": cap, "rows": len(y), "features": X.shape[1], "orders": orders}
        row["logistic"] = dict(zip(("score", "tpr", "fpr"), base.mean(axis=0).tolist(), strict=True))
        for who, found in table.items():
            difference = found[:, 0] - base[:, 0]
            row[who] = {
                "difference": float(difference.mean()),
                "error": float(difference.std(ddof=1) / np.sqrt(orders)),
                "fpr": float(found[:, 2].mean()),
            }
        rows.append(row)
    return rows


def summary(rows):
    of_twelve = [row for row in rows if row["set"] in TWELVE]
    out = {}
    for who in (*map(str, PASSES), *CHOICES):
        differences = [row[who]["difference"] for row in of_twelve]
        out[who] = {
            "mean": float(np.mean(differences)), "least": float(np.min(differences)),
            "below": int(np.sum(np.array(differences) < -0.03)), "cells": len(differences),
            "fpr_over_cap": float(np.mean([row[who]["fpr"] / row["cap"] for row in of_twelve])),
        }  # fmt: skip
    return out


def main(wanted):
    warnings.simplefilter("ignore")
    file = RESULTS / "stream_caps.json"
    old = json.loads(file.read_text()) if file.exists() else {}
    rows = old["rows"] if old.get("plan") == PLAN else []
    for name in wanted or (*TWELVE, *MORE):
        if name in {row["set"] for row in rows}:
            continue
        rows += measure(name)
        print(name, [(row["cap"], *(round(row[str(p)]["difference"], 3) for p in PASSES)) for row in rows[-3:]])
        done = {row["set"] for row in rows} >= set(TWELVE)
        write("stream_caps", {"plan": PLAN, "summary": summary(rows) if done else {}, "rows": rows}, show=False)
    print(json.dumps(summary(rows), indent=1))


if __name__ == "__main__":
    main(sys.argv[1:])
