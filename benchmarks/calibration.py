"""How good the probabilities of a cost path are: against Platt scaling, isotonic calibration and logistic regression.

`CostPath.predict_proba` is the share of costs at which a row is called positive. The others: `LinearSVC` calibrated on
five folds (`CalibratedClassifierCV`, sigmoid or isotonic), and `LogisticRegression`. Ten stratified 70/30 splits; at
most 2,000 training rows (a random part of larger sets); C of each method chosen from `CS` by log loss on three folds of
the training part. Every method's probabilities are kept off 0 and 1 by 1/(2n), as the path's are: isotonic
probabilities of 0 and 1 would otherwise make its log loss infinite.

Reported: log loss, Brier score, and expected calibration error (15 bins of equal width). A difference to logistic
regression counts if a paired t-test with the variance corrected for overlapping splits says so at 5 %, after Holm's
correction over all sets. There is no claim: this is to know.

    STEELYARD_DATA=... python benchmarks/calibration.py           goes on where an earlier run stopped
"""

import json
import sys
import time
import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.svm import LinearSVC

import steelyard as sy
from _run import RESULTS, write
from _sets import binary
from frontier import PLAN, p_value, significant

ROWS = 2857  # 70 % of them are 2,000
SETS = [
    "small/haberman", "small/transfusion", "small/bupa", "small/heart", "small/mammographic", "small/ionosphere",
    "pima", "small/australian", "small/breast-w", "small/sonar", "small/yeast1", "small/cmc", "small/german", "wdbc",
    "small/phoneme", "small/tic-tac-toe", "small/qsar-biodeg", "satimage", "ijcnn1", "default-credit-card", "wilt",
    "higgs-7500", "splice", "spambase", "a9a",
]  # fmt: skip
CS = [1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0]
METHODS = {
    "path": lambda C: sy.CostPath(C=C, method="exact", random_state=0),
    "Platt": lambda C: CalibratedClassifierCV(LinearSVC(C=C, random_state=0), method="sigmoid", cv=5),
    "isotonic": lambda C: CalibratedClassifierCV(LinearSVC(C=C, random_state=0), method="isotonic", cv=5),
    "logistic": lambda C: LogisticRegression(C=C, max_iter=1000),
}
FIGURES = ("log_loss", "brier", "ece")
BINS = 15


def log_loss(y, p):
    return float(-np.mean(np.log(np.where(y == 1, p, 1 - p))))


def bins(y, p):
    """Rows, mean probability and share of positives in each bin of equal width."""
    which = np.minimum((p * BINS).astype(int), BINS - 1)
    return [np.bincount(which, weights, BINS).tolist() for weights in (np.ones(len(p)), p, y.astype(float))]


def figures(y, p):
    _, mass, positives = map(np.array, bins(y, p))
    ece = float(np.abs(mass - positives).sum() / len(y))
    return {"log_loss": log_loss(y, p), "brier": float(np.mean((p - y) ** 2)), "ece": ece}


def probabilities(model, X, n):
    return np.clip(model.predict_proba(X)[:, 1], 0.5 / n, 1 - 0.5 / n)


def tuned(make, X, y, seed):
    """The C with the least log loss on three folds, and the model of that C on all rows."""
    folds, edge = StratifiedKFold(3, shuffle=True, random_state=seed), 0.5 / len(y)
    loss = {}
    for C in CS:
        p = cross_val_predict(make(C), X, y, cv=folds, method="predict_proba")[:, 1]
        loss[C] = log_loss(y, np.clip(p, edge, 1 - edge))
    best = min(loss, key=loss.get)
    return best, make(best).fit(X, y)


def one_set(name, splits):
    X, y = binary(name.removeprefix("small/"), ROWS, is_small=name.startswith("small/"))
    if hasattr(X, "toarray"):
        X = X.toarray()
    found = {
        method: {**{f: [] for f in FIGURES}, "C": [], "bins": np.zeros((3, BINS)), "seconds": 0.0} for method in METHODS
    }
    found["path"]["recrossing"] = []
    for seed in range(splits):
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=PLAN["test_share"], random_state=seed, stratify=y)
        for method, make in METHODS.items():
            start = time.perf_counter()
            C, model = tuned(make, Xa, ya, seed)
            p = probabilities(model, Xb, len(ya))
            mine = found[method]
            mine["seconds"] += time.perf_counter() - start
            for key, value in {**figures(yb, p), "C": C}.items():
                mine[key].append(value)
            mine["bins"] += bins(yb, p)
            if method == "path":
                mine["recrossing"].append(model.recrossing_)
    for mine in found.values():
        mine["bins"] = mine["bins"].tolist()
    return {"rows": len(y), "columns": X.shape[1], "positives": float(y.mean()), "splits": splits, "methods": found}


def verdicts(sets):
    """Mean differences of every method to logistic regression, negative is better; which of them count, after Holm."""
    out = {}
    for figure in FIGURES:
        rows = []
        for name, one in sets.items():
            for method in METHODS:
                if method != "logistic":
                    values = (one["methods"][who][figure] for who in (method, "logistic"))
                    difference = np.subtract(*values)
                    rows.append({"set": name, "method": method, "difference": float(difference.mean()),
                                 "p": p_value(difference), "significant": False})  # fmt: skip
        for method in METHODS:
            significant([row for row in rows if row["method"] == method])
        out[figure] = rows
    return out


def main(splits=10):
    warnings.simplefilter("ignore")
    path = RESULTS / "calibration.json"
    known = json.loads(path.read_text())["sets"] if path.exists() else {}
    sets = {name: one for name, one in known.items() if name in SETS and one["splits"] == splits}
    for name in SETS:
        if name not in sets:
            sets[name] = one_set(name, splits)
        ordered = {name: sets[name] for name in SETS if name in sets}
        write("calibration", {"Cs": CS, "sets": ordered, "verdicts": verdicts(ordered)}, show=False)
        means = {who: round(float(np.mean(v["log_loss"])), 4) for who, v in sets[name]["methods"].items()}
        print(name, means, {who: round(v["seconds"], 1) for who, v in sets[name]["methods"].items()}, flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
