"""The exact cost path on everything there is: does it ever raise, stall or lose its digits?

Every shared set, 1,000 and 5,000 of its rows, C from 1e-4 to 100, and its columns raw, standardised, standardised in
float32 (rows then tie up to rounding), one-hot, as small whole numbers, and with copies of rows: each path in a process
of its own with a limit of time. Claims: none raises, none stalls, and where the path says that it is solved the
optimality conditions (`ExactPath.audit`, at some 300 kinks) hold as on the sets of benchmarks/path.py.

    STEELYARD_DATA=... python benchmarks/path_sweep.py [names of sets]

Each set replaces its own section of the results, so a sweep can be made in parts.
"""

import json
import multiprocessing
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

import steelyard as sy
from _run import RESULTS, data_folder, write
from _sets import POSITIVE, raw

LIMIT = 120.0  # seconds: ten times what the slowest path of the first sweep took
ROWS = (1_000, 5_000)
COSTS = (1e-4, 1e-2, 1.0, 100.0)
FEW = 12  # values of a column that is made one-hot, or taken as it is for a whole number
KINKS = 300  # audited
WIDEST = 2_000  # columns: beyond that a path is wanted approximately


def standardised(X):
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12)


def one_hot(X):
    parts = []
    for column in X.T:
        values = np.unique(column)
        if len(values) > FEW:
            column = np.searchsorted(np.quantile(column, np.linspace(0, 1, 6)[1:-1]), column)
            values = np.unique(column)
        parts.append((column[:, None] == values).astype(float))
    return np.hstack(parts)


def integers(X):
    Z = np.round(2 * standardised(X))
    return np.clip(Z, -FEW, FEW)


def copies(X):
    """The second half of the rows is the first, the labels are not."""
    Z = standardised(X)
    Z[len(Z) // 2 :] = Z[: len(Z) - len(Z) // 2]
    return Z


PREPARED = {
    "raw": lambda X: X,
    "standardised": standardised,
    "float32": lambda X: standardised(X).astype(np.float32),
    "one-hot": one_hot,
    "integers": integers,
    "copies": copies,
}
SPARSE = {"raw": lambda X: X, "scaled": lambda X: X @ sp.diags(1 / np.maximum(abs(X).max(axis=0).toarray()[0], 1e-12))}


def rows_of(name, n, seed=0):
    X, y = raw(name)
    y = (y == POSITIVE.get(name, y.max())).astype(int)
    order = np.random.default_rng(seed).permutation(len(y))[:n]
    X, y = X[order], y[order]
    if sp.issparse(X):
        X = X[:, np.flatnonzero(np.diff(X.tocsc().indptr))].tocsr()
    elif X.shape[1] > 0:
        X = X[:, X.std(0) > 0]
    return X, y


def one(X, y, C, found):
    """In the child: what is to be known of one path."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            path = sy.CostPath(C=C).fit(X, y)
        except Exception as error:  # whatever it is, it is what this file looks for
            found.send({"ended": f"raised {type(error).__name__}: {error}"})
            return
    seconds, inner = time.perf_counter() - start, path._path
    kkt = inner.audit(max(1, len(path.kinks_) // KINKS)) if path.method_ == "exact" else None
    found.send({
        "ended": "solved" if inner.status.solved else str(inner.status), "method": path.method_, "seconds": seconds,
        "kinks": len(path.kinks_), "kkt": kkt, "gap": None if np.isinf(path.gap_) else path.gap_,
        "warnings": len(caught),
    })  # fmt: skip


def in_a_process(X, y, C):
    context = multiprocessing.get_context("fork")
    receive, found = context.Pipe(duplex=False)
    child = context.Process(target=one, args=(X, y, C, found))
    child.start()
    found.close()
    result = {"ended": f"over {LIMIT:g} s"}
    if receive.poll(LIMIT):
        try:
            result = receive.recv()
        except EOFError:
            result = {"ended": "died"}
    child.kill()
    child.join()
    return result


def sweep(name):
    found = {}
    for n in ROWS:
        X, y = rows_of(name, n)
        if len(y) <= ROWS[0] < n or not 0 < y.sum() < len(y) or X.shape[1] > WIDEST:
            continue
        for how, prepare in (SPARSE if sp.issparse(X) else PREPARED).items():
            made = prepare(X.copy())
            if made.shape[1] > WIDEST:
                continue
            for C in COSTS:
                key = f"{len(y)} rows, {how}, C = {C:g}"
                found[key] = in_a_process(made, y, C) | {"columns": made.shape[1]}
                print(name, key, found[key], flush=True)
    return found


def results():
    file = RESULTS / "path_sweep.json"
    figures = json.loads(file.read_text()) if file.exists() else {}
    return figures.get("sets", {})


def main():
    names = sys.argv[1:] or sorted(path.stem for path in data_folder().glob("*.npz"))
    for name in names:
        found = sweep(name)
        if found:
            write("path_sweep", {"sets": results() | {name: found}}, show=False)


if __name__ == "__main__":
    main()
