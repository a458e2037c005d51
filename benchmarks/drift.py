"""Streams whose prevalence moves: tracking error, alarm delay and false alarms (Figure 4 of Kar et al., extended).

    python benchmarks/drift.py            elec2, covertype and a small simulated stream
    python benchmarks/drift.py large      the simulated stream with 10^7 rows: time and memory

On each set 2,000 rows train; the others are resampled into streams with a prevalence that stays (false alarms), and
one that after 20,000 rows is multiplied by 2 or by 5. Tracked by `StreamQuantifier`, and by counting the predictions
of the same logistic regression in the same window. Rows are drawn independently, as the alarm assumes.
"""

import json
import pickle
import resource
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression

import steelyard as sy
from _run import RESULTS, write
from _sets import binary

WINDOW, CHUNK, BEFORE, AFTER, STREAMS, QUIET = 2000, 500, 20_000, 12_000, 4, 200_000
START = 0.1


def simulated(rows, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.uniform(size=rows) < 0.3).astype(int)
    X = rng.normal(size=(rows, 10))
    X[:, :4] += 0.6 * y[:, None]
    return X, y


def of_pool(X, y, rng):
    sides = [np.flatnonzero(y == k) for k in (0, 1)]

    def draw(n, p):
        is_positive = rng.uniform(size=n) < p
        rows = np.where(is_positive, rng.choice(sides[1], n), rng.choice(sides[0], n))
        return X[rows]

    return draw


def one_stream(train, draw, factor, seed):
    q = sy.StreamQuantifier(LogisticRegression(max_iter=1000), window=WINDOW, random_state=seed).partial_fit(*train)
    plain = LogisticRegression(max_iter=1000).fit(*train)
    counted, errors, seen = np.zeros(0), {"StreamQuantifier": [], "counting predictions": []}, 0
    while seen < BEFORE + AFTER:
        p = START if seen < BEFORE else min(1.0, START * factor)
        X = draw(CHUNK, p)
        seen += CHUNK
        q.update(X)
        counted = np.concatenate([counted, plain.predict(X)])[-WINDOW:]
        errors["StreamQuantifier"].append(abs(q.prevalence_[1] - p))
        errors["counting predictions"].append(abs(counted.mean() - p))
    late = [alarm for alarm in q.alarms_ if alarm > BEFORE]
    return errors, (late[0] - BEFORE if late else None), sum(alarm <= BEFORE for alarm in q.alarms_)


def one_set(X, y):
    train, rng = (X[:2000], y[:2000]), np.random.default_rng(1)
    draw = of_pool(X[2000:], y[2000:], rng)
    found = {"start": START, "factors": {}}
    for factor in (2, 5):
        runs = [one_stream(train, draw, factor, seed) for seed in range(STREAMS)]
        curves = {who: np.mean([run[0][who] for run in runs], axis=0).tolist() for who in runs[0][0]}
        delays = [run[1] for run in runs]
        found["factors"][str(factor)] = {"error": curves, "delays": delays, "early": sum(run[2] for run in runs)}
    calm = sy.StreamQuantifier(LogisticRegression(max_iter=1000), window=WINDOW, random_state=0).partial_fit(*train)
    for _ in range(QUIET // 20_000):
        calm.update(draw(20_000, START))
    found["quiet_rows"], found["false_alarms"], found["stated"] = calm.n_seen_, calm.n_alarms_, calm.false_alarms
    return found


def large(rows=10_000_000, block=100_000):
    """A stream of so many rows: seconds, and what the peak of memory grows by after the first million."""
    X, y = simulated(4000)
    q = sy.StreamQuantifier(window=WINDOW, random_state=0).partial_fit(X[:2000], y[:2000])
    rng = np.random.default_rng(2)
    start, spent, peak, errors = time.perf_counter(), 0.0, 0, []
    state = []
    for k in range(rows // block):
        p = 0.3 + 0.2 * np.sin(2 * np.pi * k * block / 2e6)
        is_positive = rng.uniform(size=block) < p
        batch = rng.normal(size=(block, 10))
        batch[:, :4] += 0.6 * is_positive[:, None]
        began = time.process_time()
        q.update(batch)
        spent += time.process_time() - began
        errors.append(abs(q.prevalence_[1] - p))
        if (k + 1) * block == 1_000_000:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            state.append(len(pickle.dumps(q)))
    state.append(len(pickle.dumps(q)))
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    return {
        "rows": rows, "update_s": spent, "wall_s": time.perf_counter() - start, "grown_kib": grown,
        "error": float(np.mean(errors)), "alarms": q.n_alarms_, "state_bytes": state,
    }  # fmt: skip


def main():
    path = RESULTS / "drift.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found.pop("machine", None)
    if "large" in sys.argv:
        found["large"] = large()
    else:
        sets = {"simulated": lambda: simulated(40_000), "elec2": lambda: binary("elec2")}
        sets["covertype"] = lambda: binary("covertype", rows=60_000)
        found["sets"] = found.get("sets", {})
        for name, load in sets.items():
            if name not in found["sets"]:
                found["sets"][name] = one_set(*load())
                write("drift", {**found, "chunk": CHUNK, "window": WINDOW, "before": BEFORE}, show=False)
                print(name, flush=True)
        return
    write("drift", {**found, "chunk": CHUNK, "window": WINDOW, "before": BEFORE}, show=False)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
