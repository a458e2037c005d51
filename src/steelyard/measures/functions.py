"""Functions of measures: logarithm, powers, absolute value, extremes and means.

Same contract as in `arithmetic`. Add one by adding a class here, with an `_expand` in terms of atoms that the tape has
unless the tape gets an instruction for it, and a lower-case door at the end.
"""

from __future__ import annotations

import math
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from . import namespace, polynomial
from .arithmetic import Constant, Product
from .expression import Array, Measure, check_number
from .namespace import product, quotient
from .operators import as_measure
from .polynomial import Polynomial
from .rules import AFFINE, CONCAVE, CONVEX, EVERYTHING, UNKNOWN, Interval, Slope, through, times


class Log(Measure):
    """The natural logarithm: concave and rising; minus infinity at 0."""

    def __init__(self, x: Measure) -> None:
        self.args = (x,)

    def _value(self, *args: Array) -> Array:
        return namespace.log(args[0])

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return (namespace.inverse(args[0]),)

    def _interval(self, *args: Interval) -> Interval:
        return through(lambda x: math.log(x) if x > 0.0 else -math.inf, args[0])

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (1,)

    def _curvature(self, *args: Interval) -> str:
        return CONCAVE if args[0].low >= 0.0 else UNKNOWN

    def _spell(self) -> str:
        return f"log({self.args[0]!r})"


class Power(Measure):
    """``x ** exponent``; its slope and curvature follow from the exponent and the sign of x."""

    def __init__(self, x: Measure, exponent: float) -> None:
        self.args = (x,)
        self.exponent = float(check_number(exponent, "the exponent of a power"))

    def _key(self) -> tuple[Any, ...]:
        return (self.args[0], self.exponent)

    def _substitute(self, prevalence: float) -> Measure:
        return Power(self.args[0]._substitute(prevalence), self.exponent)

    def _value(self, *args: Array) -> Array:
        return namespace.power(args[0], self.exponent)

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return (self.exponent * namespace.power(args[0], self.exponent - 1.0),)

    def _interval(self, *args: Interval) -> Interval:
        x, c = args[0], self.exponent
        if c > 0.0 and x.low >= 0.0:
            return through(lambda v: v**c, x)
        if c > 0.0 and c % 2 == 0:
            return Interval(0.0 if x.sign is None else min(x.low**c, x.high**c), max(x.low**c, x.high**c))
        if c < 0.0 and x.low >= 0.0:
            return Interval(x.high**c if x.high > 0.0 else 0.0, x.low**c if x.low > 0.0 else math.inf)
        return Interval(1.0, 1.0) if c == 0.0 else EVERYTHING

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        x, c = args[0], self.exponent
        if c == 0.0:
            return (0,)
        if x.low >= 0.0:
            return (1 if c > 0.0 else -1,)
        if c > 0.0 and c % 2 == 1:
            return (1,)
        return (-1,) if c > 0.0 and c % 2 == 0 and x.high <= 0.0 else (None,)

    def _curvature(self, *args: Interval) -> str:
        c, non_negative = self.exponent, args[0].low >= 0.0
        if c in (0.0, 1.0):
            return AFFINE
        if c > 0.0 and c % 2 == 0:
            return CONVEX
        if not non_negative:
            return UNKNOWN
        return CONCAVE if 0.0 < c < 1.0 else CONVEX

    def _polynomial(self) -> Polynomial | None:
        x, c = self.args[0].polynomial, self.exponent
        if x is None or c not in (1.0, 2.0, 3.0, 4.0) or polynomial.degree(x) * c > polynomial.MAX_DEGREE:
            return None
        return reduce(polynomial.multiply, [x] * int(c))

    def _spell(self) -> str:
        word = {0.5: "sqrt", 2.0: "square"}.get(self.exponent)
        x = repr(self.args[0])
        return f"{word}({x})" if word else f"power({x}, {Constant(self.exponent)!r})"


