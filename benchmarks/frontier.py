"""MeasureClassifier against logistic regression and a linear SVM with exactly tuned thresholds, over many sets and
measures.

For each set and measure: stratified 70/30 splits, the measure on the test part. Under a cap on the false-alarm rate
the figure is ``TPR - min(1, max(0, FPR - a) / a)``: recall, less the relative excess over the cap. The opponent is the
better of the two baselines *on the test parts*, which favours it. A loss or a win counts if a paired t-test with
the variance corrected for overlapping splits (Nadeau and Bengio 2003) says so at 5 %, after Holm's correction over
all comparisons. Claim: no loss.

    STEELYARD_DATA=... python benchmarks/frontier.py [splits] [splits, small sets] [rows] [small sets]
"""

import sys
import time
import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from _run import write
from _sets import binary, small_names

LARGE = {"letter": None, "adult": 15_000, "ijcnn1": 15_000, "satimage": None, "spambase": None, "covertype": 15_000}
MEASURES = {
    "F1": (m.FBeta(1), None), "BA": (m.BalancedAccuracy(), None), "G-mean": (m.GMean(), None),
    "Q-measure": (m.QMeasure(), None), "BAKLD": (m.BAKLD(), None), "CQReward": (m.CQReward(), None),
    "FPR <= 5 %": (m.Recall(), 0.05), "FPR <= 1 %": (m.Recall(), 0.01),
}  # fmt: skip
SHARE = 0.3


def figure(measure, cap, y, prediction):
    if cap is None:
        return measure.score(y, prediction)
    found = m.rates(y, prediction, pos_label=1)
    return found.tpr - min(1.0, max(0.0, 1.0 - found.tnr - cap) / cap)


def contenders(measure, cap):
    options = {} if cap is None else {"subject_to": m.fpr <= cap}
    return {
        "ours": sy.MeasureClassifier(measure, random_state=0, **options),
        "logistic": sy.ThresholdClassifier(LogisticRegression(max_iter=500), measure, **options),
        "svm": sy.ThresholdClassifier(LinearSVC(random_state=0), measure, **options),
    }


def compare(X, y, splits):
    scores = {label: {"ours": [], "logistic": [], "svm": []} for label in MEASURES}
    seconds = {"ours": 0.0, "logistic": 0.0, "svm": 0.0}
    for seed in range(splits):
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=SHARE, random_state=seed, stratify=y)
        for label, (measure, cap) in MEASURES.items():
            for name, model in contenders(measure, cap).items():
                start = time.perf_counter()
                model.fit(Xa, ya)
                seconds[name] += time.perf_counter() - start
                scores[label][name].append(figure(measure, cap, yb, model.predict(Xb)))
    return scores, {name: s / (splits * len(MEASURES)) for name, s in seconds.items()}


def p_value(differences):
    """Two-sided, of a mean difference over overlapping random splits."""
    k = len(differences)
    variance = np.var(differences, ddof=1) * (1 / k + SHARE / (1 - SHARE))
    if variance == 0.0:
        return 1.0 if np.mean(differences) == 0.0 else 0.0
    return float(2 * student.sf(abs(np.mean(differences)) / np.sqrt(variance), k - 1))


def significant(rows):
    """Holm: sorted p-values against 5 % over the number still to test."""
    for rank, row in enumerate(sorted(rows, key=lambda row: row["p"])):
        if row["p"] > 0.05 / (len(rows) - rank):
            break
        row["significant"] = True


def main(large_splits=10, small_splits=10, rows=None, small_sets=None):
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", message="there are .* rows, so .* folds")
    jobs = [(name, rows or limit, False, large_splits) for name, limit in LARGE.items()]
    jobs += [(name, None, True, small_splits) for name in small_names()[:: max(1, 35 // (small_sets or 35))]]
    found_rows, times = [], {}
    for name, limit, is_small, splits in jobs:
        X, y = binary(name, limit, is_small=is_small)
        scores, times[name] = compare(X, y, splits)
        for label, found in scores.items():
            means = {who: float(np.mean(values)) for who, values in found.items()}
            rival = max(("logistic", "svm"), key=means.get)
            differences = np.subtract(found["ours"], found[rival])
            found_rows.append({
                "set": name, "measure": label, **means, "rival": rival, "difference": float(differences.mean()),
                "p": p_value(differences), "significant": False, "splits": splits, "rows": len(y),
            })  # fmt: skip
        print(
            name, {row["measure"]: round(row["difference"], 4) for row in found_rows if row["set"] == name}, flush=True
        )
        report(found_rows, times, large_splits, small_splits)


def report(rows, times, large_splits, small_splits):
    """Written after every set: a run that is stopped early leaves what it has."""
    for row in rows:
        row["significant"] = False
    significant(rows)
    wins = [row for row in rows if row["difference"] > 0]
    figures = {
        "comparisons": len(rows), "splits": {"large": large_splits, "small": small_splits},
        "ahead": len(wins), "behind": sum(row["difference"] < 0 for row in rows),
        "significant_wins": sum(row["significant"] for row in wins),
        "significant_losses": sum(row["significant"] and row["difference"] < 0 for row in rows),
        "seconds_a_fit": times, "rows": rows,
    }  # fmt: skip
    write("frontier", figures)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
