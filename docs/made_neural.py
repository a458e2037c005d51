"""Tables of the page on networks, from benchmarks/results/neural.json."""

import numpy as np
from made_tables import markdown

OPPONENTS = {"cross-entropy": "the same network with cross-entropy", "boosting": "gradient boosting"}


def quality_table(found):
    """Mean differences of MeasureLoss to each opponent, with standard errors over pairs of set and seed."""
    records = found["records"]
    if not records:
        return "*No results yet: run `python benchmarks/neural.py`.*"
    values = {(r["set"], r["goal"], r["seed"], r["contender"]): r["value"] for r in records}
    rows = []
    for goal in dict.fromkeys(r["goal"] for r in records):
        for opponent, words in OPPONENTS.items():
            pairs = [
                (r["set"], r["value"] - values[r["set"], goal, r["seed"], opponent])
                for r in records
                if r["goal"] == goal
                and r["contender"] == "MeasureLoss"
                and (r["set"], goal, r["seed"], opponent) in values
            ]
            rows.append((goal, words, *_summary(pairs)))
    header = ("goal", "against", "difference", "sets won", "tied", "lost")
    seeds, sets = {r["seed"] for r in records}, {r["set"] for r in records}
    quick = (
        " **A quick run of few rows and seeds, not the whole benchmark.**" if any(r["quick"] for r in records) else ""
    )
    note = f"{len(sets)} sets, {len(seeds)} seeds; thresholds are exact on rows left out, values are of test rows."
    return markdown(header, rows) + f"\n\n{note}{quick} A set is won or lost if the mean is two standard errors from 0."


def _summary(pairs):
    differences = np.array([d for _, d in pairs])
    won = tied = lost = 0
    for name in dict.fromkeys(name for name, _ in pairs):
        of_set = np.array([d for n, d in pairs if n == name])
        error = of_set.std(ddof=1) / np.sqrt(len(of_set)) if len(of_set) > 1 else np.inf
        won, lost = won + (of_set.mean() > 2 * error), lost + (of_set.mean() < -2 * error)
        tied += abs(of_set.mean()) <= 2 * error
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else float("nan")
    return f"{differences.mean():+.4f} ± {error:.4f}", str(won), str(tied), str(lost)


def overhead_table(found):
    rows = [
        (where, name, f"{one['seconds'] * 1e3:.2f} ms", f"{100 * one['over']:+.1f} %")
        for where, losses in found["overhead"].items()
        for name, one in losses.items()
    ]
    return markdown(("where", "loss", "a step", "over cross-entropy"), rows)


TABLES = {"neural": quality_table, "neural_overhead": overhead_table}
FROM = {"neural_overhead": "neural"}
