"""What the table of a measure over all confusion matrices looks like, read off its expression.

Two shapes make the search for the most violated confusion matrix easy (`solvers.structural.confusion`):

- *a function of the count*: the measure depends on the rates only through the number of calls, that is through
  ``q = p P + n (1 - N)``. Found where every part that is affine in the rates is affine in ``q``.
- *a mixed derivative of one sign*: ``d2 M / dP dN`` is nowhere negative (+1), nowhere positive (-1) or zero (0).
  Known for some named measures (derived below), for a concave or convex function of the count, and kept by sums.

With ``a`` positives and ``b`` negatives called, the loss ``top - M`` has
``d2 L / da db = (d2 M / dP dN) / (n_pos n_neg)``: one sign comes from the minus, and one from ``N = 1 - b / n_neg``.
None means that no sign is known.
"""

from __future__ import annotations

from . import FBeta, GMean, HMean, Jaccard, Measure, MinRate, QMean
from .arithmetic import Difference, Negative, Product, Quotient, Sum
from .polynomial import Polynomial

Sign = int | None


def is_count_only(measure: Measure, prevalence: float) -> bool:
    """Whether the measure is a function of the number of calls, at this prevalence.

    >>> from steelyard.measures import FBeta, NAS, NegKLD
    >>> [is_count_only(m, 0.1) for m in (NegKLD(), NAS(), FBeta(1), NegKLD() * NAS())]
    [True, True, False, True]
    """
    if not measure.varies:
        return True
    poly = _affine(measure, prevalence)
    if poly is not None:
        # Along q the two coefficients are as p to -n; smoothing may multiply them, so each of its powers is looked at.
        powers = {e[3] for e in poly}
        pairs = [(poly.get((1, 0, 0, k), 0.0), poly.get((0, 1, 0, k), 0.0)) for k in powers]
        return all(abs(c * (1.0 - prevalence) + d * prevalence) <= 1e-14 * (abs(c) + abs(d)) for c, d in pairs)
    return bool(measure.args) and all(is_count_only(arg, prevalence) for arg in measure.args)


def mixed_sign(measure: Measure, prevalence: float) -> Sign:
    """The sign of ``d2 M / dP dN`` over all rates, or None if it changes or is not known.

    >>> from steelyard.measures import BAKLD, Accuracy, FBeta, MCC
    >>> [mixed_sign(m, 0.1) for m in (FBeta(1), FBeta(0.5), Accuracy(), BAKLD(), MCC())]
    [1, None, 0, 1, None]
    """
    if not measure.varies or _affine(measure, prevalence) is not None:
        return 0
    if _is_known(measure):
        return 1
    if is_count_only(measure, prevalence):
        # M = h(q) has d2 M / dP dN = -p n h''(q).
        return {"concave": 1, "convex": -1}.get(measure.curvature)
    if measure.is_identity:
        return mixed_sign(measure.args[0], prevalence)
    if isinstance(measure, Negative):
        return _times(-1, mixed_sign(measure.args[0], prevalence))
    if isinstance(measure, (Sum, Difference)):
        left, right = (mixed_sign(arg, prevalence) for arg in measure.args)
        return _plus(left, right if isinstance(measure, Sum) else _times(-1, right))
    if isinstance(measure, (Product, Quotient)):
        first, second = measure.args
        if not second.varies:
            return _times(_sign(second, prevalence), mixed_sign(first, prevalence))
        if not first.varies and isinstance(measure, Product):
            return _times(_sign(first, prevalence), mixed_sign(second, prevalence))
    return None


def _is_known(measure: Measure) -> bool:
    """Measures with ``d2 M / dP dN >= 0`` everywhere.

    F-beta with ``D = b^2 p + p P + n (1 - N)``: ``(1 + b^2) p n (b^2 p + n (1 - N) - p P) / D^3``, of one sign for b
    >= 1. Jaccard: ``p n / (p + n (1 - N))^2``. Means of ``P`` and ``N``: geometric ``1/(4 sqrt(P N))``, harmonic ``4 P
    N/(P + N)^3``; the minimum is supermodular; minus the quadratic mean ``r`` of the errors: ``(1-P)(1-N)/(4 r^3)``.
    """
    if isinstance(measure, FBeta):
        return measure.beta >= 1
    return isinstance(measure, (Jaccard, GMean, HMean, MinRate, QMean))


def _affine(measure: Measure, prevalence: float) -> Polynomial | None:
    """The polynomial at this prevalence if it is affine in the rates."""
    poly = measure.at(prevalence).polynomial
    return poly if poly is not None and all(e[0] + e[1] <= 1 for e, c in poly.items() if c != 0.0) else None


def _sign(measure: Measure, prevalence: float) -> int:
    value = float(measure(0.5, 0.5, prevalence))
    return (value > 0) - (value < 0)


def _times(sign: int, other: Sign) -> Sign:
    return None if other is None else sign * other


def _plus(left: Sign, right: Sign) -> Sign:
    if left is None or right is None or left * right < 0:
        return None
    return left or right
