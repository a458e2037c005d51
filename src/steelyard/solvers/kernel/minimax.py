"""The biased minimax probability machine: a linear classifier under a cap from the classes' means and covariances.

    max over w, b   (b + w.m+) / s+(w)   subject to   -(b + w.m-) / s-(w) >= k(rho),      s(w) = sqrt(w' S w)

Whatever the distributions with these means m and covariances S, a rate of false alarms above rho is then impossible
for ``k = sqrt((1 - rho) / rho)`` (Chebyshev's bound), or for Gaussians with ``k`` the normal quantile of 1 - rho
(Huang et al. 2006, Kim et al. 2006; called GEN in 002). Given X of each class; back comes (w, b).

The constraint is tight, so b is known from w, and ``(w.(m+ - m-) - k s-(w)) / s+(w)`` is to be maximised. Where its
gradient vanishes, w is along ``((1 - t) S- + t S+)^-1 (m+ - m-)`` for some t in [0, 1]: one number, the
log-odds of t, is searched, and after one joint diagonalisation of S- and S+ each value costs O(d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtri

Array = NDArray[np.float64]
BOUNDS = ("chebyshev", "gaussian")
RIDGE = 1e-6  # of the mean variance, added to every variance: a covariance of few rows is singular


@dataclass(frozen=True)
class MinimaxMachine:
    w: Array
    b: float
    value: float  # (b + w.m+) / s+(w): what the positives are worth in standard deviations


def solve(
    X: Array, y: Array, weight: Array, cap: float, bound: str = "chebyshev", ridge: float = RIDGE
) -> MinimaxMachine:
    """The machine for rows X with labels -1 and 1; `ridge` keeps the covariances regular."""
    if bound not in BOUNDS:
        raise ValueError(f"bound is one of {', '.join(BOUNDS)}; got {bound!r}")
    k = math.sqrt((1.0 - cap) / cap) if bound == "chebyshev" else float(ndtri(1.0 - cap))
    (m_pos, S_pos), (m_neg, S_neg) = (_moments(X[y == side], weight[y == side]) for side in (1, -1))
    scale = (np.trace(S_pos) + np.trace(S_neg)) / (2.0 * len(m_pos))
    lift = ridge * (scale if scale > 0.0 else 1.0) * np.eye(len(m_pos))
    # V' (S+ + S-) V = 1 and V' S+ V = diag(e), so V' S- V = diag(1 - e).
    e, V = eigh(S_pos + lift, S_pos + S_neg + 2.0 * lift)
    d = V.T @ (m_pos - m_neg)

    def direction(log_odds: float) -> Array:
        t = float(expit(log_odds))
        return np.asarray(d / ((1.0 - t) * (1.0 - e) + t * e))

    def value(log_odds: float) -> float:
        u = direction(log_odds)
        s_neg, s_pos = math.sqrt((u * u) @ (1.0 - e)), math.sqrt((u * u) @ e)
        return (u @ d - k * s_neg) / s_pos if s_pos > 0.0 else -math.inf

    e = np.clip(e, 1e-12, 1.0 - 1e-12)
    if not d.any():
        return MinimaxMachine(np.zeros(X.shape[1]), -1.0, -math.inf)  # equal means: nothing is called positive
    grid = np.linspace(-18.0, 18.0, 73)
    best = int(np.argmax([value(odds) for odds in grid]))
    around = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)]))
    found = minimize_scalar(lambda odds: -value(odds), bounds=around, method="bounded", options={"xatol": 1e-9})
    odds = float(found.x) if -found.fun >= value(float(grid[best])) else float(grid[best])
    u = direction(odds)
    w = V @ u
    b = -float(w @ m_neg) - k * math.sqrt((u * u) @ (1.0 - e))
    return MinimaxMachine(w, b, float(value(odds)))


def _moments(X: Array, weight: Array) -> tuple[Array, Array]:
    mean = np.average(X, axis=0, weights=weight)
    centred = X - mean
    return mean, (centred * (weight / weight.sum())[:, None]).T @ centred
