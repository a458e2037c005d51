"""The cost path: counted in LIBLINEAR fits, optimal at every kink, against the paper's algorithm, and at scale.

Claims: by the clock and on two threads the whole path costs at most 3 LIBLINEAR fits (hinge, tol 1e-3) on pima and
spambase, 10 on letter (10,000 rows), 15 on splice and 40 on a9a (5,000 rows); the optimality conditions hold to 1e-8 at
every kink; objectives at 50 random tau equal those of LIBLINEAR at tolerance 1e-10 to 1e-6; a model is recovered at
least 10 times faster than it is fitted on spambase; the path is at least 50 times faster than Algorithm 1 of the paper
as printed; the approximate path keeps its gap between its knots, and its warm-started chain is faster than the batch
engine's shared cuts; kernel paths in the dual form are faster than linear paths on a factor of the kernel matrix, and
as good as SMO at random tau.

    STEELYARD_DATA=... python benchmarks/path.py [sets optimality objectives printed growth approximate kernel
        kernel_optimality]

Each part replaces its section of the results.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC, LinearSVC

import steelyard as sy
from _run import RESULTS, interleaved, write
from _sets import binary, raw, with_constant
from steelyard.estimators._path_features import KernelFeatures
from steelyard.rows import Rows
from steelyard.solvers.kernel import smo
from steelyard.solvers.linear.cost_sensitive import solve_grid
from steelyard.solvers.path import approximate as approximate_path
from steelyard.solvers.path.exact import trace
from steelyard.solvers.path.problem import PathKernel

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from reference.cost_path import algorithm_1, costs, objective

SETS = {  # rows (None: all), lambda = 1 / (n C), and the claim in fits
    "pima": (None, 1e-3, 3),
    "wdbc": (None, 1e-3, None),
    "spambase": (None, 1e-3, 3),
    "splice": (None, 1e-2, 15),
    "letter": (10_000, 1e-3, 10),
    "a9a": (5_000, 1e-2, 40),
}

MANY = 20  # fits of LIBLINEAR in a row


def problem(name):
    rows, lam, claim = SETS[name]
    X, y = binary(name, rows)
    return X, y, 1 / (len(y) * lam), claim


def liblinear(Z, y, C, tol=1e-3, max_iter=100_000, tau=0.5):
    costs = {1: 2 * (1 - tau), 0: 2 * tau}
    return LinearSVC(
        loss="hinge", C=C, class_weight=costs, fit_intercept=False, tol=tol, max_iter=max_iter, random_state=0
    ).fit(Z, y)


def sets():
    return {name: one_set(name) for name in SETS}


def one_set(name):
    X, y, C, claim = problem(name)
    Z = with_constant(X)
    # Many fits at a time, or the shorter job would find the quiet moments of the machine and the longer one not.
    jobs = {
        "path": lambda: sy.CostPath(C=C, method="exact").fit(X, y),
        "fits": lambda: [liblinear(Z, y, C) for _ in range(MANY)],
    }
    seconds, processor = interleaved(jobs, 5), interleaved(jobs, 5, time.process_time)
    fit, sign = seconds["fits"] / MANY, 2.0 * y - 1
    path = trace(Z, sign, C)
    tau = np.random.default_rng(0).uniform(0.05, 0.95, 50)
    start = time.perf_counter()
    for t in tau:
        path.models(t)
    recover = (time.perf_counter() - start) / len(tau)
    on_margin = np.abs(sign[:, None] * (Z @ path.models(tau).T) - 1) < 1e-7
    tied = np.maximum(on_margin[y == 1].mean(0), on_margin[y == 0].mean(0)) > 0.9
    return {
        "rows": len(y), "columns": Z.shape[1], "kinks": len(path.kinks),
        "path_s": seconds["path"], "fit_s": fit, "recover_s": recover, "fits": seconds["path"] / fit, "at_most": claim,
        "processor_fits": processor["path"] / processor["fits"] * MANY,
        "recover_times_faster": fit / recover, "class_tied": float(tied.mean()),
    }  # fmt: skip


def optimality():
    """The residual at every kink; one-hot data as it is stored, with its duplicates, at several C."""
    found = {name: audited(with_constant(X), y, C) for name, (X, y, C, _) in ((n, problem(n)) for n in SETS)}
    X, y = raw("a9a")
    X, y = with_constant(X[:5_000]), (y[:5_000] == y.max()).astype(int)
    found |= {f"a9a, first 5,000 rows, C = {C:g}": audited(X, y, C) for C in (0.01, 0.1, 1.0)}
    return found | {f"copies off by {off:g}": audited(*near_copies(off), 1.0) for off in (1e-7, 1e-6, 1e-5, 1e-4)}


def near_copies(off, rows=200):
    """Every row with a copy that differs from it by about `off`."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(rows, 5)), rng.integers(0, 2, rows)
    return with_constant(np.vstack([X, X + off * rng.normal(size=X.shape)])), np.r_[y, y]


