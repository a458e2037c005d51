"""A linear constraint as a payment: what a row pays, by what it is and what it is called.

A constraint that is linear over linear in the rates, cleared of its denominator, reads with the prevalence ``p``

    A(p) tpr + B(p) tnr + C(p) >= 0.

Where ``A = p (a - b)``, ``B = (1 - p) (d - c)`` and ``C = p b + (1 - p) c`` this is the mean over all rows of a
payment: ``a`` for a true positive, ``b`` for a false negative, ``c`` for a false positive and ``d`` for a true
negative. So ``Precision() >= 0.8`` pays 0.2, 0, -0.8 and 0. A constraint on one rate, ``fpr <= 0.05``, is one too:
times ``1 - p`` it pays 0.05 for a true negative and -0.95 for a false positive.

Constraints on both rates that do not know the prevalence (``fpr <= 0.01 * tpr``, ``BalancedAccuracy() >= 0.8``, those
bound by ``.at(p)``) are means of two samples, the positives and the negatives, and are kept as `Shares`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import lru_cache

import numpy as np

from ...measures.constraints import Constraint

DUST = 1e-9  # relative: payments are differences of a few products of numbers of the size of 1, each off by 1e-16
PROBES = (0.5, 0.25, 0.375, 0.8)  # prevalences at which A, B and C are read: two settle it, the others may object


@dataclass(frozen=True)
class Payments:
    """What a row pays; the constraint holds where the mean payment is not negative."""

    tp: float
    fp: float
    fn: float
    tn: float

    @property
    def values(self) -> tuple[float, ...]:
        """Those that are not zero, each once."""
        found: list[float] = []
        for value in sorted(v for v in astuple(self) if v != 0.0):
            if not found or value - found[-1] > DUST * max(map(abs, astuple(self))):
                found.append(value)
        return tuple(found)

    @property
    def side(self) -> str | None:
        """The part of the rows that pays, where the rest does not: "called", "not called", "negative", "positive"."""
        zero = {name for name in ("tp", "fp", "fn", "tn") if getattr(self, name) == 0.0}
        parts = {"called": {"fn", "tn"}, "not called": {"tp", "fp"}, "negative": {"tp", "fn"}, "positive": {"fp", "tn"}}
        return next((side for side, others in parts.items() if others <= zero), None)


@dataclass(frozen=True)
class Shares:
    """``tpr * (share of positives called) + tnr * (share of negatives not called) + constant >= 0``."""

    tpr: float
    tnr: float
    constant: float


@lru_cache(maxsize=256)  # a fit asks several times, and reading is most of the time of a small one
def read(constraint: Constraint) -> Payments | Shares:
    """What a constraint pays.

    >>> from steelyard.measures import FBeta, Precision, fpr, tpr
    >>> read(Precision() >= 0.75)
    Payments(tp=0.25, fp=-0.75, fn=0.0, tn=0.0)
    >>> read(FBeta(1) >= 0.5)
    Payments(tp=1.0, fp=-0.5, fn=-0.5, tn=0.0)
    >>> read(fpr <= 0.25 * tpr)
    Shares(tpr=0.25, tnr=1.0, constant=-1.0)
    """
    if not constraint.is_linear:
        raise ValueError(
            f"delta promises constraints that are linear over linear in the rates, such as fpr <= 0.05, "
            f"Precision() >= 0.8 or FBeta(1) >= 0.6; {constraint!r} is not"
        )
    if not constraint.cleared.needs_prevalence:
        a, b, c = constraint.coefficients()
        if a == 0.0:
            return _clean(0.0, c, 0.0, b + c)
        return _clean(a + c, 0.0, c, 0.0) if b == 0.0 else Shares(a, b, c)
    at = np.array([constraint.coefficients(p) for p in PROBES])
    p = np.array(PROBES)
    slope_tpr, slope_tnr = at[:, 0] / p, at[:, 1] / (1.0 - p)
    fn, fp = np.linalg.solve(np.column_stack([p[:2], 1.0 - p[:2]]), at[:2, 2])
    off = max(np.ptp(slope_tpr), np.ptp(slope_tnr), np.abs(p * fn + (1.0 - p) * fp - at[:, 2]).max())
    if off > DUST * np.abs(at).max():
        raise ValueError(
            f"delta promises constraints that pay a fixed amount for each true positive, false positive, false "
            f"negative and true negative; what {constraint!r} pays changes with the prevalence. Bind it by .at()"
        )
    return _clean(slope_tpr[0] + fn, fp, fn, slope_tnr[0] + fp)


def _clean(tp: float, fp: float, fn: float, tn: float) -> Payments:
    dust = DUST * max(abs(tp), abs(fp), abs(fn), abs(tn))
    return Payments(*(0.0 if abs(v) <= dust else float(v) for v in (tp, fp, fn, tn)))
