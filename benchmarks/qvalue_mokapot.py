"""Inside mokapot's own `brew`: its default model, plain and with clipped features, against `QValueModel`.

mokapot deals the folds by its seed, trains, calibrates the scores and keeps the best match of each spectrum; then
targets are counted at several rates. All are trained for 0.01, and all are seeded: `PercolatorModel` draws the folds of
its search by a generator of its own unless it is given one. Needs the extra `mokapot`; the search results of MSFragger
are a file of mokapot's source distribution, found by MOKAPOT_SOURCE.

    STEELYARD_DATA=... python benchmarks/qvalue_mokapot.py [lists] [table ...] [model ...] [first seed] [last seed + 1]

With "lists" the posterior errors, which follow the q-values and are half of the time, are left out and no time is kept.
Results are added to ``results/qvalue_mokapot.json`` after each seed, and what is there is not measured again. A seed
for which `brew` refuses to make a list is kept as such.
"""

import json
import logging
import os
import sys
import time
import warnings
from pathlib import Path

import mokapot
import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from _run import RESULTS, data_folder, machine
from steelyard.interop.mokapot import QValueModel

TABLES = ("psm-percolator", "psm-scope2 run 0", "psm-scope2 run 1", "psm-scope2 run 2", "msfragger")
RATES = (0.0025, 0.005, 0.01, 0.02, 0.05, 0.1)


def clipped(X):
    return np.clip(X, -3.0, 3.0)


def clipping():
    return make_pipeline(StandardScaler(), FunctionTransformer(clipped))


def loop(seed):
    """Percolator's without a search: decoys cost three times as much."""
    return mokapot.Model(LinearSVC(dual=False, random_state=7, class_weight={0: 3, 1: 1}), rng=seed)


MODELS = {
    "mokapot's PercolatorModel": lambda seed: mokapot.PercolatorModel(n_jobs=1, rng=seed),
    "the same, features clipped": lambda seed: mokapot.PercolatorModel(scaler=clipping(), n_jobs=1, rng=seed),
    "QValueModel": lambda seed: QValueModel(0.01),
    "QValueModel, matches one by one": lambda seed: QValueModel(0.01, rivals=False),
    "Percolator loop": loop,
    "best single feature": None,
    "QValueModel, rbf": lambda seed: QValueModel(0.01, kernel="rbf"),
}
# Where a seed takes minutes: the four that the question is about.
LARGE = ("mokapot's PercolatorModel", "the same, features clipped", "QValueModel", "best single feature")


def matches(name):
    """A table for `read_pin`, or a collection of matches."""
    if name == "msfragger":
        return mokapot.read_pepxml(
            str(Path(os.environ["MOKAPOT_SOURCE"]) / "data" / "msfragger.pepXML"), decoy_prefix="rev_"
        )
    file, _, run = name.partition(" run ")
    with np.load(data_folder() / f"{file}.npz", allow_pickle=False) as z:
        rows = z["run"] == int(run) if run else np.ones(len(z["y"]), dtype=bool)
        table = pd.DataFrame(z["X"][rows], columns=[f"feature_{name}" for name in z["feature_names"]])
        table["Label"], table["ScanNr"] = np.where(z["y"][rows] == 1, 1, -1), z["scan"][rows]
        table["Peptide"] = [f"peptide {number}" for number in z["peptide_id"][rows]]
    table["SpecId"], table["Proteins"] = [f"match {i}" for i in range(len(table))], "protein"
    return mokapot.read_pin(table)


def brewed(model, psms, seed):
    """The q-values of the targets, and the time of all of `brew`."""
    start = time.process_time()
    if model is None:
        psms.rng = np.random.default_rng(seed)
        results = psms.assign_confidence(eval_fdr=0.01)
    else:
        results, _ = mokapot.brew(psms, model(seed), test_fdr=0.01, rng=seed)
    return results.psms["mokapot q-value"].to_numpy(), time.process_time() - start


def counted(model, psms, seed, lists):
    """Accepted at each rate; or that `brew` gave no list, as where one fold has no target at 0.01."""
    try:
        q, seconds = brewed(model, psms, seed)
    except RuntimeError as error:
        if "Failed to calibrate" not in str(error):
            raise
        return {"no list": str(error)}
    return {str(rate): int((q <= rate).sum()) for rate in RATES} | ({} if lists else {"cpu_s": seconds})


def without_posterior_errors():
    mokapot.confidence.qvality.getQvaluesFromScores = lambda targets, decoys, **_: (None, np.nan)


def measured(path):
    return json.loads(path.read_text())["tables"] if path.exists() else {}


def main(arguments):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    names = [name for name in TABLES if name in arguments] or TABLES[:1]
    lists = "lists" in arguments
    if lists:
        without_posterior_errors()
    first, last = [int(a) for a in arguments if a.isdigit()] or (0, 30)
    path = RESULTS / "qvalue_mokapot.json"
    for name in names:
        psms = matches(name)
        for seed in range(first, last):
            found = measured(path).get(name, {}).get(str(seed), {})
            asked = [m for m in MODELS if m in arguments] or (LARGE if "scope2" in name else MODELS)
            for model in (m for m in asked if m not in found):
                found[model] = counted(MODELS[model], psms, seed, lists)
            tables = measured(path)  # again: several of these may run
            tables.setdefault(name, {}).setdefault(str(seed), {}).update(found)
            path.write_text(json.dumps({"machine": machine(), "rates": RATES, "tables": tables}, indent=1) + "\n")
            print(name, seed, {m: f.get("0.01") for m, f in found.items()}, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
