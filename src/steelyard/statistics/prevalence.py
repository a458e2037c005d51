"""The prevalence of a batch from scores, when the class balance may have moved and the classes themselves have not.

Given scores of labelled rows that the models were not fitted on, with class codes ``y`` in ``0 .. K-1``, and scores
of a batch. Assumed: within a class, scores of the batch are distributed as those of the labelled rows (prior shift).
Wanted: the prevalence ``p`` of the population that the batch came from, on the simplex, and an interval for it.

A *membership* ``t(s)`` is a vector of K numbers a row. Its mean over a batch of prevalence ``p`` is ``M p``, where
column j of ``M`` is the mean over class j, whatever ``t`` is. So the labelled rows give ``M``, the batch gives the
mean, and `adjusted` solves for ``p`` by least squares on the simplex. What differs is ``t``:

- the predicted class, 0 or 1: ACC, and on two classes ``p = (share called - FPR)/(TPR - FPR)``;
- the posterior probability: PACC;
- the posterior probability at the prevalence that maximum likelihood (EMQ) gives. If the
  posteriors are right this is the score function of the likelihood, so nothing is lost against EMQ; if they are not,
  it is still consistent, as EMQ is not.

`Likelihood` makes ``log f_j(s)``, up to a term that all classes share, from a logistic regression of labels on scores,
and `most_likely` maximises ``sum_i log sum_j p_j f_j(s_i)`` (Saerens et al. 2002): EM, on two classes a root instead.
`median_sweep` is Forman's (2008): the median of ACC over the thresholds with ``TPR - FPR`` of 1/4 or more.

`interval` inverts a test. For a scalar statistic ``u`` with class means ``m_j``, variances ``v_j`` and ``n_j``
labelled rows,

    Z(p) = (mean of u over the batch - sum_j p_j m_j) / sqrt(V(p)/n + sum_j p_j^2 v_j/n_j)

with ``V(p)`` the variance of ``u`` in a population of prevalence p. The prevalences not rejected by Student's t
(degrees of freedom by Satterthwaite) are the interval. Both samples are accounted for, the ends 0 and 1 need no care,
and a statistic without information returns [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize, nnls
from scipy.special import logsumexp, stdtr

from .frontier import scan

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# On the standardised coefficients of the calibration, so that separable scores stay finite: a thousandth of what one
# row says. On 2,000 rows of overlapping classes 1e-5 to 1e-1 change an estimate by 5e-5 at most.
RIDGE = 1e-3
# Priors of the calibration of K > 2 scores, as precisions: on how far it leaves one common scale, in units of the
# scores' spread (K x K free numbers overfit the few rows of a class), and on offsets of single classes, in log-odds.
# Chosen on eight sets and seven simulated designs; docs/results/counting.md has what weaker and stronger ones do on
# other sets (benchmarks/counting_classes.py choose), where 3 and 1 are as good.
PULL, OFFSET = 30.0, 10.0
# Memberships are evaluated at a prevalence at least so far from 0 in every class: at 0 itself all posteriors are 0 and
# say nothing. The point changes the spread of an estimate, not what it estimates: for shares of 0 to 0.05 in batches of
# 500 rows, 0.005 to 0.05 differ by 5 % in standard deviation, and 0.3 costs 10 to 25 %.
LEAST = 0.02
FEW = 30  # rows of a batch below which nothing is taken from its spread: a standard deviation is then off by 13 %
SWEEP = 0.25  # a threshold takes part in the median sweep if TPR - FPR is at least this (Forman 2008)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """``log f_j(s)``, up to a term that all classes share: a logistic regression, less the log of its prevalence."""

    centre: Array
    scale: Array
    weights: Array  # (d + 1, K)
    prevalence: Array

    @classmethod
    def fit(cls, scores: Array, y: Codes, n_classes: int, weight: Array | None = None) -> Likelihood:
        """From scores (n, d) of labelled rows."""
        # As many rows as there are, so that equal weights of any size change nothing.
        weight = np.ones(len(y)) if weight is None else weight * (len(y) / weight.sum())
        centre = np.average(scores, axis=0, weights=weight)
        scale = np.sqrt(np.average((scores - centre) ** 2, axis=0, weights=weight))
        if n_classes > 2:  # one scale for all, so that scores of the classes keep their proportions
            scale = np.full_like(scale, np.sqrt((scale**2).mean()))
        scale = np.maximum(scale, 1e-12)  # scores that are all equal stay what they are
        prevalence = np.bincount(y, weight, minlength=n_classes) / len(y)
        features = _with_one((scores - centre) / scale)
        return cls(centre, scale, _softmax_regression(features, y, weight, prevalence, -centre / scale), prevalence)

    def __call__(self, scores: Array) -> Array:
        """(..., d) to (..., K)."""
        found: Array = _with_one((scores - self.centre) / self.scale) @ self.weights - np.log(self.prevalence)
        return found


def _with_one(z: Array) -> Array:
    return np.concatenate([z, np.ones((*z.shape[:-1], 1))], axis=-1)


def _softmax_regression(features: Array, y: Codes, weight: Array, prevalence: Array, origin: Array) -> Array:
    """Weights (d, K), the last row the intercept.

    With a score for each of K > 2 classes the logits are ``t s + g log(prevalence)``, with t and g free, and what
    leaves that has a prior: probabilities as the model has them are t = 1 and g = 0, those of a model that was fitted
    to balanced classes g = 1. `origin` is the feature that a score of zero has.
    """
    (n, d), n_classes = features.shape, len(prevalence)
    truth, size = np.eye(n_classes)[y], d * n_classes
    shared = np.zeros((0, d, n_classes))
    penalty = np.full((d, 1), RIDGE)
    penalty[-1] = 0.0  # the intercept is free
    if d - 1 == n_classes > 2:
        scale, balance = np.eye(d, n_classes), np.zeros((d, n_classes))
        scale[-1], balance[-1] = -origin, np.log(prevalence)
        shared, penalty = np.stack([scale, balance]), np.full((d, 1), PULL)
        penalty[-1] = OFFSET

    def objective(flat: Array) -> tuple[float, Array]:
        own, common = flat[:size].reshape(d, n_classes), flat[size:]
        logits = features @ (own + np.tensordot(common, shared, 1))
        total = logsumexp(logits, axis=1)
        value = weight @ (total - logits[np.arange(n), y]) + 0.5 * (penalty * own**2).sum()
        off = (np.exp(logits - total[:, None]) - truth) * weight[:, None]
        free = features.T @ off
        slope = (free + penalty * own).ravel() / n
        if not len(shared):
            return float(value) / n, slope
        value += 0.5 * RIDGE * (common**2).sum()
        return float(value) / n, np.append(slope, (np.tensordot(shared, free, 2) + RIDGE * common) / n)

    start = np.zeros(size + len(shared))
    if not len(shared):
        start[size - n_classes :] = np.log(prevalence)
    # The gradient is a mean of numbers of size 1, so 1e-8 is eight digits, far beyond the noise of n rows.
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-8}).x
    weights: Array = found[:size].reshape(d, n_classes) + np.tensordot(found[size:], shared, 1)
    return weights


def most_likely(log_f: Array, weight: Array | None = None, tol: float = 1e-8, max_iter: int = 2000) -> Array:
    """The prevalence of largest likelihood, from ``log f_j`` (n, K) of the rows of a batch; weights sum to one."""
    weight = np.full(len(log_f), 1.0 / len(log_f)) if weight is None else weight
    f = np.exp(log_f - log_f.max(axis=1, keepdims=True))
    if f.shape[1] == 2:
        gain = f[:, 1] - f[:, 0]

        def slope(p: float) -> float:
            return float(weight @ (gain / np.maximum(f[:, 0] + p * gain, 1e-300)))

        return root_of_two(slope)

    def step(p: Array) -> tuple[Array, float]:
        joint = f * p
        total = joint.sum(axis=1)
        return (weight / total) @ joint, float(weight @ np.log(total))

    return squared_em(step, f.shape[1], tol, max_iter)


def root_of_two(slope: Callable[[float], float]) -> Array:
    """The likeliest prevalence of two classes, by the slope of the likelihood in the share of the second."""
    if slope(0.0) <= 0.0:
        return np.array([1.0, 0.0])
    p = 1.0 if slope(1.0) >= 0.0 else float(brentq(slope, 0.0, 1.0, xtol=1e-12))
    return np.array([1.0 - p, p])


def squared_em(
    step: Callable[[Array], tuple[Array, float]], n_classes: int, tol: float = 1e-8, max_iter: int = 2000
) -> Array:
    """EM in leaps: two steps, and where their differences point to (SQUAREM; Varadhan and Roland, 2008).

    Classes that resemble each other make EM creep, by a thousandth of what is missing at each step. A leap that loses
    likelihood is taken back. `step` gives where EM goes from a prevalence, and the mean log-likelihood there.
    """
    p: Array = np.full(n_classes, 1.0 / n_classes)
    for _ in range(max_iter // 3):
        first, _ = step(p)
        second, reached = step(first)
        went, bend = first - p, second - 2.0 * first + p
        if np.abs(second - first).max() < tol:
            return second
        length = max(1.0, float(np.linalg.norm(went)) / max(float(np.linalg.norm(bend)), 1e-300))
        leap = p + 2.0 * length * went + length**2 * bend
        # A share of zero would stay zero, so that a leap out of the simplex ends a thousandth short of its edge.
        leap = np.maximum(leap, 1e-3 * second)
        landed, value = step(leap / leap.sum())
        p = landed if value >= reached else second
    return p


def posteriors(log_f: Array, prevalence: Array) -> Array:
    """Probabilities of the classes at a prevalence; `log_f` is (..., K)."""
    joint = log_f + np.log(np.maximum(prevalence, 1e-300))
    found: Array = np.exp(joint - logsumexp(joint, axis=-1, keepdims=True))
    return found


def inside(prevalence: Array, least: float = LEAST) -> Array:
    """Moved towards equal shares so far that no class has less than `least`."""
    k = len(prevalence)
    missing = min(1.0, max(0.0, least - float(prevalence.min())) / max(1.0 / k - float(prevalence.min()), 1e-12))
    return (1.0 - missing) * prevalence + missing / k


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """What the labelled rows say of a membership: its mean in every class (a column each), and the rows by class."""

    mean: Array
    rows: tuple[Array, ...]
    weights: tuple[Array, ...]  # of these rows; they sum to one in every class

    @classmethod
    def of(cls, memberships: Array, y: Codes, weight: Array | None = None) -> ClassMeans:
        classes = range(memberships.shape[1])
        weight = np.ones(len(y)) if weight is None else weight
        rows, weights = (tuple(part[y == j] for j in classes) for part in (memberships, weight))
        weights = tuple(part / part.sum() for part in weights)
        return cls(np.column_stack([w @ part for w, part in zip(weights, rows, strict=True)]), rows, weights)

    @property
    def sizes(self) -> Array:
        """For each class, the number of rows of equal weight that would tell as much (Kish 1965)."""
        return np.array([1.0 / float(w @ w) for w in self.weights])

    def spread(self, cls: int, of: Array | None = None) -> Array:
        """Variances of the memberships in a class, or of their combination `of`."""
        values = self.rows[cls] if of is None else self.rows[cls] @ of
        found: Array = self.weights[cls] @ (values - self.weights[cls] @ values) ** 2
        return found

    @property
    def alike(self) -> list[tuple[int, int]]:
        """Pairs of classes whose means differ by no more than their own standard errors."""
        k = len(self.rows)
        noise = np.array([self.spread(c).sum() for c in range(k)]) / self.sizes
        found = []
        for i in range(k):
            for j in range(i):
                gap = self.mean[:, i] - self.mean[:, j]
                # 1e-18: means of numbers in [0, 1] are equal up to 1e-9 only if they are equal but for rounding.
                if (gap**2).sum() <= max(noise[i] + noise[j], 1e-18):
                    found.append((j, i))
        return found

    @property
    def informative(self) -> bool:
        """Whether any classes are told apart; of two, the second must also be called so more often than the first."""
        k = len(self.rows)
        return len(self.alike) < k * (k - 1) // 2 and not (k == 2 and self.mean[1, 1] <= self.mean[1, 0])


def adjusted(mean: Array, rates: ClassMeans) -> Array:
    """The prevalence on the simplex whose expected membership is nearest to the batch's `mean`."""
    k = len(mean)
    if k == 2:
        low, high = rates.mean[1]
        p = float(np.clip((mean[1] - low) / (high - low), 0.0, 1.0))
        return np.array([1.0 - p, p])
    pairs = zip(rates.rows, rates.weights, strict=True)
    spread = sum(np.cov(part.T, bias=True, aweights=w) for part, w in pairs) / k
    # Memberships sum to one, so their spread is singular in one direction: a millionth of it makes it definite, and
    # 1e-12 where all of it is zero.
    white = np.linalg.pinv(np.linalg.cholesky(spread + 1e-6 * np.trace(spread) / k * np.eye(k) + 1e-12 * np.eye(k)))
    return shortest_mix(white @ (rates.mean - mean[:, None]))


