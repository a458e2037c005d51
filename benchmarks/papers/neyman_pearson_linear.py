"""Linear Neyman-Pearson classifiers: section 5.5 of Gasso et al., Figures 5 and 6, with the structural SVM.

Misses (P_nd) and false alarms (P_fa) on a test quarter for each cap rho, over random splits; half of the rows to train
on, a quarter to choose with. Positives are the majority class, as in the paper. Every contender is a set of linear
models and a rule to choose one of them on the validation quarter:

- the paper's criterion, the smallest J = P_nd + max(0, P_fa - rho) / rho, for the online learner (Algorithm 4, over
  its regularisation) and the cost-sensitive SVM (AC-SVM, a grid of cost pairs), both with the threshold they came with;
- for the structural SVM first the K of `prec@K` or `rec@K` whose P_fa is nearest to rho, for each C, then J;
- "+ threshold": each model with its exact threshold under the cap, then the fewest misses. Logistic regression, which
  the paper does not have, is chosen in this way.

Seconds are processor time of all trainings, on one thread (OMP_NUM_THREADS=1). spambase and covertype (spruce against
krummholz, a sample of it) are the paper's; satimage stands for pageblocks, default-credit-card for the gamma telescope.

    STEELYARD_DATA=... python benchmarks/papers/neyman_pearson_linear.py [sets]
"""

import json
import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from _data import problem
from neyman_pearson_stream import rows as paper_rows
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import with_constant
from steelyard.solvers.linear.cost_sensitive import solve_grid
from steelyard.statistics import frontier

CAPS = (0.01, 0.05, 0.1, 0.2)
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
SHARES = np.linspace(0.1, 1.0, 10)  # of the positives: the K of prec@K
BEYOND = (0.0, 0.1, 0.2, 0.4)  # of the negatives, on top of all positives: the K of rec@K
PASSES = {"spambase": 50, "satimage": 50, "default-credit-card": 20, "covertype 1 against 7": 5}
SPLITS = {"spambase": 15, "satimage": 15, "default-credit-card": 8, "covertype 1 against 7": 5}
MOST_ROWS = 60_000
ALPHAS = (0.0, 1e-4, 1e-3, 1e-2)


@dataclass(frozen=True)
class Linear:
    w: np.ndarray
    intercept: float
    C: float = 0.0

    def scores(self, X):
        return X @ self.w + self.intercept


def of(model, C=0.0):
    return Linear(model.coef_[0], float(model.intercept_[0]), C)


# -- the models of each contender ---------------------------------------------------------------------------------
def structural(X, y):
    n_pos, n_neg = int(y.sum()), int((1 - y).sum())
    losses = [f"prec@{round(share * n_pos)}" for share in SHARES]
    losses += [f"rec@{n_pos + round(share * n_neg)}" for share in BEYOND]
    return [of(sy.StructuralSVM(loss, C).fit(X, y), C) for C in CS for loss in losses]


def cost_sensitive(X, y):
    sides = np.geomspace(0.01, 100.0, 7)
    costs = [(c_pos, c_neg) for c_pos in sides for c_neg in sides]
    found = solve_grid(with_constant(X), 2.0 * y - 1.0, costs, [1.0], 1e-2)
    return [Linear(r.w[:-1], float(r.w[-1])) for r in found]


def logistic(X, y):
    return [of(LogisticRegression(C=C, max_iter=1000).fit(X, y), C) for C in CS]


def online(X, y, cap, passes, seed):
    learner = lambda alpha: sy.OnlineClassifier(
        m.Recall(), subject_to=m.fpr <= cap, alpha=alpha, max_iter=passes, random_state=seed
    )
    return [of(learner(alpha).fit(X, y)) for alpha in ALPHAS]


# -- choosing on the validation part --------------------------------------------------------------------------------
def errors(model, X, y):
    called = model.scores(X) > 0
    return float(called[y == 0].mean()), float(1 - called[y == 1].mean())


def criterion(false_alarms, missed, cap):
    return -m.NegNPCost(cap)(tpr=1 - missed, tnr=1 - false_alarms)


def by_criterion(models, X, y, cap):
    return min(models, key=lambda model: criterion(*errors(model, X, y), cap))


