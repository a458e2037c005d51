"""A region that holds the prevalences of all classes at once.

Given memberships of a batch of n rows and of n_j labelled rows of each of K classes, as in `prevalence`. Intervals of
the classes hold each its own share; that all of them do at once has less than their confidence. Wanted: a set of points
of the simplex that holds the whole vector ``p`` with the stated confidence.

`prevalence.interval` inverts a t-test of one statistic; this is the same with all of them. Memberships sum to one, so
``d = K - 1`` of them say everything. With ``u`` their mean over the batch, ``m_j`` and ``V_j`` means and covariances in
class j, and M the means as columns,

    S(p)  = V(p)/n + sum_j p_j^2 V_j/n_j,      V(p) the covariance in a population of prevalence p,
    T2(p) = (u - M p)' S(p)^-1 (u - M p).

T2 is judged by Hotelling's distribution, ``T2 (f - d + 1)/(f d) ~ F(d, f - d + 1)``, with degrees of freedom f for
several covariances by Nel and van der Merwe (1986), which for d = 1 are Satterthwaite's. The points that are not
rejected are the region: both samples count, edges and corners need no care, and for two classes it is the interval, but
for degrees of freedom: V(p) is known from the labelled rows, so a batch takes none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from .prevalence import FEW, Batch, ClassMeans

Array = NDArray[np.float64]

AT_ONCE = 1_000  # points tested together: 5 MB of matrices for 26 classes
# A covariance is kept from being singular by this share of its size: on the third digit of nothing that is tested.
FLOOR = 1e-9


@dataclass(frozen=True, eq=False)
class Evidence:
    """What batch and labelled rows say, as far as a test needs it; coordinates without the last class."""

    mean: Array  # (d,), of the batch
    size: float
    shared: float  # how much of the spread is left where several models score the batch
    class_means: Array  # (K, d)
    covariances: Array  # (K, d, d)
    sizes: Array  # (K,)

    @classmethod
    def of(cls, batch: Batch, classes: ClassMeans) -> Evidence:
        k, sizes = len(classes.rows), classes.sizes
        means = classes.mean.T[:, : k - 1]
        covariances = np.empty((k, k - 1, k - 1))
        for j, (rows, weight) in enumerate(zip(classes.rows, classes.weights, strict=True)):
            off = rows[:, : k - 1] - means[j]
            gaps = means - means[j]
            # As if one more row of each class had the others' scores: seen without error is not without error.
            covariances[j] = off.T @ (weight[:, None] * off) + gaps.T @ gaps / ((k - 1) * (sizes[j] + 2.0))
        t = batch.memberships
        whole = float(t.var(axis=(0, 1)).sum())
        # Models that share a batch average out part of the spread; a handful of rows cannot say how much.
        shared = float(t.mean(axis=0).var(axis=0).sum()) / whole if whole > 0.0 and batch.size >= FEW else 1.0
        return cls(batch.mean[: k - 1], batch.size, shared, means, covariances, sizes)

    def against(self, p: Array) -> float:
        """The squared distance of the batch from this prevalence, in units of what chance among labelled rows makes."""
        noise = np.einsum("k,kab->ab", p**2 / self.sizes, self.covariances)
        gap, d = self.mean - p @ self.class_means, len(self.mean)
        noise += (FLOOR * np.trace(noise) / d + 1e-300) * np.eye(d)
        return float(gap @ np.linalg.solve(noise, gap))

    def p_values(self, points: Array) -> Array:
        """How probable a batch as far from each prevalence (m, K) is if that is the right one."""
        parts = [self._p_values(points[at : at + AT_ONCE]) for at in range(0, len(points), AT_ONCE)]
        return np.concatenate(parts)

    def _p_values(self, p: Array) -> Array:
        d = len(self.mean)
        expected = p @ self.class_means
        second = self.covariances + self.class_means[:, :, None] * self.class_means[:, None, :]
        spread = np.einsum("mk,kab->mab", p, second) - expected[:, :, None] * expected[:, None, :]
        of_batch = spread * (self.shared / self.size)
        of_class = self.covariances / self.sizes[:, None, None]
        total = of_batch + np.einsum("mk,kab->mab", p**2, of_class)
        total += (FLOOR * np.trace(total, axis1=1, axis2=2)[:, None, None] / d + 1e-300) * np.eye(d)
        inverse = np.linalg.inv(total)
        gap = self.mean - expected
        t2 = np.einsum("ma,mab,mb->m", gap, inverse, gap)
        # The spread within class j is known from n_j rows; what it adds, as a share of the total, in coordinates in
        # which that is the identity. The spread between classes follows from p, and the batch adds no doubt of its own.
        terms = np.zeros(len(p))
        for j, size in enumerate(self.sizes):
            much = p[:, j] * (self.shared / self.size) + p[:, j] ** 2 / size
            terms += much**2 * _weigh(inverse @ self.covariances[j]) / max(size - 1.0, 1.0)
        freedom = (d + d * d) / np.maximum(terms, 1e-300)
        left = np.maximum(freedom - d + 1.0, 1.0)
        found: Array = fdtrc(d, left, np.maximum(t2, 0.0) * left / (np.maximum(freedom, d) * d))
        return found


def _weigh(share: Array) -> Array:
    """``tr S^2 + (tr S)^2`` of matrices (m, d, d)."""
    found: Array = np.einsum("mab,mba->m", share, share) + np.trace(share, axis1=1, axis2=2) ** 2
    return found


@dataclass(frozen=True, eq=False)
class PrevalenceRegion:
    """The prevalences of all classes, together, that a batch does not speak against.

    ``p in region`` and `contains` say whether a prevalence vector is one of them, `p_value` how well it fits. A region
    at confidence 0.95 holds the true vector in 95 of 100 cases.

    Parameters
    ----------
    centre, confidence : as below
    evidence : Evidence or None
        What batch and labelled rows say; None holds every prevalence.

    Attributes
    ----------
    centre : ndarray of shape (n_classes,)
        The estimate, which always belongs to it.
    confidence : float

    See Also
    --------
    Quantifier : Its `predict_region` makes one.
    """

    centre: Array
    confidence: float
    evidence: Evidence | None  # None where nothing is known: then it is the whole simplex

    def p_value(self, prevalence: Any) -> Any:
        """Of the test that this is the prevalence: one number, or one for each row of (m, n_classes)."""
        points = self._points(prevalence)
        found = np.ones(len(points)) if self.evidence is None else self.evidence.p_values(points)
        return float(found[0]) if np.ndim(prevalence) == 1 else found

    def contains(self, prevalence: Any) -> Any:
        """Whether this prevalence vector belongs to it: one answer, or one for each row of (m, n_classes)."""
        least = min(1.0 - self.confidence, self.p_value(self.centre))
        found = np.asarray(self.p_value(prevalence)) >= least
        return bool(found) if found.ndim == 0 else found

    def __contains__(self, prevalence: Any) -> bool:
        return bool(np.all(self.contains(prevalence)))

    def share_of_simplex(self, n_draws: int = 10_000, random_state: int = 0) -> float:
        """How much of all prevalences it holds, by drawing so many uniformly: 0 would be certainty, 1 ignorance."""
        rng = np.random.default_rng(random_state)
        return float(np.mean(self.contains(rng.dirichlet(np.ones(len(self.centre)), n_draws))))

    def _points(self, prevalence: Any) -> Array:
        points = np.atleast_2d(np.asarray(prevalence, dtype=np.float64))
        k = len(self.centre)
        if points.ndim != 2 or points.shape[1] != k:
            raise ValueError(
                f"a prevalence vector has {k} shares, one for each class; got shape {np.shape(prevalence)}"
            )
        # 1e-6: shares that were rounded to six digits are still shares.
        if not (np.all(points >= -1e-6) and np.all(np.abs(points.sum(axis=1) - 1.0) <= 1e-6 * k)):
            raise ValueError("shares of the classes are not negative and sum to 1")
        return np.maximum(points, 0.0)