def audited(Z, y, C):
    path = trace(Z, 2.0 * y - 1, C)
    return {"kinks": len(path.kinks), "kkt": path.audit()}


def objectives():
    """At 50 random tau, against LIBLINEAR at tolerance 1e-10. Where it gave up it can only be above."""
    found, max_iter = {}, 1_000_000
    for name in SETS:
        X, y, C, _ = problem(name)
        Z, sign = with_constant(X), 2.0 * y - 1
        path, excess, done = trace(Z, sign, C), [], []
        for tau in np.random.default_rng(1).uniform(0.02, 0.98, 50):
            fit = liblinear(Z, y, C, 1e-10, max_iter, tau)
            theirs = objective(Z, sign, fit.coef_[0], tau, C)
            excess.append(float(objective(Z, sign, path.models(tau)[0], tau, C) / theirs - 1))
            done.append(fit.n_iter_ < max_iter)
        equal = np.abs(np.array(excess)[done]).max(initial=0.0)
        found[name] = {
            "taus": len(excess),
            "converged": int(sum(done)),
            "difference": equal,
            "above": max(excess),
            "below": min(excess),
        }
        print(name, found[name], flush=True)
    return found


def printed():
    """Algorithm 1 with conjugate gradients, vectorised. Without the constant column: with it a whole class is tied at
    tau = 0, and the printed algorithm has no answer to ties."""
    found = {}
    for name in ("pima", "wdbc"):
        X, y, C, _ = problem(name)
        sign, lam, kept = 2.0 * y - 1, SETS[name][1], {}
        jobs = {
            "path": lambda X=X, sign=sign, C=C: trace(X, sign, C),
            "printed": lambda X=X, sign=sign, lam=lam, kept=kept: kept.update(found=algorithm_1(X, sign, lam)),
        }
        seconds = interleaved(jobs, repeats=3)
        tau, w = kept["found"]
        path = trace(X, sign, C)
        exact_tau, exact_w = algorithm_1(X, sign, lam, exact_start=True)
        found[name] = {
            "kinks": len(path.kinks), "printed_kinks": len(tau) - 2, "printed_s": seconds["printed"],
            "path_s": seconds["path"], "times_faster": seconds["printed"] / seconds["path"],
            "largest_difference": np.abs(path.models(np.clip(tau, 0, 1)) - w).max(),
            "largest_difference_from_an_exact_start": np.abs(path.models(np.clip(exact_tau, 0, 1)) - exact_w).max(),
        }  # fmt: skip
    return found


