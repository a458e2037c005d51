"""Streams whose prevalence moves: tracking error, alarm delay and false alarms (Figure 4 of Kar et al., extended).

    python benchmarks/drift.py            elec2, covertype and a small simulated stream: tracking error, alarm delay
    python benchmarks/drift.py alarms     the false-alarm rate where nothing moves
    python benchmarks/drift.py large      the simulated stream with 10^7 rows: time and memory

On each set 2,000 rows train; the others are resampled into streams whose prevalence after 20,000 rows is multiplied by
2 or by 5. Tracked by `StreamQuantifier`, and by counting the predictions of the same logistic regression in the same
window. Rows are drawn independently, as the alarm assumes. The first two go on where they were stopped.
"""

import json
import pickle
import resource
import sys
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import steelyard as sy
from _run import RESULTS, write
from _sets import binary

WINDOW, CHUNK, BEFORE, AFTER, STREAMS = 2000, 500, 20_000, 12_000, 8
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
    few = min(2000, len(y) // 2)  # half of the rows where a quick run has so few
    train, rng = (X[:few], y[:few]), np.random.default_rng(1)
    draw = of_pool(X[few:], y[few:], rng)
    found = {"start": START, "factors": {}}
    for factor in (2, 5):
        runs = [one_stream(train, draw, factor, seed) for seed in range(STREAMS)]
        curves = {who: np.mean([run[0][who] for run in runs], axis=0).tolist() for who in runs[0][0]}
        delays = [run[1] for run in runs]
        found["factors"][str(factor)] = {"error": curves, "delays": delays, "early": sum(run[2] for run in runs)}
    return found


def large(rows=10_000_000, block=100_000):
    """A stream of so many rows: seconds, and the memory of the process after every million of them."""
    X, y = simulated(4000)
    q = sy.StreamQuantifier(window=WINDOW, random_state=0).partial_fit(X[:2000], y[:2000])
    rng = np.random.default_rng(2)
    start, spent, errors = time.perf_counter(), 0.0, []
    memory = {"resident_kib": [], "peak_kib": [], "state_bytes": []}
    for k in range(rows // block):
        p = 0.3 + 0.2 * np.sin(2 * np.pi * k * block / 2e6)
        is_positive = rng.uniform(size=block) < p
        batch = rng.normal(size=(block, 10))
        batch[:, :4] += 0.6 * is_positive[:, None]
        began = time.process_time()
        q.update(batch)
        spent += time.process_time() - began
        errors.append(abs(q.prevalence_[1] - p))
        if (k + 1) * block % 1_000_000 == 0:
            memory["resident_kib"].append(resident())
            memory["peak_kib"].append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
            memory["state_bytes"].append(len(pickle.dumps(q)))
    return {
        "rows": rows, "update_s": spent, "wall_s": time.perf_counter() - start,
        "error": float(np.mean(errors)), "alarms": q.n_alarms_, **memory,
    }  # fmt: skip


def resident():
    """Memory that the process holds now, in KiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def calm(model, X, y, p, window, rate, seed=3):
    """False alarms while nothing moves, on so many rows that 100 are allowed.

    Rows of the pool are scored once; the stream draws from their memberships, which is what the alarm sees of a row.
    """
    q = sy.StreamQuantifier(clone(model), window=window, false_alarms=rate, random_state=seed).partial_fit(
        X[:2000], y[:2000]
    )
    u, side = q._memberships(q._quantifier._judged.held.score(X[2000:]).scores), y[2000:]
    sides, rng, block = [u[side == k] for k in (0, 1)], np.random.default_rng(seed), 200_000
    while q.n_seen_ < 100 / rate * 1e4:
        is_positive = rng.uniform(size=block) < p
        q._watch(np.where(is_positive[:, None], rng.choice(sides[1], block), rng.choice(sides[0], block)))
    return {"rows": q.n_seen_, "alarms": q.n_alarms_, "allowed": rate * q.n_seen_ / 1e4}


def alarms(found):
    """The false-alarm rate with an interval: sets, classifiers, prevalences, windows."""
    logistic, forest = LogisticRegression(max_iter=1000), RandomForestClassifier(100, random_state=0)
    settings = (("logistic", logistic, 200, 0.2), ("forest", forest, 200, 0.2), ("logistic", logistic, WINDOW, 0.01))
    rows = {name: load() for name, load in SETS.items()}
    for (who, model, window, rate), p, name in product(settings, (0.01, 0.3), SETS):
        key = f"{name}, {who}, {p:g}, {window}"
        if key not in found:
            found[key] = {"set": name, "model": who, "p": p, "window": window, "rate": rate}
            found[key] |= calm(model, *rows[name], p, window, rate)
            print(key, found[key], flush=True)
            yield


SETS = {
    "simulated": lambda: simulated(40_000),
    "elec2": lambda: binary("elec2"),
    "covertype": lambda: binary("covertype", rows=60_000),
}


def main():
    path = RESULTS / "drift.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    found.pop("machine", None)

    def save():
        write("drift", {**found, "chunk": CHUNK, "window": WINDOW, "before": BEFORE}, show=False)

    if "large" in sys.argv:
        found["large"] = large()
        save()
    elif "alarms" in sys.argv:
        for _ in alarms(found.setdefault("alarms", {})):
            save()
    else:
        for name, load in SETS.items():
            if name not in found.setdefault("sets", {}):
                found["sets"][name] = one_set(*load())
                save()
                print(name, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
