"""The certified cost-and-regularisation grid against LIBLINEAR, the bundle's parts, and time against n.

Claims (all at a relative duality gap of 1e-3): the 72-point grid, 9 cost ratios x 8 values of C from 0.001 to 10,
is at least 10 times faster than 72 fits of LIBLINEAR on ijcnn1 and covertype and 3 times on letter; a single fit is
no slower; time grows nearly linearly with n. LIBLINEAR is `liblinear-official`: its problem is built once, its
tolerance is the loosest of a few whose median gap is at most 1e-3 on the grid's Cs up to 1 (at larger ones it often
stops at its own limit of 1,000 iterations, above that gap: its gaps are in the table).

    STEELYARD_DATA=... python benchmarks/batch.py [parts] [sets]      needs liblinear-official
"""

import json
import sys
import time

import numpy as np

from _run import RESULTS, interleaved, write
from _sets import binary, with_constant
from steelyard.solvers.cost_sensitive import BundleOptions, solve, solve_grid

RATIOS = [(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, 9)]
CS = np.logspace(-3, 1, 8)
TOL = 1e-3
SETS = {"letter": None, "ijcnn1": 60_000, "covertype": 30_000}  # rows; None is all of them


def load(name, rows):
    X, y = binary(name, rows)
    return with_constant(X), 2.0 * y - 1.0


def objective(X, y, w, c_pos, c_neg, C):
    hinge = np.maximum(0.0, 1.0 - y * (X @ w))
    return 0.5 * w @ w + C * (c_pos * hinge[y > 0].sum() + c_neg * hinge[y < 0].sum())


class Liblinear:
    """L2-regularised hinge loss in the dual (-s 3), without bias, problem built once."""

    def __init__(self, X, y):
        from liblinear.liblinearutil import parameter, problem, train

        self._train, self._parameter, self._problem = train, parameter, problem(y, X)

    def fit(self, c_pos, c_neg, C, eps):
        model = self._train(self._problem, self._parameter(f"-s 3 -c {C} -w1 {c_pos} -w-1 {c_neg} -e {eps} -q"))
        w = np.array(model.w[: model.nr_feature])
        return w if model.get_labels()[0] == 1 else -w


def grid(name, rows):
    X, y = load(name, rows)
    theirs = Liblinear(X, y)
    ours = solve_grid(X, y, RATIOS, CS, TOL)
    first = interleaved({"ours": lambda: solve_grid(X, y, RATIOS, CS, TOL)}, repeats=2)["ours"]
    bound = {(r.c_pos, r.c_neg, r.C): r.objective * (1 - r.gap) for r in ours}
    eps = tolerance(X, y, theirs, bound)[0]
    seconds, gaps = 0.0, []
    for p, n in RATIOS:
        for C in CS:
            start = time.perf_counter()
            w = theirs.fit(p, n, C, eps)
            seconds += time.perf_counter() - start
            gaps.append(1 - bound[p, n, float(C)] / objective(X, y, w, p, n, C))
    again = interleaved({"ours": lambda: solve_grid(X, y, RATIOS, CS, TOL)}, repeats=2)["ours"]
    one = {s: lambda s=s: solve_grid(X, y, RATIOS, CS, TOL, solver=s) for s in ("coordinate", "newton")}
    by_solver = interleaved(one, 2)
    return {
        "rows": len(y), "columns": X.shape[1], "grid_s": min(first, again),
        "liblinear_s": seconds, "liblinear_eps": eps,
        "liblinear_gap_median": float(np.median(gaps)), "liblinear_gap_worst": float(np.max(gaps)),
        "gap_worst": max(r.gap for r in ours), "passes_mean": float(np.mean([r.n_passes for r in ours])),
        "times_faster": seconds / min(first, again), "seconds_by_solver": by_solver,
    }  # fmt: skip


