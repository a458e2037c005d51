"""Quantile regression at one tau, the slow obvious way: the primal programme by an interior point method.

    min over w, u, v   1/2 |w|^2 + C sum_i g_i (tau u_i + (1 - tau) v_i),   X w + u - v = y,   u, v >= 0

with g the rows' weights; `pinball` is the objective that this minimises.
"""

import numpy as np


def pinball(y, prediction, tau, weight=None):
    left = y - prediction
    return (np.maximum(tau * left, (tau - 1) * left) * (1.0 if weight is None else weight)).sum()


def objective(X, y, w, tau, C, weight=None):
    return 0.5 * w @ w + C * pinball(y, X @ w, tau, weight)


def quantile_programme(X, y, tau, C, weight=None):
    """The minimiser w."""
    import piqp

    n, d = X.shape
    g = C * (np.ones(n) if weight is None else weight)
    P = np.zeros((d + 2 * n, d + 2 * n))
    P[:d, :d] = np.eye(d)
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    solver.settings.max_iter = 1000
    lower = np.r_[np.full(d, -np.inf), np.zeros(2 * n)]
    solver.setup(P, np.r_[np.zeros(d), tau * g, (1 - tau) * g], np.hstack([X, np.eye(n), -np.eye(n)]), y, x_l=lower)
    solver.solve()
    return np.array(solver.result.x)[:d]
