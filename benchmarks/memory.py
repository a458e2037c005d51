"""Peak memory of `fit` beyond X itself: 500,000 x 50, float32 and float64, each estimator in a process of its own.

After a fit on a few rows (what is loaded once is loaded then) the process sets the system's mark of its peak back to
what it has, fits, and reads the mark. Claim for the linear ones: at most 0.3 of X and 100 MB. `ThresholdClassifier` and
`Quantifier` hand parts of the rows to a model that may be anybody's, so they may copy them once.

    python benchmarks/memory.py [estimators whose names contain this]
"""

import json
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

N, D = 500_000, 50
WARM_UP = 2_000  # rows
SHARE, BASE_MB = 0.3, 100.0  # of X; for what is counted in rows (labels, scores, weights, row numbers) or not at all

FITS = {  # name: (code, copies of rows that it may make)
    "MeasureClassifier": ("sy.MeasureClassifier(m.FBeta(1), random_state=0)", 0),
    "MeasureClassifier, two threads": ("sy.MeasureClassifier(m.FBeta(1), random_state=0, n_jobs=2)", 0),
    "MeasureClassifier, a cap": ("sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.05, random_state=0)", 0),
    "OnlineClassifier": ("sy.OnlineClassifier(m.FBeta(1), random_state=0)", 0),
    "OnlineClassifier, passes": ("sy.OnlineClassifier(m.BAKLD(), max_iter=5, random_state=0)", 0),
    "StructuralSVM": ("sy.StructuralSVM('kld')", 0),
    "StructuralSVM, two threads": ("sy.StructuralSVM('f1', n_jobs=2)", 0),
    "CostPath": ("sy.CostPath(C=1e-4, method='approximate', tol=1e-2)", 0),
    "NeymanPearsonClassifier": (
        "sy.NeymanPearsonClassifier(0.05, kernel='linear', solver='generative', random_state=0)",
        0,
    ),
    "NeymanPearsonClassifier, delta": (
        "sy.NeymanPearsonClassifier(0.05, kernel='linear', solver='generative', delta=0.05, random_state=0)",
        0,
    ),
    "QValueClassifier": ("sy.QValueClassifier(0.05, random_state=0)", 0),
    "QValueClassifier, columns as they are": ("sy.QValueClassifier(0.05, bound=None, random_state=0)", 0),
    "ThresholdClassifier, folds": ("sy.ThresholdClassifier(sy.OnlineClassifier(m.FBeta(1)), m.FBeta(1))", 1),
    "ThresholdClassifier, a share": ("sy.ThresholdClassifier(sy.OnlineClassifier(m.FBeta(1)), m.FBeta(1), cv=0.3)", 1),
    "Quantifier": ("sy.Quantifier(sy.OnlineClassifier(m.NegKLD()))", 1),
}


def child(name, kind):
    """Fits once and prints what that took beyond what was there."""
    import numpy as np

    import steelyard as sy
    import steelyard.measures as m

    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D), dtype=kind)
    y = (X[:, 0] + X[:, 1] + rng.standard_normal(N, dtype="float32") > 1).astype(int)
    make = lambda: eval(FITS[name][0], {"sy": sy, "m": m})
    make().fit(X[:WARM_UP], y[:WARM_UP])
    before = forget_the_peak()
    started = time.perf_counter()
    make().fit(X, y)
    figures = {"seconds": time.perf_counter() - started, "x_mb": X.nbytes / 2**20, "beyond_mb": peak() - before}
    print(json.dumps(figures))


def forget_the_peak():
    """Sets the mark of the peak back to the memory there is; where the system cannot, the peak so far. MB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak():
    """The most memory so far, or since the mark was set back, in MB."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return int(status.split("VmHWM:")[1].split()[0]) / 2**10


def measure(name, kind):
    command = [sys.executable, "-W", "ignore", __file__, "--child", name, kind]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        return {"trouble": run.stderr.strip().split("\n")[-1]}
    found = json.loads(run.stdout)
    found["bound_mb"] = (SHARE + FITS[name][1]) * found["x_mb"] + BASE_MB
    return {**found, "of_x": found["beyond_mb"] / found["x_mb"], "holds": found["beyond_mb"] <= found["bound_mb"]}


def main(words):
    from _run import RESULTS, write

    path = RESULTS / "memory.json"
    fits = json.loads(path.read_text())["fits"] if path.exists() else {}
    for name in FITS:
        if all(word in name for word in words):
            fits[name] = {kind: measure(name, kind) for kind in ("float32", "float64")}
            print(f"{name:35s}", fits[name], flush=True)
            fits = {name: fits[name] for name in FITS if name in fits}
            write("memory", {"rows": N, "columns": D, "share": SHARE, "base_mb": BASE_MB, "fits": fits}, show=False)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main(sys.argv[1:])
