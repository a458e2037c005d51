"""One Newton step after the certificate, for fits that are asked for their last digits.

    objective(w) <= (1 + tol) optimum    says of w no more than    |w - w*|^2 <= 2 tol objective,

as the objective grows by ``1/2 |w - w*|^2`` at least: a relative gap of 1e-8 leaves the fifth digit of w open. Of a
smooth loss such a w is so near that the Newton step on all rows squares its distance (of the squared hinge it leaves
what the few rows add that cross the margin on the way), so that two fits of one problem, by whichever solver and
wherever the rows are, agree to some eight digits. The hinge has no such step. Kept is what has less of a gradient,
``w - v``, and a gap that is no larger.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .models import Sample

Array = NDArray[np.float64]
BELOW = 1e-7  # the tol from which on it is taken: the gap is then of the order of what products of floats leave
PASSES = 3.0  # over all rows: a Hessian counts as one


def is_worth_it(loss: str, tol: float) -> bool:
    return loss != "hinge" and tol <= BELOW


def take(rows: Sample, loss: str, caps: Array, W: Array, dual: Array) -> tuple[Array, Array, Array]:
    """w, objective and gap of k problems (caps: costs of the classes times C, negative first), for lower bounds `dual`
    of their optima."""
    ray, mu = rows.along(loss, caps), np.ones(len(W))

    def read(w: Array) -> tuple[Array, Array]:
        ray.at(w)
        risk, _, pull = ray.read(mu)
        return 0.5 * (w**2).sum(1) + risk, w - pull

    objective, gradient = read(W)
    with np.errstate(all="ignore"):
        step = np.linalg.solve(ray.hessian(mu, np.arange(len(W))), gradient[..., None])[..., 0]
        ahead, slope = read(W - step)
        better = (slope**2).sum(1) < (gradient**2).sum(1)
        gap, gap_ahead = (np.maximum(0.0, 1.0 - dual / value) for value in (objective, ahead))
    better &= gap_ahead <= gap + np.finfo(np.float64).eps
    return (
        np.where(better[:, None], W - step, W),
        np.where(better, ahead, objective),
        np.where(better, gap_ahead, gap),
    )
