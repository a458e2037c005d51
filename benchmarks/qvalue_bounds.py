"""How far a single feature may carry a row: ways of bounding columns, on simulated data with freak rows.

Given are targets and decoys; right ones are told by four of eight columns: a fifth of the rows among normal columns,
among heavy tails (Student's t of three degrees), less heavy ones (six: *mild*) or skewed columns (as waiting times), or
one in twenty-five that lies further out (*rare*). Among the wrong ones, targets and decoys alike, a few have one or two
columns far out (`FREAKS`). The columns are bounded by what the training rows say, the classifier's default recipe
learns, and the targets accepted in batches of new rows are counted: lists of the size of a run, where a single freak
decoy takes a place that is allowed. No table that is reported elsewhere takes part.

    python benchmarks/qvalue_bounds.py [first seed] [last seed + 1]

Results are added to ``results/qvalue_bounds.json`` after each data set.
"""

import json
import sys

import numpy as np
from scipy.stats import norm, rankdata

from _run import RESULTS, machine
from steelyard.rows import Rows
from steelyard.solvers.decoys import q_value, steps
from steelyard.solvers.decoys.bounds import Soft
from steelyard.solvers.decoys.steps import Aim, Matches, accepted_at

RATES, ROWS, BATCHES = (0.01, 0.05), 6000, 6
SHAPES = {  # the share that is right, and how far out
    "line": (0.2, (2, 2, 1, 1)),
    "tails": (0.2, (3, 3, 2, 1)),
    "rare": (0.04, (4, 3, 2, 2)),
    "mild": (0.2, (2.5, 2, 2, 1)),
    "skewed": (0.2, (3, 2, 2, 1)),
}
DRAWN = {
    "tails": lambda rng, shape: rng.standard_t(3, size=shape),
    "mild": lambda rng, shape: rng.standard_t(6, size=shape),
    "skewed": lambda rng, shape: rng.exponential(1.0, shape) - 1.0,
}
# Share of the wrong rows, and how many standard deviations out.
FREAKS = {"none": (0.0, 0.0), "some": (0.002, 7.0), "many": (0.01, 5.0), "wild": (0.002, 1000.0)}


def rows(shape, freaks, n, rng):
    share, shift = SHAPES[shape]
    right = rng.random(n) < share
    X = DRAWN[shape](rng, (n, 8)) if shape in DRAWN else rng.normal(size=(n, 8))
    X[right, :4] += shift
    if shape == "rare":  # as far as it goes, and that differs from row to row
        X[right, :4] += rng.exponential(1.0, (int(right.sum()), 4)) * shift
    target = right | (rng.random(n) < 0.5)
    share, out = FREAKS[freaks]
    for i in np.flatnonzero(~right & (rng.random(n) < share)):
        columns = rng.choice(8, rng.integers(1, 3), replace=False)
        X[i, columns] += out * rng.choice([-1.0, 1.0], len(columns)) * rng.uniform(0.7, 1.3, len(columns))
    return X, target


# -- ways: training rows -> (rows -> rows) ------------------------------------------------------------------------
def as_given(X):
    return lambda new: new


def deviations(k):
    def way(X):
        centre, spread = X.mean(axis=0), X.std(axis=0)
        return lambda new: np.clip(new, centre - k * spread, centre + k * spread)

    return way


def tails(share):
    def way(X):
        low, high = np.quantile(X, (share, 1.0 - share), axis=0)
        return lambda new: np.clip(new, low, high)

    return way


def soft(k):
    def way(X):
        bounds = Soft.of(Rows.of(X), k)
        return lambda new: bounds(Rows.of(new)).source

    return way


def ranks(X):
    ordered = np.sort(X, axis=0)
    scores = norm.ppf((rankdata(ordered[:, 0], "ordinal") - 0.5) / len(X))
    return lambda new: np.column_stack([np.interp(new[:, j], ordered[:, j], scores) for j in range(new.shape[1])])


WAYS = {"as given": as_given} | {f"cut at {k:g} standard deviations": deviations(k) for k in (2, 3)}
WAYS |= {f"cut at {share:g} in each tail": tails(share) for share in (0.001, 0.005, 0.02)}
WAYS |= {f"tanh at {k:g} deviations": soft(k) for k in (1, 1.5, 2, 2.5, 3, 4, 6, 10)} | {
    "normal scores of ranks": ranks
}


def mixture(matches, aim):
    return steps.mixture(matches, q_value.looped(matches, aim)[0], aim)


def measure(shape, freaks, seed, ways):
    rng = np.random.default_rng([seed, list(SHAPES).index(shape), list(FREAKS).index(freaks)])
    X, target = rows(shape, freaks, ROWS, rng)
    batches = [rows(shape, freaks, ROWS, rng) for _ in range(BATCHES)]
    found = {}
    for name in ways:
        bound = WAYS[name](X)
        Z = bound(X)
        centre, spread = Z.mean(axis=0), np.maximum(Z.std(axis=0), 1e-12)
        counts = []
        w = mixture(Matches.of((Z - centre) / spread, target).with_ones(), Aim(0.01))
        for new, is_target in batches:
            scores = (bound(new) - centre) / spread @ w[:-1]
            counts.append(accepted_at(scores, Matches.of(new, is_target), RATES))
        found[name] = dict(zip(map(str, RATES), np.mean(counts, axis=0).tolist(), strict=True))
    return found


def main(arguments):
    first, last = (int(a) for a in arguments) if arguments else (0, 10)
    path = RESULTS / "qvalue_bounds.json"
    sets = json.loads(path.read_text())["sets"] if path.exists() else {}
    for seed in range(first, last):
        for shape in SHAPES:
            for freaks in FREAKS:
                key = f"{shape}, {freaks} {seed}"
                known = sets.get(key, {})
                missing = [way for way in WAYS if way not in known]
                found = known | (measure(shape, freaks, seed, missing) if missing else {})
                sets[key] = {way: found[way] for way in WAYS}
                path.write_text(json.dumps({"machine": machine(), "rates": RATES, "sets": sets}, indent=1) + "\n")
        print(seed, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
