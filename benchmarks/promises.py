"""Promises of precision, F1 and several constraints, and the watch: how often they break, and what they refuse.

Scores of negatives are standard normal and of positives N(shift, 1), rounded to halves where ties are asked for, so
that the rates of every threshold are known exactly. The promising rows are those of a model fitted before. Where
MAPIE 1.6 can be imported its `BinaryClassificationController` has the same rows, as calibrated probabilities, and its
`RiskMonitoring` the same stream.

    python benchmarks/promises.py                 # 2,000 data sets a setting; pip install mapie for the comparison
    python benchmarks/promises.py --runs 200
"""

import argparse
import json
import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binom, norm

import steelyard.measures as m
from _run import RESULTS, write
from steelyard.statistics.promises import promise
from steelyard.statistics.promises.counts import Scored
from steelyard.statistics.promises.promise import Asked, RefusedError, keep
from steelyard.statistics.promises.watching import Fortune

try:
    from mapie.exchangeability_testing import RiskMonitoring
    from mapie.risk_control import BinaryClassificationController
except ImportError:
    BinaryClassificationController = RiskMonitoring = None

DELTA = 0.1


@dataclass(frozen=True)
class Setting:
    """Constraints and the same for MAPIE, and what the rows are like."""

    constraints: list
    mapie: tuple | None
    rows: int
    prevalence: float
    shift: float = 1.8  # between the classes: small for a bad model
    ties: bool = False
    sure: float = 1.0  # factor of the log-odds that MAPIE is given: above 1 the model is too sure of itself
    before: int = 0  # rows that fix an order of thresholds; a share of their labels is turned, so that they mislead
    wrong: float = 0.0


PRECISION = [m.Precision() >= 0.8], (["precision"], [0.8])
SETTINGS = {
    "precision 0.8, 500 rows": Setting(*PRECISION, 500, 0.2),
    "precision 0.8, 500 rows, too sure": Setting(*PRECISION, 500, 0.2, sure=4.0),
    "precision 0.8, 200 rows, half positive": Setting(*PRECISION, 200, 0.5),
    "precision 0.8, 5,000 rows": Setting(*PRECISION, 5000, 0.2),
    "precision 0.3, 5,000 rows, 1 % positive": Setting([m.Precision() >= 0.3], (["precision"], [0.3]), 5000, 0.01, 2.5),
    "precision 0.6, 1,000 rows, bad model": Setting([m.Precision() >= 0.6], (["precision"], [0.6]), 1000, 0.5, 0.3),
    "precision 0.6, 500 rows, ties": Setting([m.Precision() >= 0.6], (["precision"], [0.6]), 500, 0.2, ties=True),
    "FPR 0.05, 200 rows": Setting([m.fpr <= 0.05], (["fpr"], [0.05]), 200, 0.2),
    "FPR 0.05, 2,000 rows, ties": Setting([m.fpr <= 0.05], (["fpr"], [0.05]), 2000, 0.2, ties=True),
    "FPR 0.01, 5,000 rows, 1 % positive": Setting([m.fpr <= 0.01], (["fpr"], [0.01]), 5000, 0.01, 2.5),
    "recall 0.5 and FPR 0.2, 500 rows": Setting(
        [m.tpr >= 0.5, m.fpr <= 0.2], (["recall", "fpr"], [0.5, 0.2]), 500, 0.3
    ),
    "precision 0.6 and FPR 0.1, 500 rows": Setting(
        [m.Precision() >= 0.6, m.fpr <= 0.1], (["precision", "fpr"], [0.6, 0.1]), 500, 0.3
    ),
    "precision 0.6 and recall 0.5, 1,000 rows": Setting(
        [m.Precision() >= 0.6, m.tpr >= 0.5], (["precision", "recall"], [0.6, 0.5]), 1000, 0.3
    ),
    "accuracy 0.75, 500 rows": Setting([m.Accuracy() >= 0.75], (["accuracy"], [0.75]), 500, 0.3),
    "F1 0.5, 500 rows": Setting([m.FBeta(1) >= 0.5], None, 500, 0.3),
    "F1 0.5, 500 rows, misled": Setting([m.FBeta(1) >= 0.5], None, 500, 0.3, before=1000, wrong=0.3),
    "F2 0.5, 1,000 rows": Setting([m.FBeta(2) >= 0.5], None, 1000, 0.3),
    "FPR at most 0.2 TPR, 600 rows": Setting([m.fpr <= 0.2 * m.tpr], None, 600, 0.3, 1.5),
}


def draw(rng, n, prevalence, shift, ties):
    y = rng.random(n) < prevalence
    s = rng.normal(size=n) + shift * y
    return np.round(2 * s) / 2 if ties else s, y


