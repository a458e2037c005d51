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
        return measure(hits / mass, tnr, mass / mass.sum(), sample_size=n_rows, classes=classes)

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
