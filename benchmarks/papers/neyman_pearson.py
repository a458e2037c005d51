"""Kernel Neyman-Pearson machines: the experiments of Gasso et al., sections 5.2 to 5.4, and Table IV.

Positives are the majority class, as in the paper; P_fa is the rate of false alarms, P_nd of misses. `figure 4` writes
its results as it goes: delete what is to be measured again.

- smo: one SVM on ijcnn1 (10,000 rows, RBF) by our SMO and by LIBSVM through `SVC`, and the whole annealed run.
- table 2 and 3 (processor time): the annealed solver (Algorithm 3) against full Uzawa (Algorithms 1 and 2), on two
  Gaussians and on spambase, over C and gamma. Both as we step the multiplier, and with the paper's small steps
  ``1 + nu (rate - rho)``.
- settling: how many runs on overlapping classes do not settle, and where they end.
- figure 3: a linear machine on spambase from 24 random starts, beside the start at zero.
- figure 4: P_fa, P_nd and seconds over rho for the annealed machine, the cost grid (AC-SVM), the minimax machine (GEN),
  and logistic regression with an exactly tuned threshold, which the paper does not have. C and gamma are searched.
- table 4: linear machines on sparse text, at small caps.

    STEELYARD_DATA=... python benchmarks/papers/neyman_pearson.py [part ...]

`figure 4 NAME` measures one set.
"""

import dataclasses
import itertools
import json
import sys
import time
import warnings

import numpy as np
from _data import problem
from neyman_pearson_stream import rows as paper_rows
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, interleaved, write
from steelyard.solvers.kernel import neyman_pearson as machines
from steelyard.solvers.kernel import smo
from steelyard.solvers.kernel.expansion import expansion

CAPS = (0.01, 0.05, 0.1, 0.2)


def rates(called, y):
    return float(called[y == 0].mean()), float(1 - called[y == 1].mean())


def scale(X):
    return 1 / (X.shape[1] * X.var())


# -- speed ----------------------------------------------------------------------------------------------------------
def speed():
    X, y = problem("ijcnn1", rows=10_000)
    X, sign = np.ascontiguousarray(X), 2.0 * y - 1
    out = {}
    for C in (1.0, 10.0):
        found = {}

        def ours(C=C, found=found):
            found["ours"] = smo.solve(smo.Kernel(X, "rbf", gamma=scale(X)), sign, 1.0, 0.0, C)

        def libsvm(C=C, found=found):
            found["libsvm"] = SVC(C=C).fit(X, y)

        def annealed(C=C):
            sy.NeymanPearsonClassifier(0.05, C=C, solver="annealed", offset="train").fit(X, y)

        times = interleaved({"libsvm": libsvm, "ours": ours, "annealed": annealed}, repeats=5)
        b = np.zeros(len(y))
        b[found["libsvm"].support_] = found["libsvm"].dual_coef_[0]
        theirs = np.abs(b).sum() - 0.5 * b @ smo.Kernel(X, "rbf", gamma=scale(X)).product(b)
        out[f"C = {C:g}"] = {
            "libsvm_s": times["libsvm"],
            "smo_over_libsvm": times["ours"] / times["libsvm"],
            "annealed_over_libsvm": times["annealed"] / times["libsvm"],
            "objective_difference": found["ours"].objective / theirs - 1,
        }
    return out


# -- Tables II and III ----------------------------------------------------------------------------------------------
def small_steps(task, rounds, nu=0.5, most=400):
    """The multiplier by the paper's ``1 + nu (rate - rho) / rho`` in small steps, after `rounds` DC rounds each."""
    ratio, machine = 1.0, None
    part = dataclasses.replace(task, max_iter=rounds)
    n = 0
    while n < most:
        n += 1
        given_up = None if machine is None else machine.given_up
        machine = machines.dc(part, ratio, machine, given_up)
        if abs(machine.false_alarms - task.cap) <= task.rule.precision * task.cap and machine.converged:
            break
        ratio *= 1 + nu * np.clip((machine.false_alarms - task.cap) / task.cap, -1, 1)
    return dataclasses.replace(machine, n_iter=n)


SOLVERS = {
    "annealed": machines.solve,
    "uzawa": lambda task: machines.solve(dataclasses.replace(task, method="uzawa")),
    "annealed, small steps": lambda task: small_steps(task, rounds=1),
    "uzawa, small steps": lambda task: small_steps(task, rounds=50),
}


def compare(X, y, X_new, y_new, pairs):
    sign = 2.0 * y - 1
    found = {f"{cap:g}": {name: [] for name in SOLVERS} for cap in CAPS}
    for C, gamma in pairs:
        for cap in CAPS:
            for name, solver in SOLVERS.items():
                kernel = smo.Kernel(X, "rbf", gamma=gamma)
                start = time.process_time()
                machine = solver(machines.NeymanPearsonProblem(kernel, sign, np.ones(len(y)), cap, C))
                seconds = time.process_time() - start
                support = np.flatnonzero(machine.dual.signed)
                scores = expansion(X, machine.dual.signed, machine.dual.bias, kernel.function)(X_new)
                found[f"{cap:g}"][name].append((seconds, *rates(scores > 0, y_new), machine.n_iter, len(support)))
    return {cap: summary(by_solver) for cap, by_solver in found.items()}


