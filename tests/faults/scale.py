"""Long and crowded runs.

python scale.py growth ROWS        bytes that memory grows by while a stream of so many rows is learned, after 1 %
python scale.py crowd              times of one fit: alone, and with two busy loops beside it
python scale.py limit NAME X       how calls end with memory for X times the data beyond what the process has
"""

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
from scipy.linalg.blas import dgemm

import steelyard as sy
import steelyard.measures as m

CHUNK = 20_000


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def growth(rows):
    """Chunks are made as they come; a model with a cap has a reservoir, a learning curve and a guard."""
    rng = np.random.default_rng(0)
    chunks = [rng.normal(size=(CHUNK, 10)) for _ in range(4)]
    labels = [(X[:, 0] + rng.normal(size=CHUNK) > 1.0).astype(int) for X in chunks]
    model = sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.05, random_state=0)
    done, first = 0, 0
    most = 0
    while done < rows:
        k = done // CHUNK % 4
        model.partial_fit(chunks[k], labels[k])
        model.predict(chunks[k][:10])
        done += CHUNK
        if done <= max(rows // 100, 2 * CHUNK):
            gc.collect()
            first = resident()
        elif done % (50 * CHUNK) == 0 or done >= rows:
            most = max(most, resident())
    return {"rows": done, "bytes": most - first, "known": int(model._learner.n_rows)}


def crowd():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 30))
    y = (X[:, 0] + rng.normal(size=len(X)) > 1.0).astype(int)

    def seconds():
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            sy.MeasureClassifier(m.FBeta(1), C=1.0, random_state=0, n_jobs=2).fit(X, y)
            best = min(best, time.perf_counter() - start)
        return best

    idle = seconds()
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        busy = seconds()
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    return {"idle": idle, "busy": busy}


LIMITED = {
    "online": lambda: sy.OnlineClassifier(m.FBeta(1), random_state=0),
    "online cap": lambda: sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.2, random_state=0),
    "measure": lambda: sy.MeasureClassifier(m.FBeta(1), C=[0.1, 1.0], random_state=0),
    "path": lambda: sy.CostPath(C=0.1, method="approximate", tol=0.05),
    "path exact": lambda: sy.CostPath(C=0.01, method="exact"),
    "structural": lambda: sy.StructuralSVM("kld"),
    "np": lambda: sy.NeymanPearsonClassifier(0.2, C=1.0, random_state=0),
    "np linear": lambda: sy.NeymanPearsonClassifier(0.2, kernel="linear", C=1.0, random_state=0),
    "np generative": lambda: sy.NeymanPearsonClassifier(0.2, solver="generative", random_state=0),
    "q-value": lambda: sy.QValueClassifier(0.3, random_state=0),
    "path rbf": lambda: sy.CostPath(C=0.1, kernel="rbf", gamma=0.01),
    "quantile path": lambda: sy.QuantilePath(C=0.01),
    "threshold": lambda: sy.ThresholdClassifier(sy.OnlineClassifier(random_state=0)),
    "expected": lambda: sy.ExpectedFBetaClassifier(sy.CostPath(C=0.1, method="approximate", tol=0.05)),
    "quantifier": lambda: sy.Quantifier(sy.OnlineClassifier(random_state=0), random_state=0),
}


SMALL = ("np", "path exact", "path rbf", "quantile path")  # of rows: these take more than a pass over them


def has():
    """Bytes of address space that the process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def under(limit, task):
    """What the task gives with so many bytes of address space more than there are, or MemoryError."""
    gc.collect()
    resource.setrlimit(resource.RLIMIT_AS, (has() + int(limit), resource.RLIM_INFINITY))
    try:
        return task()
    except MemoryError:
        return MemoryError
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def limit(name, times):
    """fit, predict and load: MemoryError or what there would have been; and the estimator as it was, or usable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000 if name in SMALL else 20_000, 40))
    y = (X[:, 0] + rng.normal(size=len(X)) > 0.5).astype(int)
    small = X[::20].copy(), y[::20].copy()
    LIMITED[name]().fit(*small).predict(small[0])  # what is loaded on the way is loaded
    # OpenBLAS, numpy's and scipy's, takes its work space once, and ends the process if there is none.
    square = np.ones((300, 300))
    np.dot(square, square), dgemm(1.0, square, square), np.linalg.solve(square + np.eye(300), square)
    model = LIMITED[name]().fit(*small)
    before, said, ended = model.predict(small[0]), model.predict(X), {}
    with tempfile.TemporaryDirectory() as folder:
        sy.save(model, f"{folder}/model")
        tasks = {"predict": lambda: model.predict(X), "load": lambda: sy.load(f"{folder}/model").predict(X)}
        for call, task in tasks.items():
            found = under(times * X.nbytes, task)
            assert found is MemoryError or np.array_equal(found, said), f"{call}: another answer"
            ended[call] = "MemoryError" if found is MemoryError else "an answer"
    found = under(times * X.nbytes, lambda: model.fit(X, y))
    ended["fit"] = "MemoryError" if found is MemoryError else "a model"
    if found is MemoryError:
        assert np.array_equal(model.predict(small[0]), before), "the estimator is not as it was"
    again, fresh = model.fit(*small).predict(small[0]), LIMITED[name]().fit(*small).predict(small[0])
    assert np.array_equal(again, fresh), "the estimator is not usable"
    return {"name": name, "ended": ended}


def main(what, *args):
    warnings.simplefilter("ignore")
    if what == "growth":
        found = growth(int(args[0]))
    elif what == "crowd":
        found = crowd()
    else:
        found = limit(args[0], float(args[1]))
    print(json.dumps(found))


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(*sys.argv[1:])
