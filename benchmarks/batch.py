"""The certified cost-and-regularisation grid against LIBLINEAR, the bundle's parts, and time against n and pairs.

Claims (all at a relative duality gap of 1e-3): the 72-point grid, 9 cost ratios x 8 values of C from 0.001 to 10,
is at least 150 times faster than 72 fits of LIBLINEAR on ijcnn1, 100 times on covertype and 30 times on letter; a
single fit takes a tenth of LIBLINEAR's time on ijcnn1 and covertype or less; the time of a grid grows by less than the
number of its cost pairs; time grows nearly linearly with n. LIBLINEAR is `liblinear-official`: its problem is built
once, its tolerance is the loosest of a few at which two thirds of its gaps are at most 1e-3 for Cs up to 1 (at larger
ones it often stops at its own limit of 1,000 iterations, above that gap: its gaps are in the table).

All rows are used. 72 LIBLINEAR fits then take from seconds to hours. So each runs in a process of its own and is
stopped after `LIMIT` seconds, which are then counted as its time: "times faster" is a lower bound. A run measures as
many fits as go into its `BUDGET`, after our grid, and adds to what is in the file already; while fits are missing they
count as the mean of the same C, or, where that C has none, as the slowest mean of a smaller C. Every fit runs once,
and the median run of our grid counts. Both sides are in seconds of one core (processor time).

    STEELYARD_DATA=... python benchmarks/batch.py [parts] [sets]      needs liblinear-official
"""

import json
import multiprocessing
import resource
import sys
import time

import numpy as np

from _run import RESULTS, interleaved, write
from _sets import binary, with_constant
from steelyard.solvers.linear.cost_sensitive import BundleOptions, solve, solve_grid

RATIOS = [(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, 9)]
CS = np.logspace(-3, 1, 8)
TOL = 1e-3
SETS = ("letter", "ijcnn1", "covertype")
BUDGET = 150.0  # seconds of LIBLINEAR fits in a run of one grid
LIMIT = 15  # seconds, after which one of them is stopped
PAIRS = (1, 3, 9, 27)
PART = 40_000  # rows on which its tolerance is found, with C in proportion


def load(name, rows=None):
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


def within_limit(job, limit):
    """Processor seconds of `job` in a process of its own, and what it returns; `limit` and None if it was stopped."""
    here, there = multiprocessing.Pipe(duplex=False)

    def child():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        start = time.process_time()
        found = job()
        there.send((time.process_time() - start, found))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    there.close()
    try:
        return here.recv()
    except EOFError:
        return float(limit), None
    finally:
        process.join()


def grid(name, known):
    """Our grid, then LIBLINEAR's fits that are not known yet."""
    X, y = load(name)
    start = time.process_time()
    ours = solve_grid(X, y, RATIOS, CS, TOL)
    seconds = [*known.get("grid_runs_s", []), time.process_time() - start]
    bound = {(r.c_pos, r.c_neg, r.C): r.objective * (1 - r.gap) for r in ours}
    theirs = Liblinear(X, y)
    eps = known_tolerance(name)
    fits = [tuple(map(float, fit.split())) for fit in known.get("fits", [])]
    done, spent = {(k, C) for k, C, *_ in fits}, 0.0
    for k, C in ((k, float(C)) for k in (4, 1, 7, 0, 2, 3, 5, 6, 8) for C in CS):
        if (k, C) in done or spent > BUDGET:
            continue
        taken, w = within_limit(lambda k=k, C=C: theirs.fit(*RATIOS[k], C, eps), LIMIT)
        spent += taken
        gap = np.nan if w is None else 1 - bound[(*RATIOS[k], C)] / objective(X, y, w, *RATIOS[k], C)
        fits.append((k, C, taken, gap))
    gaps, total = [gap for *_, gap in fits if gap == gap], all_fits(fits)
    return {
        "rows": len(y), "columns": X.shape[1], "grid_s": float(np.median(seconds)), "grid_runs_s": seconds,
        "liblinear_s": total, "liblinear_eps": eps, "fits_measured": len(fits),
        "fits_stopped": len(fits) - len(gaps), "limit_s": LIMIT,
        "liblinear_gap_median": float(np.median(gaps)), "liblinear_gap_worst": float(np.max(gaps)),
        "gap_worst": max(r.gap for r in ours), "passes_mean": float(np.mean([r.n_passes for r in ours])),
        "times_faster": total / float(np.median(seconds)),
        "fits": [f"{k:.0f} {C!r} {fit:.4g} {gap:.3g}" for k, C, fit, gap in fits],  # ratio, C, seconds, gap
    }  # fmt: skip


