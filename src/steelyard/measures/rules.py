"""The composition rules: range, monotonicity and curvature of a measure from those of its parts. They stand here, once.

Given a tree of atoms over ``tpr`` and ``tnr``, with ``prevalence`` and ``smoothing`` as parameters, each question is
answered for *every* value of the parameters:

- `interval`: an interval that holds all values over the unit square. Polynomials by their Bernstein coefficients,
  everything else by interval arithmetic, cut with the range that a named measure declares.
- `slope`: +1 non-decreasing, -1 non-increasing, 0 constant, None unknown, in one of the two rates. Polynomials by the
  sign of the derivative, ratios of polynomials of degree one with a positive denominator by the sign of
  ``a' b - a b'``, the rest by the chain rule.
- `curvature`: the rules of disciplined convex programming. An atom that is concave on the *range* of its arguments
  stays concave when each argument is affine, or concave where the atom rises, or convex where it falls. A ratio
  ``f/g`` with ``g >= 0`` is pseudo-linear if both are affine; pseudo-concave if f is concave and g affine, or f >= 0
  concave and g convex, or f <= 0 and both concave (Cambini & Martein 2009, ch. 3). Where g vanishes no claim is made.

Ranges matter: without them ``harmonic_mean(a, b)`` of a possibly negative ``b`` would be called concave, wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import polynomial

if TYPE_CHECKING:
    from .expression import Measure

CONSTANT, AFFINE, CONCAVE, CONVEX = "constant", "affine", "concave", "convex"
PSEUDO_LINEAR, PSEUDO_CONCAVE, UNKNOWN = "pseudo-linear", "pseudo-concave", "unknown"

IS_AFFINE = frozenset({CONSTANT, AFFINE})
IS_CONCAVE = frozenset({CONSTANT, AFFINE, CONCAVE})
IS_CONVEX = frozenset({CONSTANT, AFFINE, CONVEX})

Slope = int | None


class Interval(NamedTuple):
    low: float
    high: float

    @property
    def sign(self) -> Slope:
        """+1 if never negative, -1 if never positive, 0 if always zero, None otherwise."""
        if self.low == 0.0 == self.high:
            return 0
        return 1 if self.low >= 0.0 else -1 if self.high <= 0.0 else None

    def cut(self, other: Interval) -> Interval:
        return Interval(max(self.low, other.low), min(self.high, other.high))

    def __str__(self) -> str:
        return f"[{self.low:.4g}, {self.high:.4g}]"


EVERYTHING = Interval(-math.inf, math.inf)


def times(a: float, b: float) -> float:
    """A product in which zero wins over infinity, as it does in the measures themselves."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def hull(values: Sequence[float]) -> Interval:
    return Interval(min(values), max(values))


def through(function: Callable[[float], float], x: Interval) -> Interval:
    """The range of a non-decreasing function of one argument."""
    return Interval(function(x.low), function(x.high))


def interval(node: Measure) -> Interval:
    found = node._interval(*(arg.range for arg in node.args))
    if node.polynomial is not None:
        found = found.cut(Interval(*polynomial.bounds(node.polynomial)))
    found = found if node.declared is None else found.cut(node.declared)
    return Interval(found.low + 0.0, found.high + 0.0)  # no negative zeros to look at


def product_of_slopes(outer: Slope, inner: Slope) -> Slope:
    if inner == 0 or outer == 0:
        return 0
    return None if outer is None or inner is None else outer * inner


def sum_of_slopes(slopes: Sequence[Slope]) -> Slope:
    known = {s for s in slopes if s != 0}
    if not known:
        return 0
    return known.pop() if len(known) == 1 else None


def slope(node: Measure, axis: int) -> Slope:
    if node.rises:
        return 1
    if node.polynomial is not None:
        return Interval(*polynomial.bounds(polynomial.derivative(node.polynomial, axis))).sign
    if len(node.args) == 1 and node.is_identity:
        return node.args[0].slope(axis)
    ratio = node.ratio()
    if ratio is not None:
        found = _slope_of_ratio(*ratio, axis)
        if found is not None:
            return found
    outer = node._slopes(*(arg.range for arg in node.args))
    return sum_of_slopes([product_of_slopes(o, arg.slope(axis)) for o, arg in zip(outer, node.args, strict=True)])


