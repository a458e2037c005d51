"""The operators that build larger expressions and constraints out of measures and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .constraints import Constraint
    from .expression import Measure


def as_measure(value: Any) -> Measure:
    """A number becomes a constant; a measure stays what it is."""
    from .arithmetic import Constant

    if isinstance(value, Operators):
        return value  # type: ignore[return-value]
    if isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return Constant(float(value))
    raise TypeError(f"a measure is built from measures and numbers; got {value!r} of type {type(value).__name__}")


def _binary(atom: str, left: Any, right: Any) -> Measure:
    from . import arithmetic

    built: Measure = getattr(arithmetic, atom)(as_measure(left), as_measure(right))
    return built


def _compare(left: Any, sense: str, right: Any) -> Constraint:
    from .constraints import Constraint

    return Constraint(as_measure(left), sense, as_measure(right))


class Operators:
    """Arithmetic gives measures, ``<=`` and ``>=`` give constraints."""

    __array_ufunc__ = None  # numpy scalars and arrays leave the arithmetic to us

    def __add__(self, other: Any) -> Measure:
        return _binary("Sum", self, other)

    def __radd__(self, other: Any) -> Measure:
        return _binary("Sum", other, self)

    def __sub__(self, other: Any) -> Measure:
        return _binary("Difference", self, other)

    def __rsub__(self, other: Any) -> Measure:
        return _binary("Difference", other, self)

    def __mul__(self, other: Any) -> Measure:
        return _binary("Product", self, other)

    def __rmul__(self, other: Any) -> Measure:
        return _binary("Product", other, self)

    def __truediv__(self, other: Any) -> Measure:
        return _binary("Quotient", self, other)

    def __rtruediv__(self, other: Any) -> Measure:
        return _binary("Quotient", other, self)

    def __neg__(self) -> Measure:
        from .arithmetic import Negative

        return Negative(as_measure(self))

    def __pow__(self, exponent: float) -> Measure:
        from .functions import power

        return power(self, exponent)

    def __abs__(self) -> Measure:
        from .functions import absolute

        return absolute(self)

    def __le__(self, other: Any) -> Constraint:
        return _compare(self, "<=", other)

    def __ge__(self, other: Any) -> Constraint:
        return _compare(self, ">=", other)

    def __lt__(self, other: Any) -> Constraint:
        raise TypeError("a strict inequality has no closed feasible set; write <= instead of <")

    def __gt__(self, other: Any) -> Constraint:
        raise TypeError("a strict inequality has no closed feasible set; write >= instead of >")