def all_fits(fits):
    """Seconds of 72 fits from those measured; see the top of the file."""
    total, slowest = 0.0, 0.0
    for C in map(float, CS):
        measured = [seconds for _, known, seconds, _ in fits if known == C]
        mean = float(np.mean(measured)) if measured else slowest
        slowest = max(slowest, mean)
        total += sum(measured) + (len(RATIOS) - len(measured)) * mean
    return total


def tolerance(name, _):
    """The loosest tolerance at which two thirds of LIBLINEAR's gaps are at most 1e-3, on a few grid points."""
    X, y = load(name, PART)
    theirs = Liblinear(X, y)
    ratios, Cs = RATIOS[1::3], CS[:6:2] * len(y) / len(load(name)[1])
    best = {(r.c_pos, r.c_neg, r.C): r.objective * (1 - r.gap) for r in solve_grid(X, y, ratios, Cs, TOL / 10)}
    for eps in (5.0, 3.0, 2.0, 1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02):
        gaps = [1 - low / objective(X, y, theirs.fit(*point, eps), *point) for point, low in best.items()]
        if np.quantile(gaps, 2 / 3) <= TOL:
            break
    return {"eps": eps, "rows": len(y), "gaps": gaps}


def single(name, _):
    """One cold fit each. At most 150,000 rows."""
    X, y = load(name, 150_000)
    theirs, eps, out = Liblinear(X, y), known_tolerance(name), {}
    repeats = 2 if len(y) < 150_000 else 1
    for C in (0.01, 0.1, 1.0):
        best = interleaved(
            {"ours": lambda C=C: solve(X, y, C=C, tol=TOL), "liblinear": lambda C=C: theirs.fit(1, 1, C, eps)}, repeats
        )
        out[str(C)] = {**best, "share_of_liblinear": best["ours"] / best["liblinear"]}
    return {"rows": len(y), "liblinear_eps": eps, "by_C": out}


def pairs(name, _):
    """Processor seconds of a grid of 8 Cs, by the number of cost pairs. At most 150,000 rows."""
    X, y = load(name, 150_000)
    out = {"rows": len(y)}
    for loss in ("hinge", "logistic"):
        best = dict.fromkeys(PAIRS, np.inf)
        for _ in range(3):
            for count in PAIRS:
                ratios = [(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, count + 2)[1:-1]]
                start = time.process_time()
                found = solve_grid(X, y, ratios, CS, TOL, loss=loss)
                best[count] = min(best[count], time.process_time() - start)
                assert max(r.gap for r in found) <= TOL
        out[loss] = {str(count): seconds for count, seconds in best.items()}
    return out


def bundle(name, _):
    X, y = load(name, 20_000)
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


def known_tolerance(name):
    return json.loads((RESULTS / "batch.json").read_text())["tolerance"][name]["eps"]


def main(words):
    """`words`: which parts and which sets; all of them unless named."""
    known = RESULTS / "batch.json"
    figures = json.loads(known.read_text()) if known.exists() else {}
    figures.pop("machine", None)
    parts = [word for word in words if word not in SETS] or [
        "tolerance", "single", "grid", "pairs", "bundle", "scaling",
    ]  # fmt: skip
    sets = [word for word in words if word in SETS] or list(SETS)
    jobs = {"tolerance": tolerance, "single": single, "grid": grid, "pairs": pairs, "bundle": bundle}
    for part, job in jobs.items():
        for name in sets if part in parts else ():
            found = figures.setdefault(part, {})
            found[name] = job(name, found.get(name, {}))
            write("batch", figures)
    if "scaling" in parts:
        figures["scaling"] = scaling()
        write("batch", figures)


if __name__ == "__main__":
    main(sys.argv[1:])
