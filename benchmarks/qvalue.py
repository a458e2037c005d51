"""How many targets are accepted: the q-value classifier, a Percolator loop, and losses on all targets.

Peptide-spectrum matches, each searched run a table of its own. Three folds that keep the rows of a scan together; each
contender is trained for the rate it is then counted at. Scores of a fold are shifted and scaled so that its threshold
(at 0.01 or the rate, the larger) is 0 and its median decoy -1, the best row of each scan stays, and the targets with a
q-value within the rate are counted. Seeds deal the scans to folds. The rules and defaults of the classifier were chosen
with the seeds from 100 on of psm-percolator and of run 0 of psm-scope2.

    STEELYARD_DATA=... python benchmarks/qvalue.py [table ...] [seed ...]

Results are added to ``results/qvalue.json`` after each contender, and what is there already is not measured again.
"""

import json
import sys
import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

import steelyard as sy
from _run import RESULTS, data_folder, machine
from steelyard.solvers import cost_sensitive

TABLES = ("psm-percolator", "psm-scope2 run 0", "psm-scope2 run 1", "psm-scope2 run 2")
RATES = (0.0025, 0.01, 0.1)
SEEDS = range(30)


def table(name):
    file, _, run = name.partition(" run ")
    with np.load(data_folder() / f"{file}.npz", allow_pickle=False) as z:
        rows = z["run"] == int(run) if run else np.ones(len(z["y"]), dtype=bool)
        X, is_target = z["X"][rows].astype(np.float64), z["y"][rows] == 1
        scan = np.unique(z["scan"][rows], return_inverse=True)[1]
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), is_target, scan


def count(scores, is_target, rate):
    return int((is_target & (sy.q_values(scores, is_target) <= rate)).sum())


# -- contenders: (X, is_target, scan, rate) -> scores of new rows ---------------------------------------------------
def best_feature(X, is_target, scan, rate):
    tried = [(j, sign) for j in range(X.shape[1]) for sign in (1.0, -1.0)]
    j, sign = max(tried, key=lambda pair: count(pair[1] * X[:, pair[0]], is_target, rate))
    return lambda rows: sign * rows[:, j]


def squared_hinge(X, is_target, decoy_cost):
    """The problem of ``LinearSVC(C=1, dual=False, class_weight={True: 1, False: decoy_cost})``, solved faster."""
    rows = np.hstack([X, np.ones((len(X), 1))])
    y = np.where(is_target, 1.0, -1.0)
    w = cost_sensitive.solve(rows, y, 1.0, decoy_cost, 1.0, 1e-4, "squared_hinge").w
    return lambda new: new @ w[:-1] + w[-1]


def percolator(X, is_target, scan, rate, rounds=10):
    """Targets that pass now against all decoys, ten rounds from the best feature; decoys cost three times as much."""
    scores = best_feature(X, is_target, scan, rate)
    for _ in range(rounds):
        passed = is_target & (sy.q_values(scores(X), is_target) <= rate)
        if not passed.any():
            break
        use = passed | ~is_target
        scores = squared_hinge(X[use], is_target[use], 3.0)
    return scores


def logistic(X, is_target, scan, rate):
    return LogisticRegression(max_iter=1000).fit(X, is_target).decision_function


def svm(decoy_cost):
    return lambda X, is_target, scan, rate: squared_hinge(X, is_target, decoy_cost)


def ours(**options):
    def fit(X, is_target, scan, rate):
        return sy.QValueClassifier(rate, random_state=0, **options).fit(X, is_target, scan).decision_function

    return fit


CONTENDERS = {
    "best single feature": best_feature,
    "Percolator loop": percolator,
    "logistic regression, all targets": logistic,
    "SVM, all targets, decoys x1": svm(1.0),
    "SVM, all targets, decoys x3": svm(3.0),
    "SVM, all targets, decoys x10": svm(10.0),
    "QValueClassifier": ours(),
    "QValueClassifier, stochastic": ours(solver="stochastic"),
    "QValueClassifier, rbf": ours(kernel="rbf"),
}


def levelled(scores, is_target, rate):
    rate = max(rate, 0.01)  # at less a fold alone may have no list at all, however good its ranking
    passed = scores[is_target & (sy.q_values(scores, is_target) <= rate)]
    zero = passed.min() if len(passed) else scores.max()
    return (scores - zero) / max(1e-12, zero - np.median(scores[~is_target]))


def winners(scores, scan):
    order = np.lexsort((-scores, scan))
    return order[np.r_[True, scan[order][1:] != scan[order][:-1]]]


def measure(fit, X, is_target, scan, seed, rates=RATES):
    """Accepted targets at each rate, the median CPU time of a training, and the recipes that rows left out chose."""
    scan = np.random.default_rng(seed).permutation(scan.max() + 1)[scan]
    accepted, recipes, seconds = {}, {}, []
    for rate in rates:
        scores = np.zeros(len(is_target))
        for train, test in GroupKFold(3).split(X, is_target, scan):
            start = time.process_time()
            score = fit(X[train], is_target[train], scan[train], rate)
            seconds.append(time.process_time() - start)
            recipes.setdefault(str(rate), []).append(getattr(getattr(score, "__self__", None), "recipe_", None))
            scores[test] = levelled(score(X[test]), is_target[test], rate)
        best = winners(scores, scan)
        accepted[str(rate)] = count(scores[best], is_target[best], rate)
    chosen = {"recipes": recipes} if any(map(any, recipes.values())) else {}
    return {"accepted": accepted, "fit_s": float(np.median(seconds)), **chosen}


def main(arguments):
    tables = [name for name in TABLES if name in arguments] or TABLES
    seeds = [int(a) for a in arguments if a.isdigit()] or SEEDS
    path = RESULTS / "qvalue.json"
    results = json.loads(path.read_text())["tables"] if path.exists() else {}
    for seed in seeds:
        for name in tables:
            X, is_target, scan = table(name)
            case = results.setdefault(name, {"seeds": {}})
            case["targets"], case["decoys"] = int(is_target.sum()), int((~is_target).sum())
            found = case["seeds"].setdefault(str(seed), {})
            for contender in (c for c in CONTENDERS if c not in found):
                found[contender] = measure(CONTENDERS[contender], X, is_target, scan, seed)
                print(name, seed, contender, found[contender], flush=True)
                figures = {"machine": machine(), "rates": list(RATES), "tables": results}
                path.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
