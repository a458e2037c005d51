"""Structural SVMs: the search for the most violated confusion matrix, time and memory against n, and held-out quality.

1. KLD on 20,000 x 50 with 11 % positives: whole fits with the one-pass search against the same solver with the compiled
   table of n_pos x n_neg cells. The table is given the losses precomputed (a look-up a cell), which is kind to it:
   computing the loss in each cell is timed too, for one cut. Claim: at least 20 times faster, same objective.
2. One search at the solution for losses of other shapes: bounds, divide and conquer, the table.
3. Fits from 5,000 to 500,000 x 54. Claim: near linear in time, O(n d) in memory.
4. Whether the miscount that is left is the optimum's or the solver's: KLD on the training rows with the gap a thousand
   times smaller, with other Cs and another weight of the intercept, on several draws of the data of 1.
5. Held-out scores against logistic regression with the exact threshold, on data sets if STEELYARD_DATA is set.

    python benchmarks/structural.py [parts: fit searches growth optimum expected_fbeta_s quality]
"""

import json
import multiprocessing
import os
import resource
import sys
import time
from dataclasses import replace

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, interleaved, write
from steelyard import _core
from steelyard.measures import expected_fbeta_labels
from steelyard.solvers.structural.confusion import resolve
from steelyard.solvers.structural.cutting_planes import solve

SIZES = (5_000, 20_000, 50_000, 100_000, 200_000, 500_000)
C = 10.0
DRAWS = (1, 2, 3, 4, 5, 6)
# Classes that a linear model tells apart well, and classes that it does not.
CLASSES = (("adult", 1), ("ijcnn1", 1), ("letter", 0), ("letter", 7), ("satimage", 0), ("satimage", 3))


def sample(n, d, seed=1):
    X, y = make_classification(n, d, n_informative=15, weights=[0.89], flip_y=0.02, class_sep=0.8, random_state=seed)
    return (X - X.mean(0)) / X.std(0), y == 1


def whole_fits():
    X, y = sample(20_000, 50)
    found = {}

    def fit(search):
        found[search or "one pass"] = solve(X, y, "kld", C, search=search)

    seconds = interleaved({"one pass": lambda: fit(None), "table": lambda: fit("table")}, repeats=3)
    slow = solve(X, y, m.NegKLD(), C, max_iter=1)
    textbook = resolve("kld", slow.loss.n_pos, slow.loss.n_neg)
    return {
        "rows": len(y),
        "features": X.shape[1],
        "positives": int(y.sum()),
        "seconds": seconds,
        "cuts": {name: run.n_iter for name, run in found.items()},
        "objective": {name: run.objective for name, run in found.items()},
        "times_faster": seconds["table"] / seconds["one pass"],
        "textbook_cut_s": cell_by_cell(textbook, X, y, found["one pass"]),
        "neg_kld": m.NegKLD().score(y, X @ found["one pass"].coef + found["one pass"].intercept > 0),
    }


def cell_by_cell(loss, X, y, model):
    """One search of the table with KLD computed in each cell; it is too slow for a whole fit."""
    tape = m.NegKLD().tape()
    everywhere = _core.ConfusionLoss.of_measure(
        tape.op, tape.left, tape.right, tape.number, 0.5 / loss.n, 100.0, 0.0, "table", 0, 0, loss.n
    )
    scores = X @ model.coef + model.intercept
    start = time.perf_counter()
    _core.most_violated(everywhere, scores, y, 100.0 / loss.n)
    return time.perf_counter() - start


def single_searches():
    X, y = sample(20_000, 50)
    rows = {}
    for loss in ("zero_one", "f1", "fbeta@0.5", "q", "qgm", "prec@500", m.GMean(), m.MCC(), m.BAKLD()):
        model = solve(X, y, loss, C, max_iter=200)
        scores = X @ model.coef + model.intercept
        searches = ("bounds", *(["divide"] if model.loss.mixed else []), "table")
        found = {search: one_search(replace(model.loss, search=search), scores, y) for search in searches}
        values = [value for _, value in found.values()]
        assert np.ptp(values) <= 1e-9 * (1 + abs(values[0]))
        rows[str(loss)] = {search: seconds for search, (seconds, _) in found.items()}
    return rows


