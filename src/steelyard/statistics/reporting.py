"""Figures of a classifier with intervals, from rows that neither fitted it nor chose its threshold.

Given how many rows are true and false positives and negatives, the four shares of the population have Jeffreys'
posterior, Dirichlet(counts + 1/2). In it TPR, TNR and prevalence are independent, with distributions Beta, and so has
precision: their intervals are quantiles of Beta, Jeffreys' own, whose coverage is near the nominal one (Brown, Cai &
DasGupta 2001), where Clopper and Pearson's is above it. Any other figure is a function of the three, and has the
quantiles of its values at points spread evenly over the posterior (a lattice, no chance in it): the same counts have
the same report, wherever it is computed (`report/templates/numbers.js` does it in a browser).

`prevalence` given means that the share of positives in use is known to be that; then only the rates are uncertain.

`bands` are for a whole frontier at once: with the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart both
distributions of scores lie within ``sqrt(log(4 / (1 - confidence)) / 2 n)`` of those seen, at all thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from ..measures import Measure, Precision, fnr, fpr, tnr, tpr
from .frontier import Frontier

# A lattice of Korobov: point i lies at i (1, a, a^2) / n, modulo 1. Of 3,000 generators the one of least P_2: ends of
# 2.5 % are off by at most 0.07 % of probability (tests/statistics/test_reporting.py), by 0.2 % with random draws.
POINTS, GENERATOR = 20_011, 7_884
LEVELS = 1_024  # of each Beta, between which a point is not told apart: half a level is 0.05 % of probability


@dataclass(frozen=True)
class Figure:
    """A value with an interval."""

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"


@dataclass(frozen=True)
class Figures:
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


def report(
    tp: int,
    fp: int,
    fn: int,
    tn: int,
    extra: tuple[Measure, ...] = (),
    confidence: float = 0.95,
    prevalence: float | None = None,
) -> Figures:
    """The rates, the prevalence, precision and further measures; at another `prevalence` if it is given.

    >>> report(45, 5, 15, 135)["tpr"]
    0.75 [0.6305, 0.8461]
    >>> report(45, 5, 15, 135, prevalence=0.01)["Precision()"]
    0.175 [0.0881, 0.3557]
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
    if prevalence is not None and not 0.0 < prevalence < 1.0:
        raise ValueError(f"prevalence lies strictly between 0 and 1; got {prevalence!r}")
    if tp + fn == 0 or fp + tn == 0:
        raise ValueError("a report needs rows of both classes")
    n, ends = tp + fp + fn + tn, np.array([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence])
    share = (tp + fn) / n if prevalence is None else prevalence
    at = tp / (tp + fn), tn / (fp + tn), share
    known = _exact(tp, fp, fn, tn, ends)
    if prevalence is not None:
        known = {**known, "prevalence": (prevalence, prevalence)}
        del known["Precision()"]
    measures = {repr(one): one for one in (tpr, fpr, tnr, fnr, Precision(), *extra)}
    figures = {"prevalence": Figure(share, *known["prevalence"])}
    around = None
    for name, measure in measures.items():
        found = known.get(known_as(measure))
        if found is None:
            around = _around(tp, fp, fn, tn, prevalence) if around is None else around
            found = _ends(np.asarray(measure(*around, sample_size=n)), ends)
        figures[name] = Figure(float(measure(*at, sample_size=n)), *found)
    return Figures(figures, confidence, n)


def known_as(measure: Measure) -> str:
    """The name of the rate that a measure is, if it is one under another name: `Recall` is the TPR."""
    inner = measure._expand()
    return repr(inner) if inner in (tpr, fpr, tnr, fnr) else repr(measure)


def jeffreys(hits: int, rest: int, ends: NDArray[np.float64]) -> tuple[float, float]:
    """The interval of a share of which so many rows were seen."""
    low, high = betaincinv(hits + 0.5, rest + 0.5, ends)
    return float(low), float(high)


def _exact(tp: int, fp: int, fn: int, tn: int, ends: NDArray[np.float64]) -> dict[str, tuple[float, float]]:
    """The figures whose posterior is Beta."""
    found = {"tpr": jeffreys(tp, fn, ends), "tnr": jeffreys(tn, fp, ends), "fpr": jeffreys(fp, tn, ends)}
    found |= {"fnr": jeffreys(fn, tp, ends), "Precision()": jeffreys(tp, fp, ends)}
    low, high = betaincinv(tp + fn + 1.0, fp + tn + 1.0, ends)
    return found | {"prevalence": (float(low), float(high))}


def _around(
    tp: int, fp: int, fn: int, tn: int, prevalence: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | float]:
    """TPR, TNR and prevalence at points spread over the posterior."""
    levels = (np.arange(LEVELS) + 0.5) / LEVELS
    first, second, third = _lattice()
    pos = betaincinv(tp + 0.5, fn + 0.5, levels)[first]
    neg = betaincinv(tn + 0.5, fp + 0.5, levels)[second]
    if prevalence is not None:
        return pos, neg, prevalence
    return pos, neg, betaincinv(tp + fn + 1.0, fp + tn + 1.0, levels)[third]


@lru_cache(maxsize=1)
def _lattice() -> tuple[NDArray[np.intp], ...]:
    """The level of each point in the three dimensions."""
    number = np.arange(POINTS)
    return tuple(
        (number * factor % POINTS * 2 + 1) * LEVELS // (2 * POINTS) for factor in (1, GENERATOR, GENERATOR**2 % POINTS)
    )


def _ends(values: NDArray[np.float64], ends: NDArray[np.float64]) -> tuple[float, float]:
    low, high = np.nanquantile(values, ends)
    return float(low), float(high)


def bands(found: Frontier, confidence: float) -> tuple[float, float]:
    """How far the true TPR and TNR may be from those of a frontier, at all its thresholds at once."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence lies strictly between 0 and 1; got {confidence!r}")
    n_pos = found.prevalence * found.n_rows
    spread = math.log(4.0 / (1.0 - confidence)) / 2.0
    return math.sqrt(spread / n_pos), math.sqrt(spread / (found.n_rows - n_pos))
