"""Kernel machines solved the slow way: one dense quadratic program, and Algorithms 2 and 3 of Gasso et al. around it."""

import numpy as np
import piqp


def solve_dual(K, y, p, lower, upper):
    """max p'a - 1/2 a'Qa with y'a = 0 and bounds, by an interior-point solver; a and the objective."""
    n = len(y)
    Q = (y[:, None] * y[None, :]) * K
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.max_iter = 500
    p = np.broadcast_to(np.asarray(p, float), n).copy()
    solver.setup(
        Q + 1e-12 * np.eye(n),
        -p,
        A=y[None, :].astype(float),
        b=np.zeros(1),
        x_l=lower.astype(float),
        x_u=upper.astype(float),
    )
    solver.solve()
    a = np.clip(solver.result.x, lower, upper)
    return a, float(p @ a - 0.5 * a @ Q @ a)


def count_smo_steps(K, y, p, lower, upper, tol, second_order=True):
    """SMO from zero with all rows in view; pairs by the second-order gain, or by the largest violation alone."""
    q, b = y * p, np.zeros(len(y))
    low, high = np.minimum(y * lower, y * upper), np.maximum(y * lower, y * upper)
    F = -q.copy()
    for steps in range(100_000):
        i = int(np.argmin(np.where(b < high, F, np.inf)))
        rise = np.where(b > low, F, -np.inf) - F[i]
        if rise.max() <= tol:
            return steps
        curvature = np.maximum(K[i, i] + np.diag(K) - 2 * K[i], 1e-12)
        j = int(np.argmax(np.where(rise > 0, rise**2 / curvature if second_order else rise, -np.inf)))
        delta = min(rise[j] / curvature[j], high[i] - b[i], b[j] - low[j])
        b[i] = high[i] if delta == high[i] - b[i] else b[i] + delta
        b[j] = low[j] if delta == b[j] - low[j] else b[j] - delta
        F += delta * (K[i] - K[j])
    raise RuntimeError("SMO did not end")


def bias(K, y, p, a, lower, upper, edge=1e-6):
    """The constant with y f = p at the rows strictly within their bounds."""
    free = (a > lower + edge) & (a < upper - edge)
    return float(np.mean((y * p - K @ (y * a))[free]))


def algorithm_2(K, y, cost, eta, rounds=50, beta=None):
    """The nonconvex SVM by DC programming from a first beta. Yields (beta, scores, objective) after every round."""
    beta = np.zeros(len(y)) if beta is None else beta
    for _ in range(rounds):
        box = cost / (2 * eta)
        lower, upper = -beta * box, (1 - beta) * box
        a, _ = solve_dual(K, y, eta, lower, upper)
        f = K @ (y * a)
        f = f + bias(K, y, eta, a, lower, upper)
        ramp = np.clip((eta - y * f) / (2 * eta), 0, 1)
        objective = 0.5 * (y * a) @ K @ (y * a) + cost @ ramp
        new = (y * f < -eta).astype(float)
        yield new, f, objective
        if (new == beta).all():
            return
        beta = new


def algorithm_3(K, y, C, rho, eta, gain, rounds):
    """The annealed Neyman-Pearson SVM to the letter: lambda moves by ``1 + gain (rate - rho)`` after every round."""
    positive = y > 0
    n_pos, n_neg = positive.sum(), (~positive).sum()
    beta, lam = np.zeros(len(y)), C * n_neg / n_pos
    for _ in range(rounds):
        box = np.where(positive, C / n_pos, lam / n_neg) / (2 * eta)
        lower, upper = -beta * box, (1 - beta) * box
        a, _ = solve_dual(K, y, eta, lower, upper)
        f = K @ (y * a)
        f = f + bias(K, y, eta, a, lower, upper)
        beta = (y * f < -eta).astype(float)
        rate = np.clip((eta + f[~positive]) / (2 * eta), 0, 1).mean()
        yield lam, rate, f
        lam *= 1 + gain * (rate - rho)
