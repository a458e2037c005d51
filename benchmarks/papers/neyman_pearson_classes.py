"""Neyman-Pearson for several classes: caps kept and error of the others, beside the two procedures of Tian and Feng.

Data as in their simulations (JASA 2025, "Neyman-Pearson multi-class classification via cost-sensitive learning"), as
their package draws them too: case 1 has three classes, normal with unit covariance and means (-1, 2, 1, 1, 1),
(1, 1, 0, 2, 0), (2, -1, -1, 0, 0), shares 0.3, 0.3, 0.4, caps 0.05 and 0.01 on the errors of the first and last, the
error of the second to be least. Case 2 has four classes with correlations of 0.1, means (1, -2, 0, -1, 1),
(-1, 1, -2, -1, 1), (2, 0, -1, 1, -1), (1, 0, 1, 2, -2) and shares 0.1 to 0.4; the caps there, 0.1 on the first and 0.05
on the last with the mean error of the other two to be least, are ours. The model is multinomial logistic regression.

Their procedures, from the paper: with costs ``c_k = (w_k + lam_k) / p_k`` call the class of largest ``c_k eta_k(x)``;
lam maximises the dual, which *CX* computes from the probabilities of the rows that were fitted on,

    1 + sum lam_k (1 - a_k) - mean_x max_k c_k eta_k(x),

and *ER* from the errors ``e_k(lam)`` of a held-out half, ``sum (w_k + lam_k) e_k - sum lam_k a_k``, by a pattern search
(Hooke and Jeeves) up to 200; the model is then fitted again on all rows. A dual above 1 says that no rule meets the
caps. Neither promises anything. True rates are those on 200,000 rows.

    python benchmarks/papers/neyman_pearson_classes.py [--sets 100] [--promises 1000]
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

sys.path.insert(0, str(Path(__file__).parent.parent))
import steelyard as sy
import steelyard.measures as m
from _run import write

CASES = {
    "case 1": {
        "means": [[-1, 2, 1, 1, 1], [1, 1, 0, 2, 0], [2, -1, -1, 0, 0]], "correlation": 0.0, "shares": [0.3, 0.3, 0.4],
        "caps": {0: 0.05, 2: 0.01}, "weights": [0.0, 1.0, 0.0],
    },
    "case 2": {
        "means": [[1, -2, 0, -1, 1], [-1, 1, -2, -1, 1], [2, 0, -1, 1, -1], [1, 0, 1, 2, -2]], "correlation": 0.1,
        "shares": [0.1, 0.2, 0.3, 0.4], "caps": {0: 0.1, 3: 0.05}, "weights": [0.0, 0.5, 0.5, 0.0],
    },
}  # fmt: skip
SIZES, TEST, DELTA, LARGEST = (1000, 3000, 9000), 200_000, 0.1, 200.0


def drawn(case, n, seed):
    rng, means = np.random.default_rng(seed), np.array(case["means"], dtype=float)
    d = means.shape[1]
    covariance = np.full((d, d), case["correlation"]) + (1.0 - case["correlation"]) * np.eye(d)
    y = rng.choice(len(means), n, p=case["shares"])
    return means[y] + rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T, y


# -- theirs ---------------------------------------------------------------------------------------------------------
def pattern_search(f, size, step=1.0, smallest=1e-6):
    """The largest f over [0, LARGEST]^size: moves along the axes, a leap after success, half the step after none."""
    at, value = np.zeros(size), f(np.zeros(size))

    def moved(start, best):
        now = start.copy()
        for k in range(size):
            for sign in (1.0, -1.0):
                tried = now.copy()
                tried[k] = np.clip(tried[k] + sign * step, 0.0, LARGEST)
                found = f(tried)
                if found > best:
                    now, best = tried, found
                    break
        return now, best

    while step > smallest:
        new, better = moved(at, value)
        if better > value:
            leap = np.clip(2.0 * new - at, 0.0, LARGEST)
            at, value = new, better
            further, more = moved(leap, f(leap))
            if more > value:
                at, value = further, more
            step *= 2.0 if step < LARGEST / 8.0 else 1.0
        else:
            step *= 0.5
    return at, value


def costs(lam, case, shares):
    full = np.array(case["weights"], dtype=float)
    full[list(case["caps"])] += lam
    return full / shares


def cx(case, X, y):
    model = LogisticRegression().fit(X, y)
    eta, shares, caps = model.predict_proba(X), np.bincount(y) / len(y), np.array(list(case["caps"].values()))

    def dual(lam):
        return 1.0 + lam @ (1.0 - caps) - (eta * costs(lam, case, shares)).max(axis=1).mean()

    lam, value = pattern_search(dual, len(caps))
    return model, np.log(np.maximum(costs(lam, case, shares), 1e-300)), value <= 1.0


def er(case, X, y, seed):
    X_fit, X_held, y_fit, y_held = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    eta = LogisticRegression().fit(X_fit, y_fit).predict_proba(X_held)
    shares, caps = np.bincount(y_fit) / len(y_fit), np.array(list(case["caps"].values()))

    def dual(lam):
        each = costs(lam, case, shares)
        called = (eta * each).argmax(axis=1)
        errors = np.array([np.mean(called[y_held == k] != k) for k in range(len(shares))])
        return each * shares @ errors - lam @ caps

    lam, value = pattern_search(dual, len(caps))
    return (
        LogisticRegression().fit(X, y),
        np.log(np.maximum(costs(lam, case, np.bincount(y) / len(y)), 1e-300)),
        value <= 1,
    )


# -- ours, and the figures ------------------------------------------------------------------------------------------
def ours(case, X, y, seed, **more):
    measure = sum(w * m.of(k, m.tpr) for k, w in enumerate(case["weights"]) if w > 0.0)
    caps = [m.of(k, m.fnr) <= cap for k, cap in case["caps"].items()]
    found = sy.ThresholdClassifier(LogisticRegression(), measure, subject_to=caps, random_state=seed, **more).fit(X, y)
    return found.estimator_, found.offsets_, True


def figures(case, rule, test):
    model, offsets, feasible = rule
    X, y = test
    called = (model.predict_log_proba(X) + offsets).argmax(axis=1)
    errors = [float(np.mean(called[y == k] != k)) for k in range(len(offsets))]
    kept = bool(all(errors[k] <= cap for k, cap in case["caps"].items()))
    return {"errors": errors, "kept": kept, "error": float(np.dot(case["weights"], errors)), "feasible": bool(feasible)}


def tried(make):
    try:
        return make()
    except sy.InfeasibleError:
        return None


def contenders(case, X, y, seed):
    yield "argmax", (LogisticRegression().fit(X, y), np.zeros(len(case["shares"])), True)
    yield "CX", cx(case, X, y)
    yield "ER", er(case, X, y, seed)
    yield "ours", tried(lambda: ours(case, X, y, seed))
    yield "ours, promised", tried(lambda: ours(case, X, y, seed, delta=DELTA, cv=0.5))


def summary(case, records):
    found = {}
    for who in dict.fromkeys(record["who"] for record in records):
        of_who = [record for record in records if record["who"] == who]
        made = [record for record in of_who if "errors" in record]
        if not made:
            found[who] = {"sets": len(of_who), "made": 0}
            continue
        errors, caps = np.array([record["errors"] for record in made]), case["caps"]
        kept, error = (np.array([record[name] for record in made], dtype=float) for name in ("kept", "error"))
        found[who] = {
            "sets": len(of_who), "made": len(made), "kept": float(kept.mean()), "error": float(error.mean()),
            "error se": float(error.std(ddof=1) / np.sqrt(len(made))) if len(made) > 1 else 0.0,
            "errors of capped": {str(k): float(errors[:, k].mean()) for k in caps},
            "over a cap by": float(np.mean([max(0.0, *(e[k] / cap - 1 for k, cap in caps.items())) for e in errors])),
            "called infeasible": int(sum(not record.get("feasible", False) for record in of_who)),
        }  # fmt: skip
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=100)
    parser.add_argument("--promises", type=int, default=1000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    tests = {name: drawn(case, TEST, 10**6) for name, case in CASES.items()}
    out = {"test rows": TEST, "delta": DELTA, "settings": {}, "promises": {}}
    for name, case in CASES.items():
        for n in SIZES:
            records = []
            for seed in range(args.sets):
                X, y = drawn(case, n, seed)
                for who, rule in contenders(case, X, y, seed):
                    records.append({"who": who} if rule is None else {"who": who, **figures(case, rule, tests[name])})
            out["settings"][f"{name}, {n:,} rows"] = summary(case, records)
            print(name, n, flush=True)
            write("neyman_pearson_classes", out, show=False)
    for name, case in CASES.items():
        records = []
        for seed in range(args.promises):
            X, y = drawn(case, 2000, 5000 + seed)
            rule = tried(partial(ours, case, X, y, seed, delta=DELTA, cv=0.5))
            records.append({"who": "ours"} if rule is None else {"who": "ours", **figures(case, rule, tests[name])})
            if seed % 100 == 99:
                out["promises"][f"{name}, 2,000 rows"] = summary(case, records)["ours"]
                write("neyman_pearson_classes", out, show=False)
        print(name, "promises", flush=True)


if __name__ == "__main__":
    main()
