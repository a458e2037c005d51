"""Table 3 and Figure 2 of Cheng et al. (2016): F1 and time of cost-sensitive SVMs over the levels t, and the bundle's
progress.

Each method trains all pairs of level t in 0.1 ... 0.9 (costs 1 - t/2 and t/2) and C, hinge loss, gap 1e-3, on half
of the rows; the pair is chosen by F1 on a quarter (sign of the score, as in the paper) and F1 reported on the last
quarter. Time is that of all trainings. SVM-CS is LIBLINEAR, BM-nls-CS and BM-ls-CS the bundle without and with line
search, one problem after the other (nothing shared), "grid" our default solver on the whole grid, and the last
column `MeasureClassifier` on the two training parts together. adult stands for a3a (as a9a), covertype for
acoustic, 20news for news20.

    STEELYARD_DATA=... python benchmarks/papers/fmeasure.py       needs liblinear-official
"""

import sys
import time
from pathlib import Path

import numpy as np

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


METHODS = {
    "SVM-CS (LIBLINEAR)": liblinear,
    "BM-nls-CS": one_by_one(BundleOptions(line_search=False)),
    "BM-ls-CS": one_by_one(BundleOptions()),
    "grid": lambda X, y: [r.w for r in solve_grid(X, y, LEVELS, CS, 1e-3)],
}


def f1(X, y, w):
    return m.FBeta(1).score(y, np.where(X @ w > 0, 1.0, -1.0))


def table(name, rows, skip=()):
    X, y = binary(name, rows)
    y, n = 2.0 * y - 1.0, len(y)
    Z = with_constant(X)
    train, validate, test = slice(0, n // 2), slice(n // 2, 3 * n // 4), slice(3 * n // 4, n)
    out = {}
    for method, run in METHODS.items():
        if method in skip:
            continue
        start = time.perf_counter()
        models = run(Z[train], y[train])
        seconds = time.perf_counter() - start
        best = max(models, key=lambda w: f1(Z[validate], y[validate], w))
        out[method] = {"f1": f1(Z[test], y[test], best), "seconds": seconds}
    start = time.perf_counter()
    ours = sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X[: 3 * n // 4], y[: 3 * n // 4])
    out["MeasureClassifier"] = {
        "f1": m.FBeta(1).score(y[test], ours.predict(X[test])),
        "seconds": time.perf_counter() - start, "loss": ours.loss_,
    }  # fmt: skip
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