def growth():
    """Kinks against n, with the same lambda = 1 / (n C)."""
    found = {}
    for name, lam in (("letter", 1e-3), ("spambase", 1e-3), ("ijcnn1", 1e-3)):
        X, y = binary(name)
        sizes = [n for n in (500, 1_000, 2_000, 4_000, 8_000, 16_000) if n <= len(y)]
        kinks = [len(trace(with_constant(X[:n]), 2.0 * y[:n] - 1, 1 / (n * lam)).kinks) for n in sizes]
        found[name] = {"rows": sizes, "kinks": kinks, "n_log_n": [n * float(np.log(n)) for n in sizes]}
    return found


def approximate():
    """All rows, tol 1e-3: time, the gap between knots against a certified bound at random tau, and shared cuts."""
    found = {}
    for name, rows, C in (("a9a", None, 0.01), ("ijcnn1", 40_000, 0.01)):
        X, y = binary(name, rows)
        Z, sign, tol = with_constant(X), 2.0 * y - 1, 1e-3
        start = time.perf_counter()
        path = approximate_path.trace(Z, sign, C, tol=tol)
        middle = time.perf_counter()
        solve_grid(Z, sign, [(2 * (1 - t), 2 * t) for t in path.tau], [C], tol / 4, solver="bundle", loss="hinge")
        end = time.perf_counter()
        tau = np.random.default_rng(2).uniform(0, 1, 50)
        bounds = solve_grid(Z, sign, [(2 * (1 - t), 2 * t) for t in tau], [C], 1e-5, loss="hinge")
        gaps = [
            1 - b.objective * (1 - b.gap) / objective(Z, sign, w, t, C)
            for t, w, b in zip(tau, path.models(tau), bounds, strict=True)
        ]
        found[name] = {
            "rows": len(y), "columns": Z.shape[1], "C": C, "tol": tol, "knots": len(path.tau), "gap": path.gap,
            "path_s": middle - start, "shared_cuts_s": end - middle, "largest_gap_seen": max(gaps), "taus": len(tau),
        }  # fmt: skip
        print(name, found[name], flush=True)
    return found


KERNELS = {  # set, rows, kernel, its parameters
    "pima, rbf": ("pima", None, "rbf", {"gamma": 0.1}),
    "pima, poly": ("pima", None, "poly", {"gamma": 0.125, "degree": 3, "coef0": 1.0}),
    "wdbc, rbf": ("wdbc", None, "rbf", {"gamma": 1 / 30}),
    "letter, rbf": ("letter", 1_500, "rbf", {"gamma": 1 / 16}),
    "spambase, rbf": ("spambase", 2_000, "rbf", {"gamma": 1 / 57}),
    "two arcs, rbf": ("two arcs", 2_000, "rbf", {"gamma": 1.0}),
}


def kernel_problem(name):
    data, rows, kind, params = KERNELS[name]
    X, y = two_arcs(rows) if data == "two arcs" else binary(data, rows)
    return X, y, 2.0 * y - 1, kind, params


def two_arcs(n):
    """Two features, two interleaved arcs with noise: a kernel matrix of low rank."""
    rng = np.random.default_rng(0)
    y, angle = rng.integers(0, 2, n), rng.uniform(0, np.pi, n)
    X = np.c_[np.cos(angle) + y - 0.5, np.sin(angle) * (1 - 2 * y) + 0.25 * (2 * y - 1)]
    return X + 0.35 * rng.normal(size=X.shape), y


def kernel():
    """The dual form against the linear path on the factor of the kernel matrix, and one fit of LIBSVM; C = 1."""
    return {name: one_kernel(name) for name in KERNELS}


