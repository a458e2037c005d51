"""Steps that need no tuning: ``eta0="auto"`` against the best of nine powers of ten, on every shared data set.

For each set the papers' step ``eta0 / sqrt(t)`` is tuned on a validation part and refitted; both learners are guarded
and take five passes. Claim: "auto" is within 0.005 of the tuned one in BAKLD, and within 0.001 in KLD, on the mean of
three splits. On small sets the noise of the test part is larger than that, and its standard error is given.

    STEELYARD_DATA=... python benchmarks/online_steps.py
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import write

sys.path.insert(0, str(Path(__file__).parent / "papers"))
from _data import POSITIVE, problem

SETS = tuple(name for name in POSITIVE if name != "covertype-1")
STEPS = tuple(10.0**k for k in range(-4, 5))
SPLITS = 3


def fitted(measure, X, y, eta0, seed):
    return sy.OnlineClassifier(measure, eta0=eta0, max_iter=5, random_state=seed).fit(X, y)


def compare(measure, X, y, seed):
    """Value of "auto" and of the tuned step on the test part, and the tuned step."""
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    X_a, X_b, y_a, y_b = train_test_split(X_fit, y_fit, test_size=0.3, random_state=seed, stratify=y_fit)
    held_out = {eta0: measure.score(y_b, fitted(measure, X_a, y_a, eta0, seed).predict(X_b)) for eta0 in STEPS}
    best = max(held_out, key=held_out.get)
    auto, tuned = (
        measure.score(y_test, fitted(measure, X_fit, y_fit, e, seed).predict(X_test)) for e in ("auto", best)
    )
    return auto, tuned, best


def main():
    found = {}
    for name in SETS:
        X, y = problem(name, rows=40_000)
        found[name] = {"rows": len(y), "features": X.shape[1], "prevalence": float(y.mean())}
        for label, measure in (("BAKLD", m.BAKLD()), ("NegKLD", m.NegKLD())):
            runs = [compare(measure, X, y, seed) for seed in range(SPLITS)]
            gaps = [auto - tuned for auto, tuned, _ in runs]
            found[name][label] = {
                "auto": float(np.mean([r[0] for r in runs])),
                "tuned": float(np.mean([r[1] for r in runs])),
                "steps": [r[2] for r in runs],
                "gap": float(np.mean(gaps)),
                "standard_error": float(np.std(gaps, ddof=1) / np.sqrt(SPLITS)),
            }
        found[name]["within"] = found[name]["BAKLD"]["gap"] > -0.005 and found[name]["NegKLD"]["gap"] > -0.001
    write("online_steps", {"sets": found})


if __name__ == "__main__":
    main()
