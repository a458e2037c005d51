"""Inside mokapot's own `brew`: its default model against `QValueModel`, on psm-percolator.

mokapot deals the folds by its seed, trains, calibrates the scores and keeps the best match of each spectrum; then
targets are counted at several rates. Both are trained for 0.01. Needs the extra `mokapot`.

    STEELYARD_DATA=... python benchmarks/qvalue_mokapot.py [seed ...]

Results are added to ``results/qvalue_mokapot.json`` after each model, and what is there is not measured again.
"""

import json
import logging
import sys
import warnings

import mokapot
import numpy as np
import pandas as pd

from _run import RESULTS, data_folder, machine
from steelyard.interop.mokapot import QValueModel

RATES = (0.005, 0.01, 0.02, 0.1)
MODELS = {
    "mokapot's PercolatorModel": lambda: mokapot.PercolatorModel(n_jobs=1),
    "QValueModel": lambda: QValueModel(0.01),
    "QValueModel, rbf": lambda: QValueModel(0.01, kernel="rbf"),
}


def matches():
    with np.load(data_folder() / "psm-percolator.npz", allow_pickle=False) as z:
        table = pd.DataFrame(z["X"], columns=[f"feature_{name}" for name in z["feature_names"]])
        table["Label"], table["ScanNr"] = np.where(z["y"] == 1, 1, -1), z["scan"]
        table["Peptide"] = [f"peptide {number}" for number in z["peptide_id"]]
    table["SpecId"], table["Proteins"] = [f"match {i}" for i in range(len(table))], "protein"
    return table


def main(arguments):
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    path = RESULTS / "qvalue_mokapot.json"
    seeds = json.loads(path.read_text())["seeds"] if path.exists() else {}
    table = matches()
    for seed in arguments or ("1", "2", "3"):
        found = seeds.setdefault(seed, {})
        for name in (name for name in MODELS if name not in found):
            results, _ = mokapot.brew(mokapot.read_pin(table), MODELS[name](), test_fdr=0.01, rng=int(seed))
            q = results.psms["mokapot q-value"]
            found[name] = {str(rate): int((q <= rate).sum()) for rate in RATES}
            print(seed, name, found[name], flush=True)
            figures = {"machine": machine(), "rates": list(RATES), "seeds": seeds}
            path.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