def one_kernel(name):
    X, y, sign, kind, params = kernel_problem(name)
    features, kept = KernelFeatures(kind, params, constant=True), {}
    jobs = {
        "dual": lambda: kept.update(dual=trace(X, sign, 1.0, kernel=PathKernel(kind, **params))),
        "factor": lambda: kept.update(F=features.train(Rows.of(X))),
        "features": lambda: kept.update(features=trace(kept["F"], sign, 1.0)),
        "svc": lambda: SVC(kernel=kind, **params).fit(X, y),
    }
    seconds, dual, taus = interleaved(jobs, repeats=3), kept["dual"], np.linspace(0.02, 0.98, 25)
    start = time.perf_counter()
    for tau in taus:
        dual.models(tau)
    recover = (time.perf_counter() - start) / len(taus)
    return {
        "rows": len(y), "rank": kept["F"].shape[1] - 1, "kinks": len(dual.kinks), "members": most_members(dual),
        "features_kinks": len(kept["features"].kinks), "rows_computed": dual.problem.on.n_computed,
        "dual_s": seconds["dual"], "factor_s": seconds["factor"], "features_s": seconds["features"],
        "svc_s": seconds["svc"], "recover_s": recover,
        "times_faster": (seconds["factor"] + seconds["features"]) / seconds["dual"],
    }  # fmt: skip


def most_members(path):
    """The most rows on the margin at any of the path's checkpoints."""
    return max(len(members) for *_, members in path.log.__getstate__()[4])


def kernel_optimality():
    """KKT at every kink of both forms, and for C = 1 the objective at 20 random tau against SMO on k + 1. SMO has an
    equality constraint, which one more row with a zero kernel and no bounds takes up. Minutes: each case is written
    when it is done, and those that are there already are not run again."""
    found = results().get("kernel_optimality", {})
    for name in KERNELS:
        for C in (1.0, 100.0, 10_000.0) if name in ("pima, poly", "two arcs, rbf") else (1.0,):
            if f"{name}, C = {C:g}" not in found:
                found[f"{name}, C = {C:g}"] = optimality_of_kernel(name, C)
                write("path", results() | {"kernel_optimality": found})
    return found


def optimality_of_kernel(name, C):
    X, _, sign, kind, params = kernel_problem(name)
    K = pairwise_kernels(X, metric=kind, **params) + 1.0
    F = with_constant(KernelFeatures(kind, params).fit(X))
    dual, features = trace(X, sign, C, kernel=PathKernel(kind, **params)), trace(F, sign, C)
    return {
        "kinks": len(dual.kinks), "kkt": dual.audit(), "features_kkt": features.audit(),
        "factor_off": float(np.abs(F @ F.T - K).max()),
    } | (against_smo(dual, K, sign, C) if C == 1.0 else {})  # fmt: skip


def against_smo(path, K, sign, C):
    n = len(sign)
    wide = np.zeros((n + 1, n + 1))
    wide[:n, :n] = K
    kernel, y, apart = smo.Kernel(wide, "precomputed", cache_size=1000), np.r_[sign, 1.0], []
    for tau in np.random.default_rng(1).uniform(0.02, 0.98, 20):
        cost = costs(sign, tau, C)
        bound = 10.0 * cost.sum()
        found = smo.solve(kernel, y, np.r_[np.ones(n), 0.0], np.r_[np.zeros(n), -bound], np.r_[cost, bound], tol=1e-6)
        theirs, ours = found.signed[:n], np.zeros(n)
        ours[path.problem.kept] = path.models(tau)[0]
        value = [0.5 * c @ K @ c + cost @ np.maximum(0, 1 - sign * (K @ c)) for c in (ours, theirs)]
        apart.append(value[0] / value[1] - 1)
    return {"taus": len(apart), "objective_above": max(apart), "objective_below": min(apart)}


PARTS = {
    "sets": sets, "optimality": optimality, "objectives": objectives, "printed": printed, "growth": growth,
    "approximate": approximate, "kernel": kernel, "kernel_optimality": kernel_optimality,
}  # fmt: skip


def results():
    """What has been written: another part may have been measured meanwhile."""
    file = RESULTS / "path.json"
    figures = json.loads(file.read_text()) if file.exists() else {}
    figures.pop("machine", None)
    return figures


def main():
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        found = PARTS[part]()
        write("path", results() | {part: found})


if __name__ == "__main__":
    main()
