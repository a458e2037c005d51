"""How a threshold found on out-of-fold scores should be taken over by the model that is fitted on all rows.

Ways: raw scores as they are; in units of mean and standard deviation of each model's training scores; in units around
the share of positives (`search.models.units_of`); that, moved to where the final model calls the same share of its own
training rows (`search.transfer`, what MeasureClassifier does); and the plain share of rows left out. For three models
(the stream's learner, squared hinge, hinge), on 70/30 splits: F1, and the Neyman-Pearson score under caps of 1 and 5 %.
Claim: none of the others is better over the sets, and each of them is far off on some.

    STEELYARD_DATA=... python benchmarks/threshold_transfer.py [sets]
"""

import json
import sys
import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold, train_test_split

import steelyard.measures as m
from _run import RESULTS, write
from _sets import class_against_rest
from frontier import figure
from steelyard.rows import Rows
from steelyard.solvers.search.models import CostModel, Effort, Labelled, StreamModel, fit, quantiles, units_of
from steelyard.statistics import frontier
from steelyard.statistics.resampling import Goal

SETS = {
    "covertype 4": ("covertype", 4, 100_000, 3), "covertype 7": ("covertype", 7, 100_000, 3),
    "letter 0": ("letter", 0, None, 6), "w8a": ("w8a", None, None, 4), "a9a": ("a9a", None, 20_000, 4),
    "kddcup99 5": ("kddcup99-10pct", 5, 60_000, 4), "20news 1": ("20news-bydate", 1, 8_000, 3),
    "satimage 3": ("satimage", 3, None, 10), "spambase": ("spambase", None, 2_000, 10), "mc1": ("mc1", None, None, 10),
    "coil2000": ("coil2000", None, 3_000, 10),
}  # fmt: skip
GOALS = {"F1": (m.FBeta(1), None), "FPR <= 5 %": (m.Recall(), 0.05), "FPR <= 1 %": (m.Recall(), 0.01)}
MODELS = (StreamModel(), CostModel("squared_hinge", 1.0, 1.0, 1.0), CostModel("hinge", 1.0, 1.0, 0.1))


def thresholds(model, data, splits, goal):
    """The final model's direction, and its threshold by each way."""
    parts = {"raw": [], "mean and deviation": [], "units": []}
    own = {way: [] for way in parts}
    truth = []
    for train, test in splits:
        part = data.take(train)
        W = fit([model], part, goal, Effort()).W
        seen, new = part.rows.scores(W[0]), data.rows.take(test).scores(W[0])
        truth.append(data.y[test] > 0)
        for way, (center, scale) in units(part, W, seen).items():
            parts[way].append((new - center) / scale)
            own[way].append((seen - center) / scale)
    w = fit([model], data, goal, Effort()).W
    scores, found = data.rows.scores(w[0]), {}
    for way, (center, scale) in units(data, w, scores).items():
        pooled = np.concatenate(parts[way])
        points = frontier.scan(pooled, np.concatenate(truth))
        t = frontier.best_point(points, goal.measure, goal.constraints).threshold
        found[way] = center + t * scale
        if way == "units":
            share = np.mean([np.mean(seen > t) for seen in own[way]])
            error = np.sqrt(share * (1 - share) / len(scores))
            band = np.clip(1 - share + np.array([-error, error]), 0, 1)
            found["units, training share"] = np.clip(found[way], *quantiles(scores[:, None], band)[:, 0])
            found["share left out"] = np.quantile(scores, 1 - np.mean(pooled > t))
    return w[0], found


def units(data, W, scores):
    center, scale = units_of(data, W)
    spread = scores.std() or np.inf
    return {"raw": (0.0, 1.0), "mean and deviation": (scores.mean(), spread), "units": (center[0], scale[0])}


def compare(name, positive, n_rows, n_splits):
    X, y = class_against_rest(name, positive, n_rows)
    found = {}
    for seed in range(n_splits):
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        data = Labelled(Rows.of(Xa).with_constant(3.0), np.where(ya > 0, 1.0, -1.0))
        test = Rows.of(Xb).with_constant(3.0)
        splits = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(np.zeros(len(ya)), ya))
        for label, (measure, cap) in GOALS.items():
            goal = Goal(measure, () if cap is None else (m.fpr <= cap,))
            for model in MODELS:
                w, ways = thresholds(model, data, splits, goal)
                for way, t in ways.items():
                    rates = m.rates(yb, (test.scores(w) > t).astype(int), pos_label=1)
                    found.setdefault(label, {}).setdefault(way, []).append(figure(measure, cap, rates, yb))
    return {label: {way: float(np.mean(v)) for way, v in ways.items()} for label, ways in found.items()}


def main(wanted):
    warnings.simplefilter("ignore")
    file = RESULTS / "threshold_transfer.json"
    sets = json.loads(file.read_text())["sets"] if file.exists() else {}
    for name in wanted or SETS:
        sets[name] = compare(*SETS[name])
        print(name, {k: {w: round(x, 3) for w, x in v.items()} for k, v in sets[name].items()}, flush=True)
        write("threshold_transfer", {"sets": sets}, show=False)


if __name__ == "__main__":
    main(sys.argv[1:])
