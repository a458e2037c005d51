"""Several classes: offsets by `ThresholdClassifier` against what else one would do with the same model.

Each set is split 70 : 30, stratified, by the seed; at most 1,200 rows (20news with logistic regression only,
the terms as tf-idf). Opponents have the same model: as it is, with ``class_weight="balanced"`` (logistic regression and
the forest), one-vs-rest where each class has a threshold of its own, tuned for F1, and the class furthest above its
threshold is called, and Frank-Wolfe over class weights (Narasimhan, Tavker et al., arXiv 2210.09695, algorithm 1, a
hundred steps), written from the paper: a mixture of rules, judged by its expected rates, on the same out-of-fold
probabilities as ours. The worst recall has no gradient where it matters, so there the weights of the classes follow
their recalls multiplicatively instead (a game, as the paper's descent-ascent).
Differences come with their standard error over the sets, and with Wilcoxon's test over the means of the sets.

    python benchmarks/classes.py [models]        logistic, boosting, forest; all if none is named
    python benchmarks/classes.py speed           seconds of the search alone
"""

import json
import sys
import time
import warnings

import numpy as np
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import several_classes
from steelyard.estimators._offsets import ClassLabels, ClassTable, choose, class_scores, score_classes
from steelyard.estimators._splits import Stratum, read_cv
from steelyard.statistics.offsets import Goal

SETS = {
    "satimage": "satimage", "letter": "letter", "covertype": "covertype", "segment": "small/segment",
    "vehicle": "small/vehicle", "glass": "small/glass", "penbased": "small/penbased", "optdigits": "small/optdigits",
    "wine-quality-red": "small/wine-quality-red", "shuttle": "shuttle", "cmc": "small/cmc",
}  # fmt: skip
SPARSE = {"20news": "20news-bydate"}
MOST, SPLITS, FEWEST = 1_200, 10, 6  # rows of a set; splits; rows of a class, below which a split could miss it
MODELS = {
    "logistic": LogisticRegression(max_iter=300),
    "boosting": HistGradientBoostingClassifier(random_state=0, max_iter=20),
    "forest": RandomForestClassifier(30, random_state=0),
}
MEASURES = {
    "macro F1": m.macro(m.FBeta(1)), "G-mean": m.geometric(m.Recall()), "worst recall": m.worst(m.Recall()),
    "kappa": m.Kappa(), "prevalence KLD": m.NegPrevalenceKLD(),
}  # fmt: skip
STEPS = 100  # of Frank-Wolfe
EQUAL = 5e-4  # means nearer than this are a tie


def table(name):
    X, y = several_classes(SPARSE.get(name, SETS.get(name)), MOST, FEWEST)
    if name in SPARSE:
        return TfidfTransformer(sublinear_tf=True).fit_transform(abs(X)), y
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y


# -- Frank-Wolfe ----------------------------------------------------------------------------------------------------
def confusion(called, codes, k):
    return np.bincount(codes * k + called, minlength=k * k).reshape(k, k) / len(codes)


def rates(cells):
    p, calls, hits = cells.sum(axis=1), cells.sum(axis=0), cells.diagonal()
    return {"tpr": hits / p, "tnr": np.clip(1.0 - (calls - hits) / (1.0 - p), 0.0, 1.0), "prevalence": p}


def frank_wolfe(eta, codes, measure):
    """Gain matrices and the weights of their rules in the mixture."""
    k = eta.shape[1]
    gains, weights, mixed = [np.eye(k)], [1.0], confusion(eta.argmax(axis=1), codes, k)
    for t in range(STEPS):
        at = rates(mixed)
        inside = {name: np.clip(at[name], 1e-3, 1.0 - 1e-3) for name in ("tpr", "tnr")}
        slopes = measure.gradient(**inside, prevalence=at["prevalence"], sample_size=len(codes))
        gain = np.tile(-np.nan_to_num(slopes.tnr) / (1.0 - at["prevalence"]), (k, 1))
        np.fill_diagonal(gain, np.nan_to_num(slopes.tpr) / at["prevalence"])
        step = 2.0 / (t + 2.0)
        mixed = (1.0 - step) * mixed + step * confusion((eta @ gain).argmax(axis=1), codes, k)
        gains.append(gain)
        weights = [(1.0 - step) * w for w in weights] + [step]
    return gains, weights


def game(eta, codes):
    """The same for the worst recall: weights of the classes that grow where recalls are low."""
    k = eta.shape[1]
    weights, gains, p = np.ones(k) / k, [], np.bincount(codes) / len(codes)
    for t in range(STEPS):
        gains.append(np.diag(weights / p))
        called = (eta @ gains[-1]).argmax(axis=1)
        weights = weights * np.exp(-2.0 / np.sqrt(t + 1.0) * rates(confusion(called, codes, k))["tpr"])
        weights = np.maximum(weights / weights.sum(), 1e-6)
    return gains, np.full(STEPS, 1.0 / STEPS)


