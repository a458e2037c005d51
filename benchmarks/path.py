"""The exact cost path counted in LIBLINEAR fits, its optimality at every kink, and how fast any cost is recovered.

Claims: the whole path costs at most 15 LIBLINEAR fits (hinge, tol 1e-3) on pima, 30 on spambase and 60 on letter
(10,000 rows); the optimality conditions hold to 1e-8 at every kink; a model is recovered at least 10 times faster than
it is fitted on spambase.

    STEELYARD_DATA=... python benchmarks/path.py
"""

import time
import warnings

import numpy as np
from sklearn.svm import LinearSVC

import steelyard as sy
from _run import interleaved, write
from _sets import binary, with_constant
from steelyard.solvers.cost_path import trace

SETS = {  # rows (None: all), lambda = 1 / (n C), and the claim in fits
    "pima": (None, 1e-3, 15),
    "wdbc": (None, 1e-3, None),
    "spambase": (None, 1e-3, 30),
    "splice": (None, 1e-2, None),
    "letter": (10_000, 1e-3, 60),
    "a9a": (5_000, 1e-2, None),
}


def liblinear(Z, y, C):
    return LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-3, max_iter=100_000, random_state=0).fit(Z, y)


def one(name, rows, lam, claim):
    X, y = binary(name, rows)
    Z, C = with_constant(X), 1 / (len(y) * lam)
    seconds = interleaved(
        {"path": lambda: sy.CostPath(C=C, method="exact").fit(X, y), "fit": lambda: liblinear(Z, y, C)}, repeats=4
    )
    path = trace(Z, 2.0 * y - 1, C)
    tau = np.random.default_rng(0).uniform(0.05, 0.95, 50)
    start = time.perf_counter()
    for t in tau:
        path.models(t)
    recover = (time.perf_counter() - start) / len(tau)
    kinks = len(path.kinks)
    return {
        "rows": len(y), "columns": Z.shape[1], "kinks": kinks, "n_log_n": len(y) * float(np.log(len(y))),
        "path_s": seconds["path"], "fit_s": seconds["fit"], "recover_s": recover,
        "fits": seconds["path"] / seconds["fit"], "at_most": claim,
        "recover_times_faster": seconds["fit"] / recover, "kkt": path.audit(), "audited_kinks": kinks,
    }  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    write("path", {"sets": {name: one(name, *how) for name, how in SETS.items()}})


if __name__ == "__main__":
    main()
