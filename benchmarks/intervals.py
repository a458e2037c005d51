"""Do 95 % intervals of a prevalence hold it in 95 % of the cases? On real data, over training sets and batches.

    python benchmarks/intervals.py        set by set; goes on where it was stopped

Whether an interval holds the truth depends on the batch and on the labelled rows. Both are drawn anew: for each set of
`quantification.py` eight divisions into training rows and pool, for each 20 batches of 100 rows at each of 21
prevalences. The prevalence is that of the population; how many positives the batch holds is left to chance. At 0 and 1
one side cannot err, so these ends are also told apart from the rest.
"""

import json
import warnings

import numpy as np
from sklearn.base import clone

import steelyard as sy
from _run import RESULTS, write
from _sets import binary
from quantification import MODEL, REPEATS, SETS, SIZE, TRAIN

DIVISIONS, SEED = 8, 100
PREVALENCES = np.linspace(0.0, 1.0, 21)


def one_division(X, y, seed):
    """Shares of the intervals that hold each prevalence, and their mean widths."""
    rng = np.random.default_rng(seed)
    order, n = rng.permutation(len(y)), min(len(y) // 2, TRAIN)
    train, pool = order[:n], order[n:]
    quantifier = sy.Quantifier(clone(MODEL), random_state=seed).fit(X[train], y[train])
    sides = [pool[y[pool] == k] for k in (0, 1)]
    hit, width = np.zeros((2, len(PREVALENCES), REPEATS))
    for i, p in enumerate(PREVALENCES):
        for j in range(REPEATS):
            positives = rng.binomial(SIZE, p)
            rows = np.concatenate([rng.choice(sides[0], SIZE - positives), rng.choice(sides[1], positives)])
            low, high = quantifier.predict_interval(X[rows])[:, 1]
            hit[i, j], width[i, j] = low - 1e-9 <= p <= high + 1e-9, high - low
    return hit.mean(axis=1), width.mean()


def one_set(name):
    X, y = binary(name, rows=12_000)
    found = [one_division(X, y, SEED + k) for k in range(DIVISIONS)]
    hit = np.array([shares for shares, _ in found])
    return {
        "train": min(len(y) // 2, TRAIN),
        "positives": float(y.mean()),
        "by_division": hit.mean(axis=1).tolist(),
        "inside": float(hit[:, 1:-1].mean()),
        "ends": float(hit[:, [0, -1]].mean()),
        "width": float(np.mean([width for _, width in found])),
    }


def main():
    path = RESULTS / "intervals.json"
    sets = json.loads(path.read_text())["sets"] if path.exists() else {}
    for name in SETS:
        if name not in sets:
            sets[name] = one_set(name)
            write("intervals", {"size": SIZE, "repeats": REPEATS, "sets": sets}, show=False)
            print(name, sets[name], flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
