"""Ninety-nine quantiles: one `QuantilePath` against ninety-nine fits of scikit-learn's `QuantileRegressor`.

Random 70/30 splits of at most 1,000 rows of each set; time is that of fitting and predicting all quantiles of one
split, and quality the pinball loss on the test part, averaged over quantiles and five splits, for y of unit variance.
`QuantileRegressor` has an l1 penalty and solves a linear programme for each quantile; alpha = 0 is unregularised
regression. The path has an l2 penalty, with C = 1 (nothing is tuned on either side), and its quantiles are reported as
they are and rearranged. How often quantiles cross is counted over rows (any of the 98 neighbours) and over pairs.

    STEELYARD_DATA=... python benchmarks/quantiles.py [timing] [quality]
"""

import json
import sys

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import train_test_split

import steelyard as sy
from _run import RESULTS, interleaved, write
from _sets import raw

TAU = np.arange(1, 100) / 100
SPLITS = 5
ROWS = 1000  # a linear programme for each of 99 quantiles and five splits takes its time


def wine(colour):
    X, y = raw(f"small/wine-quality-{colour}")
    return X, y.astype(float)


def heteroscedastic(seed=0):
    """Noise that grows with the first column, and is skewed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 8))
    return X, X @ rng.normal(size=8) + np.exp(0.6 * X[:, 0]) * (rng.exponential(size=1500) - 1.0)


SETS = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "heteroscedastic": heteroscedastic,
    "friedman1": lambda: make_friedman1(1500, 10, noise=2.0, random_state=0),
    "wine-quality-red": lambda: wine("red"),
    "wine-quality-white": lambda: wine("white"),
}


def scaled(Z):
    return (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-12)


def pinball(y, q):
    left = y[:, None] - q
    return float(np.maximum(TAU * left, (TAU - 1) * left).mean())


def path(X, y, X_test):
    return sy.QuantilePath(C=1.0).fit(X, y).predict(X_test, TAU)


def one_by_one(X, y, X_test):
    models = (QuantileRegressor(quantile=t, alpha=0.0, solver="highs").fit(X, y) for t in TAU)
    return np.column_stack([model.predict(X_test) for model in models])


def timing(X, y):
    Xa, Xb, ya, _ = train_test_split(X, y, test_size=0.3, random_state=0)
    jobs = {"path": lambda: path(Xa, ya, Xb), "QuantileRegressor": lambda: one_by_one(Xa, ya, Xb)}
    seconds = interleaved(jobs, repeats=2)
    kinks = len(sy.QuantilePath(C=1.0).fit(Xa, ya).kinks_)
    return {"seconds": seconds, "times_faster": seconds["QuantileRegressor"] / seconds["path"], "kinks": kinks}


def quality(X, y):
    losses = {who: [] for who in ("path", "path, rearranged", "QuantileRegressor", "QuantileRegressor, rearranged")}
    crossing = {"path": [], "QuantileRegressor": []}
    for seed in range(SPLITS):
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, random_state=seed)
        for who, fit in (("path", path), ("QuantileRegressor", one_by_one)):
            q = fit(Xa, ya, Xb)
            losses[who].append(pinball(yb, q))
            losses[f"{who}, rearranged"].append(pinball(yb, np.sort(q, axis=1)))
            falls = np.diff(q, axis=1) < -1e-9
            crossing[who].append([falls.any(axis=1).mean(), falls.mean()])
    difference = np.subtract(losses["path"], losses["QuantileRegressor"])
    return {
        "pinball": {who: float(np.mean(values)) for who, values in losses.items()},
        "difference": float(difference.mean()), "standard_error": float(difference.std(ddof=1) / SPLITS**0.5),
        "crossing_rows": {who: float(np.mean(v, axis=0)[0]) for who, v in crossing.items()},
        "crossing_pairs": {who: float(np.mean(v, axis=0)[1]) for who, v in crossing.items()},
    }  # fmt: skip


def main(*parts):
    known = RESULTS / "quantiles.json"
    sets = json.loads(known.read_text())["sets"] if known.exists() else {}
    for name, load in SETS.items():
        X, y = load()
        order = np.random.default_rng(0).permutation(len(y))[:ROWS]
        X, y = scaled(X[order]), scaled(y[order])
        sets.setdefault(name, {}).update({"rows": len(y), "columns": X.shape[1]})
        for part in (timing, quality):
            if not parts or part.__name__ in parts:
                sets[name].update(part(X, y))
        print(name, sets[name], flush=True)
        write("quantiles", {"splits": SPLITS, "sets": sets}, show=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
