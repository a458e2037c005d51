"""ThresholdClassifier's rules for few rows, against the exact threshold, scikit-learn's, and resampled models.

The small sets (at most 3,000 rows of each, 60 % to train on) and samples of large ones (150 to 1,500 rows, 12 to 60
positives, tested on up to 6,000 others), five splits each; a forest, boosting and logistic regression; F1, G-mean,
balanced accuracy, and recall under a cap of 5 % judged by the Neyman-Pearson score. Every threshold of one model is set
from the same out-of-fold scores, which are computed once and kept in a folder: rules (also those that were tried
without gain) are then compared without fitting anything again, each through its own `fit` over the stored scores.
Beside them: the model as it is, class_weight="balanced", imbalanced-learn's BalancedRandomForest, EasyEnsemble and
SMOTE, and our rule on top of the first two. Differences are means over splits, then over sets; p by Wilcoxon over sets.

    pip install imbalanced-learn
    STEELYARD_DATA=... python benchmarks/threshold_rules.py FOLDER [sets]
"""

import collections
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold, TunedThresholdClassifierCV, train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import write
from _sets import SMALL, class_against_rest, small_names
from steelyard.statistics import frontier, shrinkage

SEEDS, REPEATS = 5, 3
LARGE = [
    ("covertype", 7), ("covertype", 3), ("covertype", 5), ("covertype", 6), ("letter", 0), ("letter", 7),
    ("letter", 18), ("letter", 11), ("adult", None), ("ijcnn1", None), ("satimage", 3), ("satimage", 4),
    ("spambase", None), ("coil2000", None), ("default-credit-card", None), ("mc1", None), ("skin", None),
    ("shuttle", 3), ("shuttle", 1),
]  # fmt: skip
GOALS = {
    "F1": (m.FBeta(1), None), "G-mean": (m.GMean(), None), "BA": (m.BalancedAccuracy(), None),
    "FPR <= 5 %": (m.Recall(), 0.05),
}  # fmt: skip


# -- models and their scores ------------------------------------------------------------------------------------------


def forest(seed, **options):
    return RandomForestClassifier(100, random_state=seed, **options)


def boosting(seed, **options):
    return HistGradientBoostingClassifier(random_state=seed, **options)


def logistic(seed, **options):
    return LogisticRegression(max_iter=500, **options)


MODELS = {"forest": forest, "boosting": boosting, "logistic": logistic}


def others(model, seed):
    """What people take instead of a threshold."""
    from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline

    made = {
        "balanced": MODELS[model](seed, class_weight="balanced_subsample" if model == "forest" else "balanced"),
        "smote": make_pipeline(SMOTE(random_state=seed, k_neighbors=4), MODELS[model](seed)),
    }
    if model == "forest":
        options = {"sampling_strategy": "all", "replacement": True, "bootstrap": False}
        made["brf"] = BalancedRandomForestClassifier(100, random_state=seed, **options)
    if model == "boosting":
        made["easy"] = EasyEnsembleClassifier(10, random_state=seed)
    return made


def other_model(model, other, seed):
    return others(model, seed)[other]


