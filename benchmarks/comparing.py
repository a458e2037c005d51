"""Whether `compare` recommends the right contender: its choice against all others on fresh rows, on ten sets.

For each set seven tenths of the rows, at most 7,000, are compared (five folds) and every contender, fitted on them, is
judged on up to 20,000 others. The recommendation holds if it is the best there, or less than one standard error of the
paired difference behind. Seconds are set against those of the slowest contender alone, on the same folds.
"""

import time
import warnings

import numpy as np
from sklearn.base import clone

import steelyard.measures as m
from _run import write
from _sets import binary
from steelyard.comparison.compare import _contenders, _task, compare
from steelyard.comparison.preparing import preparation

SETS = (
    "adult", "covertype", "default-credit-card", "eeg-eye-state", "elec2", "higgs-7500", "letter", "satimage",
    "spambase", "coil2000",
)  # fmt: skip
ROWS, FRESH = 7_000, 20_000
BOOT = 200  # resamples of the fresh rows


def one_set(name, measure, seed):
    X, y = binary(name, ROWS + FRESH)
    order = np.random.default_rng(seed).permutation(len(y))
    rows = min(ROWS, 7 * len(y) // 10)
    seen, fresh = order[:rows], order[rows : rows + FRESH]
    start = time.perf_counter()
    found = compare(X[seen], y[seen], measure, random_state=seed)
    seconds = time.perf_counter() - start
    task, _ = _task(y[seen], measure, None, None, None, seed)
    models = _contenders("auto", True, task, preparation(X[seen]))
    called = {
        k: clone(v).fit(X[seen], y[seen]).predict(X[fresh]) for k, v in models.items() if k not in found.failures_
    }
    truth = y[fresh]
    values = {k: task.measure.score(truth, v) for k, v in called.items()}
    best = max(values, key=values.get)
    draws = np.random.default_rng(0).integers(0, len(fresh), (BOOT, len(fresh)))
    score, ours = task.measure.score, called[found.best_name_]
    gaps = [score(truth[d], called[best][d]) - score(truth[d], ours[d]) for d in draws]
    return {
        "set": name, "measure": repr(task.measure), "recommended": found.best_name_, "best": best, "values": values,
        "behind": values[best] - values[found.best_name_], "error": float(np.std(gaps)), "seconds": seconds,
        "slowest": max(one.seconds for one in found.standings_),
        "judged": {one.name: one.value.value for one in found.standings_},
        "errors": {one.name: one.error for one in found.standings_},
    }  # fmt: skip


def main():
    warnings.simplefilter("ignore")
    done = []
    for name in SETS:
        done.append(one_set(name, m.FBeta(1), 0))
        write("comparing", {"sets": done}, show=False)
        print({k: v for k, v in done[-1].items() if k not in ("values", "judged", "errors")}, flush=True)


if __name__ == "__main__":
    main()
