"""`Quantifier.predict` on the partitions of a Dask collection: the count of a batch that nobody holds.

Each partition is scored by the models where it is. What the methods need of the scores are sums over rows: shares
called, means of posteriors, and for the likeliest prevalence the slope of the likelihood, or a step of EM, at a
prevalence. So a count is a few rounds of a few numbers. Methods that look at the distribution of posteriors ("ms",
"kdey", "edy", "dys") or their spread ("blend") read up to `HOST_ROWS` rows in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..distributed.blocks import blocks_of
from ..distributed.rounds import Rounds
from ..estimators._on_tensors import HOST_ROWS
from ..statistics import prevalence
from ._counting import Judged

Array = NDArray[np.float64]
SUMS = ("cc", "pcc", "acc", "pacc", "emq", "aemq")


def predict(quantifier: Any, X: Any) -> Array:
    """The prevalence of each class in a batch in partitions."""
    import dask

    lengths = Rounds([dask.delayed(_length, pure=False)(block) for block in blocks_of(X)]).ask(_itself)
    n = int(lengths)
    if n == 0:
        raise ValueError("the batch is empty: a prevalence needs at least one row")
    if n <= HOST_ROWS:
        found: Array = quantifier.predict(_here(X))
        return found
    if quantifier.method_ not in SUMS:
        raise ValueError(
            f"method={quantifier.method_!r} looks at the batch as a whole, of up to {HOST_ROWS} rows; got {n}. Methods "
            f"of sums are {', '.join(SUMS)}"
        )
    if not quantifier.informative_ and quantifier.method_ not in ("cc", "pcc"):
        shares: Array = quantifier.prevalence_.copy()
        return shares
    return _count(quantifier.method_, quantifier._judged, X, n)


def _count(method: str, judged: Judged, X: Any, n: int) -> Array:
    import dask

    shared = dask.delayed(_itself, pure=False)(judged)
    scored = dask.persist(*[dask.delayed(_scored, pure=False)(block, shared) for block in blocks_of(X)])
    rounds = Rounds(scored)
    k = len(judged.calls.rows)
    if method in ("cc", "acc"):
        mean = np.asarray(rounds.ask(_called, k)) / n
        return mean if method == "cc" else prevalence.adjusted(mean, judged.calls)
    at = judged.likelihood.prevalence
    if method in ("emq", "aemq"):
        likeliest = _most_likely(rounds, k, n)
        if method == "emq":
            return likeliest
        at = prevalence.inside(likeliest)
    mean = np.asarray(rounds.ask(_posteriors, at)) / n
    return mean if method == "pcc" else prevalence.adjusted(mean, judged.means_at(at))


def _most_likely(rounds: Rounds, k: int, n: int) -> Array:
    """As `prevalence.most_likely` finds it, by sums."""
    if k == 2:
        return prevalence.root_of_two(lambda p: float(rounds.ask(_slope, p)) / n)

    def step(p: Array) -> tuple[Array, float]:
        moved, value = rounds.ask(_em_step, p)
        return np.asarray(moved) / n, float(value) / n

    return prevalence.squared_em(step, k)


# -- of one partition -------------------------------------------------------------------------------------------------
Scored = tuple[NDArray[np.intp], Array]  # the class that each model calls (models, n), and log f (models, n, K)


def _scored(X: Any, judged: Judged) -> Scored:
    if not X.shape[0]:
        return np.empty((1, 0), dtype=np.intp), np.empty((1, 0, len(judged.calls.rows)))
    scored = judged.held.score(X)
    return scored.called, judged.likelihood(scored.scores)


def _called(part: Scored, k: int) -> Array:
    called = part[0]
    return np.asarray(np.bincount(called.ravel(), minlength=k) / len(called))


def _posteriors(part: Scored, at: Array) -> Array:
    return np.asarray(prevalence.posteriors(part[1], at).sum(axis=1).mean(axis=0))


def _likelihoods(part: Scored) -> Array:
    log_f = part[1].reshape(-1, part[1].shape[-1])
    return np.asarray(np.exp(log_f - log_f.max(axis=1, keepdims=True, initial=-np.inf)))


def _slope(part: Scored, p: float) -> float:
    f = _likelihoods(part)
    gain = f[:, 1] - f[:, 0]
    return float((gain / np.maximum(f[:, 0] + p * gain, 1e-300)).sum()) / len(part[0])


def _em_step(part: Scored, p: Array) -> tuple[Array, float]:
    joint = _likelihoods(part) * p
    total = joint.sum(axis=1)
    return (joint / total[:, None]).sum(axis=0) / len(part[0]), float(np.log(total).sum()) / len(part[0])


def _length(X: Any) -> int:
    return int(X.shape[0])


def _itself(part: Any) -> Any:
    return part


def _here(X: Any) -> Any:
    return X.compute()