class Absolute(Measure):
    def __init__(self, x: Measure) -> None:
        self.args = (x,)

    def _value(self, *args: Array) -> Array:
        return namespace.absolute(args[0])

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return (namespace.sign(args[0]),)

    def _interval(self, *args: Interval) -> Interval:
        x = args[0]
        return Interval(0.0 if x.sign is None else min(abs(x.low), abs(x.high)), max(abs(x.low), abs(x.high)))

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (args[0].sign,)

    def _curvature(self, *args: Interval) -> str:
        return CONVEX

    def _spell(self) -> str:
        return f"absolute({self.args[0]!r})"


class Nary(Measure):
    """What the functions of two or more arguments share."""

    word: ClassVar[str]

    def __init__(self, *args: Measure) -> None:
        if len(args) < 2:
            raise TypeError(f"{self.word} takes at least two arguments; got {len(args)}")
        self.args = args

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (1,) * len(args)

    def _spell(self) -> str:
        return f"{self.word}({', '.join(map(repr, self.args))})"


class Minimum(Nary):
    word = "minimum"

    def _value(self, *args: Array) -> Array:
        return reduce(namespace.minimum, args)

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        # The mean over the arguments that attain it: one of the supergradients.
        attained = [namespace.is_equal(x, value) for x in args]
        count = sum(attained)
        return tuple(a / count for a in attained)

    def _interval(self, *args: Interval) -> Interval:
        return Interval(min(x.low for x in args), min(x.high for x in args))

    def _curvature(self, *args: Interval) -> str:
        return CONCAVE


class Maximum(Nary):
    word = "maximum"

    def _value(self, *args: Array) -> Array:
        return reduce(namespace.maximum, args)

    _partials = Minimum._partials

    def _interval(self, *args: Interval) -> Interval:
        return Interval(max(x.low for x in args), max(x.high for x in args))

    def _curvature(self, *args: Interval) -> str:
        return CONVEX


class GeometricMean(Nary):
    """``(x1 ... xk) ** (1/k)``: concave and rising where no argument is negative."""

    word = "geometric_mean"

    def _value(self, *args: Array) -> Array:
        return namespace.power(reduce(product, args), 1.0 / len(args))

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        k = len(args)
        slope = namespace.power(reduce(product, args), 1.0 / k - 1.0) / k
        others = [reduce(product, args[:i] + args[i + 1 :], namespace.constant(1.0, args[0])) for i in range(k)]
        return tuple(product(slope, rest) for rest in others)

    def _interval(self, *args: Interval) -> Interval:
        if any(x.low < 0.0 for x in args):
            return EVERYTHING
        k = len(args)
        low, high = (reduce(times, [x[side] for x in args]) ** (1.0 / k) for side in (0, 1))
        return Interval(low, high)

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (1 if all(x.low >= 0.0 for x in args) else None,) * len(args)

    def _curvature(self, *args: Interval) -> str:
        return CONCAVE if all(x.low >= 0.0 for x in args) else UNKNOWN

    def _expand(self) -> Measure:
        return Power(reduce(Product, self.args), 1.0 / len(self.args))


