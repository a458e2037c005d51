"""Tables of the page on networks, from benchmarks/results/neural.json."""

import numpy as np
from made_tables import markdown

OURS = "NeuralMeasureClassifier"
OPPONENTS = {
    "cross-entropy": "cross-entropy, stopped by its loss",
    "cross-entropy, stopped by the measure": "cross-entropy, stopped by the measure",
    "two with cross-entropy": "the mean of two with cross-entropy",
    "MeasureLoss": "one network, with `MeasureLoss` alone",
    "LibAUC's AUC margin": "LibAUC's margin loss (re-written)",
    "LibAUC's partial AUC": "LibAUC's partial AUC (re-written)",
    "boosting": "gradient boosting",
}


def simulated_table(found):
    return quality_table(found, simulated=True)


def quality_table(found, simulated=False):
    """Mean differences to each opponent, with standard errors over pairs of set and seed."""
    records = [r for r in found["records"] if r["simulated"] == simulated]
    if not records:
        return "*No results yet: run `python benchmarks/neural.py`.*"
    by = {(r["set"], r["goal"], r["seed"], r["contender"]): r for r in records}
    rows = []
    for goal in dict.fromkeys(r["goal"] for r in records):
        ours = [(key, r) for key, r in by.items() if key[1] == goal and key[3] == OURS]
        for opponent, words in OPPONENTS.items():
            pairs = [(key[0], r["value"], by[(*key[:3], opponent)]) for key, r in ours]
            exact = _summary([(name, value - theirs["exact"]) for name, value, theirs in pairs])
            same = _summary([(name, value - theirs["value"]) for name, value, theirs in pairs])
            rows.append((goal, words, exact[0], " / ".join(exact[1:]), same[0], " / ".join(same[1:])))
    header = ("goal", "against", "their threshold exact", "won / tied / lost", "their threshold by our rule", "")
    sets = dict.fromkeys(r["set"] for r in records)
    seeds = len({r["seed"] for r in records})
    note = f"{len(sets)} sets ({', '.join(sets)}), {seeds} seeds; thresholds are set on the same rows left out."
    return markdown(header, rows) + f"\n\n{note} A set is won or lost if its mean is two standard errors from 0."


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


TABLES = {"neural": quality_table, "neural_simulated": simulated_table, "neural_overhead": overhead_table}
FROM = {"neural_simulated": "neural", "neural_overhead": "neural"}