def summary(by_solver):
    table = {name: np.array(runs) for name, runs in by_solver.items()}
    out = {name: {"seconds": float(t[:, 0].mean()), "rounds": float(t[:, 3].mean())} for name, t in table.items()}
    for kind in ("", ", small steps"):
        ours, full = table["annealed" + kind], table["uzawa" + kind]
        ratio, change = full[:, 0] / ours[:, 0], ours[:, 1:3] - full[:, 1:3]
        out[f"speed-up{kind}"] = {
            "mean": float(ratio.mean()), "sd": float(ratio.std(ddof=1)), "median": float(np.median(ratio)),
            "P_fa": [float(change[:, 0].mean()), float(change[:, 0].std(ddof=1))],
            "P_nd": [float(change[:, 1].mean()), float(change[:, 1].std(ddof=1))],
        }  # fmt: skip
    paper = table["uzawa, small steps"][:, 0] / table["annealed"][:, 0]
    out["ours against the paper's Uzawa"] = {
        "mean": float(paper.mean()), "sd": float(paper.std(ddof=1)), "median": float(np.median(paper)),
    }  # fmt: skip
    return out


def table_2():
    rng = np.random.default_rng(0)

    def draw(n):
        y = np.repeat([0, 1], n // 2)
        spread = np.where(y[:, None] == 1, [1.0, 0.6], [0.7, 1.2])
        return rng.normal(size=(n, 2)) * spread + np.where(y[:, None] == 1, [0.9, 0.5], [-0.5, -0.3]), y

    X, y = draw(1000)
    pairs = [(C, gamma) for C in (0.1, 1.0, 10.0, 100.0) for gamma in (0.1, 0.3, 1.0, 3.0, 10.0)]
    return compare(X, y, *draw(20_000), pairs)


def table_3():
    X, y = paper_rows("spambase")
    X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    pairs = [(C, f * scale(X)) for C in (1.0, 10.0, 100.0) for f in (0.1, 1.0)]
    return compare(np.ascontiguousarray(X_fit), y_fit, X_new, y_new, pairs)


# -- what does not settle -------------------------------------------------------------------------------------------
def settling():
    """Overlapping Gaussians, 400 rows: runs that end without settling, where, and whether a tenth of C settles them."""
    out = {}
    for name in ("annealed", "uzawa"):
        runs = unsettled = within = calmed = 0
        for seed, shift, cap, C in itertools.product(range(1000, 1030), (0.3, 0.5), (0.02, 0.1, 0.3), (2.0, 20.0)):
            rng = np.random.default_rng(seed)
            sign = np.where(rng.random(400) < 0.6, 1.0, -1.0)
            X = rng.normal(size=(400, 2)) + shift * sign[:, None] * [1.0, 0.3]
            kernel = smo.Kernel(X, "rbf", gamma=0.7)
            task = machines.NeymanPearsonProblem(kernel, sign, np.ones(400), cap, C, method=name)
            machine = machines.solve(task)
            runs += 1
            if not machine.converged:
                unsettled += 1
                within += task.meets_cap(machine.false_alarms)
                calmed += machines.solve(dataclasses.replace(task, C=C / 10)).converged
        out[name] = {"runs": runs, "unsettled": unsettled, "within the cap": int(within), "settled at C / 10": calmed}
    return out


# -- Figure 3 -------------------------------------------------------------------------------------------------------
def figure_3():
    X, y = paper_rows("spambase")
    X_fit, _, y_fit, _ = train_test_split(X, y, train_size=1500, random_state=0, stratify=y)
    out = {}
    for C in (0.01, 0.1, 1.0):
        points = []
        for start in range(25):
            model = sy.NeymanPearsonClassifier(
                0.05, kernel="linear", C=C, offset="train", init="random" if start else "zeros", random_state=start
            ).fit(X_fit, y_fit)
            points.append(rates(model.predict(X_fit), y_fit))
        out[f"C = {C:g}"] = {"zero": points[0], "random": points[1:]}
    return out


# -- Figure 4 -------------------------------------------------------------------------------------------------------
SETS = ("spambase", "covertype 1 against 7", "wdbc", "pima")
SPLITS, FOLDS = 10, 3
MOST_ROWS = 500  # to train on: the minimax machine takes most of the time, which grows with their cube
MOST_TEST_ROWS = 20_000


def majority(name):
    if name in ("spambase", "covertype 1 against 7"):
        X, y = paper_rows(name)
    else:
        X, y = problem(name)
    return X, y if y.mean() >= 0.5 else 1 - y


def contenders(cap, seed):
    searched = {"C": "auto", "gamma": "search", "cv": FOLDS, "random_state": seed}
    return {
        "annealed": sy.NeymanPearsonClassifier(cap, solver="annealed", **searched),
        "cost grid": sy.NeymanPearsonClassifier(cap, solver="cost-grid", **searched),
        "minimax": sy.NeymanPearsonClassifier(cap, solver="generative", **{**searched, "C": 1.0}),
        "logistic regression": sy.ThresholdClassifier(
            LogisticRegression(max_iter=1000), m.Recall(), subject_to=m.fpr <= cap, cv=FOLDS
        ),
    }


def at_cap(X, y, cap):
    """P_fa, P_nd and seconds of every contender, over the splits; and how many rows were trained and tested on."""
    found = {}
    for seed in range(SPLITS):
        n_fit = min(MOST_ROWS, int(0.75 * len(y)))
        X_fit, X_new, y_fit, y_new = train_test_split(X, y, random_state=seed, stratify=y, train_size=n_fit)
        X_new, y_new = X_new[:MOST_TEST_ROWS], y_new[:MOST_TEST_ROWS]
        for who, model in contenders(cap, seed).items():
            start = time.process_time()
            model.fit(X_fit, y_fit)
            seconds = time.process_time() - start
            found.setdefault(who, []).append((*rates(model.predict(X_new), y_new), seconds))
    sizes = {"train": len(y_fit), "negatives": int((y_fit == 0).sum()), "test": len(y_new)}
    return sizes, {who: at_a_glance(np.array(runs), cap) for who, runs in found.items()}


def at_a_glance(runs, cap):
    (P_fa, P_nd, seconds), error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    cost = runs[:, 1] + np.maximum(0, runs[:, 0] - cap) / cap
    return {
        "P_fa": float(P_fa), "P_fa_se": float(error[0]), "P_nd": float(P_nd), "P_nd_se": float(error[1]),
        "cost": float(cost.mean()), "seconds": float(seconds),
    }  # fmt: skip


def figure_4(sets=SETS):
    out = stored().get("figure 4", {})
    for name in sets:
        X, y = majority(name)
        for cap in CAPS:
            known = out.setdefault(name, {}).setdefault("caps", {})
            if f"{cap:g}" in known:
                continue
            out[name]["sizes"], known[f"{cap:g}"] = at_cap(X, y, cap)
            print(name, cap, known[f"{cap:g}"], flush=True)
            store({**stored(), "figure 4": out})  # minutes each: another run goes on with the next one
    return out


# -- Table IV -------------------------------------------------------------------------------------------------------
def table_4():
    """One newsgroup are the negatives, the others positives; 6,000 documents."""
    X, y = problem("20news-bydate", rows=6_000)
    y = 1 - y
    out = {}
    for cap in (0.005, 0.05, 0.1):
        found = {}
        for seed in range(3):
            X_fit, X_new, y_fit, y_new = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
            for who, model in {
                "stochastic": sy.OnlineClassifier(
                    m.Recall(), subject_to=m.fpr <= cap, alpha=1 / len(y_fit), max_iter=5, random_state=seed
                ),
                "batch engine": sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= cap, C=1.0, random_state=seed),
                "annealed": sy.NeymanPearsonClassifier(cap, solver="annealed", kernel="linear", random_state=seed),
                "logistic regression": sy.ThresholdClassifier(
                    LogisticRegression(C=100, max_iter=300), m.Recall(), subject_to=m.fpr <= cap, cv=3
                ),
            }.items():
                start = time.process_time()
                model.fit(X_fit, y_fit)
                seconds = time.process_time() - start
                found.setdefault(who, []).append((*rates(model.predict(X_new), y_new), seconds))
        out[f"{cap:g}"] = {
            who: dict(zip(("P_fa", "P_nd", "seconds"), np.mean(runs, axis=0).tolist(), strict=True))
            for who, runs in found.items()
        }
        print(cap, out[f"{cap:g}"], flush=True)
    return out


PARTS = {
    "smo": speed, "table 2": table_2, "table 3": table_3, "settling": settling, "figure 3": figure_3,
    "figure 4": figure_4, "table 4": table_4,
}  # fmt: skip


def stored():
    path = RESULTS / "neyman_pearson.json"
    return json.loads(path.read_text()) if path.exists() else {}


def store(found):
    write("neyman_pearson", {name: found[name] for name in PARTS if name in found}, show=False)


def main():
    warnings.simplefilter("ignore")
    for part in sys.argv[1:] or PARTS:
        if part.startswith("figure 4 "):
            figure_4([part.removeprefix("figure 4 ")])
            continue
        made = PARTS[part]()
        store({**stored(), part: made})
        print(part, "done", flush=True)


if __name__ == "__main__":
    main()
