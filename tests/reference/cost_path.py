"""Slow obvious roads to the cost path: the quadratic programme at one tau, the paper's Algorithm 1 as printed, and the
optimality conditions of a model that is given.

`box_programme` solves ``max sum a t - 1/2 |sum a z|^2, low <= a <= high`` by exact coordinate steps, for many small problems at
once. `algorithm_1` is dual path finding of Yu, Vishwanathan and Zhang (2009) with L-BFGS-B for the start and conjugate
gradients for every direction, in the names of the paper.
"""

import numpy as np
from scipy.optimize import lsq_linear, minimize
from scipy.sparse.linalg import LinearOperator, cg


def costs(y, tau, C, weight=None):
    """The upper bounds of the multipliers."""
    return C * np.where(y > 0, 2 * (1 - tau), 2 * tau) * (1.0 if weight is None else weight)


def objective(X, y, w, tau, C, weight=None):
    return 0.5 * w @ w + (costs(y, tau, C, weight) * np.maximum(0, 1 - y * (X @ w))).sum()


def box_programme(Z, target, low, high, sweeps=4000):
    """``(w, dual value)`` of many problems: Z (problems, n, d), the others (problems, n)."""
    a = np.clip(0.0, low, high)
    w = np.einsum("pn,pnd->pd", a, Z)
    square = np.maximum((Z**2).sum(2), 1e-300)
    for _ in range(sweeps):
        before = a.copy()
        for i in range(Z.shape[1]):
            step = (
                np.clip(a[:, i] + (target[:, i] - (Z[:, i] * w).sum(1)) / square[:, i], low[:, i], high[:, i]) - a[:, i]
            )
            a[:, i] += step
            w += step[:, None] * Z[:, i]
        if np.abs(a - before).max() < 1e-14:
            break
    w = np.einsum("pn,pnd->pd", a, Z)
    return w, (a * target).sum(1) - 0.5 * (w**2).sum(1)


def kkt_residual(X, y, w, tau, C, tie=2e-9):
    """How far margins must move for w to be a sum of a_i y_i x_i with a_i in its box: at its bound for margins off 1."""
    Z, high = y[:, None] * X, costs(y, tau, C)
    margin = Z @ w
    tied = (np.abs(margin - 1) <= tie) & (high > 0)
    left = w - Z[(margin < 1) & ~tied].T @ high[(margin < 1) & ~tied]
    if tied.any():
        a = lsq_linear(Z[tied].T, left, (0.0, high[tied]), method="bvls", tol=1e-15).x
        left = left - Z[tied].T @ np.clip(a, 0.0, high[tied])
    return np.linalg.norm(left) * np.linalg.norm(Z, axis=1).max()


def algorithm_1(X, y, lam, tol=1e-9, exact_start=False):
    """Kinks and the models there, for ``lam/2 |w|^2 + sum c_i hinge_i``, c = 2 (1 - tau) / n or 2 tau / n.

    L-BFGS-B leaves a projected gradient of some 1e-6, which the algorithm carries along: with `exact_start` the rows
    on the margin are solved for once more, given which they are.
    """
    n = len(y)
    YX = y[:, None] * X
    Q = lambda v: YX @ (YX.T @ v)
    cost = lambda tau: np.where(y > 0, 2 * (1 - tau), 2 * tau) / n
    bounds = [(0.0, c) for c in cost(0.0)]
    found = minimize(lambda a: (a @ Q(a) / (2 * lam) - a.sum(), Q(a) / lam - 1), np.zeros(n), jac=True, method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-12})  # fmt: skip
    alpha = found.x
    gradient = Q(alpha) / lam - 1
    inside = (alpha > tol / n) & (alpha < cost(0.0) - tol / n)
    L, M = ~inside & (gradient < 0), inside
    if exact_start:
        alpha = np.where(L, cost(0.0), 0.0)
        alpha[M] = np.linalg.lstsq(YX[M] @ YX[M].T, lam - Q(alpha)[M], rcond=None)[0]
        gradient = Q(alpha) / lam - 1
    gradient[M] = 0.0
    tau, kinks = 0.0, [(0.0, YX.T @ alpha / lam)]
    just_left = -1
    while tau < 1:
        change = np.where(L, -y, 0.0)  # of alpha per unit of delta c = 2 epsilon / n
        change[M] = _solve(YX[M], Q(change)[M])
        slope = Q(change) / lam
        c = cost(tau)
        moving = ~M & (gradient * slope < 0)
        if just_left >= 0:
            moving[just_left] = False
        up, down = M & (change > -y), M & (change < 0)
        ways = [(1.0 - tau, -1, "")]  # the shortest of eq. (19), (21) and (23)
        for to, rows, distance in (
            ("M", moving, -gradient[moving] / slope[moving]),
            ("L", up, (c[up] - alpha[up]) / (change[up] + y[up])),
            ("R", down, -alpha[down] / change[down]),
        ):
            if rows.any():
                ways.append((max(n / 2 * distance.min(), 0.0), np.flatnonzero(rows)[distance.argmin()], to))
        epsilon, i, to = min(ways)
        tau += epsilon
        alpha = alpha + 2 * epsilon / n * change
        gradient = gradient + 2 * epsilon / n * slope
        just_left = -1
        if i >= 0:
            M[i], L[i] = to == "M", to == "L"
            gradient[i] = 0.0
            just_left = -1 if to == "M" else i
        kinks.append((tau, YX.T @ alpha / lam))
    return np.array([t for t, _ in kinks]), np.array([w for _, w in kinks])


def _solve(rows, right):
    """Minus Q_MM^-1 of the right side, by conjugate gradients."""
    if not len(rows):
        return np.zeros(0)
    operator = LinearOperator((len(rows), len(rows)), matvec=lambda v: rows @ (rows.T @ v), dtype=np.float64)
    return -cg(operator, right, rtol=1e-13, atol=0.0, maxiter=50 * len(rows) + 100)[0]
