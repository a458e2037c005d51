"""The promise of `NeymanPearsonClassifier` on unseen data, and its power, over a thousand simulated data sets.

Three worlds of 1,000 rows, half of them negative: two Gaussians (a linear model is right), two moons and a ring around
a disc (it is wrong). For each pair (cap, delta) the share of data sets whose false-alarm rate is above the cap, which
must be at most delta, and the mean true positive rate; rates are taken on 10,000 fresh negatives and 4,000 fresh
positives. Half of the rows is held out to set the threshold by each rule:

- ours, with the RBF kernel and default C and gamma;
- logistic regression with the same order-statistic rule (`ThresholdClassifier`);
- logistic regression with MAPIE's risk controller (extra `bench`) by fixed-sequence testing, the strongest of its
  corrections for a rate that falls with the threshold, if it is installed.

    python benchmarks/promise_kernels.py [runs]
"""

import sys
import warnings

import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import write

ROWS = 1000
PROMISES = ((0.05, 0.05), (0.05, 0.1), (0.01, 0.1))


def gaussians(n_negative, n_positive, rng):
    y = np.repeat([0, 1], [n_negative, n_positive])
    return rng.normal(size=(len(y), 5)) + np.outer(y, [1.2, 0.8, 0.4, 0.0, 0.0]), y


def moons(n_negative, n_positive, rng):
    X, y = make_moons((n_negative, n_positive), noise=0.3, random_state=rng.integers(2**31))
    return X, y


def ring(n_negative, n_positive, rng):
    y = np.repeat([0, 1], [n_negative, n_positive])
    radius = np.where(y == 1, 0.8, 2.0) + 0.4 * rng.normal(size=len(y))
    angle = rng.uniform(0, 2 * np.pi, len(y))
    return np.c_[radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=len(y))], y


WORLDS = {"Gaussians": gaussians, "moons": moons, "ring": ring}


def ours(X, y, cap, delta):
    return sy.NeymanPearsonClassifier(cap, delta=delta, cv=0.5, random_state=0).fit(X, y).predict


def order_statistic(X, y, cap, delta):
    rule = sy.ThresholdClassifier(
        LogisticRegression(), m.Recall(), subject_to=m.fpr <= cap, delta=delta, cv=0.5, random_state=0
    )
    return rule.fit(X, y).predict


def mapie(X, y, cap, delta):
    from mapie.risk_control import BinaryClassificationController

    X_fit, X_set, y_fit, y_set = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = LogisticRegression().fit(X_fit, y_fit)
    control = BinaryClassificationController(
        model.predict_proba, "fpr", target_level=cap, confidence_level=1 - delta, fwer_method="fixed_sequence"
    )
    control.calibrate(X_set, y_set)
    if control.best_predict_param is None:  # no threshold is safe enough: nothing may be called positive
        return lambda X_new: np.zeros(len(X_new))
    return control.predict


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rules = {"NeymanPearsonClassifier, RBF": ours, "logistic regression, order statistic": order_statistic}
    try:
        import mapie as _  # noqa: F401

        rules["logistic regression, MAPIE"] = mapie
    except ImportError:
        print("MAPIE is not installed: pip install 'steelyard[bench]'")
    found = {}
    for world, draw in WORLDS.items():
        for cap, delta in PROMISES:
            rates = {name: np.empty((runs, 2)) for name in rules}
            for k in range(runs):
                rng = np.random.default_rng([k, 7])
                X, y = draw(ROWS // 2, ROWS // 2, rng)
                X_new, y_new = draw(10_000, 4_000, rng)
                for name, rule in rules.items():
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        called = np.asarray(rule(X, y, cap, delta)(X_new)) == 1
                    rates[name][k] = called[y_new == 0].mean(), called[y_new == 1].mean()
            found[f"{world}, cap {cap:g}, delta {delta:g}"] = {
                name: {
                    "violations": float((r[:, 0] > cap).mean()),
                    "allowed": delta + 3 * float(np.sqrt(delta * (1 - delta) / runs)),
                    "mean_fpr": float(r[:, 0].mean()),
                    "tpr": float(r[:, 1].mean()),
                }
                for name, r in rates.items()
            }
            write("promise_kernels", {"runs": runs, "rows": ROWS, "settings": found}, show=False)
            print(world, cap, delta, found[f"{world}, cap {cap:g}, delta {delta:g}"], flush=True)


if __name__ == "__main__":
    main()
