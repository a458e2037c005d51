"""MeasureClassifier against logistic regression and a linear SVM with exactly tuned thresholds, over many sets and
measures.

For each set (at most 3,000 rows of it) and measure: ten stratified 70/30 splits, the measure on the test part. Under a
cap a on the false-alarm rate all three are judged by the Neyman-Pearson score of Gasso et al. (2011) with its sign
turned, ``TPR - max(0, FPR - a) / a``; misses and false alarms stand beside it. The opponent is the better of the two
baselines *on the test parts*, which favours it. A loss or a win counts if a paired t-test with the variance corrected
for overlapping splits (Nadeau and Bengio 2003) says so at 5 %, after Holm's correction over all comparisons. Claim: no
loss.

Results are written after every set, and a set that is there is not run again: remove the file to start anew.

    STEELYARD_DATA=... python benchmarks/frontier.py [sets]
"""

import json
import sys
import time
import warnings
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import binary, small_names

LARGE = ("letter", "adult", "ijcnn1", "satimage", "spambase", "covertype")
MEASURES = {
    "F1": (m.FBeta(1), None), "BA": (m.BalancedAccuracy(), None), "G-mean": (m.GMean(), None),
    "Q-measure": (m.QMeasure(), None), "BAKLD": (m.BAKLD(), None), "CQReward": (m.CQReward(), None),
    "FPR <= 5 %": (m.Recall(), 0.05), "FPR <= 1 %": (m.Recall(), 0.01),
}  # fmt: skip
PLAN = {"splits": 10, "first_seed": 100, "most_rows": 3_000, "test_share": 0.3}


class Remembered(ClassifierMixin, BaseEstimator):
    """A model that is fitted once to the same rows: the eight measures need the same baselines."""

    known: ClassVar[dict] = {}

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        key = repr(self.estimator), hash(y.tobytes()), hash(X.data.tobytes() if sp.issparse(X) else X[::101].tobytes())
        if key not in self.known:
            self.known[key] = clone(self.estimator).fit(X, y)
        self.model_ = self.known[key]
        self.classes_ = self.model_.classes_
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)


def contenders(measure, cap):
    options = {} if cap is None else {"subject_to": m.fpr <= cap}
    return {
        "ours": sy.MeasureClassifier(measure, random_state=0, **options),
        "logistic": sy.ThresholdClassifier(Remembered(LogisticRegression(max_iter=500)), measure, **options),
        "svm": sy.ThresholdClassifier(Remembered(LinearSVC(random_state=0)), measure, **options),
    }


def figure(measure, cap, found, y):
    if cap is None:
        return float(measure(found.tpr, found.tnr, np.mean(y), sample_size=len(y)))
    return found.tpr - max(0.0, 1.0 - found.tnr - cap) / cap


def compare(X, y):
    """Every figure, TPR and FPR: measure -> contender -> one triple a split; and seconds for a fit of ours."""
    scores = {label: {"ours": [], "logistic": [], "svm": []} for label in MEASURES}
    seconds = 0.0
    for seed in range(PLAN["first_seed"], PLAN["first_seed"] + PLAN["splits"]):
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=PLAN["test_share"], random_state=seed, stratify=y)
        Remembered.known.clear()
        for label, (measure, cap) in MEASURES.items():
            for name, model in contenders(measure, cap).items():
                start = time.process_time()
                model.fit(Xa, ya)
                seconds += (time.process_time() - start) * (name == "ours")
                found = m.rates(yb, model.predict(Xb), pos_label=1)
                scores[label][name].append((figure(measure, cap, found, yb), found.tpr, 1.0 - found.tnr))
    return scores, seconds / (PLAN["splits"] * len(MEASURES))


def p_value(differences):
    """Two-sided, of a mean difference over overlapping random splits."""
    k, share = len(differences), PLAN["test_share"]
    variance = np.var(differences, ddof=1) * (1 / k + share / (1 - share))
    if variance == 0.0:
        return 1.0 if np.mean(differences) == 0.0 else 0.0
    return float(2 * student.sf(abs(np.mean(differences)) / np.sqrt(variance), k - 1))


def row(name, label, found, n_rows):
    means = {who: np.mean(triples, axis=0).tolist() for who, triples in found.items()}
    rival = max(("logistic", "svm"), key=lambda who: means[who][0])
    differences = np.array([a[0] - b[0] for a, b in zip(found["ours"], found[rival], strict=True)])
    out = {
        "set": name, "measure": label, **{who: mean[0] for who, mean in means.items()}, "rival": rival,
        "difference": float(differences.mean()), "p": p_value(differences), "significant": False, "rows": n_rows,
    }  # fmt: skip
    if MEASURES[label][1] is not None:
        out["misses"] = {who: 1.0 - mean[1] for who, mean in means.items()}
        out["false_alarms"] = {who: mean[2] for who, mean in means.items()}
    return out


def significant(rows):
    """Holm: sorted p-values against 5 % over the number still to test."""
    for one in rows:
        one["significant"] = False
    for rank, one in enumerate(sorted(rows, key=lambda one: one["p"])):
        if one["p"] > 0.05 / (len(rows) - rank):
            break
        one["significant"] = True


def main(wanted):
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="there are .* rows, so .* folds")
    file = RESULTS / "frontier.json"
    old = json.loads(file.read_text()) if file.exists() else {}
    rows, times = (old["rows"], old["seconds_a_fit"]) if old.get("plan") == PLAN else ([], {})
    names = [name for name in [*LARGE, *small_names()] if name not in times and (not wanted or name in wanted)]
    sets = {name: binary(name, PLAN["most_rows"], is_small=name not in LARGE) for name in names}
    for name in sorted(names, key=lambda name: sets[name][0].size):  # the quick ones first
        X, y = sets[name]
        scores, times[name] = compare(X, y)
        rows += [row(name, label, found, len(y)) for label, found in scores.items()]
        significant(rows)
        wins = [one for one in rows if one["difference"] > 0]
        figures = {
            "plan": PLAN, "comparisons": len(rows),
            "ahead": len(wins), "behind": sum(one["difference"] < 0 for one in rows),
            "significant_wins": sum(one["significant"] for one in wins),
            "significant_losses": sum(one["significant"] and one["difference"] < 0 for one in rows),
            "seconds_a_fit": times, "rows": rows,
        }  # fmt: skip
        write("frontier", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
