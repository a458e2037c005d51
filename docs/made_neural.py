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
    by = {(r["set"], r["goal"], r["contender"]): r for r in records}
    rows = []
    for goal in dict.fromkeys(r["goal"] for r in records):
        ours = [r for r in records if (r["goal"], r["contender"]) == (goal, OURS)]
        for opponent, words in OPPONENTS.items():
            theirs = [by[r["set"], goal, opponent] for r in ours]
            exact, same = (
                _summary([np.subtract(r["value"], one[key]) for r, one in zip(ours, theirs, strict=True)])
                for key in ("exact", "value")
            )
            rows.append((goal, words, exact[0], counts(exact), same[0], counts(same)))
    header = ("goal", "against", "their threshold exact", "won / tied / lost", "their threshold by our rule", "")
    sets = dict.fromkeys(r["set"] for r in records)
    seeds = len(records[0]["value"])
    note = f"{len(sets)} sets ({', '.join(sets)}), {seeds} seeds; thresholds are set on the same rows left out."
    return markdown(header, rows) + f"\n\n{note} A set is won or lost if its mean is two standard errors from 0."


def counts(summary):
    """Won, tied and lost, in one piece: a narrow column would break it at every space."""
    return "\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}".join(summary[1:])


def _summary(by_set):
    """Of differences, an array over the seeds for each set."""
    won = tied = lost = 0
    for one in by_set:
        error = _error(one)
        won, lost = won + (one.mean() > 2 * error), lost + (one.mean() < -2 * error)
        tied += abs(one.mean()) <= 2 * error
    every = np.concatenate(by_set)
    return f"{every.mean():+.4f} ± {_error(every):.4f}", str(won), str(tied), str(lost)


def _error(values):
    return values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.inf


def overhead_table(found):
    rows = [
        (where, name, f"{one['seconds'] * 1e3:.2f} ms", f"{100 * one['over']:+.1f} %")
        for where, losses in found["overhead"].items()
        for name, one in losses.items()
    ]
    return markdown(("where", "loss", "a step", "over cross-entropy"), rows)


TABLES = {"neural": quality_table, "neural_simulated": simulated_table, "neural_overhead": overhead_table}
FROM = {"neural_simulated": "neural", "neural_overhead": "neural"}
