"""Errors of an estimated prevalence, as the field defines them.

Given a true prevalence ``p`` and an estimate ``q`` (vectors over the classes, or rows of them), each function returns
one number a row; its mean over the rows has the same name with an ``m`` before it.

===========  ====================================================  ==========
``ae``       mean of ``|q - p|`` over the classes
``nae``      ``sum |q - p| / (2 (1 - min p))``                     in [0, 1]
``rae``      mean of ``|q - p| / p``                               smoothed
``nrae``     ``sum |q - p|/p / (K - 1 + (1 - min p)/min p)``       smoothed
``se``       mean of ``(q - p)^2``
``kld``      ``sum p log(p/q)``                                    smoothed
``nkld``     ``2 e^kld/(1 + e^kld) - 1``                           smoothed
``nas``      ``1 - nae``, higher is better                         in [0, 1]
``nss``      ``1 - nae^2``, higher is better                       in [0, 1]
===========  ====================================================  ==========

Smoothed errors see ``(p + eps)/(1 + eps K)`` and ``q`` likewise, with ``eps = 1/(2 sample_size)``, so that an empty
class costs no infinity. `sample_size` is the number of rows of the batches, always given, never global state.
The definitions and the order of arguments are QuaPy's; ``nas`` and ``nss`` are the scores of Barranquero et al. (2015)
and Kar et al. (2016), which on two classes are ``1 - |q - p|/max(p, 1 - p)`` and ``1 - ((q - p)/max(p, 1 - p))^2``.

>>> from steelyard.quantification import errors
>>> round(float(errors.ae([0.7, 0.3], [0.5, 0.5])), 4), round(float(errors.nae([0.7, 0.3], [0.5, 0.5])), 4)
(0.2, 0.2857)
>>> round(float(errors.kld([0.7, 0.3], [0.5, 0.5], sample_size=1000)), 4)
0.0821
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def ae(prevs_true: ArrayLike, prevs_hat: ArrayLike) -> Any:
    """Absolute error: the mean over the classes."""
    p, q = _prevalences(prevs_true, prevs_hat)
    return np.abs(q - p).mean(axis=-1)


def nae(prevs_true: ArrayLike, prevs_hat: ArrayLike) -> Any:
    """Absolute error over the largest that this true prevalence allows."""
    p, q = _prevalences(prevs_true, prevs_hat)
    return np.abs(q - p).sum(axis=-1) / (2.0 * (1.0 - p.min(axis=-1)))


def rae(prevs_true: ArrayLike, prevs_hat: ArrayLike, *, sample_size: float) -> Any:
    """Relative absolute error, smoothed: the mean over the classes."""
    p, q = _smoothed(prevs_true, prevs_hat, sample_size)
    return (np.abs(q - p) / p).mean(axis=-1)


def nrae(prevs_true: ArrayLike, prevs_hat: ArrayLike, *, sample_size: float) -> Any:
    """Relative absolute error over the largest that this true prevalence allows, smoothed."""
    p, q = _smoothed(prevs_true, prevs_hat, sample_size)
    least = p.min(axis=-1)
    return (np.abs(q - p) / p).sum(axis=-1) / (p.shape[-1] - 1 + (1.0 - least) / least)


def se(prevs_true: ArrayLike, prevs_hat: ArrayLike) -> Any:
    """Squared error: the mean over the classes."""
    p, q = _prevalences(prevs_true, prevs_hat)
    return ((q - p) ** 2).mean(axis=-1)


def kld(prevs_true: ArrayLike, prevs_hat: ArrayLike, *, sample_size: float) -> Any:
    """Kullback-Leibler divergence of the estimate from the truth, smoothed, natural logarithm."""
    p, q = _smoothed(prevs_true, prevs_hat, sample_size)
    return (p * np.log(p / q)).sum(axis=-1)


def nkld(prevs_true: ArrayLike, prevs_hat: ArrayLike, *, sample_size: float) -> Any:
    """Kullback-Leibler divergence bent into [0, 1) by a logistic function, smoothed."""
    grown = np.exp(kld(prevs_true, prevs_hat, sample_size=sample_size))
    return 2.0 * grown / (1.0 + grown) - 1.0


def nas(prevs_true: ArrayLike, prevs_hat: ArrayLike) -> Any:
    """Normalised absolute score: ``1 - nae``."""
    return 1.0 - nae(prevs_true, prevs_hat)


def nss(prevs_true: ArrayLike, prevs_hat: ArrayLike) -> Any:
    """Normalised squared score: ``1 - nae^2``."""
    return 1.0 - nae(prevs_true, prevs_hat) ** 2


def _mean_of(error: Callable[..., Any]) -> Callable[..., float]:
    def mean(prevs_true: ArrayLike, prevs_hat: ArrayLike, **how: Any) -> float:
        return float(np.mean(error(prevs_true, prevs_hat, **how)))

    mean.__name__ = mean.__qualname__ = f"m{error.__name__}"
    mean.__doc__ = f"The mean of `{error.__name__}` over rows of prevalences."
    return mean


mae, mnae, mse, mnas, mnss = (_mean_of(error) for error in (ae, nae, se, nas, nss))
mrae, mnrae, mkld, mnkld = (_mean_of(error) for error in (rae, nrae, kld, nkld))

SMOOTHED = ("rae", "nrae", "kld", "nkld")
NAMES = ("ae", "nae", "rae", "nrae", "se", "kld", "nkld", "nas", "nss")


def named(name: str, sample_size: float) -> Callable[[ArrayLike, ArrayLike], Any]:
    """The error of that name as a function of two prevalences."""
    if name not in NAMES:
        raise ValueError(f"an error is one of {', '.join(NAMES)}; got {name!r}")
    error = globals()[name]
    return (lambda p, q: error(p, q, sample_size=sample_size)) if name in SMOOTHED else error


def _prevalences(prevs_true: ArrayLike, prevs_hat: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.asarray(prevs_true, dtype=np.float64), np.asarray(prevs_hat, dtype=np.float64)
    if p.shape != q.shape or p.ndim == 0 or p.shape[-1] < 2:
        raise ValueError(f"two prevalences over the same two or more classes are needed; got {p.shape} and {q.shape}")
    return p, q


def _smoothed(prevs_true: ArrayLike, prevs_hat: ArrayLike, sample_size: float) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(sample_size, numbers.Real) or not sample_size > 0:
        raise ValueError(f"sample_size is the number of rows of a batch, which sets the smoothing; got {sample_size!r}")
    eps = 1.0 / (2.0 * float(sample_size))
    p, q = _prevalences(prevs_true, prevs_hat)
    whole = 1.0 + eps * p.shape[-1]
    return (p + eps) / whole, (q + eps) / whole
