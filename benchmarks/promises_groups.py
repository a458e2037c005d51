"""A threshold for each group: beside fairlearn's ThresholdOptimizer on real data, and simulated promises.

Real: adult by sex and by race, default-credit-card by sex. Half of the rows fit a logistic regression on one-hot
columns, a quarter sets thresholds from its scores, the same for all contenders, and a quarter is judged. fairlearn asks
for equal rates and randomises between thresholds to have them; here a gap of at most 0.01 is asked for, by thresholds
alone. `changed` is the share of rows whose label is another one when `predict` is called again.

Simulated: group "a" is a third of the rows, its scores higher by 0.3 and its classes further apart (1.9 for 1.6), so
that the rates of any thresholds are known; a fitted model, delta = 0.1.

    python benchmarks/promises_groups.py            # pip install fairlearn for the comparison
"""

import argparse
import json
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, data_folder, write
from steelyard.statistics.promises import by_group, promise
from steelyard.statistics.promises.counts import Scored
from steelyard.statistics.promises.promise import Asked, RefusedError, keep

try:
    from fairlearn.postprocessing import ThresholdOptimizer
except ImportError:
    ThresholdOptimizer = None

SETS = {
    "adult by sex": ("adult", "sex"),
    "adult by race": ("adult", "race"),
    "default-credit-card by sex": ("default-credit-card", "SEX"),
}
MEASURES = {
    "accuracy": (m.Accuracy(), "accuracy_score"),
    "balanced accuracy": (m.BalancedAccuracy(), "balanced_accuracy_score"),
}
BOUND = 0.01  # of a gap, where fairlearn asks for none
# what is equal (the share called, one rate, both rates): constraints, and fairlearn's name
CALLED = m.prevalence * m.tpr + (1 - m.prevalence) * m.fpr
ASKED = {
    "called": ([m.gap(CALLED) <= BOUND], "demographic_parity"),
    "TPR": ([m.gap(m.tpr) <= BOUND], "true_positive_rate_parity"),
    "FPR": ([m.gap(m.fpr) <= BOUND], "false_positive_rate_parity"),
    "both": ([m.gap(m.tpr) <= BOUND, m.gap(m.fpr) <= BOUND], "equalized_odds"),
}
DELTA = 0.1
PROMISED = {"gap(tpr) <= 0.1": [m.gap(m.tpr) <= 0.1], "gap(fpr) <= 0.05": [m.gap(m.fpr) <= 0.05]}


class Given(ClassifierMixin, BaseEstimator):
    """A fitted model whose probability is the one column."""

    classes_ = np.array([0, 1])

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict_proba(self, X):
        p = np.asarray(X)[:, 0]
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0.5).astype(int)


def load(name, column):
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as z:
        X, y, names = z["X"].astype(np.float64), z["y"].astype(int), z["feature_names"].tolist()
        codes = X[:, names.index(column)].astype(int)
        known = f"categories_{column}" in z
        groups = z[f"categories_{column}"][codes] if known else np.char.add("sex ", codes.astype(str))
        coded = z["is_categorical"] if "is_categorical" in z else np.isin(names, ["SEX", "EDUCATION", "MARRIAGE"])
    columns = []
    for k in range(X.shape[1]):
        x = X[:, k]
        columns += [(x == v).astype(float) for v in np.unique(x)] if coded[k] else [(x - x.mean()) / x.std()]
    return np.column_stack(columns), y, groups


def judged(called, again, y, g, measure):
    rates = {k: (called[(g == k) & (y == 1)].mean(), called[(g == k) & (y == 0)].mean()) for k in np.unique(g)}
    gaps = np.ptp(np.array(list(rates.values())), axis=0)
    shares = [called[g == k].mean() for k in np.unique(g)]
    whole = called[y == 1].mean(), (~called[y == 0]).mean(), y.mean()
    return {
        "value": float(measure(*whole)), "tpr_gap": float(gaps[0]), "fpr_gap": float(gaps[1]),
        "called_gap": float(np.ptp(shares)), "changed": float((called != again).mean()),
    }  # fmt: skip


def contenders(s, y, g, measure, scorer, asked):
    constraints, parity = asked
    yield "no constraint", sy.ThresholdClassifier(Given(), measure, cv="prefit").fit(s, y), {}, {}
    for name, each in (("one threshold", False), ("per_group", True)):
        model = sy.ThresholdClassifier(Given(), measure, subject_to=constraints, per_group=each, cv="prefit")
        try:
            yield name, model.fit(s, y, slices=g), {"slices": True} if each else {}, {}
        except ValueError:
            continue
    if ThresholdOptimizer is not None:
        theirs = ThresholdOptimizer(
            estimator=Given(), constraints=parity, objective=scorer, prefit=True, predict_method="predict_proba",
        )  # fmt: skip
        yield "fairlearn", theirs.fit(s, y, sensitive_features=g), {"sensitive_features": True}, {"random_state": True}