class HarmonicMean(Measure):
    """``(w1 + w2) a b / (w1 b + w2 a)``: concave and rising where neither argument is negative; 0 at (0, 0)."""

    def __init__(self, a: Measure, b: Measure, weights: tuple[float, float] = (1.0, 1.0)) -> None:
        self.args = (a, b)
        self.weights = tuple(float(check_number(w, "a weight of harmonic_mean", low=0.0)) for w in weights)
        if len(self.weights) != 2 or sum(self.weights) == 0.0:
            raise ValueError(f"harmonic_mean takes two weights, not both 0; got {weights!r}")

    def _key(self) -> tuple[Any, ...]:
        return (*self.args, self.weights)

    def _substitute(self, prevalence: float) -> Measure:
        a, b = (arg._substitute(prevalence) for arg in self.args)
        return HarmonicMean(a, b, self.weights)  # type: ignore[arg-type]

    def _value(self, *args: Array) -> Array:
        (v, w), (a, b) = self.weights, args
        return quotient(product((v + w) * a, b), v * b + w * a)

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        (v, w), (a, b) = self.weights, args
        bottom = v * b + w * a
        return (v + w) * v * quotient(b, bottom) ** 2, (v + w) * w * quotient(a, bottom) ** 2

    def _interval(self, *args: Interval) -> Interval:
        if any(x.low < 0.0 for x in args):
            return EVERYTHING
        ends = [tuple(np.asarray(min(x[side], 1e300)) for x in args) for side in (0, 1)]
        return Interval(*(float(self._value(*end)) for end in ends))

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (1 if all(x.low >= 0.0 for x in args) else None,) * 2

    def _curvature(self, *args: Interval) -> str:
        return CONCAVE if all(x.low >= 0.0 for x in args) else UNKNOWN

    def _expand(self) -> Measure:
        (v, w), (a, b) = self.weights, self.args
        return ((v + w) * a * b) / (v * b + w * a)

    def _spell(self) -> str:
        a, b = map(repr, self.args)
        weights = "" if self.weights == (1.0, 1.0) else f", weights={self.weights!r}"
        return f"harmonic_mean({a}, {b}{weights})"


class QuadraticMean(Nary):
    """``sqrt((x1**2 + ... + xk**2) / k)``: a norm, so convex; rising in an argument that is never negative."""

    word = "quadratic_mean"

    def _value(self, *args: Array) -> Array:
        return namespace.sqrt(sum(x * x for x in args) / len(args))

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return tuple(quotient(x, len(args) * value) for x in args)

    def _interval(self, *args: Interval) -> Interval:
        square = [Power(as_measure(0.0), 2.0)._interval(x) for x in args]
        return Interval(*(math.sqrt(sum(s[side] for s in square) / len(args)) for side in (0, 1)))

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return tuple(x.sign for x in args)

    def _curvature(self, *args: Interval) -> str:
        return CONVEX

    def _expand(self) -> Measure:
        return Power(reduce(add, [x * x for x in self.args]) / len(self.args), 0.5)


def log(x: Any) -> Measure:
    """Natural logarithm; minus infinity at 0."""
    return Log(as_measure(x))


def power(x: Any, exponent: float) -> Measure:
    """``x ** exponent`` for a number `exponent`."""
    return Power(as_measure(x), exponent)


def sqrt(x: Any) -> Measure:
    """Square root."""
    return Power(as_measure(x), 0.5)


def square(x: Any) -> Measure:
    """``x ** 2``, convex whatever the sign of x."""
    return Power(as_measure(x), 2.0)


def absolute(x: Any) -> Measure:
    """Absolute value; the gradient at 0 is 0."""
    return Absolute(as_measure(x))


def minimum(*args: Any) -> Measure:
    """The smallest of two or more expressions, concave."""
    return Minimum(*map(as_measure, args))


def maximum(*args: Any) -> Measure:
    """The largest of two or more expressions, convex."""
    return Maximum(*map(as_measure, args))


def geometric_mean(*args: Any) -> Measure:
    """The geometric mean of two or more expressions, concave where none is negative."""
    return GeometricMean(*map(as_measure, args))


def harmonic_mean(a: Any, b: Any, weights: tuple[float, float] = (1.0, 1.0)) -> Measure:
    """The weighted harmonic mean ``(w1 + w2) / (w1/a + w2/b)``, concave where neither is negative; 0 at (0, 0)."""
    return HarmonicMean(as_measure(a), as_measure(b), weights)


def quadratic_mean(*args: Any) -> Measure:
    """The root of the mean square of two or more expressions, convex."""
    return QuadraticMean(*map(as_measure, args))