def by_nearest_rate(models, X, y, cap):
    nearest = {}
    for model in models:
        off = abs(errors(model, X, y)[0] - cap)
        if model.C not in nearest or off < nearest[model.C][0]:
            nearest[model.C] = off, model
    return by_criterion([model for _, model in nearest.values()], X, y, cap)


def by_threshold(models, X, y, cap):
    best = None
    for model in models:
        points = frontier.scan(model.scores(X), y == 1)
        choice = frontier.best_point(points, m.Recall(), (m.fpr <= cap,))
        if best is None or choice.value > best[0]:
            best = choice.value, Linear(model.w, model.intercept - choice.threshold)
    return best[1]


# -- one split ------------------------------------------------------------------------------------------------------
def timed(run, *args):
    start = time.process_time()
    models = run(*args)
    return models, time.process_time() - start


def one(name, X, y, seed):
    order, n = np.random.default_rng(seed).permutation(len(y)), len(y)
    train, validate, test = order[: n // 2], order[n // 2 : 3 * n // 4], order[3 * n // 4 :]
    X_train, y_train, X_val, y_val = X[train], y[train], X[validate], y[validate]
    trained = {run.__name__: timed(run, X_train, y_train) for run in (structural, cost_sensitive, logistic)}
    found = {}
    for cap in CAPS:
        learned = timed(online, X_train, y_train, cap, PASSES[name], seed)
        contenders = {
            "structural SVM": (*trained["structural"], by_nearest_rate),
            "structural SVM + threshold": (*trained["structural"], by_threshold),
            "online": (*learned, by_criterion),
            "cost-sensitive SVM": (*trained["cost_sensitive"], by_criterion),
            "cost-sensitive SVM + threshold": (*trained["cost_sensitive"], by_threshold),
            "logistic regression + threshold": (*trained["logistic"], by_threshold),
        }
        for who, (models, seconds, choose) in contenders.items():
            rates = errors(choose(models, X_val, y_val, cap), X[test], y[test])
            found[cap, who] = (*rates, criterion(*rates, cap), seconds)
    return found


def summary(splits):
    """Means over the splits; and J less that of the online learner and of logistic regression, with standard errors."""
    caps = []
    for cap in CAPS:
        row = {"cap": cap}
        for who in dict.fromkeys(who for _, who in splits[0]):
            values = np.array([split[cap, who] for split in splits])
            row[who] = dict(zip(("false_alarms", "missed", "J", "seconds"), values.mean(axis=0).tolist(), strict=True))
            for other in ("online", "logistic regression + threshold"):
                off = values[:, 2] - np.array([split[cap, other][2] for split in splits])
                row[who][f"J_less_{other}"] = float(off.mean()), float(off.std(ddof=1) / np.sqrt(len(splits)))
        caps.append(row)
    return caps


def one_fit(X, y):
    """A structural SVM as Figure 6 needs many of them, on half of all rows."""
    X, y = X[::2], y[::2]
    _, seconds = timed(lambda: sy.StructuralSVM(f"prec@{round(0.9 * y.sum())}", 10.0).fit(X, y))
    return {"rows": len(y), "seconds": seconds}


def main(names):
    """`names`: which sets to run again; all of them unless named."""
    warnings.simplefilter("ignore")  # of fits that end at w = 0 or at a limit: what they answer is what is measured
    known = RESULTS / "neyman_pearson_linear.json"
    found = json.loads(known.read_text())["sets"] if known.exists() else {}
    for name in names or SPLITS:
        X, y = paper_rows(name) if name.startswith(("spambase", "covertype")) else problem(name)
        y = y if y.mean() >= 0.5 else 1 - y
        whole, some = (X, y), np.random.default_rng(9).permutation(len(y))[:MOST_ROWS]
        X, y = X[some], y[some]
        found[name] = {
            "rows": len(y), "positives": float(y.mean()), "splits": SPLITS[name],
            "caps": summary([one(name, X, y, seed) for seed in range(SPLITS[name])]),
        }  # fmt: skip
        if len(whole[1]) > MOST_ROWS:
            found[name]["one_fit_on_half_of_all"] = one_fit(*whole)
        ordered = {known: found[known] for known in SPLITS if known in found}
        write("neyman_pearson_linear", {"fits_of_structural": len(CS) * (len(SHARES) + len(BEYOND)), "sets": ordered})


if __name__ == "__main__":
    main(sys.argv[1:])
