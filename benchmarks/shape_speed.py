"""Speed before and after a change: the same jobs in two interpreters, in turns.

    python benchmarks/shape_speed.py BASELINE_PYTHON [jobs whose names contain this]

BASELINE_PYTHON is an interpreter that has the version to compare with installed; this one has the other. Each side is
one long-lived process that makes its data ready once; the jobs alternate between the two, one after the other, and the
best time of each counts, in seconds of the processor. Where a process finds its memory is luck that lasts as long as it
does (5 % either way), so there are three pairs of processes. Every job returns a number (an objective, a count), so
that a job that became fast by doing something else shows. Claim: no job takes more than 3 % longer than before. Needs
STEELYARD_DATA.
"""

import json
import os
import subprocess
import sys
import time
from functools import cache
from importlib import import_module

import numpy as np

PAIRS = 3
ROUNDS = 4
ENOUGH_S = 8.0  # a job whose rounds have taken this long on one side is not run again, after the first two
LIMIT = 1.03
AT_LEAST_S = 0.3  # a round repeats a job until this much time is over, and its best counts
RATIOS = [(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, 9)]  # with CS, the grid of benchmarks/batch.py
CS = np.logspace(-3, 1, 8)


def either(*names):
    """The first of these modules that this version has."""
    for name in names:
        try:
            return import_module(f"steelyard.{name}")
        except ModuleNotFoundError:
            continue
    raise ModuleNotFoundError(f"none of {names}")


@cache
def data(name, rows=None):
    from _sets import binary

    return binary(name, rows)