def one_search(loss, scores, y):
    """Best time and value; the table is too slow to be run more than once."""
    core, values = loss.core(), []
    search = lambda: values.append(_core.most_violated(core, scores, y, 100.0 / loss.n)[2])
    return interleaved({"search": search}, repeats=1 if loss.search == "table" else 5)["search"], values[0]


def growth(n):
    """In a process of its own, so that the peak of memory is this fit's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 54))
    y = X @ rng.normal(size=54) + 4 * rng.normal(size=n) > 10.5
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        model = sy.StructuralSVM("kld", C=C).fit(X, y)
        best = min(best, time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "rows": n,
        "positives": int(y.sum()),
        "seconds": best,
        "cuts": model.n_iter_,
        "gap": model.gap_,
        "extra_bytes_per_row": 1024 * (peak - before) / n,
        "neg_kld": m.NegKLD().score(y, model.predict(X)),
    }


def sizes():
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return pool.map(growth, SIZES, chunksize=1)


def optimum():
    """KLD on the rows trained on; the intercept is a column of ones, or of tens, which hardly regularises it."""
    draws = []
    for seed in DRAWS:
        X, y = sample(20_000, 50, seed)
        tens = np.hstack([X, np.full((len(y), 1), 10.0)])
        runs = {
            "tol 1e-3": solve(X, y, "kld", C),
            "tol 1e-6": solve(X, y, "kld", C, tol=1e-6),
            "C 1000": solve(X, y, "kld", 1000.0, tol=1e-5),
            "free intercept": solve(tens, y, "kld", C, tol=1e-6, fit_intercept=False),
        }
        draws.append({name: {"kld": _kld(run, X, y), "objective": run.objective} for name, run in runs.items()})
    return {"C": C, "draws": draws}


def _kld(run, X, y):
    intercept = run.intercept + (10.0 * run.coef[-1] if len(run.coef) > X.shape[1] else 0.0)
    return -m.NegKLD().score(y, X @ run.coef[: X.shape[1]] + intercept > 0)


def quality():
    """F1 and KLD on held-out halves: structural SVM with C from three folds, logistic regression with a threshold."""
    rows, folder = {}, os.environ.get("STEELYARD_DATA")
    for name, positive in CLASSES if folder else ():
        data = np.load(f"{folder}/{name}.npz")
        labels = data["y"]
        X, y = np.asarray(data["X"], dtype=np.float64), (labels == positive).astype(int)
        X = (X - X.mean(0)) / np.maximum(X.std(0), 1e-12)
        parts = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
        scores = {"f1": held_out(*parts, "f1", m.FBeta(1)), "kld": held_out(*parts, "kld", m.NegKLD())}
        rows[f"{name}, class {positive}"] = {"positives": float(y.mean()), **scores}
    return rows


def held_out(X, X_test, y, y_test, loss, measure):
    grid = GridSearchCV(sy.StructuralSVM(loss), {"C": [0.1, 1.0, 10.0, 100.0]}, scoring=measure.scorer(), cv=3)
    contenders = {
        "structural": grid,
        "threshold": sy.ThresholdClassifier(LogisticRegression(max_iter=1000), measure),
    }
    if loss == "f1":
        contenders["expected"] = sy.ExpectedFBetaClassifier(LogisticRegression(max_iter=1000))
    found = {}
    for name, model in contenders.items():
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        found[name] = {"score": measure.score(y_test, model.predict(X_test)), "seconds": seconds}
    return found


def labelling():
    rng = np.random.default_rng(0)
    batches = {str(n): rng.random(n) ** 4 for n in (1_000, 10_000, 100_000)}
    return interleaved({n: lambda p=p: expected_fbeta_labels(p) for n, p in batches.items()}, repeats=2)


PARTS = {
    "fit": whole_fits, "searches": single_searches, "growth": sizes, "optimum": optimum,
    "expected_fbeta_s": labelling, "quality": quality,
}  # fmt: skip


def main(words):
    """`words`: which parts to run again; all of them unless named."""
    known = RESULTS / "structural.json"
    figures = json.loads(known.read_text()) if known.exists() else {}
    figures.pop("machine", None)
    for part in words or PARTS:
        figures[part] = PARTS[part]()
        write("structural", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