def tolerance(X, y, theirs, bound):
    """The loosest tolerance at which LIBLINEAR's median gap is at most 1e-3, on a few grid points."""
    points = [(p, n, C) for p, n in RATIOS[::4] for C in CS[:6:2]]
    for eps in (0.3, 0.1, 0.05, 0.02, 0.01):
        gaps = [1 - bound[p, n, float(C)] / objective(X, y, theirs.fit(p, n, C, eps), p, n, C) for p, n, C in points]
        if np.median(gaps) <= TOL:
            break
    return eps, float(np.median(gaps))


def single(name, rows):
    X, y = load(name, rows)
    theirs = Liblinear(X, y)
    eps = tolerance(
        X,
        y,
        theirs,
        {(r.c_pos, r.c_neg, r.C): r.objective * (1 - r.gap) for r in solve_grid(X, y, RATIOS[::4], CS, TOL)},
    )[0]
    out = {}
    for C in (0.01, 0.1, 1.0):
        best = interleaved(
            {"ours": lambda C=C: solve(X, y, C=C, tol=TOL), "liblinear": lambda C=C: theirs.fit(1, 1, C, eps)}, 3
        )
        out[str(C)] = {**best, "share_of_liblinear": best["ours"] / best["liblinear"]}
    return {"liblinear_eps": eps, "by_C": out}


def bundle(name, rows):
    X, y = load(name, min(rows or 20_000, 20_000))
    variants = {
        "line search, shared cuts": BundleOptions(),
        "line search, own cuts": BundleOptions(share_cuts=False),
        "no line search, shared cuts": BundleOptions(line_search=False),
        "no line search, own cuts": BundleOptions(line_search=False, share_cuts=False),
    } | {f"mu = {mu}": BundleOptions(mu=mu) for mu in (0.02, 0.2, 0.5, 1.0)}
    out = {}
    for label, options in variants.items():
        start = time.perf_counter()
        found = solve_grid(X, y, RATIOS, CS[:6], TOL, solver="bundle", bundle=options, max_passes=300)
        seconds = time.perf_counter() - start
        rounds = np.array([len(r.history) for r in found]).reshape(9, -1)
        out[label] = {
            "seconds": seconds, "rounds": int(rounds.max(0).sum()), "passes_a_problem": float(2 * rounds.mean()),
            "gap_worst": max(r.gap for r in found),
        }  # fmt: skip
    reference = interleaved({"auto": lambda: solve_grid(X, y, RATIOS, CS[:6], TOL)}, 2)["auto"]
    return {"rows": len(y), "Cs": CS[:6].tolist(), "variants": out, "auto_s": reference}


def scaling():
    """Seconds of a 9-point grid at average-loss regularisation (C = 100 / n), and the fitted exponent of n."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10**6, 20))
    y = np.where(X @ rng.normal(size=20) + 3 * rng.normal(size=10**6) > 3, 1.0, -1.0)
    sizes, out = [10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6], {}
    for loss, solver in (("hinge", "newton"), ("hinge", "coordinate"), ("hinge", "bundle"), ("logistic", "newton")):
        seconds = [_nine(X[:n], y[:n], loss, solver) for n in sizes]
        exponent = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
        out[f"{loss}, {solver}"] = {"rows": sizes, "seconds": seconds, "exponent": exponent}
    return out


def _nine(X, y, loss, solver):
    C = [100.0 / len(y)]
    job = {"": lambda: solve_grid(X, y, RATIOS, C, TOL, loss=loss, solver=solver)}
    return interleaved(job, 2 if len(y) < 10**6 else 1)[""]


def main(words):
    """`words`: which parts and which sets; all of them unless named."""
    known = RESULTS / "batch.json"
    figures = json.loads(known.read_text()) if known.exists() else {}
    figures.pop("machine", None)
    parts = [word for word in words if word not in SETS] or ["single", "grid", "bundle", "scaling"]
    sets = [word for word in words if word in SETS] or list(SETS)
    for part, job in (("single", single), ("grid", grid), ("bundle", bundle)):
        for name in sets if part in parts else ():
            figures.setdefault(part, {})[name] = job(name, SETS[name])
            write("batch", figures)
    if "scaling" in parts:
        figures["scaling"] = scaling()
        write("batch", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
