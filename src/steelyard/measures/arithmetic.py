"""Variables, numbers and the four operations.

Each is a function of its arguments' values that gives its value, its partial derivatives, its range and slopes on
given ranges of the arguments, and its curvature there; `rules` composes these. A ratio stays a ratio under scaling,
sign and the addition of other terms (`ratio`), which is how a constraint is cleared of its denominator and how SCAN
finds numerator and denominator.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from . import namespace, polynomial, rules
from .expression import Array, Measure, Point, check_number
from .namespace import product, quotient
from .polynomial import Polynomial
from .rules import AFFINE, CONCAVE, CONVEX, EVERYTHING, UNKNOWN, Interval, Slope, hull, times


class Variable(Measure):
    """One of the four inputs: two rates, and two parameters that are given when the measure is evaluated."""

    def __init__(self, name: str) -> None:
        if name not in polynomial.VARIABLES:
            raise ValueError(f"a variable is one of {', '.join(polynomial.VARIABLES)}; got {name!r}")
        self.name = name
        self.axis = polynomial.VARIABLES.index(name)
        self.varies = self.axis < 2
        self.needs_prevalence = name == "prevalence"

    def _key(self) -> tuple[Any, ...]:
        return (self.name,)

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        return point[self.axis]

    def _differentiate(self, point: Point, memo: Any) -> tuple[Array, Array, Array]:
        value = point[self.axis]
        if namespace.is_tensor(point.tpr):
            return value, float(self.axis == 0), float(self.axis == 1)  # type: ignore[return-value]
        return value, np.full_like(value, self.axis == 0), np.full_like(value, self.axis == 1)

    def _interval(self, *args: Interval) -> Interval:
        return Interval(0.0, polynomial.UPPER[self.axis])

    def _polynomial(self) -> Polynomial:
        return polynomial.variable(self.axis)

    def _substitute(self, prevalence: float) -> Measure:
        return Constant(prevalence) if self.name == "prevalence" else self

    def _spell(self) -> str:
        return self.name


class Constant(Measure):
    """A number."""

    def __init__(self, number: float) -> None:
        self.number = float(check_number(number, "a constant in a measure"))
        self.precedence = 9 if self.number >= 0 else 3

    def _key(self) -> tuple[Any, ...]:
        return (self.number,)

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        return namespace.constant(self.number, point.tpr)

    def _differentiate(self, point: Point, memo: Any) -> tuple[Array, Array, Array]:
        zero = namespace.constant(0.0, point.tpr)
        return namespace.constant(self.number, point.tpr), zero, zero

    def _value(self, *args: Array) -> Array:
        return np.asarray(self.number)

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return ()

    def _interval(self, *args: Interval) -> Interval:
        return Interval(self.number, self.number)

    def _polynomial(self) -> Polynomial:
        return polynomial.constant(self.number)

    def _substitute(self, prevalence: float) -> Measure:
        return self

    def _spell(self) -> str:
        return repr(int(self.number)) if self.number.is_integer() and abs(self.number) < 1e15 else repr(self.number)


class Binary(Measure):
    """What the four operations share."""

    symbol: ClassVar[str]

    def __init__(self, left: Measure, right: Measure) -> None:
        self.args = (left, right)

    def _spell(self) -> str:
        left, right = (
            f"({a!r})" if a.precedence < need else repr(a) for a, need in zip(self.args, self._needs(), strict=True)
        )
        return f"{left} {self.symbol} {right}"

    def _needs(self) -> tuple[int, int]:
        # Equal precedence on the right is bracketed, so that the text evaluates back to this very tree.
        own = 1 if self.symbol in "+-" else 2
        return own, own + 1


class Sum(Binary):
    symbol, precedence = "+", 1

    def _value(self, *args: Array) -> Array:
        return args[0] + args[1]

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return 1.0, 1.0

    def _interval(self, *args: Interval) -> Interval:
        return Interval(args[0].low + args[1].low, args[0].high + args[1].high)

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return 1, 1

    def _curvature(self, *args: Interval) -> str:
        return AFFINE

    def _polynomial(self) -> Polynomial | None:
        a, b = self.args[0].polynomial, self.args[1].polynomial
        return None if a is None or b is None else polynomial.add(a, b)

    def ratio(self) -> tuple[Measure, Measure] | None:
        return _ratio_of_sum(self.args[0], self.args[1], 1)


class Difference(Binary):
    symbol = "-"

    def _value(self, *args: Array) -> Array:
        return args[0] - args[1]

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return 1.0, -1.0

    def _interval(self, *args: Interval) -> Interval:
        return Interval(args[0].low - args[1].high, args[0].high - args[1].low)

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return 1, -1

    def _curvature(self, *args: Interval) -> str:
        return AFFINE

    def _polynomial(self) -> Polynomial | None:
        a, b = self.args[0].polynomial, self.args[1].polynomial
        return None if a is None or b is None else polynomial.add(a, b, -1.0)

    def ratio(self) -> tuple[Measure, Measure] | None:
        return _ratio_of_sum(self.args[0], self.args[1], -1)

    @property
    def precedence(self) -> int:  # type: ignore[override]
        return 9 if self in ALIASES else 1

    def _spell(self) -> str:
        return ALIASES.get(self) or super()._spell()


class Product(Binary):
    symbol, precedence = "*", 2

    def _value(self, *args: Array) -> Array:
        return product(*args)

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return args[1], args[0]

    def _interval(self, *args: Interval) -> Interval:
        return hull([times(x, y) for x in args[0] for y in args[1]])

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return args[1].sign, args[0].sign

    def _curvature(self, *args: Interval) -> str:
        # Linear in one argument when the other does not vary; the factor's sign is in the slopes.
        return AFFINE if not all(arg.varies for arg in self.args) else UNKNOWN

    def _polynomial(self) -> Polynomial | None:
        a, b = self.args[0].polynomial, self.args[1].polynomial
        if a is None or b is None or polynomial.degree(a) + polynomial.degree(b) > polynomial.MAX_DEGREE:
            return None  # before it is multiplied out, which takes minutes where there are thousands of terms
        return polynomial.multiply(a, b)

    def ratio(self) -> tuple[Measure, Measure] | None:
        left, right = self.args
        a, b = left.ratio(), right.ratio()
        if a is not None and b is None:
            return a[0] * right, a[1]
        return (left * b[0], b[1]) if b is not None and a is None else None


class Quotient(Binary):
    symbol, precedence = "/", 2

    def _value(self, *args: Array) -> Array:
        return quotient(*args)

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return quotient(1.0, args[1]), -quotient(value, args[1])

    def _interval(self, *args: Interval) -> Interval:
        x, y = args
        if y.low > 0.0 or y.high < 0.0:
            return hull([times(a, 1.0 / b) if math.isfinite(b) else 0.0 for a in x for b in y])
        if _sign_below(y) is None or x.sign is None:
            return EVERYTHING
        # The denominator may vanish: infinity of the numerator's sign, and 0 for 0/0.
        return Interval(0.0 if x.sign >= 0 else -math.inf, math.inf if x.sign > 0 else 0.0)

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        x, y = args
        below = _sign_below(y)
        return below, None if below is None else rules.product_of_slopes(-1, x.sign)

    def _curvature(self, *args: Interval) -> str:
        x, y = args
        below = _sign_below(y)
        if below is None:
            return UNKNOWN
        if not self.args[1].varies:
            return AFFINE
        if not self.args[0].varies and x.sign is not None:
            return CONVEX if x.sign * below >= 0 else CONCAVE
        return UNKNOWN

    def _polynomial(self) -> Polynomial | None:
        a, b = self.args[0].polynomial, self.args[1].polynomial
        if a is None or b is None or polynomial.degree(b) or b.get((0, 0, 0, 0), 0.0) == 0.0:
            return None
        return polynomial.multiply(a, polynomial.constant(1.0 / b[0, 0, 0, 0]))

    def ratio(self) -> tuple[Measure, Measure] | None:
        top, bottom = self.args
        if bottom.varies:
            return (top, bottom) if top.ratio() is None and bottom.ratio() is None else None
        inner = top.ratio()
        return None if inner is None else (inner[0] / bottom, inner[1])


def _sign_below(denominator: Interval) -> Slope:
    """The sign of a denominator. Zero counts as positive, since 1/0 is plus infinity: a negative one must avoid it."""
    return 1 if denominator.low >= 0.0 else -1 if denominator.high < 0.0 else None


def _ratio_of_sum(left: Measure, right: Measure, sign: int) -> tuple[Measure, Measure] | None:
    a, b = left.ratio(), right.ratio()
    if a is None and b is None:
        return None
    if a is not None and b is not None:
        top = a[0] + b[0] if sign > 0 else a[0] - b[0]
        return (top, a[1]) if a[1] == b[1] else None
    denominator = a[1] if a is not None else b[1]  # type: ignore[index]
    top_left = a[0] if a is not None else left * denominator
    top_right = b[0] if b is not None else right * denominator
    return (top_left + top_right if sign > 0 else top_left - top_right), denominator


class Negative(Measure):
    precedence = 3

    def __init__(self, x: Measure) -> None:
        self.args = (x,)

    def _value(self, *args: Array) -> Array:
        return -args[0]

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return (-1.0,)

    def _interval(self, *args: Interval) -> Interval:
        return Interval(-args[0].high, -args[0].low)

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (-1,)

    def _curvature(self, *args: Interval) -> str:
        return AFFINE

    def _polynomial(self) -> Polynomial | None:
        a = self.args[0].polynomial
        return None if a is None else polynomial.multiply(a, polynomial.constant(-1.0))

    def ratio(self) -> tuple[Measure, Measure] | None:
        inner = self.args[0].ratio()
        return None if inner is None else (-inner[0], inner[1])

    def _spell(self) -> str:
        x = self.args[0]
        return f"-({x!r})" if x.precedence < 9 else f"-{x!r}"


tpr, tnr, prevalence, smoothing = map(Variable, polynomial.VARIABLES)

ALIASES: dict[Measure, str] = {}
fpr, fnr = Difference(Constant(1.0), tnr), Difference(Constant(1.0), tpr)
ALIASES.update({fpr: "fpr", fnr: "fnr"})
