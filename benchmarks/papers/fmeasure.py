"""Table 3 and Figure 2 of Cheng et al. (2016): F1 and time of cost-sensitive SVMs over the levels t, and the bundle's
progress.

Each method trains all pairs of level t in 0.1 ... 0.9 (costs 1 - t/2 and t/2) and C, hinge loss, gap 1e-3, on half
of the rows; the pair is chosen by F1 on a quarter (sign of the score, as in the paper) and F1 reported on the last
quarter. Time is that of all trainings and of labelling that quarter. SVM-CS is LIBLINEAR, BM-nls-CS and BM-ls-CS the
bundle without and with line search, one problem after the other (nothing shared), "grid" our default solver on the
whole grid. SVMperf's place has `StructuralSVM("f1")` with C from 2^-4 to 2^8, LR-ML^E is `ExpectedFBetaClassifier` on
logistic regression; their C is chosen in the same way. The last two train on the first three quarters: logistic
regression with the exact threshold (`ThresholdClassifier`), and `MeasureClassifier`. adult stands for a3a (as a9a),
covertype for acoustic, 20news for news20.

    STEELYARD_DATA=... python benchmarks/papers/fmeasure.py       needs liblinear-official
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

sys.path.insert(0, str(Path(__file__).parent.parent))

import steelyard as sy
import steelyard.measures as m
from _run import write
from _sets import binary, with_constant
from batch import Liblinear
from steelyard.solvers.cost_sensitive import BundleOptions, solve, solve_grid

SETS = {"a9a": 12_000, "letter": None, "ijcnn1": 20_000, "satimage": None, "covertype": 12_000, "20news-bydate": None}
LEVELS = [(1 - t / 2, t / 2) for t in np.linspace(0.1, 0.9, 9)]
CS = [1e-3, 1e-2, 1e-1, 1.0]
PERF_CS = [2.0**k for k in range(-4, 9)]
EPS = 0.1  # LIBLINEAR's tolerance; see benchmarks/batch.py for the gaps it reaches


def one_by_one(options):
    def run(X, y):
        found = (
            solve(X, y, p, n, C, 1e-3, "hinge", "bundle", bundle=options, max_passes=400) for p, n in LEVELS for C in CS
        )
        return [r.w for r in found]

    return run


def liblinear(X, y):
    problem = Liblinear(X, y)
    return [problem.fit(p, n, C, EPS) for p, n in LEVELS for C in CS]


class Linear:
    """A weight vector as a classifier with labels -1 and 1; its last number is the intercept."""

    def __init__(self, w):
        self.w = w

    def predict(self, X):
        return np.where(X @ self.w[:-1] + self.w[-1] > 0, 1.0, -1.0)


def with_costs(run):
    return lambda X, y: [Linear(w) for w in run(with_constant(X), y)]


def logistic(C):
    return LogisticRegression(C=C, max_iter=1000)


METHODS = {
    "SVM-CS (LIBLINEAR)": with_costs(liblinear),
    "BM-nls-CS": with_costs(one_by_one(BundleOptions(line_search=False))),
    "BM-ls-CS": with_costs(one_by_one(BundleOptions())),
    "grid": with_costs(lambda X, y: [r.w for r in solve_grid(X, y, LEVELS, CS, 1e-3)]),
    "StructuralSVM": lambda X, y: [sy.StructuralSVM("f1", C).fit(X, y) for C in PERF_CS],
    "LR-ML^E": lambda X, y: [sy.ExpectedFBetaClassifier(logistic(C)).fit(X, y) for C in CS],
}
TOGETHER = {
    "logistic, threshold": lambda X, y: sy.ThresholdClassifier(logistic(1.0), m.FBeta(1)).fit(X, y),
    "MeasureClassifier": lambda X, y: sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y),
}


def table(name, rows, skip=()):
    X, y = binary(name, rows)
    y, n = 2.0 * y - 1.0, len(y)
    train, validate, both, test = (
        slice(int(a * n), int(b * n)) for a, b in ((0, 0.5), (0.5, 0.75), (0, 0.75), (0.75, 1))
    )
    out = {}

    def measure(method, train_and_choose):
        start = time.perf_counter()
        model, choosing = train_and_choose()
        labels = model.predict(X[test])
        seconds = time.perf_counter() - start - choosing
        out[method] = {"f1": m.FBeta(1).score(y[test], labels), "seconds": seconds}
        if isinstance(model, sy.StructuralSVM):
            out[method] |= {"C": model.C, "at_zero": not model.coef_.any()}

    def chosen(run):
        models = run(X[train], y[train])
        start = time.perf_counter()
        best = max(models, key=lambda model: m.FBeta(1).score(y[validate], model.predict(X[validate])))
        return best, time.perf_counter() - start

    for method, run in METHODS.items():
        if method not in skip:
            measure(method, lambda run=run: chosen(run))
    for method, run in TOGETHER.items():
        measure(method, lambda run=run: (run(X[both], y[both]), 0.0))
    return {"rows": n, "methods": out}


def progress(name, rows):
    """Figure 2: the objective at the new point of each round."""
    X, y = binary(name, rows)
    X, y = with_constant(X), 2.0 * y - 1.0
    out = {}
    for label, options in (("BM-nls-CS", BundleOptions(line_search=False)), ("BM-ls-CS", BundleOptions())):
        out[label] = solve(X, y, 0.75, 0.25, 0.1, 1e-3, "hinge", "bundle", bundle=options).history.tolist()
    return out


def main():
    figures = {"levels": 9, "Cs": CS, "table": {}, "progress": {}}
    for name, rows in SETS.items():
        # 31,217 columns: the bundle's cuts are dense there, and without line search it does not come to an end.
        figures["table"][name] = table(name, rows, skip=("BM-nls-CS", "BM-ls-CS") if name.startswith("20news") else ())
        if name in ("letter", "ijcnn1", "covertype"):
            figures["progress"][name] = progress(name, rows)
        write("fmeasure", figures)


if __name__ == "__main__":
    main()
