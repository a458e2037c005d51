"""What a threshold set on the other folds' scores, and folds drawn again, change in the choice of `compare`.

On 18 sets that do not judge `compare` (those of benchmarks/comparing.py do) every contender is judged in three rounds
of five folds, its threshold set on the scores of the other folds; in the first round also on scores of models that have
not seen the fold judged either (nested, ten fits more). At most 1,500 rows are seen and up to 10,000 others judge, for
F1. Written down: the value of each contender by round, by fold of the first, nested, and on the fresh rows.
"""

import json
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import steelyard.measures as m
from _run import RESULTS, write
from _sets import binary
from steelyard.comparison.contenders import OURS, Task, automatic
from steelyard.comparison.preparing import preparation
from steelyard.statistics import frontier, shrinkage

LARGE = ("ijcnn1", "wilt", "occupancy", "splice", "ozone-8hr", "psm-percolator", "pima")
SMALL = (
    "phoneme", "wine-quality-white", "wine-quality-red", "penbased", "optdigits", "steel-plates-fault", "cmc", "yeast1",
    "german", "qsar-biodeg", "cardiotocography",
)  # fmt: skip
ROUNDS, FOLDS = 3, 5
ROWS, FRESH = 1_500, 10_000
MEASURE = m.FBeta(1)


def models_and_rows(name, seed):
    """The contenders, the rows that they see and fresh ones."""
    X, y = binary(name, is_small=name in SMALL)
    order = np.random.default_rng(seed).permutation(len(y))
    rows = min(ROWS, 6 * len(y) // 10)
    seen, fresh = order[:rows], order[rows : rows + FRESH]
    models = automatic(Task(MEASURE, pos_label=1, random_state=seed), preparation(X[seen]))
    return models, X[seen], y[seen], X[fresh], y[fresh]


def one_set(name, seed=0):
    models, X_seen, y_seen, X_fresh, y_fresh = models_and_rows(name, seed)
    with threadpool_limits(1):
        rounds = [one_round(models, X_seen, y_seen, 1000 * k + seed) for k in range(ROUNDS)]
        nested = {
            k: nested_scores(models[k.removesuffix(OURS)], X_seen, y_seen, rounds[0][0]) for k in models if OURS in k
        }
        called = {k: clone(v).fit(X_seen, y_seen).predict(X_fresh) for k, v in models.items()}
    return reduced(list(models), y_seen, rounds, nested, {k: MEASURE.score(y_fresh, v) for k, v in called.items()})


def one_round(models, X, y, seed):
    """The fold of each row; by model without a threshold of ours the labels, and the scores where it has any."""
    fold_of, called, scores = np.empty(len(y), dtype=int), {}, {}
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y))
    for k, (_, test) in enumerate(folds):
        fold_of[test] = k
    for name in (one for one in models if OURS not in one):
        called[name], scores[name] = np.empty_like(y), np.empty(len(y))
        for train, test in folds:
            model = clone(models[name]).fit(X[train], y[train])
            called[name][test] = model.predict(X[test])
            if hasattr(model, "predict_proba"):
                scores[name][test] = model.predict_proba(X[test])[:, 1]
    return fold_of, called, scores


def nested_scores(model, X, y, fold_of):
    """[j, k]: the scores of rows in the folds j and k by a model without both."""
    found = np.full((FOLDS, FOLDS, len(y)), np.nan, dtype=np.float32)
    for j in range(FOLDS):
        for k in range(j):
            out = (fold_of == j) | (fold_of == k)
            scores = clone(model).fit(X[~out], y[~out]).predict_proba(X[out])[:, 1]
            found[j, k, out] = found[k, j, out] = scores
    return found


def reduced(names, y, rounds, nested, fresh):
    """The value of every contender by round, in the first also by fold, and with a threshold nested."""
    shared, folds, deep = {}, {}, {}
    for name in names:
        shared[name] = []
        for fold_of, called, scores in rounds:
            plain = scores.get(name.removesuffix(OURS))
            labels = called[name] if OURS not in name else by_threshold(plain, [plain] * FOLDS, y, fold_of)
            shared[name].append(MEASURE.score(y, labels))
            folds.setdefault(name, [MEASURE.score(y[fold_of == k], labels[fold_of == k]) for k in range(FOLDS)])
        if name in nested:
            fold_of, _, scores = rounds[0]
            apart = [nested[name][fold_of, k, np.arange(len(y))].astype(float) for k in range(FOLDS)]
            deep[name] = MEASURE.score(y, by_threshold(scores[name.removesuffix(OURS)], apart, y, fold_of))
    return {"shared": shared, "folds": folds, "nested": deep, "fresh": fresh}


def by_threshold(scores, others, y, fold_of):
    """Labels of each fold k by the threshold that the scores `others[k]` of the other folds' rows set."""
    labels = np.empty_like(y)
    for k in range(FOLDS):
        rest, here = fold_of != k, fold_of == k
        given, positive = others[k][rest], y[rest] == 1
        found = frontier.scan(given, positive, None)
        best = shrinkage.best_point(found, given, positive, None, shrinkage.log_odds(given), MEASURE)
        labels[here] = scores[here] > best.threshold
    return labels


def main():
    warnings.simplefilter("ignore")
    path = RESULTS / "comparing_choice.json"
    done = json.loads(path.read_text())["sets"] if path.exists() else {}
    for name in LARGE + SMALL:
        if name not in done:
            done[name] = one_set(name)
            write("comparing_choice", {"sets": done}, show=False)
            print(name, flush=True)


if __name__ == "__main__":
    main()
