"""Structural SVMs the slow way: every label vector of a tiny data set is a constraint of one quadratic program.

The losses are written from their definitions in terms of TP, FP, FN, TN, apart from the library's.
"""

from itertools import product
from math import exp, log, sqrt

import numpy as np
from scipy.optimize import minimize


def kld(tp, fp, fn, tn):
    n = tp + fp + fn + tn
    p, q = (tp + fn + 0.5) / (n + 1), (tp + fp + 0.5) / (n + 1)
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


def nkld(*matrix):
    return 2 * exp(kld(*matrix)) / (1 + exp(kld(*matrix))) - 1


def nas(tp, fp, fn, tn):
    return 1 - abs(fp - fn) / max(tp + fn, fp + tn)


def recall(tp, fp, fn, tn):
    return tp / (tp + fn)


def precision(tp, fp, fn, tn):
    return tp / (tp + fp) if tp + fp else 0.0


def accuracy(tp, fp, fn, tn):
    return (tp + tn) / (tp + fp + fn + tn)


def geometric(tp, fp, fn, tn):
    return sqrt(tp / (tp + fn) * tn / (tn + fp))


def f_beta(beta):
    def value(tp, fp, fn, tn):
        return (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)

    return value


def q_measure(classification):
    def value(*matrix):
        a, b = classification(*matrix), nas(*matrix)
        return 2 * a * b / (a + b) if a + b else 0.0

    return value


def missing(score):
    return lambda *matrix: 1 - score(*matrix)


def mae(tp, fp, fn, tn):
    return abs(fp - fn) / (tp + fp + fn + tn)


def mrae(tp, fp, fn, tn):
    return (abs(fp - fn) / (tp + fn + 0.5) + abs(fp - fn) / (fp + tn + 0.5)) / 2


def mcc(tp, fp, fn, tn):
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / sqrt(below) if below else 0.0


def bakld(tp, fp, fn, tn):
    return (tp / (tp + fn) + tn / (tn + fp)) / 4 - kld(tp, fp, fn, tn) / 2


LOSSES = {
    "zero_one": missing(accuracy), "f1": missing(f_beta(1)), "fbeta@2": missing(f_beta(2)),
    "fbeta@0.5": missing(f_beta(0.5)), "kld": kld, "nkld": nkld, "mae": mae, "mrae": mrae,
    "q": missing(q_measure(recall)), "qacc": missing(q_measure(accuracy)), "qf1": missing(q_measure(f_beta(1))),
    "qgm": missing(q_measure(geometric)), "prbep": missing(recall),
    "rec@5": missing(recall), "prec@2": missing(precision),
}  # fmt: skip

OF_MEASURES = {  # for measures given as expressions
    "gmean": missing(geometric), "mcc": missing(mcc), "jaccard": missing(lambda tp, fp, fn, tn: tp / (tp + fp + fn)),
    "bakld": lambda *matrix: 0.5 - bakld(*matrix),
    "product": missing(lambda tp, fp, fn, tn: tp / (tp + fn) * tn / (tn + fp)),
}  # fmt: skip


def counted(name, tp, fp, positives):
    """Whether the label vectors with these calls are among the constraints."""
    calls = tp + fp
    return {"prbep": calls == positives, "rec@5": calls <= 5, "prec@2": calls >= 2}.get(name, True)


def constraints(X, is_positive, name, intercept=True):
    """``(g, h)``: xi >= h_j - g_j.w for each label vector."""
    n = len(is_positive)
    rows = np.column_stack([X, np.ones(n)]) if intercept else X
    signs = np.where(is_positive, 1.0, -1.0)
    g, h = [], []
    for labels in product([False, True], repeat=n):
        called = np.array(labels)
        tp, fp = int((called & is_positive).sum()), int((called & ~is_positive).sum())
        fn, tn = int((~called & is_positive).sum()), int((~called & ~is_positive).sum())
        if counted(name, tp, fp, int(is_positive.sum())):
            flipped = called != is_positive
            g.append(100 / n * (signs[flipped, None] * rows[flipped]).sum(axis=0))
            h.append(100 * (LOSSES | OF_MEASURES)[name](tp, fp, fn, tn))
    return np.array(g), np.array(h)


def optimum(X, is_positive, name, C, intercept=True):
    """The smallest ``1/2 |w|^2 + C xi``, by sequential quadratic programming over all constraints."""
    g, h = constraints(X, is_positive, name, intercept)
    d = g.shape[1]
    jacobian = np.column_stack([g, np.ones(len(h))])
    start = np.append(np.zeros(d), max(0.0, h.max()))
    found = minimize(
        lambda v: 0.5 * v[:d] @ v[:d] + C * v[d],
        start,
        jac=lambda v: np.append(v[:d], C),
        constraints=[
            {"type": "ineq", "fun": lambda v: jacobian @ v - h, "jac": lambda v: jacobian},
            {"type": "ineq", "fun": lambda v: v[d:], "jac": lambda v: np.append(np.zeros(d), 1.0)[None]},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-13},
    )
    w = found.x[:d]
    return 0.5 * w @ w + C * max(0.0, (h - g @ w).max())  # as feasible as it gets: xi is what w needs
