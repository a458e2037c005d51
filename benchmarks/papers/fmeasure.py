"""Table 3 and Figure 2 of Cheng et al. (2016): F1 and time of cost-sensitive SVMs over the levels t, and the bundle's
progress.

Each method trains all pairs of level t in 0.1 ... 0.9 (costs 1 - t/2 and t/2) and C, hinge loss, gap 1e-3, on half
of the rows; the pair is chosen by F1 on a quarter (sign of the score, as in the paper) and F1 reported on the last
quarter, over five stratified splits. The paper has the one split of LIBSVM's files: where the data mark its test rows
it stands beside the five, a third of its training rows to choose on. Time is that of all trainings and of labelling
the test part, in seconds of one core (processor time). SVM-CS is LIBLINEAR, BM-nls-CS and BM-ls-CS the
bundle without and with line search, one problem after the other (nothing shared), "grid" our default solver on the
whole grid. SVMperf's place has `StructuralSVM("f1")` with C from 2^-4 to 2^8, LR-ML^E is `ExpectedFBetaClassifier` on
logistic regression; their C is chosen in the same way. Three of them train on the rows to choose on as well, which is
no part of the paper: the grid's model with the chosen pair fitted again, logistic regression (C = 1) with the exact
threshold (`ThresholdClassifier`), and `MeasureClassifier`. adult stands for a3a (as a9a),
covertype for acoustic, 20news for news20; of covertype and ijcnn1 a part of the rows is used (`ROWS`).

Results are written after every split, and what is there is not run again; methods that are named are run anew.

    STEELYARD_DATA=... python benchmarks/papers/fmeasure.py [sets] [methods]       needs liblinear-official
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent.parent))

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, data_folder, write
from _sets import binary, with_constant
from batch import Liblinear
from steelyard.solvers.linear.cost_sensitive import BundleOptions, solve, solve_grid

ROWS = {"a9a": None, "letter": None, "ijcnn1": 40_000, "satimage": None, "covertype": 40_000, "20news-bydate": None}
SPLITS = ("1", "2", "3", "4", "5", "LIBSVM")
LEVELS = [(1 - t / 2, t / 2) for t in np.linspace(0.1, 0.9, 9)]
CS = [1e-3, 1e-2, 1e-1, 1.0]
PERF_CS = [2.0**k for k in range(-4, 9)]
REFITTED = "grid, refitted"
EPS = 0.1  # LIBLINEAR's tolerance; see benchmarks/batch.py for the gaps it reaches


def one_by_one(options):
    def run(X, y):
        found = (
            solve(X, y, p, n, C, 1e-3, "hinge", "bundle", bundle=options, max_passes=400) for p, n in LEVELS for C in CS
        )
        return [r.w for r in found]

    return run


def grid(X, y):
    return [r.w for r in solve_grid(X, y, LEVELS, CS, 1e-3)]


def liblinear(X, y):
    problem = Liblinear(X, y)
    return [problem.fit(p, n, C, EPS) for p, n in LEVELS for C in CS]


class Linear:
    """A weight vector as a classifier with labels -1 and 1; its last number is the intercept."""

    def __init__(self, w, point):
        self.w, self.point = w, point

    def predict(self, X):
        return np.where(X @ self.w[:-1] + self.w[-1] > 0, 1.0, -1.0)


def with_costs(run):
    points = [(p, n, C) for p, n in LEVELS for C in CS]
    return lambda X, y: [Linear(w, point) for w, point in zip(run(with_constant(X), y), points, strict=True)]


def refitted(model, X, y, factor):
    """The chosen costs and C on more rows; the losses are sums, so C goes down as rows are added."""
    p, n, C = model.point
    return Linear(solve(with_constant(X), y, p, n, C * factor, 1e-3).w, model.point)


def logistic(C):
    return LogisticRegression(C=C, max_iter=1000)


METHODS = {
    "SVM-CS (LIBLINEAR)": with_costs(liblinear),
    "BM-nls-CS": with_costs(one_by_one(BundleOptions(line_search=False))),
    "BM-ls-CS": with_costs(one_by_one(BundleOptions())),
    "grid": with_costs(grid),
    REFITTED: with_costs(grid),
    "StructuralSVM": lambda X, y: [sy.StructuralSVM("f1", C).fit(X, y) for C in PERF_CS],
    "LR-ML^E": lambda X, y: [sy.ExpectedFBetaClassifier(logistic(C)).fit(X, y) for C in CS],
}
TOGETHER = {
    "logistic, threshold": lambda X, y: sy.ThresholdClassifier(logistic(1.0), m.FBeta(1)).fit(X, y),
    "MeasureClassifier": lambda X, y: sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y),
}


def rows_of(split, y, is_test):
    """Rows to train on, to choose on and to report on; None where the data have no split of LIBSVM's."""
    if split != "LIBSVM":
        half, rest = train_test_split(np.arange(len(y)), test_size=0.5, random_state=int(split), stratify=y)
        return half, *train_test_split(rest, test_size=0.5, random_state=int(split), stratify=y[rest])
    if is_test is None:
        return None
    given = np.flatnonzero(~is_test)
    return *train_test_split(given, test_size=1 / 3, random_state=0, stratify=y[given]), np.flatnonzero(is_test)