def problems():
    """Name, class, and for samples of large sets the number of rows and of positives."""
    rng = np.random.default_rng(1)
    found = [(f"small/{name}", SMALL.get(name), None, None) for name in small_names()]
    for name, positive in LARGE:
        rows = int(np.exp(rng.uniform(np.log(150), np.log(1500))))
        found.append((name, positive, rows, min(int(np.exp(rng.uniform(np.log(12), np.log(60)))), rows // 4)))
    return found


def draw(X, y, rows, positives, seed):
    """Rows to train on and to test on, of equal prevalence."""
    if rows is None:
        return train_test_split(X[:3000], y[:3000], test_size=0.4, stratify=y[:3000], random_state=seed)
    rng = np.random.default_rng(seed)
    P, N = rng.permutation(np.flatnonzero(y == 1)), rng.permutation(np.flatnonzero(y == 0))
    positives = min(positives, len(P) // 3)
    negatives, share = rows - positives, positives / rows
    train = rng.permutation(np.concatenate([P[:positives], N[:negatives]]))
    left_P, left_N = P[positives:], N[negatives:]
    n = min(6000, int(len(left_P) / share), int(len(left_N) / (1 - share)))
    test = np.concatenate([left_P[: int(n * share)], left_N[: int(n * (1 - share))]])
    return X[train], X[test], y[train], y[test]


def folds(y, seed, repeat):
    return list(StratifiedKFold(5, shuffle=True, random_state=1000 * seed + repeat).split(y, y))


def out_of_fold(make, X, y, seed, repeats):
    scores = np.empty((repeats, len(y)))
    for repeat in range(repeats):
        for train, test in folds(y, seed, repeat):
            scores[repeat, test] = make(seed * 10 + repeat).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    return scores


def scores_of(problem, seed, folder):
    name, positive, rows, positives = problem
    path = folder / f"{name.replace('/', '_')}_{positive}_{seed}.npz"
    if not path.exists():
        start = time.perf_counter()
        Xa, Xb, ya, yb = draw(*class_against_rest(name, positive, None, 0), rows, positives, seed)
        out = {"ya": ya, "yb": yb}
        for model, make in MODELS.items():
            out[f"{model}/oof"] = out_of_fold(make, Xa, ya, seed, REPEATS)
            out[f"{model}/test"] = make(seed).fit(Xa, ya).predict_proba(Xb)[:, 1]
            for other, one in others(model, seed).items():
                out[f"{model}+{other}/test"] = one.fit(Xa, ya).predict_proba(Xb)[:, 1]
                if other in ("brf", "balanced"):
                    out[f"{model}+{other}/oof"] = out_of_fold(partial(other_model, model, other), Xa, ya, seed, 1)
        np.savez_compressed(path, **out)
        print(path.stem, len(ya), int(ya.sum()), f"{time.perf_counter() - start:.0f} s", flush=True)
    with np.load(path) as z:
        return dict(z)


# -- thresholds from stored scores ------------------------------------------------------------------------------------


class Stored(ClassifierMixin, BaseEstimator):
    """A model whose X are row numbers and whose out-of-fold scores are known."""

    def __init__(self, scores=None):
        self.scores = scores

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        p = self.scores[np.asarray(X)[:, 0].astype(int)]
        return np.column_stack([1 - p, p])


def tuned(scores, y, seed, measure, cap, rule):
    options = {} if cap is None else {"subject_to": m.fpr <= cap}
    rows = np.arange(len(y))[:, None]
    if rule == "scikit-learn":
        if cap is not None:
            return np.nan  # has no constraints
        with_folds = TunedThresholdClassifierCV(
            Stored(scores), scoring=make_scorer(measure.score), cv=folds(y, seed, 0), response_method="predict_proba"
        )
        return with_folds.fit(rows, y).best_threshold_
    ours = sy.ThresholdClassifier(Stored(scores), measure, rule=rule, cv=folds(y, seed, 0), **options)
    return ours.fit(rows, y).best_threshold_


def shrunk_to(scores, y, measure, trust):
    """What `rule="shrunk"` does with this weight of the labels, over all repeats of the folds together."""
    s, labels = scores.ravel(), np.tile(y == 1, len(scores))
    found, prior = frontier.scan(s, labels), shrinkage.PRIOR
    rows = min(labels.sum(), (~labels).sum())
    try:
        shrinkage.PRIOR = rows / trust - rows if trust else 1e15
        return shrinkage.best_point(found, s, labels, None, shrinkage.log_odds(s), measure).threshold
    finally:
        shrinkage.PRIOR = prior


def value(measure, cap, scores, y, threshold):
    if np.isnan(threshold):
        return np.nan
    tpr, tnr = np.mean(scores[y == 1] > threshold), np.mean(scores[y == 0] <= threshold)
    if cap is not None:
        return float(tpr - max(0.0, 1.0 - tnr - cap) / cap)
    return float(measure(tpr, tnr, y.mean(), sample_size=len(y)))


def judge(z, model, seed, measure, cap):
    ya, yb, scores, test = z["ya"], z["yb"], z[f"{model}/oof"], z[f"{model}/test"]
    wanted = {"ours": "auto", "exact": "exact", "settled": "settled", "scikit-learn": "scikit-learn"}
    thresholds = {who: tuned(scores[0], ya, seed, measure, cap, rule) for who, rule in wanted.items()}
    thresholds["plain"] = 0.5
    if cap is None:
        for trust in (0.0, 0.25, 0.5):
            thresholds[f"labels count {trust}"] = shrunk_to(scores[:1], ya, measure, trust)
            thresholds[f"labels count {trust}, three repeats"] = shrunk_to(scores, ya, measure, trust)
    found = {who: value(measure, cap, test, yb, t) for who, t in thresholds.items()}
    for other in ("balanced", "smote", "brf", "easy"):
        if (key := f"{model}+{other}") + "/test" in z:
            found[other] = value(measure, cap, z[key + "/test"], yb, 0.5)
            if key + "/oof" in z:
                t = tuned(z[key + "/oof"][0], ya, seed, measure, cap, "auto")
                found[f"ours on {other}"] = value(measure, cap, z[key + "/test"], yb, t)
    return found


def compared(cells):
    """Each contender against our rule on the plain model: mean over sets of ours less theirs, in points."""
    out = {}
    for (model, goal), of_sets in cells.items():
        means = {
            name: {who: np.mean([one[who] for one in split]) for who in split[0]} for name, split in of_sets.items()
        }
        row = {"ours": float(np.mean([one["ours"] for one in means.values()])), "sets": len(means), "against": {}}
        for who in next(iter(means.values())):
            d = np.array([one["ours"] - one[who] for one in means.values()])
            if who == "ours" or np.isnan(d).any():
                continue
            row["against"][who] = {
                "difference": float(d.mean()), "error": float(d.std(ddof=1) / np.sqrt(len(d))),
                "ahead": int((d > 1e-9).sum()), "behind": int((d < -1e-9).sum()),
                "p": float(wilcoxon(d).pvalue) if (d != 0).any() else 1.0,
            }  # fmt: skip
        out[f"{model}, {goal}"] = row
    return out


def main():
    warnings.simplefilter("ignore")
    folder, wanted = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp()), sys.argv[2:]
    folder.mkdir(exist_ok=True, parents=True)
    cells = collections.defaultdict(lambda: collections.defaultdict(list))
    for problem in problems():
        name = f"{problem[0]} {problem[1]}"
        if wanted and not any(part in name for part in wanted):
            continue
        for seed in range(SEEDS):
            z = scores_of(problem, seed, folder)
            if z["yb"].sum() < 10:
                continue  # nothing can be said from so few
            for model in MODELS:
                for goal, (measure, cap) in GOALS.items():
                    cells[model, goal][name].append(judge(z, model, seed, measure, cap))
    write("threshold_rules", {"seeds": SEEDS, "cells": compared(cells)}, show=False)


if __name__ == "__main__":
    main()