def rates(t, shift, ties):
    cut = np.floor(2 * t) / 2 + 0.25 if ties else t
    return norm.sf(cut - shift), norm.cdf(cut)


def summary(found, constraints, prevalence):
    """Violations, refusals and mean recall (0 where refused) of the true rates found, None where refused."""
    kept = [at for at in found if at is not None]
    broken = sum(not all(bool(c.holds(*at, prevalence)) for c in constraints) for at in kept)
    recall = np.array([0.0 if at is None else at[0] for at in found])
    return {
        "violations": broken / len(found), "refused": 1 - len(kept) / len(found), "recall": float(recall.mean()),
        "recall_error": float(recall.std(ddof=1) / np.sqrt(len(recall))), "runs": len(found),
    }  # fmt: skip


def ours(at, runs):
    promise.refused = lambda made: RefusedError("", None, made)  # what could be had instead is not asked for here
    found, rng, order = [], np.random.default_rng(1), np.random.default_rng(2)
    for run in range(runs):
        scores, y = draw(rng, at.rows, at.prevalence, at.shift, at.ties)
        before = None
        if at.before:
            seen, truth = draw(order, at.before, at.prevalence, at.shift, False)
            before = Scored(seen, truth ^ (order.random(at.before) < at.wrong))
        try:
            _, choice = keep(Scored(scores, y), before, Asked(tuple(at.constraints), m.Recall(), DELTA), seed=run)
            found.append(rates(choice.threshold, at.shift, at.ties))
        except RefusedError:
            found.append(None)
    return summary(found, at.constraints, at.prevalence)


def mapies(at, runs, method):
    """MAPIE on the same rows, its thresholds tested by Holm's procedure (its default) or, for "split", in an order that
    is learned on a fifth of the rows."""
    found, rng = [], np.random.default_rng(1)

    def log_odds(scores):
        return logit(at.prevalence) + at.shift * np.ravel(scores) - at.shift**2 / 2

    def proba(scores):
        p = expit(at.sure * log_odds(scores))
        return np.column_stack([1 - p, p])

    risks, targets = at.mapie if len(at.mapie[0]) > 1 else (at.mapie[0][0], at.mapie[1][0])
    for _ in range(runs):
        scores, y = draw(rng, at.rows, at.prevalence, at.shift, at.ties)
        control = BinaryClassificationController(
            proba, risks, targets, confidence_level=1 - DELTA, best_predict_param_choice="recall",
            fwer_method="split_fixed_sequence" if method == "split" else "bonferroni_holm",
        )  # fmt: skip
        few = at.rows // 5 if method == "split" else 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if few:
                control.learn_fixed_sequence_order(scores[:few, None], y[:few].astype(int))
            control.calibrate(scores[few:, None], y[few:].astype(int))
        p = control.best_predict_param
        if p is None:
            found.append(None)
            continue
        # Their rule is probability >= p: the score above which it is so, at a tie the one below.
        t = (logit(np.clip(p, 1e-12, 1 - 1e-12)) / at.sure - logit(at.prevalence) + at.shift**2 / 2) / at.shift
        found.append(rates(np.nextafter(t, -np.inf), at.shift, at.ties))
    return summary(found, at.constraints, at.prevalence)


CAP, LEVEL, LIVES = 0.05, 0.01, 250  # lives in a lot, each with its own seed


def false_alarms(lot, rows):
    """Of `LIVES` watches over negatives exactly at the cap, how many ever raise an alarm."""
    rng = np.random.default_rng([2, lot])
    seen = (
        Fortune.new().after(np.where(rng.random(rows) < CAP, CAP - 1, CAP), CAP, 1 / LEVEL)[1] for _ in range(LIVES)
    )
    return sum(at is not None for at in seen)


def delay(rng, calm, n=50_000):
    """Negatives until a cap that is broken by a factor of 1.5 is seen, after some calm ones at 0.8 of it."""
    rate = np.r_[np.full(calm, 0.8 * CAP), np.full(n, 1.5 * CAP)]
    at = Fortune.new().after(np.where(rng.random(calm + n) < rate, CAP - 1, CAP), CAP, 1 / LEVEL)[1]
    return n if at is None else at + 1 - calm


