"""What is lost where a `QValueClassifier` learns from fewer rows (`solvers.decoys.thinning`), and what it costs.

Tables and deals of ``benchmarks/qvalue.py``, too small to be thinned: here there is room for a third of the rows.
Beside it as many rows drawn evenly, which is what other tools do with large tables. *made* are 150,000 rows of 30
columns with 1,500 right ones, counted on as many new rows.

    STEELYARD_DATA=... python benchmarks/qvalue_thinning.py [first seed] [last seed + 1]

Results are added to ``results/qvalue_thinning.json`` after each seed, and what is there is not measured again.
"""

import json
import sys
import time
import warnings
from functools import partial
from unittest import mock

import numpy as np

import qvalue
from _run import RESULTS, machine
from steelyard.estimators import q_value

TABLES = ("made", "psm-scope2 run 1", "psm-scope2 run 2")
RATES = (0.01,)
N, D, RIGHT = 150_000, 30, 0.01


def by_pilot(share):
    def fit(X, is_target, scan, rate):
        with mock.patch.object(q_value, "room", lambda rows: int(share * rows.n_rows)):
            return qvalue.ours()(X, is_target, scan, rate)

    return fit


def evenly(share):
    def fit(X, is_target, scan, rate):
        some = np.random.default_rng(0).random(len(X)) < share
        return qvalue.ours()(X[some], is_target[some], scan[some], rate)

    return fit


CONTENDERS = {"all rows": by_pilot(1.0), "a third": by_pilot(1 / 3), "a third, drawn evenly": evenly(1 / 3)}


def drawn(rng):
    right = rng.random(N) < RIGHT
    X = rng.standard_normal((N, D))
    X[right, :4] += [3.5, 2.5, 2.0, 1.0]
    return X, right | (rng.random(N) < 0.5)


def on_made(fit, seed, rate):
    rng = np.random.default_rng(seed)
    (X, target), (new, new_target) = drawn(rng), drawn(rng)
    start = time.process_time()
    score = fit(X, target, np.arange(N), rate)
    seconds = time.process_time() - start
    return {"accepted": qvalue.count(score(new), new_target, rate), "fit_s": seconds}


def on_table(name, fit, seed, rate):
    X, is_target, scan = qvalue.table(name)
    found = qvalue.measure(fit, X, is_target, scan, seed, (rate,))
    return {"accepted": found["accepted"][str(rate)], "fit_s": found["fit_s"]}


def main(arguments):
    warnings.simplefilter("ignore")
    first, last = (int(a) for a in arguments) if arguments else (0, 10)
    path = RESULTS / "qvalue_thinning.json"
    tables = json.loads(path.read_text())["tables"] if path.exists() else {}
    for seed in range(first, last):
        for name in TABLES:
            for rate in RATES:
                held = tables.setdefault(name, {}).setdefault(str(rate), {}).setdefault(str(seed), {})
                for contender in (c for c in CONTENDERS if c not in held):
                    measure = on_made if name == "made" else partial(on_table, name)
                    held[contender] = measure(CONTENDERS[contender], seed, rate)
                print(seed, name, rate, {c: f["accepted"] for c, f in held.items()}, flush=True)
                path.write_text(json.dumps({"machine": machine(), "rates": RATES, "tables": tables}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