def _slope_of_ratio(numerator: Measure, denominator: Measure, axis: int) -> Slope:
    a, b = numerator.polynomial, denominator.polynomial
    if (
        a is None
        or b is None
        or denominator.range.low <= 0.0
        or max(polynomial.degree(a, axis), polynomial.degree(b, axis)) > 1
    ):
        return None
    left = polynomial.multiply(polynomial.derivative(a, axis), b)
    right = polynomial.multiply(a, polynomial.derivative(b, axis))
    return Interval(*polynomial.bounds(polynomial.add(left, right, -1.0))).sign


def curvature(node: Measure) -> str:
    if len(node.args) == 1 and node.is_identity:
        return node.args[0].curvature
    if not node.varies:
        return CONSTANT
    if node.polynomial is not None and polynomial.degree(node.polynomial, 0, 1) <= 1:
        return AFFINE
    by_parts = _curvature_by_parts(node)
    if by_parts in IS_CONCAVE:
        return by_parts
    ratio = node.ratio()
    found = UNKNOWN if ratio is None else _curvature_of_ratio(*ratio)
    if found == UNKNOWN:
        found = _curvature_of_scaled(node)
    return by_parts if found == UNKNOWN else found


def _curvature_by_parts(node: Measure) -> str:
    ranges = [arg.range for arg in node.args]
    outer = node._curvature(*ranges)
    slopes = node._slopes(*ranges)
    parts = [(arg.curvature, s) for arg, s in zip(node.args, slopes, strict=True)]

    def keeps(same: frozenset[str], opposite: frozenset[str]) -> bool:
        return all(c in IS_AFFINE or (s == 1 and c in same) or (s == -1 and c in opposite) for c, s in parts)

    if outer == AFFINE and all(c in IS_AFFINE for c, _ in parts):
        return AFFINE
    if outer in IS_CONCAVE and keeps(IS_CONCAVE, IS_CONVEX):
        return CONCAVE
    if outer in IS_CONVEX and keeps(IS_CONVEX, IS_CONCAVE):
        return CONVEX
    return UNKNOWN


def _curvature_of_ratio(numerator: Measure, denominator: Measure) -> str:
    if denominator.range.sign == -1:
        numerator, denominator = -numerator, -denominator
    if denominator.range.sign != 1:
        return UNKNOWN
    f, g, sign = numerator.curvature, denominator.curvature, numerator.range.sign
    if f in IS_AFFINE and g in IS_AFFINE:
        return PSEUDO_LINEAR
    if f in IS_CONCAVE and (g in IS_AFFINE or (sign == 1 and g in IS_CONVEX) or (sign == -1 and g in IS_CONCAVE)):
        return PSEUDO_CONCAVE
    return UNKNOWN


def _curvature_of_scaled(node: Measure) -> str:
    """``a f + b`` with numbers a > 0 and b is pseudo-concave when f is, and pseudo-linear for any a; a sum of such is
    neither."""
    if node.adds_up:
        return UNKNOWN
    ranges = [arg.range for arg in node.args]
    varying = [(arg.curvature, s) for arg, s in zip(node.args, node._slopes(*ranges), strict=True) if arg.varies]
    if node._curvature(*ranges) != AFFINE or len(varying) != 1:
        return UNKNOWN
    inner, s = varying[0]
    kept = (inner == PSEUDO_LINEAR and s in (1, -1)) or (inner == PSEUDO_CONCAVE and s == 1)
    return inner if kept else UNKNOWN


def smallest_offender(node: Measure) -> Measure | None:
    """The smallest subexpression whose curvature the rules cannot tell, though they can for its parts; None if none."""
    for arg in node.args:
        found = smallest_offender(arg)
        if found is not None:
            return found
    return node if node.curvature == UNKNOWN else None
