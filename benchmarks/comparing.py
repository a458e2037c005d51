"""Whether `compare` recommends the right contender: its choice against all others on fresh rows, on ten sets.

For each set and each of several splits seven tenths of the rows, at most 7,000, are compared (five folds) and every
contender, fitted on them, is judged on up to 20,000 others. Among a dozen contenders the best of one fresh part is
partly a lucky one. So what is written down is the measure of every contender on every fresh part, with the standard
error of each paired difference there: enough to set the recommendation against the best of each part, and against the
contender that is best on the mean over the splits. Processor seconds are set against those of the slowest contender
alone, `cross_val_predict` on the same folds, in split 0.

    python benchmarks/comparing.py [fresh|choice|all SPLIT|all [SET ...]]      what was measured already is kept
"""

import json
import sys
import time
import warnings
from itertools import combinations

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from threadpoolctl import threadpool_limits

import steelyard.measures as m
from _run import RESULTS, write
from _sets import binary
from steelyard.comparison.compare import _contenders, _task, compare
from steelyard.comparison.preparing import preparation

SETS = (
    "adult", "covertype", "default-credit-card", "eeg-eye-state", "elec2", "higgs-7500", "letter", "satimage",
    "spambase", "coil2000",
)  # fmt: skip
SPLITS = 5
ROWS, FRESH = 7_000, 20_000
MEASURE = m.FBeta(1)
DRAWS = 1_000  # of the fresh rows, for a standard error


def rows_of(name, split):
    """The rows that are seen and the fresh ones. Split 0 has those that it always had; others are drawn anew."""
    X, y = binary(name, ROWS + FRESH, seed=split)
    order = np.random.default_rng(split).permutation(len(y))
    rows = min(ROWS, 7 * len(y) // 10)
    seen, fresh = order[:rows], order[rows : rows + FRESH]
    return X[seen], y[seen], X[fresh], y[fresh]


def models_of(X, y, split):
    task, _ = _task(y, MEASURE, None, None, None, split)
    return _contenders("auto", True, task, preparation(X))


def fresh(name, split):
    """Every contender on the fresh rows."""
    X, y, X_fresh, y_fresh = rows_of(name, split)
    with threadpool_limits(1):
        called = {k: clone(v).fit(X, y).predict(X_fresh) for k, v in models_of(X, y, split).items()}
    return {
        "seen": len(y), "fresh": len(y_fresh), "values": {k: MEASURE.score(y_fresh, v) for k, v in called.items()},
        "errors": errors(y_fresh, called),
    }  # fmt: skip


def choice(name, split):
    """What `compare` recommends, and its processor seconds."""
    X, y, _, _ = rows_of(name, split)
    start = time.process_time()
    found = compare(X, y, MEASURE, random_state=split)
    seconds = time.process_time() - start
    slow = max(found.standings_, key=lambda one: one.seconds).name
    return {
        "recommended": found.best_name_, "said": found.recommendation_, "seconds": seconds, "slowest": slow,
        "alone": seconds_alone(models_of(X, y, split)[slow], X, y, split) if split == 0 else None,
        "judged": {one.name: [one.value.value, one.difference, one.error] for one in found.standings_},
    }  # fmt: skip


def seconds_alone(model, X, y, seed):
    start = time.process_time()
    with threadpool_limits(1):
        cross_val_predict(model, X, y, cv=StratifiedKFold(5, shuffle=True, random_state=seed))
    return time.process_time() - start


def errors(y, called):
    """The standard error of each pair's difference on these rows: resampled, by how often each combination of the truth
    and the two labels occurs."""
    found = {}
    rng = np.random.default_rng(0)
    for a, b in combinations(called, 2):
        cells = np.bincount(4 * y + 2 * called[a] + called[b], minlength=8)
        drawn = rng.multinomial(len(y), cells / len(y), DRAWS).reshape(-1, 2, 2, 2)  # draw, truth, label of a, of b
        n = drawn.sum(axis=(2, 3))
        values = []
        for other in (3, 2):  # the labels that are summed over
            right = drawn.sum(axis=other)
            values.append(MEASURE(right[:, 1, 1] / n[:, 1], right[:, 0, 0] / n[:, 0], n[:, 1] / len(y)))
        found[f"{a} | {b}"] = float(np.std(values[0] - values[1]))
    return found


PARTS = {"fresh": fresh, "choice": choice}


def kept():
    path = RESULTS / "comparing.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found.pop("machine", None)
    return {"splits": {}, **found}


def main(parts, splits, sets):
    warnings.simplefilter("ignore")
    for split in splits:
        for name in sets:
            for part in parts:
                key = f"{name} {split}"
                if part in kept()["splits"].get(key, {}):
                    continue
                found = PARTS[part](name, split)
                now = kept()  # read again: others may have written since
                now["splits"].setdefault(key, {})[part] = found
                write("comparing", now, show=False)
                print(key, {k: v for k, v in found.items() if k not in SILENT}, flush=True)


SILENT = ("values", "judged", "errors")

if __name__ == "__main__":
    which, split, *sets = sys.argv[1:] or ("all", "all")
    main(PARTS if which == "all" else [which], range(SPLITS) if split == "all" else [int(split)], sets or SETS)