def value_of_mixture(mixture, eta, codes, measure):
    k = eta.shape[1]
    cells = sum(w * confusion((eta @ gain).argmax(axis=1), codes, k) for gain, w in zip(*mixture, strict=True))
    return float(measure(**rates(cells), sample_size=len(codes)))


# -- a split --------------------------------------------------------------------------------------------------------
def contenders(model):
    yield "argmax", lambda X, y: clone(model).fit(X, y)
    if "class_weight" in model.get_params() and not isinstance(model, HistGradientBoostingClassifier):
        yield "class weights", lambda X, y: clone(model).set_params(class_weight="balanced").fit(X, y)
    tuned = OneVsRestClassifier(sy.ThresholdClassifier(clone(model), m.FBeta(1), cv=3))
    yield "one-vs-rest", lambda X, y: tuned.fit(X, y)


def one(X, y, model, seed):
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    found = {}
    for who, fit in contenders(model):
        called = fit(X_train, y_train).predict(X_test)
        found[who] = {goal: measure.score(y_test, called) for goal, measure in MEASURES.items()}
    # What `ThresholdClassifier(model, measure, cv=3).fit` does, with one set of folds for all measures.
    labels = ClassLabels.of(y_train)
    splits = read_cv(3, Stratum(labels.codes, labels.classes.tolist()))
    fitted, scored = score_classes(model, ClassTable(X_train, y_train, labels, None, {}), splits, None, "auto")
    scores = class_scores(fitted, X_test, "auto", labels.classes)
    which, codes = scored.labels.argmax(axis=1), np.searchsorted(labels.classes, y_test)
    found["ours"], found["Frank-Wolfe"] = {}, {}
    for goal, measure in MEASURES.items():
        choice = choose(scored, Goal(measure), "shrunk")
        found["ours"][goal] = measure.score(y_test, labels.classes[(scores + choice.offsets).argmax(axis=1)])
        eta = np.exp(scored.scores)
        mixture = game(eta, which) if goal == "worst recall" else frank_wolfe(eta, which, measure)
        found["Frank-Wolfe"][goal] = value_of_mixture(mixture, np.exp(scores), codes, measure)
    return found


def summary(values):
    """For each model and measure our mean, and the lead over each opponent with its error over the sets."""
    cells = {}
    for model, sets in values.items():
        for goal in MEASURES:
            ours = {name: np.mean(of_set["ours"][goal]) for name, of_set in sets.items()}
            cell = {"ours": float(np.mean(list(ours.values()))), "against": {}}
            for who in dict.fromkeys(who for of_set in sets.values() for who in of_set if who != "ours"):
                means = np.array([ours[name] - np.mean(sets[name][who][goal]) for name in sets if who in sets[name]])
                p = float(wilcoxon(means).pvalue) if np.any(means != 0.0) else 1.0
                error = float(means.std(ddof=1) / np.sqrt(len(means))) if len(means) > 1 else 0.0
                score = [int((means > EQUAL).sum()), int((abs(means) <= EQUAL).sum()), int((means < -EQUAL).sum())]
                cell["against"][who] = {"difference": float(means.mean()), "error": error, "p": p, "sets": score}
            cells[f"{model}, {goal}"] = cell
    return cells


def speed():
    """Seconds of the processor for the offsets alone: probabilities of a world where they are right."""
    from steelyard.statistics import class_weights, offsets

    out = {}
    for n, k in ((581_012, 7), (15_000, 26)):
        rng = np.random.default_rng(0)
        z = 2.0 * rng.normal(size=(n, k)) + np.linspace(2.0, 0.0, k)
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        rows = offsets.ScoredClasses.of(np.log(p), y, range(k), None)
        start = time.process_time()
        class_weights.search(rows, offsets.Goal(m.macro(m.FBeta(1))))
        out[f"{n:,} x {k}"] = time.process_time() - start
    return out


def main(models):
    warnings.simplefilter("ignore")
    path = RESULTS / "classes.json"
    before = json.loads(path.read_text()) if path.exists() else {}
    values = {name: found for name, found in before.get("values", {}).items() if name not in models}
    out = {"splits": SPLITS, "rows": MOST, "speed": before.get("speed", {})}
    for model in [] if models == ["speed"] else models:
        values[model] = {}
        for name in [*SETS, *(SPARSE if model == "logistic" else [])]:
            X, y = table(name)
            of_set = {}
            for seed in range(SPLITS):
                for who, goals in one(X, y, MODELS[model], seed).items():
                    for goal, value in goals.items():
                        of_set.setdefault(who, {}).setdefault(goal, []).append(round(value, 5))
            values[model][name] = of_set
            print(model, name, flush=True)
            write("classes", {**out, "cells": summary(values), "values": values}, show=False)
    write("classes", {**out, "speed": speed(), "cells": summary(values), "values": values}, show=False)


if __name__ == "__main__":
    main(sys.argv[1:] or list(MODELS))