def shortest_mix(columns: Array) -> Array:
    """The point p of the simplex at which ``columns @ p`` is shortest.

    For p = s q with q on the simplex, the least of ``|s columns q|^2 + h^2 (s - 1)^2`` over s grows with
    ``|columns q|`` whatever h is. So non-negative least squares with one more row finds the same q.
    """
    k = columns.shape[1]
    h = max(float(np.abs(columns).max()), 1e-300)
    p, _ = nnls(np.vstack([columns, np.full(k, h)]), np.append(np.zeros(len(columns)), h))
    return one_or_nothing(p)


def median_sweep(
    scores: Array, y_is_class: NDArray[np.bool_], batch: Array, weight: Array | None = None
) -> float | None:
    """The share of the class by the median of ACC over thresholds; None if no threshold tells the classes apart."""
    if weight is not None:  # what has no weight is no threshold either
        scores, y_is_class, weight = scores[weight > 0.0], y_is_class[weight > 0.0], weight[weight > 0.0]
    frontier = scan(scores, y_is_class, weight)
    fpr = 1.0 - frontier.tnr
    good = frontier.tpr - fpr >= SWEEP
    if not good.any():
        return None
    ordered = np.sort(batch.ravel())
    called = 1.0 - np.searchsorted(ordered, frontier.thresholds[good], side="right") / len(ordered)
    return float(np.median(np.clip((called - fpr[good]) / (frontier.tpr[good] - fpr[good]), 0.0, 1.0)))