def watching(runs, rows, alarms=None):
    """False alarms at the cap itself, and rows until a broken one is seen."""
    lots = max(1, runs // LIVES)
    found = sum(false_alarms(lot, rows) for lot in range(lots)) if alarms is None else alarms
    rng = np.random.default_rng(2)
    at_once, after_calm = ([delay(rng, calm) for _ in range(200)] for calm in (0, 50_000))
    theirs = [monitored(rng, CAP, LEVEL) for _ in range(11)] if RiskMonitoring else [np.nan]
    return {
        "level": LEVEL, "runs": lots * LIVES, "rows": rows, "false_alarms": found / (lots * LIVES),
        "median_rows": float(np.median(at_once)), "median_rows_after_50000_calm": float(np.median(after_calm)),
        "mapie_median_rows": float(np.median(theirs)), "mapie_runs": len(theirs),
    }  # fmt: skip


def monitored(rng, cap, level, chunk=250, most=20_000):
    """Rows until `RiskMonitoring` sees it, given the cap as its threshold; half of its test level is for the stream."""
    monitor = RiskMonitoring("fpr", test_level=2 * level, threshold=cap, warn=False)
    for k in range(most // chunk):
        monitor.update(np.zeros(chunk, dtype=int), (rng.random(chunk) < 1.5 * cap).astype(int))
        if monitor.harmful_shift_detected:
            return (k + 1) * chunk
    return most


def rows_needed():
    """Rows that pay (of the class for a cap, called for precision) so that the exact test passes nine times in ten."""
    table = []
    asked = (
        ("fpr <= 0.05", 0.05, (0.01, 0.025, 0.04)), ("fpr <= 0.01", 0.01, (0.002, 0.005, 0.008)),
        ("Precision() >= 0.8", 0.8, (0.95, 0.9, 0.85)), ("Precision() >= 0.95", 0.95, (0.99, 0.975, 0.96)),
    )  # fmt: skip
    for name, bound, truths in asked:
        for truth in truths:
            wrong, cap = (truth, bound) if name.startswith("fpr") else (1 - truth, 1 - bound)
            table += [
                {"asked": name, "truth": truth, "delta": delta, "rows": enough(cap, wrong, delta)}
                for delta in (0.1, 0.05)
            ]
    return table


def enough(cap, wrong, delta):
    n = 10
    while True:
        allowed = binom.ppf(delta, n, cap)
        allowed = allowed if binom.cdf(allowed, n, cap) <= delta else allowed - 1
        if allowed >= 0 and binom.cdf(allowed, n, wrong) >= 0.9:
            return n
        n = int(np.ceil(n * 1.02))


def seconds():
    rng = np.random.default_rng(0)
    scores, y = draw(rng, 200_000, 0.2, 1.8, False)
    best = np.inf
    for _ in range(3):
        start = time.process_time()
        keep(Scored(scores, y), None, Asked((m.Precision() >= 0.8,), m.Recall(), DELTA))
        best = min(best, time.process_time() - start)
    return best


def learned_order(settings, runs):
    """MAPIE's order learned on a fifth of the rows: some hundred times as slow as its default, so on fewer sets."""
    for name, at in SETTINGS.items():
        if at.mapie is None or BinaryClassificationController is None:
            continue
        try:
            settings[name]["mapie_split"] = mapies(at, runs, "split")
        except (ValueError, IndexError) as error:  # a fifth of few rows may have none that it counts
            settings[name]["mapie_split"] = {"failed": str(error)}
        print(name, settings[name]["mapie_split"], flush=True)
        yield


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help="settings, watch, split (MAPIE's learned order); all by default")
    parser.add_argument("--only", help="one of the settings, by name")
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--split-runs", type=int, default=100)
    parser.add_argument("--watch-runs", type=int, default=1000)
    parser.add_argument("--watch-rows", type=int, default=1_000_000)
    given = parser.parse_args()
    parts = given.parts or ["settings", "watch", "split"]
    path = RESULTS / "promises.json"
    result = json.loads(path.read_text()) if path.exists() else {}
    result.pop("machine", None)
    if "settings" in parts:
        settings = result["settings"] = result["settings"] if given.only else {}
        result |= {"delta": DELTA, "rows_needed": rows_needed(), "seconds_200000_rows": seconds()}
        for name, at in SETTINGS.items():
            if given.only not in (None, name):
                continue
            theirs = None
            if BinaryClassificationController is not None and at.mapie is not None:
                theirs = mapies(at, given.runs, "holm")
            settings[name] = {"ours": ours(at, given.runs), "mapie": theirs}
            print(name, settings[name], flush=True)
            write("promises", result, show=False)
    if "watch" in parts:
        result["watch"] = watching(given.watch_runs, given.watch_rows)
        print(result["watch"], flush=True)
        write("promises", result, show=False)
    if "split" in parts:
        for _ in learned_order(result["settings"], given.split_runs):
            write("promises", result, show=False)


if __name__ == "__main__":
    main()
