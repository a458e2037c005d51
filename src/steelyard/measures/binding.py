"""Nodes that are their one argument: under another name, with a declared range, or with the prevalence bound."""

from __future__ import annotations

from typing import Any

from .expression import Array, Measure, check_number
from .polynomial import Polynomial
from .rules import AFFINE, EVERYTHING, Interval, Slope


class Renamed(Measure):
    """A node that is its one argument, under another name or with a declared range."""

    is_identity = True

    def _value(self, *args: Array) -> Array:
        return args[0]

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        return (1.0,)

    def _interval(self, *args: Interval) -> Interval:
        return args[0]

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (1,)

    def _curvature(self, *args: Interval) -> str:
        return AFFINE

    def _polynomial(self) -> Polynomial | None:
        return self.args[0].polynomial

    def _expand(self) -> Measure:
        return self.args[0]

    def ratio(self) -> tuple[Measure, Measure] | None:
        return self.args[0].ratio()

    def _spell(self) -> str:
        return repr(self.args[0])


class Declared(Renamed):
    """What a named measure is once its prevalence is bound: its expression, with what was known about it."""

    def __init__(self, x: Measure, low: float, high: float, rises: bool = False) -> None:
        self.args = (x,)
        self.declared = Interval(low, high)
        self.rises = rises

    def _key(self) -> tuple[Any, ...]:
        return (self.args[0], *(self.declared or EVERYTHING), self.rises)

    def _substitute(self, prevalence: float) -> Measure:
        return self  # nothing is left to bind


class At(Renamed):
    """A measure with the prevalence bound."""

    def __init__(self, measure: Measure, prevalence: float) -> None:
        self.measure = measure
        self.prevalence = float(check_number(prevalence, "prevalence", low=0.0, high=1.0))
        self.args = (measure._substitute(self.prevalence),)

    def _key(self) -> tuple[Any, ...]:
        return (self.measure, self.prevalence)

    def _substitute(self, prevalence: float) -> Measure:
        return self

    def _spell(self) -> str:
        inner = repr(self.measure)
        return f"{inner if self.measure.precedence == 9 else f'({inner})'}.at({self.prevalence!r})"
