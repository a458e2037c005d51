"""A measure of two rates, lifted to several classes: each class is looked at against the rest.

With K classes every class k has a TPR (its recall), a TNR and a prevalence of its own, those of "k against the rest". A
measure of several classes is an expression in all of them. It is built from measures of two rates by

    macro(f)      the mean of f over the classes          worst(f)    the least f of any class
    of(k, f)      f of the one class k                     micro(f)    f of all decisions pooled
    total(f)      the sum of f over the classes           geometric(f)  the geometric mean of f >= 0 over the classes

and may be combined by all operations that measures have: ``macro(FBeta(1)) + 0.1 * of("fraud", tpr)``. Two classes are
the case K = 2. Rates are arrays whose last axis has the classes. A lift makes an axis of length one of it, which goes
at the very end, so that values and derivatives of what is around a lift broadcast by themselves.

Range, slopes and curvature follow from those of f by the same rules: a mean and the rates of one class are affine in
what they lift, a minimum and a geometric mean concave and rising. Pooled rates are averages of the classes' rates.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .expression import Array, Gradient, Measure, Point
from .namespace import product
from .operators import as_measure
from .rules import AFFINE, CONCAVE, Interval, Slope


class Lift(Measure):
    """What takes the measure of every class to one number. `reduce` and `shares` work on the last axis and keep it."""

    word: ClassVar[str]

    def __init__(self, measure: Measure | float) -> None:
        inner = as_measure(measure)
        if inner.is_lifted:
            raise ValueError(f"{inner!r} is a measure of several classes already: {self.word} takes one of two rates")
        self.args = (inner,)

    @property
    def is_lifted(self) -> bool:
        return True

    def _reduce(self, values: Array, point: Point) -> Array:
        raise NotImplementedError

    def _shares(self, values: Array, value: Array, point: Point) -> Array:
        """The derivative of the number with respect to the measure of each class."""
        raise NotImplementedError

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        key = id(self)
        if key not in memo:
            with np.errstate(all="ignore"):
                memo[key] = self._reduce(_by_class(self.args[0]._evaluate(point, memo), point), point)
        return memo[key]

    def _differentiate(self, point: Point, memo: dict[int, tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        key = id(self)
        if key not in memo:
            values, d_tpr, d_tnr = (_by_class(part, point) for part in self.args[0]._differentiate(point, memo))
            with np.errstate(all="ignore"):
                value = self._reduce(values, point)
                shares = self._shares(values, value, point)
            memo[key] = value, product(shares, d_tpr), product(shares, d_tnr)
        return memo[key]

    def _interval(self, *args: Interval) -> Interval:
        return args[0]

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        return (1,)

    def _curvature(self, *args: Interval) -> str:
        return AFFINE

    def _substitute(self, prevalence: float) -> Measure:
        raise ValueError(f"{self!r} has a prevalence for each class: there is no single one to bind")

    def _expand(self) -> Measure:
        raise NotImplementedError(f"{self!r} has no tape: the compiled loops evaluate measures of two rates")

    def _spell(self) -> str:
        return f"{self.word}({self.args[0]!r})"


class Macro(Lift):
    word = "macro"
    adds_up = True

    def _reduce(self, values: Array, point: Point) -> Array:
        return np.asarray(values.mean(axis=-1, keepdims=True))

    def _shares(self, values: Array, value: Array, point: Point) -> Array:
        return np.full(values.shape, 1.0 / values.shape[-1])


class Total(Lift):
    word = "total"
    adds_up = True

    def _reduce(self, values: Array, point: Point) -> Array:
        return np.asarray(values.sum(axis=-1, keepdims=True))

    def _shares(self, values: Array, value: Array, point: Point) -> Array:
        return np.ones(values.shape)

    def _interval(self, *args: Interval) -> Interval:
        # Of any number of classes.
        low, high = args[0]
        return Interval(-np.inf if low < 0.0 else 2.0 * low, np.inf if high > 0.0 else 2.0 * high)


class Worst(Lift):
    word = "worst"

    def _reduce(self, values: Array, point: Point) -> Array:
        return np.asarray(values.min(axis=-1, keepdims=True))

    def _shares(self, values: Array, value: Array, point: Point) -> Array:
        least = values == value
        return np.asarray(least / least.sum(axis=-1, keepdims=True))

    def _curvature(self, *args: Interval) -> str:
        return CONCAVE


class Geometric(Lift):
    word = "geometric"

    def __init__(self, measure: Measure | float) -> None:
        super().__init__(measure)
        if self.args[0].range.low < 0.0:
            raise ValueError(f"{self.args[0]!r} may be negative, {self.args[0].range}: no geometric mean")

    def _reduce(self, values: Array, point: Point) -> Array:
        return np.asarray(np.exp(np.log(values).mean(axis=-1, keepdims=True)))

    def _shares(self, values: Array, value: Array, point: Point) -> Array:
        return np.asarray(np.where(values > 0.0, value / values, np.inf) / values.shape[-1])

    def _curvature(self, *args: Interval) -> str:
        return CONCAVE


class Of(Lift):
    word = "of"

    def __init__(self, label: Hashable, measure: Measure | float) -> None:
        super().__init__(measure)
        self.label = label.item() if isinstance(label, np.generic) else label

    def _key(self) -> tuple[Any, ...]:
        return self.label, self.args[0]

    def _place(self, point: Point) -> int:
        known = point.classes
        if self.label not in known:
            raise ValueError(f"{self!r}: there is no class {self.label!r}; the classes are {list(known)}")
        return known.index(self.label)

    def _reduce(self, values: Array, point: Point) -> Array:
        at = self._place(point)
        return values[..., at : at + 1]

    def _shares(self, values: Array, value: Array, point: Point) -> Array:
        return np.broadcast_to(np.arange(values.shape[-1]) == self._place(point), values.shape).astype(np.float64)

    def ratio(self) -> tuple[Measure, Measure] | None:
        inner = self.args[0].ratio()
        return None if inner is None else (Of(self.label, inner[0]), Of(self.label, inner[1]))

    def _spell(self) -> str:
        return f"of({self.label!r}, {self.args[0]!r})"


class Micro(Lift):
    """All decisions pooled: of K n decisions "is it k?", n are to be answered yes."""

    word = "micro"

    def _pooled(self, point: Point) -> tuple[Point, Array, Array]:
        p, q = point.prevalence, 1.0 - point.prevalence
        yes, no = (part / part.sum(axis=-1, keepdims=True) for part in (p, q))
        tpr, tnr = ((share * rate).sum(axis=-1, keepdims=True) for share, rate in ((yes, point.tpr), (no, point.tnr)))
        return point._replace(tpr=tpr, tnr=tnr, prevalence=p.mean(axis=-1, keepdims=True)), yes, no

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        return self.args[0]._evaluate(self._pooled(point)[0], {})

    def _differentiate(self, point: Point, memo: dict[int, tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        pooled, yes, no = self._pooled(point)
        value, d_tpr, d_tnr = self.args[0]._differentiate(pooled, {})
        return value, product(d_tpr, yes), product(d_tnr, no)


# -- evaluation -----------------------------------------------------------------------------------------------------
def value(measure: Measure, point: Point) -> Any:
    """A number for the rates of one sample, an array for more."""
    with np.errstate(all="ignore"):
        found = np.broadcast_to(measure._evaluate(point, {}), (*_outer(point), 1))[..., 0]
    return found.copy() if found.ndim else float(found)


def gradient(measure: Measure, point: Point) -> Gradient:
    with np.errstate(all="ignore"):
        _, d_tpr, d_tnr = measure._differentiate(point, {})
    shape = (*_outer(point), len(point.classes))
    return Gradient(*(np.broadcast_to(part, shape).copy() for part in (d_tpr, d_tnr)))


def point_of(
    measure: Measure, point: Point, classes: Sequence[Any] | None, confusion: ArrayLike | None = None
) -> Point:
    """Rates by class, checked; the labels are 0, 1, ... unless given."""
    stray = _outside(measure)
    if stray is not None:
        raise ValueError(
            f"{measure!r} is about several classes, and {stray!r} in it does not say which: macro({stray!r}), "
            f"of(label, {stray!r}), ..."
        )
    shape = np.broadcast_shapes(point.tpr.shape, point.tnr.shape, point.prevalence.shape)
    if not shape or shape[-1] < 2:
        raise ValueError(f"{measure!r} takes rates by class, the last axis having two or more; got shape {shape}")
    if classes is not None and len(classes) != shape[-1]:
        raise ValueError(f"rates of {shape[-1]} classes and {len(classes)} labels: {list(classes)}")
    tpr, tnr, prevalence = (np.broadcast_to(part, shape) for part in (point.tpr, point.tnr, point.prevalence))
    labels = tuple(range(shape[-1]) if classes is None else classes)
    cells = None if confusion is None else np.asarray(confusion, dtype=np.float64)
    if cells is not None and cells.shape[-2:] != (shape[-1], shape[-1]):
        raise ValueError(f"confusion needs {shape[-1]} rows and columns, true by called; got shape {cells.shape}")
    return Point(tpr, tnr, prevalence, point.smoothing, labels, cells)


def _outer(point: Point) -> tuple[int, ...]:
    return point.tpr.shape[:-1]


def _by_class(part: Array | float, point: Point) -> Array:
    return np.broadcast_to(part, point.tpr.shape)


def _outside(node: Measure) -> Measure | None:
    """A rate or a prevalence that no lift is around."""
    if isinstance(node, Lift):
        return None
    if not node.args:
        return node if node.varies or node.needs_prevalence else None
    return next((found for found in map(_outside, node.args) if found is not None), None)


# -- the doors ------------------------------------------------------------------------------------------------------
def macro(measure: Measure) -> Macro:
    """The mean over all classes of a measure of each class against the rest.

    >>> import steelyard.measures as m
    >>> round(m.macro(m.FBeta(1)).score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    0.7778
    """
    return Macro(measure)


def worst(measure: Measure) -> Worst:
    """The least value of any class, each against the rest.

    >>> import steelyard.measures as m
    >>> m.worst(m.Recall()).score(["a", "b", "c", "c"], ["a", "b", "c", "b"])
    0.5
    """
    return Worst(measure)


def micro(measure: Measure) -> Micro:
    """A measure of all decisions "is it this class?" pooled; with one label a row, `micro(Recall())` is accuracy.

    >>> import steelyard.measures as m
    >>> m.micro(m.Recall()).score(["a", "b", "c", "c"], ["a", "b", "c", "b"])
    0.75
    """
    return Micro(measure)


def of(label: Hashable, measure: Measure) -> Of:
    """A measure or a rate of one class against the rest, in an expression or a constraint.

    >>> import steelyard.measures as m
    >>> m.of("fraud", m.fpr) <= 0.01
    of('fraud', fpr) <= 0.01
    """
    return Of(label, measure)


def total(measure: Measure) -> Total:
    """The sum over all classes.

    >>> import steelyard.measures as m
    >>> m.total(m.prevalence * m.tpr).score(["a", "b", "c", "c"], ["a", "b", "c", "b"])
    0.75
    """
    return Total(measure)


def geometric(measure: Measure) -> Geometric:
    """The geometric mean over all classes: 0 as soon as one class has 0.

    >>> import steelyard.measures as m
    >>> round(m.geometric(m.Recall()).score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    0.7937
    """
    return Geometric(measure)
