"""What the promise of `delta` costs: violations of a false-alarm cap, and power, over 2,000 simulated data sets.

Two Gaussian classes in five dimensions; a logistic regression is fitted on one half of 800 rows, and its threshold set
on the other. Since the classes are Gaussian, the FPR and TPR of each fitted rule are known exactly. Beside the
order-statistic rule stands what people do without it: the largest recall whose empirical FPR meets the cap.

    python benchmarks/promise.py
"""

import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from _run import write

RUNS, ROWS, CAP = 2000, 800, 0.1
MEAN = np.array([1.2, 0.5, 0.0, 0.0, 0.0])


def exact_rates(rule):
    """FPR and TPR of ``w.x + b > t`` under N(0, I) and N(MEAN, I)."""
    model, p = rule.estimator_, rule.best_threshold_
    margin = np.log(p / (1 - p)) - model.intercept_[0]
    w = model.coef_[0]
    size = np.linalg.norm(w)
    return norm.sf(margin / size), norm.sf((margin - w @ MEAN) / size)


def simulate(rule, seed):
    rng = np.random.default_rng(seed)
    found = np.empty((RUNS, 2))
    for k in range(RUNS):
        y = (rng.random(ROWS) < 0.4).astype(int)
        X = rng.normal(size=(ROWS, len(MEAN))) + np.outer(y, MEAN)
        found[k] = exact_rates(rule.fit(X, y))
    return {
        "violations": float((found[:, 0] > CAP).mean()),
        "mean_fpr": float(found[:, 0].mean()),
        "tpr": float(found[:, 1].mean()),
    }


def main():
    rows = {}
    for name, delta in (("empirical quantile", None), ("delta = 0.1", 0.1), ("delta = 0.05", 0.05)):
        rule = sy.ThresholdClassifier(
            LogisticRegression(), m.Recall(), subject_to=m.fpr <= CAP, delta=delta, cv=0.5, random_state=0
        )
        rows[name] = {"delta": delta, **simulate(rule, seed=1)}
    write("promise", {"runs": RUNS, "rows": ROWS, "cap": CAP, "rules": rows})


if __name__ == "__main__":
    main()
