"""Promises on real data: do intervals of a report cover, and what does it cost a forest that its scores tie?

`coverage`: fourteen sets. A logistic regression is fitted to a third of the rows (at most 2,000), its threshold for F1
set by folds. The remaining rows are the population: 300 rows are drawn from it (with replacement) 250 times, and each
figure of `report` either holds the value of the population or does not. Four divisions of each set.

`ties`: a forest of 100 trees under a cap of 5 % on false alarms (delta = 0.1) from 1,500 rows, half of which promise:
as it is, and with ties broken by a logistic regression (a soft vote of weights 1 and 1e-9). What is reported are the
false alarms and the recall on all other rows.

    python benchmarks/promises_real.py
"""

import argparse
import json
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import binary
from steelyard.statistics.reporting import report

SETS = {
    "adult": {}, "coil2000": {}, "covertype": {}, "default-credit-card": {}, "eeg-eye-state": {}, "elec2": {},
    "higgs-7500": {}, "letter": {}, "ozone-8hr": {}, "satimage": {}, "spambase": {}, "wilt": {},
    "phoneme": {"is_small": True}, "wine-quality-white": {"is_small": True},
}  # fmt: skip
FIGURES = ("prevalence", "tpr", "fpr", "Precision()", "FBeta(beta=1)", "Accuracy()")
SIZE, DRAWS, DIVISIONS, CONFIDENCE = 300, 250, 4, 0.95
TIED = ("adult", "default-credit-card", "spambase", "satimage", "letter")
CAP, DELTA = 0.05, 0.1


def coverage(name, options):
    """For each figure the share of intervals that hold the value of the population."""
    X, y = binary(name, rows=12_000, **options)
    hits = np.zeros((DIVISIONS, len(FIGURES)))
    for k in range(DIVISIONS):
        rng = np.random.default_rng(k)
        order = rng.permutation(len(y))
        train, rest = np.split(order, [min(len(y) // 3, 2000)])
        model = sy.ThresholdClassifier(LogisticRegression(max_iter=200), m.FBeta(1), random_state=k)
        called = model.fit(X[train], y[train]).predict(X[rest]) == 1
        kind = 2 * called + y[rest]
        whole = np.bincount(kind, minlength=4)
        true = report(whole[3], whole[2], whole[1], whole[0], (m.FBeta(1), m.Accuracy()))
        for _ in range(DRAWS):
            tn, fn, fp, tp = np.bincount(rng.choice(kind, SIZE), minlength=4)
            if tp + fn == 0:
                hits[k] += 1.0  # no positive, so no report
                continue
            found = report(tp, fp, fn, tn, (m.FBeta(1), m.Accuracy()), CONFIDENCE)
            hits[k] += [found[f].low <= true[f].value <= found[f].high for f in FIGURES]
    share = hits.mean(axis=0) / DRAWS
    return {
        "positives": float(y.mean()),
        "mean": float(share.mean()),
        **dict(zip(FIGURES, share.tolist(), strict=True)),
    }


def ties(name, splits):
    X, y = binary(name, rows=20_000)
    found = {"forest": [], "second score": []}
    for k in range(splits):
        order = np.random.default_rng(k).permutation(len(y))
        train, test = order[:1500], order[1500:]
        forest = RandomForestClassifier(100, random_state=k)
        broken = VotingClassifier(
            [("forest", forest), ("ties", LogisticRegression(max_iter=200))], voting="soft", weights=[1.0, 1e-9]
        )
        for who, inner in (("forest", forest), ("second score", broken)):
            model = sy.ThresholdClassifier(
                inner, m.Recall(), subject_to=m.fpr <= CAP, delta=DELTA, cv=0.5, random_state=k
            )
            called = model.fit(X[train], y[train]).predict(X[test]) == 1
            found[who].append([float(called[y[test] == 0].mean()), float(called[y[test] == 1].mean())])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help="coverage, ties; both by default")
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    path = RESULTS / "promises_real.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result.pop("machine", None)
    warnings.simplefilter("ignore")
    for part in given.parts or ("coverage", "ties"):
        result[part] = {}
        for name in SETS if part == "coverage" else TIED:
            result[part][name] = coverage(name, SETS[name]) if part == "coverage" else ties(name, given.splits)
            print(name, result[part][name], flush=True)
            write("promises_real", result, show=False)


if __name__ == "__main__":
    main()