def marked_test_rows(name):
    """LIBSVM's test rows in the order of `binary`, if the file marks them."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=False) as file:
        if "is_test" not in file:
            return None
        order = np.random.default_rng(0).permutation(len(file["y"]))[: ROWS[name]]
        return file["is_test"].astype(bool)[order]


def run_method(method, X, y, parts):
    train, validate, test = parts
    start, choosing = time.process_time(), 0.0
    both = np.concatenate([train, validate])
    if method in TOGETHER:
        model = TOGETHER[method](X[both], y[both])
    else:
        models = METHODS[method](X[train], y[train])
        stop = time.process_time()
        model = max(models, key=lambda model: m.FBeta(1).score(y[validate], model.predict(X[validate])))
        choosing = time.process_time() - stop
    if method == REFITTED:
        model = refitted(model, X[both], y[both], len(train) / len(both))
    labels = model.predict(X[test])
    out = {"f1": m.FBeta(1).score(y[test], labels), "seconds": time.process_time() - start - choosing}
    if isinstance(model, sy.StructuralSVM):
        out |= {"C": model.C, "at_zero": not model.coef_.any()}
    if isinstance(model, sy.MeasureClassifier):
        out |= {"model": f"{model.loss_}, C {model.C_:.3g}, cost ratio {model.costs_[0] / model.costs_[1]:.3g}"}
    return out


def table(name, known, anew, save):
    """Fills `known`, {split: {method: ...}}, with what is missing or to be run anew."""
    X, y = binary(name, ROWS[name])
    y, is_test = 2.0 * y - 1.0, marked_test_rows(name)
    for split in SPLITS:
        parts = rows_of(split, y, is_test)
        if parts is None:
            continue
        found = known.setdefault(split, {})
        for method in (*METHODS, *TOGETHER):
            if method not in found or method in anew:
                found[method] = run_method(method, X, y, parts)
                print(name, split, method, found[method], flush=True)
        known[split] = {method: found[method] for method in (*METHODS, *TOGETHER) if method in found}
        save()


def progress(name, rows):
    """Figure 2: the objective at the new point of each round."""
    X, y = binary(name, rows)
    X, y = with_constant(X), 2.0 * y - 1.0
    out = {}
    for label, options in (("BM-nls-CS", BundleOptions(line_search=False)), ("BM-ls-CS", BundleOptions())):
        out[label] = solve(X, y, 0.75, 0.25, 0.1, 1e-3, "hinge", "bundle", bundle=options).history.tolist()
    return out


def main(words):
    warnings.filterwarnings("ignore", message="the bound on f1 is smallest at w = 0")  # in the table: at_zero
    file = RESULTS / "fmeasure.json"
    old = json.loads(file.read_text()) if file.exists() else {}
    figures = old if "splits" in old else {"splits": {}, "progress": {}}
    figures |= {"levels": 9, "Cs": CS}
    figures.pop("machine", None)
    anew = [word for word in words if word in (*METHODS, *TOGETHER)]
    for name in [word for word in words if word in ROWS] or ROWS:
        table(name, figures["splits"].setdefault(name, {}), anew, lambda: write("fmeasure", figures, show=False))
        if name in ("letter", "ijcnn1", "covertype") and name not in figures["progress"]:
            figures["progress"][name] = progress(name, 20_000)
        figures["splits"] = {one: figures["splits"][one] for one in ROWS if one in figures["splits"]}
        write("fmeasure", figures, show=False)


if __name__ == "__main__":
    main(sys.argv[1:])
