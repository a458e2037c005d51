"""Table 2 of Yu, Vishwanathan and Zhang (2009): seconds to recover a model, to fit one, and to find the whole path.

Recover, LIBLINEAR and L-BFGS-B are means over tau = 0.1, 0.2, ..., 0.9 as in the paper: a model taken from the path;
LIBLINEAR (hinge, tolerance 1e-3, through scikit-learn); and SciPy's L-BFGS-B on the dual with its box, to the same
projected gradient of 1e-3. DPF is the exact path. The regularisation is the paper's, C = 1 / (n lambda).
pima is its diabetes data with as many training rows, standardised; spamassassin stands for its spam task (2,500
rows, counts divided by the largest of their column), and the UCI splice data for its worm splice sites.

    STEELYARD_DATA=... python benchmarks/papers/cost_path.py [sets]
"""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import LinearSVC

sys.path.insert(0, str(Path(__file__).parent.parent))

from _run import RESULTS, interleaved, write
from _sets import binary, with_constant
from steelyard.solvers.path.exact import trace

TAU = np.linspace(0.1, 0.9, 9)
SETS = {"pima": (668, 1e-3, 5), "spamassassin": (2500, 1e-6, 1), "splice": (None, 1e-2, 3)}  # rows, lambda, repeats
PAPER = {  # as printed, on its own data and a machine of 2009: rows, columns, then Table 2
    "pima": ("Diabetes", 668, 8, 0.003, 0.004, 0.401, 11.104, 1886),
    "spamassassin": ("Spam", 2500, 48784, 0.012, 0.467, 11.102, 1106.413, 6660),
    "splice": ("Splice", 10_000, 804, 0.103, 0.363, 19.155, 1315.878, 22611),
}
NAMES = ("set", "rows", "columns", "recover_s", "liblinear_s", "lbfgsb_s", "dpf_s", "kinks")


def objective(Z, sign, w, tau, C):
    cost = C * np.where(sign > 0, 2 * (1 - tau), 2 * tau)
    return 0.5 * w @ w + float(cost @ np.maximum(0.0, 1.0 - sign * (Z @ w)))


def liblinear(Z, sign, tau, C):
    weight = {1.0: 2 * (1 - tau), -1.0: 2 * tau}
    svm = LinearSVC(loss="hinge", C=C, class_weight=weight, fit_intercept=False, tol=1e-3, max_iter=100_000,
                    random_state=0)  # fmt: skip
    return svm.fit(Z, sign).coef_[0]


def lbfgsb(Z, sign, tau, C):
    """min over 0 <= a <= cost   1/2 |sum a_i y_i x_i|^2 - sum a"""

    def dual(a):
        w = Z.T @ (a * sign)
        return 0.5 * w @ w - a.sum(), sign * (Z @ w) - 1.0

    bounds = [(0.0, c) for c in C * np.where(sign > 0, 2 * (1 - tau), 2 * tau)]
    found = minimize(dual, np.zeros(len(sign)), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 100_000, "maxfun": 1_000_000, "gtol": 1e-3, "ftol": 0.0})  # fmt: skip
    return Z.T @ (found.x * sign)


def one(name, rows, lam, repeats):
    X, y = binary(name, rows)
    Z, sign, C = with_constant(X), 2.0 * y - 1.0, 1 / (len(y) * lam)
    found = {}

    def path():
        found["path"] = trace(Z, sign, C)

    def models(way, make):
        found[way] = [make(t) for t in TAU]

    jobs = {
        "dpf": path,
        "recover": lambda: models("recover", lambda t: found["path"].models(t)[0]),
        "liblinear": lambda: models("liblinear", lambda t: liblinear(Z, sign, t, C)),
        "lbfgsb": lambda: models("lbfgsb", lambda t: lbfgsb(Z, sign, t, C)),
    }
    seconds = interleaved(jobs, repeats)
    value = {way: [objective(Z, sign, w, t, C) for w, t in zip(found[way], TAU, strict=True)]
             for way in ("recover", "liblinear", "lbfgsb")}  # fmt: skip
    single = seconds["liblinear"] / len(TAU)
    return {
        "rows": len(y), "columns": Z.shape[1] - 1, "lambda": lam, "kinks": len(found["path"].kinks),
        "recover_s": seconds["recover"] / len(TAU), "liblinear_s": single, "lbfgsb_s": seconds["lbfgsb"] / len(TAU),
        "dpf_s": seconds["dpf"], "fits": seconds["dpf"] / single,
        "excess": {way: float(np.max(np.divide(value[way], value["recover"])) - 1) for way in ("liblinear", "lbfgsb")},
    }  # fmt: skip


def main(*names):
    """All sets, or those named; the others keep their figures."""
    warnings.simplefilter("ignore")
    path = RESULTS / "cost_path.json"
    known = json.loads(path.read_text())["sets"] if path.exists() else {}
    for name in names or SETS:
        known[name] = one(name, *SETS[name])
        print(name, known[name], flush=True)
    paper = {name: dict(zip(NAMES, row, strict=True)) for name, row in PAPER.items()}
    write("cost_path", {"sets": {name: known[name] for name in SETS if name in known}, "paper": paper}, show=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
