"""Logistic regression of several classes by the book, weights of rows by moving single rows, and a slow stream."""

import numpy as np
from scipy.optimize import minimize


def softmax_objective(W, X, codes, C, weight):
    scores = X @ W.T
    log_p = (
        scores - np.log(np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True)) - scores.max(1)[:, None]
    )
    return 0.5 * (W**2).sum() - C * (weight * log_p[np.arange(len(codes)), codes]).sum()


def softmax(X, codes, n_classes, C, weight):
    """The minimum, by a method that is given no slopes."""
    shape = n_classes, X.shape[1]
    found = minimize(
        lambda w: softmax_objective(w.reshape(shape), X, codes, C, weight),
        np.zeros(shape).ravel(),
        method="BFGS",
        options={"gtol": 1e-7},
    )
    return found.x.reshape(shape), found.fun


def error_costs(measure, confusion, classes, n_rows, step=1e-6):
    """c(j, l): what the measure loses for a little mass of class j that is called l, not j, per mass."""

    def value(table):
        mass, calls, hits = table.sum(1), table.sum(0), np.diagonal(table)
        tnr = 1 - (calls - hits) / (mass.sum() - mass)
        shares = table / table.sum()
        return measure(hits / mass, tnr, mass / mass.sum(), sample_size=n_rows, classes=classes, confusion=shares)

    k = len(confusion)
    costs = np.zeros((k, k))
    for j in range(k):
        for other in range(k):
            if other != j:
                moved = confusion.copy()
                moved[j, j] -= step
                moved[j, other] += step
                costs[j, other] = (value(confusion) - value(moved)) / step
    return costs


def row_weights(measure, confusion, classes, n_rows):
    """The mean cost of an error of each class, over what its rows are called; 1 in the mean over the rows."""
    p = confusion.sum(1) / confusion.sum()
    wrong = confusion + p
    np.fill_diagonal(wrong, 0)
    costs = error_costs(measure, confusion, classes, n_rows)
    weight = (costs * wrong / wrong.sum(1, keepdims=True)).sum(1)
    return weight / (weight @ p)


def stream(X, codes, weights, measure, n_classes, loss, weigh, refresh=16, unit_step=0.6):
    """K models, row by row: the average weighted by row numbers, the table of calls, and the weights of the classes.

    `weigh(table, rows)` has the weights of the classes at a table.
    """
    d = X.shape[1]
    w, squares, total, mass = (
        np.zeros((n_classes, d + 1)),
        np.zeros((n_classes, d + 1)),
        np.zeros((n_classes, d + 1)),
        0.0,
    )
    table, pull, entries, sum_of_squares, look = np.zeros((n_classes, n_classes)), np.ones(n_classes), 0, 0.0, 1
    first, last = {}, 0.0  # the mass before a class was first seen, to the look before
    for t, (x, y, c) in enumerate(zip(X, codes, weights, strict=True), start=1):
        if t <= 1000:
            entries, sum_of_squares = entries + np.count_nonzero(x), sum_of_squares + x @ x
        eta = np.r_[np.full(d, unit_step / np.sqrt(sum_of_squares / entries)), unit_step]
        z = np.r_[x, 1.0]
        scores = w @ z
        table[y, scores.argmax()] += c
        g = np.zeros(n_classes)
        if loss == "hinge":
            others = np.where(np.arange(n_classes) == y, -np.inf, scores)
            if scores[y] - others.max() < 1:
                g[y], g[others.argmax()] = 1.0, -1.0
        else:
            p = np.exp(scores - scores.max())
            g = (np.arange(n_classes) == y) - p / p.sum()
        slope = c * pull[y] * g[:, None] * z
        squares += np.where(squares == 0, 4.0, 1.0) * slope**2
        w = w + eta * np.divide(slope, np.sqrt(squares), out=np.zeros_like(w), where=squares > 0)
        total, mass = total + c * t * w, mass + c * t
        if t == look:
            look = t + max(refresh, int(0.01 * t))
            seen = np.flatnonzero(table.sum(1) > 0)
            for k in seen:
                first.setdefault(k, last)
            last = table.sum()
            if len(seen) > 1:
                since = np.array([last / (last - first[k]) for k in seen])
                found = weigh(table[np.ix_(seen, seen)] * since[:, None] + 0.5 / len(seen), len(codes), seen)
                pull[seen] = 0.97 * pull[seen] + 0.03 * found
    return total / mass, table
