"""What it costs to look at X and y before a fit: the share of the processor's time of `fit` that goes to the border.

The border (`estimators/_border.rows_and_y`) finds out what X is, that its numbers are finite, that sparse rows are in
order, and that y fits. Then `_binary.Labels` tells two classes apart, which a fit needs in any case. Each estimator
on dense float64, dense float32 and CSR rows; all run in turns, so that each finds the caches as a fit leaves them, and
the best time of each counts. Claim: at most 2 % of a fit for the border. A pass over a stream is so short that the look
at each number is left to its loop, which reads it anyway; `StructuralSVM` leaves it to its first scores, which are no
numbers where X has none.

    python benchmarks/border.py
"""

import time
import warnings

import numpy as np
import scipy.sparse as sp

import steelyard as sy
import steelyard.measures as m
from _run import QUICK, interleaved, write
from steelyard.estimators._binary import Labels
from steelyard.estimators._border import rows_and_y

N, D = (2_000 if QUICK else 100_000), 50
STORED = 0.2  # of the numbers, in CSR
REPEATS, SHORT = 2, 40  # of long fits, and of those that take milliseconds
FITS = {
    "MeasureClassifier": (lambda: sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0), True),
    "OnlineClassifier": (lambda: sy.OnlineClassifier(m.FBeta(1), random_state=0), False),
    "StructuralSVM": (lambda: sy.StructuralSVM("kld"), "columns"),
    "CostPath, approximate": (lambda: sy.CostPath(C=1e-4, method="approximate", tol=1e-2), True),
    "NeymanPearsonClassifier, linear": (
        lambda: sy.NeymanPearsonClassifier(0.05, kernel="linear", solver="generative", random_state=0),
        True,
    ),
    "QValueClassifier": (lambda: sy.QValueClassifier(0.05, random_state=0), True),
}


def tables():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    y = (X[:, 0] + X[:, 1] + rng.standard_normal(N) > 1).astype(int)
    thin = X * (rng.random((N, D)) < STORED)
    return {"float64": X, "float32": X.astype(np.float32), "CSR": sp.csr_matrix(thin)}, y


def main():
    warnings.simplefilter("ignore")
    rows, y = tables()
    found = {}
    for name, (make, check) in FITS.items():
        for kind, X in rows.items():
            made = make()
            jobs = {
                "fit": lambda made=made, X=X: made.fit(X, y),
                "border": lambda made=made, X=X, check=check: rows_and_y(made, X, y, check=check),
                "classes": lambda: Labels.of(y),
            }
            took = interleaved(jobs, REPEATS if check is True else SHORT, time.process_time)
            shares = {"share": took["border"] / took["fit"], "share_classes": took["classes"] / took["fit"]}
            found.setdefault(name, {})[kind] = {**took, **shares}
            print(name, kind, {key: round(value, 4) for key, value in found[name][kind].items()}, flush=True)
    write("border", {"rows": [N, D], "stored": STORED, "fits": found}, show=False)


if __name__ == "__main__":
    main()
