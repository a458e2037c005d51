"""The slow obvious cost-sensitive solvers: one dual coordinate at a time in Python, or a general-purpose optimiser."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def loss_value(loss, m):
    if loss == "hinge":
        return np.maximum(0.0, 1.0 - m)
    return np.maximum(0.0, 1.0 - m) ** 2 if loss == "squared_hinge" else np.logaddexp(0.0, -m)


def loss_slope(loss, m):
    if loss == "hinge":
        return -(m < 1.0).astype(float)
    return -2.0 * np.maximum(0.0, 1.0 - m) if loss == "squared_hinge" else -expit(-m)


def row_costs(y, c_pos, c_neg, C, weight=None):
    return C * np.where(y > 0, c_pos, c_neg) * (1.0 if weight is None else weight)


def objective(X, y, w, cost, loss="hinge"):
    return 0.5 * w @ w + cost @ loss_value(loss, y * (X @ w))


def optimum(X, y, cost, loss="hinge"):
    """The smallest objective, to about 1e-9 of itself."""
    if loss == "hinge":
        return _hinge_optimum(X, y, cost)

    def both(w):
        m = y * (X @ w)
        return objective(X, y, w, cost, loss), w + X.T @ (cost * y * loss_slope(loss, m))

    found = minimize(
        both,
        np.zeros(X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return found.fun


def _hinge_optimum(X, y, cost, gap=1e-9, sweeps=200_000):
    Z = X * y[:, None]
    a, w, square = np.zeros(len(y)), np.zeros(X.shape[1]), (X**2).sum(1)
    a[square == 0.0] = cost[square == 0.0]
    for sweep in range(sweeps):
        for i in np.flatnonzero((square > 0.0) & (cost > 0.0)):
            new = min(max(a[i] + (1.0 - Z[i] @ w) / square[i], 0.0), cost[i])
            w += (new - a[i]) * Z[i]
            a[i] = new
        if sweep % 20 == 0:
            primal, dual = objective(X, y, w, cost), a.sum() - 0.5 * w @ w
            if primal - dual <= gap * max(primal, 1e-300):
                return primal
    raise AssertionError(f"the reference did not converge: gap {(primal - dual) / primal}")
