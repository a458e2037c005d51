"""q-values where targets and decoys were searched separately: each spectrum has a best target and a best decoy.

Given are n scores of targets w_i and n of decoys z_i, higher is better, that are calibrated: a decoy's score has the
distribution that a wrong target's would have. Some share pi0 of the spectra has no right target to find. Without
competition a decoy stands for a wrong target only where the right one did not beat it, so counting ``D / T`` is too
careful. As the field has them:

- *separate*: ``pi0 D(u) / T(u)`` (Käll, Storey, MacCoss and Noble 2008), which forgets wrong targets that beat a right
  one;
- *mix-max* (Keich, Kertesz-Farkas and Noble 2015), which counts them::

    FDR(u) = (pi0 D(u) + sum over decoys z_j >= u of (1 - pi0) P(X < z_j)) / T(u),
    (1 - pi0) P(X < z) = W(z) / Z(z) - pi0    with W(z), Z(z) the targets and the decoys below z,

  since a target's best score is the larger of a right one X and a wrong one.

pi0 is estimated as Storey does: with p-values ``(1 + decoys at or above) / (1 + n)``, the share of targets above 1/2,
doubled. Neither estimate has the 1 that makes competition's hold for finite lists, and neither is proven to.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .competition import _scores
from .target_decoy import Array

METHODS = ("mix-max", "separate")


def share_wrong(targets: ArrayLike, decoys: ArrayLike) -> float:
    """pi0, the estimated share of targets that are wrong, from 0 to 1.

    >>> share_wrong([0.1, 0.2, 0.3, 9.0], [0.15, 0.25, 0.05, 0.3])
    1.0
    """
    w, z = _scores(targets), np.sort(_scores(decoys))
    p = (1.0 + len(z) - np.searchsorted(z, w, side="left")) / (1.0 + len(z))
    return min(1.0, 2.0 * float(np.mean(p > 0.5))) if len(w) else 1.0


def separate_q_values(
    targets: ArrayLike, decoys: ArrayLike, *, method: str = "mix-max", share: float | None = None
) -> Array:
    """The q-value of every target, from separate searches of targets and decoys.

    Parameters
    ----------
    targets, decoys : arrays of shape (n,) and (m,)
        The best score of each spectrum among the targets and among the decoys, as many of one as of the other.
    method : {"mix-max", "separate"}, default="mix-max"
    share : float, default=None
        pi0, the share of spectra without a right target; None estimates it.

    Examples
    --------
    >>> import numpy as np, steelyard as sy
    >>> rng = np.random.default_rng(0)
    >>> wrong, decoys = rng.normal(size=2000), rng.normal(size=2000)
    >>> targets = np.maximum(wrong, np.where(np.arange(2000) < 800, rng.normal(3.0, 1.0, 2000), -9.0))
    >>> q = sy.separate_q_values(targets, decoys)
    >>> bool(500 < (q <= 0.05).sum() < 800)
    True
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    w, z = _scores(targets), np.sort(_scores(decoys))
    pi0 = share_wrong(w, z) if share is None else float(share)
    if not 0.0 <= pi0 <= 1.0:
        raise ValueError(f"share must be a number from 0 to 1 (spectra without a right target); got {share!r}")
    ordered = np.sort(w)
    at_least = len(z) - np.searchsorted(z, ordered, side="left")
    wrong = pi0 * at_least
    if method == "mix-max":
        below = np.searchsorted(ordered, z, side="right") / np.maximum(np.searchsorted(z, z, side="right"), 1)
        beaten = np.r_[np.cumsum(np.clip(below - pi0, 0.0, 1.0 - pi0)[::-1])[::-1], 0.0]
        wrong = wrong + beaten[np.searchsorted(z, ordered, side="left")]
    accepted = len(w) - np.searchsorted(ordered, ordered, side="left")
    rate = np.minimum(wrong / np.maximum(accepted, 1), 1.0)
    best = np.minimum.accumulate(rate)  # over thresholds up to this score
    return np.asarray(best[np.searchsorted(ordered, w, side="left")])