@dataclass(frozen=True, eq=False)
class Batch:
    """Memberships (models, n, K) of the rows of a batch, with weights (n,) that sum to one."""

    memberships: Array
    weight: Array

    @property
    def mean(self) -> Array:
        found: Array = self.weight @ self.memberships.mean(axis=0)
        return found

    @property
    def size(self) -> float:
        """The number of rows of equal weight that would tell as much."""
        return 1.0 / float(self.weight @ self.weight)

    @property
    def pooled(self) -> tuple[Array, Array]:
        """Memberships of all models together, (models n, K), and their weights."""
        n_models, _, k = self.memberships.shape
        return self.memberships.reshape(-1, k), np.tile(self.weight / n_models, n_models)


def interval(
    batch: Batch, rates: ClassMeans, prevalence: Array, cls: int, confidence: float, grid: int = 2001
) -> Array:
    """Low and high for the share of class `cls`.

    With more than two classes the statistic is the combination of memberships that moves with this class alone, and the
    other classes keep their estimated proportions to each other.
    """
    combine = _direction(rates.mean, cls)
    u = batch.memberships @ combine  # (models, n)
    k, n = len(prevalence), batch.size
    m, counts = combine @ rates.mean, rates.sizes
    rest = np.where(np.arange(k) == cls, 0.0, prevalence)
    rest = rest / rest.sum() if rest.sum() > 0.0 else np.where(np.arange(k) == cls, 0.0, 1.0 / (k - 1))
    gap = m[cls] - rest @ m
    # As if one more row of each class had another's score: a class seen without error is not known to be without. Rows
    # of other classes have that of this one in one of K - 1 cases.
    strays = np.where(np.arange(k) == cls, 1.0, 1.0 / (k - 1))
    v = np.array([float(rates.spread(c, combine)) for c in range(k)]) + gap**2 * strays / (counts + 2.0)
    p = np.linspace(0.0, 1.0, grid)[:, None]
    shares = p * (np.arange(k) == cls) + (1.0 - p) * rest
    expected = shares @ m
    spread = shares @ (v + m**2) - expected**2
    # Models that share a batch average out part of the spread; a handful of rows cannot say how much.
    whole = float(u.var())
    spread *= float(u.mean(axis=0).var()) / whole if whole > 0.0 and n >= FEW else 1.0
    of_batch, of_rows = spread / n, shares**2 * v / counts
    variance = of_batch + of_rows.sum(axis=1)
    freedom = variance**2 / np.maximum(
        of_batch**2 / max(n - 1.0, 1.0) + (of_rows**2 / np.maximum(counts - 1, 1)).sum(axis=1), 1e-300
    )
    z = np.abs(batch.mean @ combine - expected) / np.sqrt(np.maximum(variance, 1e-300))
    kept = 2.0 * stdtr(freedom, -z) >= 1.0 - confidence
    if not kept.any():
        kept[np.argmin(z)] = True
    ends: Array = p[kept][[0, -1], 0]
    return ends


def _direction(mean: Array, cls: int) -> Array:
    """Weights on memberships whose class means are 1 for `cls` and 0 for the others, as nearly as can be."""
    if len(mean) == 2:
        return np.arange(2.0) if cls else 1.0 - np.arange(2.0)
    found: Array = np.linalg.lstsq(mean.T, np.eye(len(mean))[cls], rcond=1e-10)[0]
    return found


def one_or_nothing(values: Any) -> Array:
    """Shares that sum to one; equal ones if all are zero."""
    values = np.asarray(values, dtype=np.float64)
    total = values.sum()
    return values / total if total > 0.0 else np.full(len(values), 1.0 / len(values))