@cache
def cloud(n, d, kind="float64", density=1.0):
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    if density < 1.0:
        X = sp.random(n, d, density, "csr", random_state=0)
        return X, (np.asarray(X[:, : d // 10].sum(axis=1)).ravel() + 0.1 * rng.standard_normal(n) > 0.6).astype(int)
    X = rng.standard_normal((n, d), dtype=kind)
    return X, (X[:, 0] + X[:, 1] + rng.standard_normal(n) > 1.5).astype(int)


def stream(way, *shape):
    def job():
        import steelyard as sy
        import steelyard.measures as m

        X, y = cloud(*shape)
        learner = sy.OnlineClassifier(m.FBeta(1), max_iter=5 if way == "fit" else 1, random_state=0)
        if way == "fit":
            learner.fit(X, y)
        else:
            for _ in range(5):
                learner.partial_fit(X, y, classes=[0, 1])
        return float(learner.coef_[0, 0])

    return job


def grid(name, rows=None):
    def job():
        from steelyard.solvers import cost_sensitive

        X, y = data(name, rows)
        return sum(r.objective for r in cost_sensitive.solve_grid(X, 2.0 * y - 1, RATIOS, CS, 1e-3))

    return job


def single(name, solver, loss="hinge", rows=None, C=1.0):
    def job():
        from steelyard.solvers import cost_sensitive

        X, y = data(name, rows)
        return cost_sensitive.solve(X, 2.0 * y - 1, C=C, tol=1e-3, loss=loss, solver=solver).objective

    return job


def path(name, method, rows=None, **how):
    def job():
        import steelyard as sy

        X, y = data(name, rows)
        fitted = sy.CostPath(method=method, random_state=0, **how).fit(X, y)
        return float(fitted.at(0.5).decision_function(X).mean())

    return job


def smo():
    module = either("solvers.kernel.smo", "solvers.smo")
    X, y = data("ijcnn1", 10_000)
    kernel = module.Kernel(X, "rbf", gamma=1.0 / X.shape[1])
    return module.solve(kernel, 2.0 * y - 1, 1.0, 0.0, 1.0, tol=1e-3).objective


def structural():
    import steelyard as sy

    X, y = cloud(20_000, 50)
    return float(sy.StructuralSVM("kld", C=10.0).fit(X, y).coef_[0, 0])


def frontier():
    scan = either("statistics.frontier", "solvers.frontier").scan
    scores = cloud(2_000_000, 2)[0][:, 0]
    return float(len(scan(scores, scores > 1.0).thresholds))


def measure_classifier():
    import steelyard as sy
    import steelyard.measures as m

    X, y = data("letter")
    return float(sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X, y).coef_[0, 0])


def neyman_pearson():
    import steelyard as sy

    # Folds are drawn in another way than they were, and with them goes the number of machines (14 or 15 for one seed).
    X, y = data("spambase", 1500)
    fits = [sy.NeymanPearsonClassifier(0.05, random_state=seed).fit(X, y) for seed in range(10)]
    return float(sum(fitted.predict(X).sum() for fitted in fits))


@cache
def fitted_path():
    import steelyard as sy

    X, y = data("spambase", 2000)
    return sy.CostPath(C=0.1, method="exact", random_state=0).fit(X, y)


def best_on_a_path():
    import steelyard.measures as m

    X, y = data("spambase")
    return float(fitted_path().best(m.FBeta(1), X[2000:], y[2000:]).decision_function(X).mean())


def probabilities():
    return float(fitted_path().predict_proba(data("spambase")[0])[:, 1].mean())


JOBS = {
    "stream, dense, partial_fit": stream("partial_fit", 200_000, 50),
    "stream, dense float32, partial_fit": stream("partial_fit", 200_000, 50, "float32"),
    "stream, CSR, partial_fit": stream("partial_fit", 100_000, 2000, "float64", 0.01),
    "stream, dense, fit in shuffled passes": stream("fit", 200_000, 50),
    "stream, CSR, fit in shuffled passes": stream("fit", 100_000, 2000, "float64", 0.01),
    "grid of 72, letter": grid("letter"),
    "grid of 72, 20,000 of ijcnn1": grid("ijcnn1", 20_000),
    "single fit, coordinate, ijcnn1": single("ijcnn1", "coordinate"),
    "single fit, coordinate, a9a": single("a9a", "coordinate", C=0.1),
    "single fit, bundle, ijcnn1": single("ijcnn1", "bundle", C=1e-3),
    "single fit, newton, ijcnn1": single("ijcnn1", "newton", "squared_hinge"),
    "exact path, pima": path("pima", "exact", C=1.0),
    "exact path, 2,000 of spambase": path("spambase", "exact", 2000, C=0.1),
    "exact path, splice": path("splice", "exact", C=0.05),
    "exact path, kernel, pima": path("pima", "exact", C=1.0, kernel="rbf", gamma=0.1),
    "approximate path, a9a": path("a9a", "approximate", C=0.01, tol=1e-2),
    "best on a path, spambase": best_on_a_path,
    "probabilities of a path, spambase": probabilities,
    "SMO, 10,000 of ijcnn1": smo,
    "NeymanPearsonClassifier, 1,500 of spambase": neyman_pearson,
    "structural KLD, 20,000 x 50": structural,
    "frontier scan, 2,000,000": frontier,
    "MeasureClassifier, letter": measure_classifier,
}


def serve():
    """One side: runs the jobs that it is told to, and answers with seconds and the job's number."""
    for line in sys.stdin:
        job = JOBS[line.strip()]
        best, started = np.inf, time.perf_counter()
        while time.perf_counter() - started < AT_LEAST_S:
            clock = time.process_time()
            number = job()
            best = min(best, time.process_time() - clock)
        answer = {"seconds": best, "number": number}
        print(json.dumps(answer), flush=True)


class Side:
    def __init__(self, python):
        command = [python, "-W", "ignore", __file__, "--serve"]
        env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # idle threads of numpy's BLAS spin, at the processor's cost
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, job):
        self.process.stdin.write(job + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{job}: a side came to an end; see above")
        return json.loads(line)


def compare(sides, job):
    """Best seconds of each side; the first round makes the data ready and does not count."""
    first = {name: side.run(job) for name, side in sides.items()}
    best, spent = dict.fromkeys(sides, np.inf), 0.0
    for k in range(ROUNDS):
        for name, side in sides.items() if k % 2 else reversed(sides.items()):
            best[name] = min(best[name], side.run(job)["seconds"])
        spent += max(best.values())
        if spent > ENOUGH_S and k >= 1:
            break
    return {**{f"{name}_s": s for name, s in best.items()}, "numbers": [first[name]["number"] for name in sides]}


def best_of(pairs):
    best = {side: min(pair[side] for pair in pairs) for side in ("before_s", "after_s")}
    return {**best, "ratio": best["after_s"] / best["before_s"], "numbers": pairs[0]["numbers"]}


def main(baseline, words):
    from _run import RESULTS, write

    file = RESULTS / "shape_speed.json"
    jobs = json.loads(file.read_text())["jobs"] if file.exists() else {}
    chosen, found = [job for job in JOBS if all(word in job for word in words)], {}
    for _ in range(PAIRS):
        sides = {"before": Side(baseline), "after": Side(sys.executable)}
        for job in chosen:
            found.setdefault(job, []).append(compare(sides, job))
        for side in sides.values():
            side.process.stdin.close()
            side.process.wait()
    for job in chosen:
        jobs[job] = best_of(found[job])
        print(f"{job:45s}", {k: v if k == "numbers" else round(v, 4) for k, v in jobs[job].items()}, flush=True)
    slower = [job for job, found in jobs.items() if found["ratio"] > LIMIT]
    print("slower than", LIMIT, ":", slower)
    write("shape_speed", {"limit": LIMIT, "jobs": {job: jobs[job] for job in JOBS if job in jobs}}, show=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve()
    elif len(sys.argv) > 1:
        main(sys.argv[1], sys.argv[2:])
    else:
        raise SystemExit(__doc__)