def one_split(name, X, y, g, seed):
    """Figures of every contender on the rows kept apart."""
    order = np.random.default_rng(seed).permutation(len(y))
    fit, tune, test = np.split(order, [len(y) // 2, 3 * len(y) // 4])
    model = LogisticRegression(max_iter=300, C=1.0).fit(X[fit], y[fit])
    s = model.predict_proba(X)[:, 1:]
    found = {}
    for goal, (measure, scorer) in MEASURES.items():
        for what, asked in ASKED.items():
            for who, made, groups, random in contenders(s[tune], y[tune], g[tune], measure, scorer, asked):
                given = dict.fromkeys(groups, g[test])
                calls = [made.predict(s[test], **given, **dict.fromkeys(random, k)) == 1 for k in range(2)]
                found[f"{goal}|{what}|{who}"] = judged(*calls, y[test], g[test], measure)
    for what, constraints in PROMISED.items():
        made = sy.ThresholdClassifier(
            Given(), m.Accuracy(), subject_to=constraints, per_group=True, delta=DELTA, cv="prefit"
        )
        try:
            called = made.fit(s[tune], y[tune], slices=g[tune]).predict(s[test], slices=g[test]) == 1
            found[f"promised|{what}"] = judged(called, called, y[test], g[test], m.Accuracy())
        except ValueError as error:  # refused, or a group of the rows that lay the path has no positive
            found[f"promised|{what}"] = {"refused": str(error)}
    return found


SIMULATED = {
    "FPR 0.1 in both, 600 rows": ([m.within("a", m.fpr) <= 0.1, m.within("b", m.fpr) <= 0.1], 600),
    "FPR 0.1 and recall 0.5 in both, 1,500 rows": (
        [
            m.within("a", m.fpr) <= 0.1, m.within("b", m.fpr) <= 0.1, m.within("a", m.tpr) >= 0.5,
            m.within("b", m.tpr) >= 0.4,
        ],
        1500,
    ),
    "precision 0.6 in both, 1,500 rows": (
        [m.within("a", m.Precision()) >= 0.6, m.within("b", m.Precision()) >= 0.6], 1500,
    ),
    "TPR gap 0.2 and FPR 0.2, 1,500 rows": ([m.gap(m.tpr) <= 0.2, m.fpr <= 0.2], 1500),
    "FPR gap 0.1 and FPR 0.2, 1,500 rows": ([m.gap(m.fpr) <= 0.1, m.fpr <= 0.2], 1500),
    "precision 0.6 of all, 800 rows": ([m.Precision() >= 0.6], 800),
}  # fmt: skip


def simulated(constraints, n, each, runs):
    promise.refused = by_group.refused = lambda made: RefusedError("", None, made)
    rng, broken, recall = np.random.default_rng(3), 0, np.zeros(runs)
    refused = 0
    for run in range(runs):
        g, y = np.where(rng.random(n) < 1 / 3, "a", "b"), rng.random(n) < 0.3
        rows = Scored(rng.normal(size=n) + np.where(g == "a", 0.3 + 1.9 * y, 1.6 * y), y, g)
        asked = Asked(tuple(constraints), m.Recall(), DELTA)
        try:
            if each:
                t = by_group.keep_by_group(rows, None, asked, seed=run)[1].thresholds
            else:
                t = [keep(rows, None, asked, seed=run)[1].threshold] * 2
        except RefusedError:
            refused += 1
            continue
        at = {
            k: (norm.sf(t_k - up - shift), norm.cdf(t_k - up), 0.3)
            for t_k, (k, up, shift) in zip(t, (("a", 0.3, 1.9), ("b", 0.0, 1.6)), strict=True)
        }
        both = tuple(at["a"][i] / 3 + 2 * at["b"][i] / 3 for i in range(2))
        broken += not all(bool(c.met(at)) if c.needs_groups else bool(c.holds(*both, 0.3)) for c in constraints)
        recall[run] = both[0]
    error = recall.std(ddof=1) / np.sqrt(runs)
    return {
        "violations": broken / runs, "refused": refused / runs, "recall": float(recall.mean()),
        "recall_error": float(error), "runs": runs,
    }  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help="real, simulated; both by default")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2000)
    given = parser.parse_args()
    path = RESULTS / "promises_groups.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result = {"delta": DELTA, "bound": BOUND, **{part: result.get(part, {}) for part in ("real", "simulated")}}
    parts = given.parts or ("real", "simulated")
    for name, (data, column) in SETS.items() if "real" in parts else ():
        X, y, g = load(data, column)
        result["real"][name] = []
        for seed in range(given.splits):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result["real"][name].append(one_split(name, X, y, g, seed))
            write("promises_groups", result, show=False)
        print(name, flush=True)
    for name, (constraints, n) in SIMULATED.items() if "simulated" in parts else ():
        result["simulated"][name] = {
            who: simulated(constraints, n, each, given.runs) for who, each in (("one", False), ("each", True))
        }
        print(name, result["simulated"][name], flush=True)
        write("promises_groups", result, show=False)


if __name__ == "__main__":
    main()
