"""The biased minimax probability machine: a linear classifier under a cap from the classes' means and covariances.

    max over w, b   (b + w.m+) / s+(w)   subject to   -(b + w.m-) / s-(w) >= k(rho),      s(w) = sqrt(w' S w)

Whatever the distributions with these means m and covariances S, a rate of false alarms above rho is then impossible
for ``k = sqrt((1 - rho) / rho)`` (Chebyshev's bound), or for Gaussians with ``k`` the normal quantile of 1 - rho
(Huang et al. 2006, Kim et al. 2006; called GEN in Gasso et al.). Given X of each class; back comes (w, b).

The constraint is tight, so b is known from w, and ``(w.(m+ - m-) - k s-(w)) / s+(w)`` is to be maximised. Where its
gradient vanishes, w is along ``((1 - t) S- + t S+)^-1 (m+ - m-)`` for some t in [0, 1]: one number, the
log-odds of t, is searched, and after one joint diagonalisation of S- and S+ each value costs O(d).

The rows are passed over twice, for the means and for the covariances, in pieces, so that a signal is heard between
them and no copy of X is made.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtri

from ...rows import Rows
from ..status import SOLVED, Ended, Status

Array = NDArray[np.float64]
Pair = tuple[Array, Array]

BOUNDS = ("chebyshev", "gaussian")
RIDGE = 1e-6  # of the mean variance, added to every variance: a covariance of few rows is singular
LOG_ODDS = np.linspace(-18.0, 18.0, 73)  # where the search begins, t from 1.5e-8, the root of a double's rounding
EXACT = 1e-9  # of the log-odds: the value is flat at its maximum, and right to the square of this
WITHIN = 1e-12  # an eigenvalue of 0 or 1 that is off by its rounding
PIECE = 2**25  # multiplications at a time: 10 to 30 ms
MANY_COLUMNS = 200  # from here on a diagonalisation may take longer than a signal should wait


@dataclass(frozen=True, eq=False)
class MinimaxMachine:
    w: Array
    b: float
    objective: float  # (b + w.m+) / s+(w): what the positives are worth in standard deviations
    status: Status
    n_iter: int = 1


def solve(
    X: Any, y: Array, weight: Array, cap: float, bound: str = "chebyshev", ridge: float = RIDGE
) -> MinimaxMachine:
    """The machine for rows X with labels -1 and 1; `ridge` keeps the covariances regular."""
    if bound not in BOUNDS:
        raise ValueError(f"bound is one of {', '.join(BOUNDS)}; got {bound!r}")
    k = math.sqrt((1.0 - cap) / cap) if bound == "chebyshev" else float(ndtri(1.0 - cap))
    rows = Rows.of(X)
    (m_pos, S_pos), (m_neg, S_neg) = (_moments(rows, np.where(y == side, weight, 0.0)) for side in (1, -1))
    if not (np.isfinite(S_pos).all() and np.isfinite(S_neg).all()):
        trouble = Status(Ended.TROUBLE, "the covariances are not finite")
        return MinimaxMachine(np.zeros(rows.n_cols), -1.0, -math.inf, trouble)
    if not (m_pos != m_neg).any():  # equal means: nothing is called positive
        return MinimaxMachine(np.zeros(rows.n_cols), -1.0, -math.inf, SOLVED)
    scale = (np.trace(S_pos) + np.trace(S_neg)) / (2.0 * len(m_pos))
    lift = ridge * (scale if scale > 0.0 else 1.0) * np.eye(len(m_pos))
    e, V = _joint(S_pos + lift, S_pos + S_neg + 2.0 * lift)
    d = V.T @ (m_pos - m_neg)
    u, value = _best_direction(e, d, k)
    w = V @ u
    b = -float(w @ m_neg) - k * math.sqrt((u * u) @ (1.0 - e))
    return MinimaxMachine(w, b, value, SOLVED)


def _best_direction(e: Array, d: Array, k: float) -> tuple[Array, float]:
    """Where S+ is diag(e), S- is diag(1 - e) and the means differ by d: the best w, and what it is worth."""

    def direction(log_odds: float) -> Array:
        t = float(expit(log_odds))
        return np.asarray(d / ((1.0 - t) * (1.0 - e) + t * e))

    def value(log_odds: float) -> float:
        u = direction(log_odds)
        s_neg, s_pos = math.sqrt((u * u) @ (1.0 - e)), math.sqrt((u * u) @ e)
        return float(u @ d - k * s_neg) / s_pos if s_pos > 0.0 else -math.inf

    best = int(np.argmax([value(odds) for odds in LOG_ODDS]))
    around = (float(LOG_ODDS[max(best - 1, 0)]), float(LOG_ODDS[min(best + 1, len(LOG_ODDS) - 1)]))
    found = minimize_scalar(lambda odds: -value(odds), bounds=around, method="bounded", options={"xatol": EXACT})
    odds = float(found.x) if -found.fun >= value(float(LOG_ODDS[best])) else float(LOG_ODDS[best])
    return direction(odds), value(odds)


def _moments(rows: Rows, weight: Array) -> Pair:
    """Mean and covariance of the rows with weight."""
    used, d = np.flatnonzero(weight), rows.n_cols
    weight = weight[used] / weight.sum()
    mean = rows.take(used).sums(weight)
    covariance = np.zeros((d, d))
    numbers = used if rows.which is None else rows.which[used]
    at_once = max(1, PIECE // (d * d + 8 * d))
    for start in range(0, len(used), at_once):
        part = slice(start, start + at_once)
        x = rows.source[numbers[part]]
        centred = np.asarray(x.toarray() if rows.is_sparse else x, dtype=np.float64) - mean
        covariance += (centred * weight[part, None]).T @ centred
    return mean, covariance


def _joint(S: Array, total: Array) -> Pair:
    """e and V with ``V' total V = 1`` and ``V' S V = diag(e)``, so that ``V' (total - S) V = diag(1 - e)``."""

    def diagonalise() -> Pair:
        L = np.linalg.cholesky(total)
        half = np.linalg.solve(L, S)
        e, U = np.linalg.eigh(np.linalg.solve(L, half.T))
        return np.clip(e, WITHIN, 1.0 - WITHIN), np.linalg.solve(L.T, U)

    return _heard(diagonalise) if len(S) >= MANY_COLUMNS else diagonalise()


def _heard(task: Callable[[], Pair]) -> Pair:
    """LAPACK cannot be stopped: it works beside this thread, which hears signals; what it is at is dropped then."""
    done: list[Pair] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            done.append(task())
        except BaseException as error:
            failed.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(0.05)
    if failed:
        raise failed[0]
    return done[0]
