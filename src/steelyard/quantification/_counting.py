"""One way to count a batch by its name: from what held-out rows say of the models, and the batch as they score it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..statistics import matching, prevalence
from ..statistics.region import Evidence
from ._crossfit import CrossFit, ScoredBatch

Array = NDArray[np.float64]

MATCHED: dict[str, Callable[[prevalence.Batch, prevalence.ClassMeans], Array]] = {
    "kdey": matching.kernel,
    "edy": matching.energy,
    "dys": matching.histogram,
}
METHODS = ("cc", "pcc", "acc", "pacc", "emq", "aemq", "blend", "ms", *MATCHED)
AT_THE_LIKELIEST = ("emq", "aemq", "blend", *MATCHED)  # their intervals rest on memberships at the prevalence of "emq"
PLAIN = ("cc", "pcc")  # what is counted as it is, without labelled rows


@dataclass(frozen=True, eq=False)
class Judged:
    """What held-out rows say of the models: their likelihood, and how they are called and scored in every class."""

    held: CrossFit
    likelihood: prevalence.Likelihood
    log_f: Array  # of the held-out rows
    calls: prevalence.ClassMeans

    @classmethod
    def of(cls, held: CrossFit, n_classes: int) -> Judged:
        likelihood = prevalence.Likelihood.fit(held.scores, held.y, n_classes, held.weight)
        calls = prevalence.ClassMeans.of(np.eye(n_classes)[held.called], held.y, held.weight)
        return cls(held, likelihood, likelihood(held.scores), calls)

    def means_at(self, at: Array) -> prevalence.ClassMeans:
        """Of the posteriors at a prevalence."""
        return prevalence.ClassMeans.of(prevalence.posteriors(self.log_f, at), self.held.y, self.held.weight)


@dataclass(frozen=True, eq=False)
class Counted:
    """An estimate, with the memberships of the batch and their means by class, on which intervals and regions rest."""

    estimate: Array
    batch: prevalence.Batch
    means: prevalence.ClassMeans


def count(method: str, judged: Judged, scored: ScoredBatch, otherwise: Array, weight: Array | None = None) -> Counted:
    """By the method of this name; `otherwise` is the prevalence of classes of which a median sweep finds nothing."""
    (n_models, n), k = scored.called.shape, len(otherwise)
    weight = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    estimate: Array | None = None
    if method in ("cc", "acc"):
        memberships, means = np.eye(k)[scored.called], judged.calls
    else:
        log_f = judged.likelihood(scored.scores)
        at = judged.likelihood.prevalence
        if method == "ms":
            estimate = _sweep(judged, scored, log_f, otherwise)
        elif method in MATCHED:
            posteriors = prevalence.Batch(prevalence.posteriors(log_f, at), weight)
            estimate = MATCHED[method](posteriors, judged.means_at(at))
        if method in AT_THE_LIKELIEST:
            likeliest = prevalence.most_likely(log_f.reshape(-1, k), np.tile(weight / n_models, n_models))
            estimate = likeliest if estimate is None else estimate
            at = prevalence.inside(likeliest)
        memberships, means = prevalence.posteriors(log_f, at), judged.means_at(at)
    batch = prevalence.Batch(memberships, weight)
    if method in PLAIN:
        estimate = batch.mean
    elif estimate is None or method == "aemq":
        estimate = prevalence.adjusted(batch.mean, means)
    elif method == "blend":
        estimate = _blend(estimate, batch, means)
    return Counted(estimate, batch, means)


def _blend(likeliest: Array, batch: prevalence.Batch, means: prevalence.ClassMeans) -> Array:
    """From the likeliest prevalence towards the adjusted one, as far as labelled rows speak against it.

    "emq" is off where its likelihood is, "aemq" by the chance of few labelled rows. With T the squared distance of the
    batch from what "emq" says, in units of that chance, T is K - 1 on average if there is nothing else: what is more
    than that speaks against "emq" (the positive part of James and Stein, 1961). Up to there "emq" is left as it is, and
    classes that it finds absent are not counted. Of two classes T is the square of one number, too little for that:
    there both count alike at T = 1.
    """
    t, d = Evidence.of(batch, means).against(likeliest), len(likeliest) - 1
    share = t / (t + d) if d == 1 else 1.0 - d / max(t, d)
    blended: Array = likeliest + share * (prevalence.adjusted(batch.mean, means) - likeliest)
    return blended


def _sweep(judged: Judged, scored: ScoredBatch, log_f: Array, otherwise: Array) -> Array:
    """Median sweep: on the scores of two classes, on the posterior of each class against the rest of several."""
    held, k, at = judged.held, len(otherwise), judged.likelihood.prevalence
    if k == 2:
        share = prevalence.median_sweep(held.scores[:, 0], held.y == 1, scored.scores, held.weight)
        return otherwise if share is None else np.array([1.0 - share, share])
    ours, theirs = (prevalence.posteriors(f, at) for f in (judged.log_f, log_f))
    shares = [prevalence.median_sweep(ours[:, c], held.y == c, theirs[..., c], held.weight) for c in range(k)]
    return prevalence.one_or_nothing([otherwise[c] if s is None else s for c, s in enumerate(shares)])
