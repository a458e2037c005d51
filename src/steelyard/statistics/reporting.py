"""Figures of a classifier with intervals, from rows that neither fitted it nor chose its threshold.

Given how many rows are true and false positives and negatives, the four shares of the population have Jeffreys'
posterior, Dirichlet(counts + 1/2). Every figure is a function of the shares, and has, whatever its formula, the
quantiles of its values over draws from it. For a single rate these are Jeffreys' interval, whose coverage is near the
nominal one (Brown, Cai & DasGupta 2001), where Clopper and Pearson's is above it.

`bands` are for a whole frontier at once: with the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart both
distributions of scores lie within ``sqrt(log(4 / (1 - confidence)) / 2 n)`` of those seen, at all thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..measures import Measure, Precision, fnr, fpr, tnr, tpr
from .frontier import Frontier

DRAWS = 20_000  # quantiles of 2.5 % are then off by some 0.1 % of probability
SEED = 0  # the same rows have the same report


@dataclass(frozen=True)
class Figure:
    """A value with an interval."""

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class Report:
    """Figures by name, each with an interval of `confidence`."""

    figures: Mapping[str, Figure]
    confidence: float
    n_rows: int

    def __getitem__(self, name: str) -> Figure:
        return self.figures[name]

    def __repr__(self) -> str:
        wide = max(map(len, self.figures))
        head = f"{self.n_rows} rows, {100 * self.confidence:g} % intervals"
        return "\n".join([head, *(f"  {name:<{wide}}  {figure!r}" for name, figure in self.figures.items())])


def report(tp: int, fp: int, fn: int, tn: int, extra: tuple[Measure, ...] = (), confidence: float = 0.95) -> Report:
    """The rates, the prevalence, precision and further measures.

    >>> report(45, 5, 15, 135)["tpr"]
    0.75 [0.6286, 0.8479]
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
    counts, n = np.array([tp, fp, fn, tn], dtype=np.float64), tp + fp + fn + tn
    if tp + fn == 0 or fp + tn == 0:
        raise ValueError("a report needs rows of both classes")
    draws = np.random.default_rng(SEED).dirichlet(counts + 0.5, DRAWS).T
    ends = np.array([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    measures = {repr(one): one for one in (tpr, fpr, tnr, fnr, Precision(), *extra)}
    figures = {"prevalence": _figure((tp + fn) / n, draws[0] + draws[2], ends)}
    for name, measure in measures.items():
        at = measure(tp / (tp + fn), tn / (fp + tn), (tp + fn) / n, sample_size=n)
        figures[name] = _figure(float(at), measure(*_rates(draws), sample_size=n), ends)
    return Report(figures, confidence, n)


def _rates(shares: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    tp, fp, fn, tn = shares
    positive = tp + fn
    return np.clip(tp / positive, 0.0, 1.0), np.clip(tn / (fp + tn), 0.0, 1.0), np.clip(positive, 0.0, 1.0)


def _figure(value: float, draws: np.ndarray, ends: np.ndarray) -> Figure:
    low, high = np.nanquantile(draws, ends)
    return Figure(value, float(low), float(high))


def bands(found: Frontier, confidence: float) -> tuple[float, float]:
    """How far the true TPR and TNR may be from those of a frontier, at all its thresholds at once."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
    n_pos = found.prevalence * found.n_rows
    spread = math.log(4.0 / (1.0 - confidence)) / 2.0
    return math.sqrt(spread / n_pos), math.sqrt(spread / (found.n_rows - n_pos))
