"""A measure is an expression in ``tpr`` and ``tnr``, with ``prevalence`` a parameter that is bound at training time.

`Measure` is what all expressions have in common: operators that build larger ones, value and gradient over arrays of
rates, and the analysis (`range`, `slope`, `curvature`) that decides which solver may be used. An expression is an
immutable tree. Each atom answers the same few questions about itself as a function of its arguments; the
composition is done in `rules`.

Two conventions hold everywhere, in the tree and in the tape: **0/0 is 0** and **0 times infinity is 0**. So precision
is 0 when nothing is called positive, and ``p log q`` is 0 when ``p`` is.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import namespace, pieces, polynomial, rules
from .namespace import is_tensor, product
from .operators import Operators
from .polynomial import Polynomial
from .rules import Interval, Slope

if TYPE_CHECKING:
    from .tape import Tape

Array = NDArray[np.float64]

# The sign of a slope, in words.
SLOPE_WORDS = {1: "non-decreasing", -1: "non-increasing", 0: "constant", None: "unknown"}


class Point(NamedTuple):
    """Where a measure is evaluated."""

    tpr: Array
    tnr: Array
    prevalence: Array
    smoothing: Array
    classes: tuple[Any, ...] = ()  # the labels along the last axis, for measures of several classes
    confusion: Array | None = None  # shares of rows by true and called class, for tables of costs
    given: dict[Measure, Array] | None = None  # values of nodes that rates do not decide: means over rows


class Gradient(NamedTuple):
    """Derivatives with respect to the two rates (of every class, for a measure of several)."""

    tpr: Any
    tnr: Any


class Measure(Operators):
    """An expression in the two rates, higher is better, built from `tpr`, `tnr`, the atoms and the named measures."""

    args: tuple[Measure, ...] = ()
    is_identity = False  # a node that only gives its one argument a name or a bound
    adds_up = False  # a node whose one argument stands for the measures of several classes, which are added
    declared: Interval | None = None  # a range known to be tighter than the rules find
    rises = False  # known to be non-decreasing in both rates, where the rules cannot see past 0/0
    precedence = 9  # of the spelling: 1 sum, 2 product, 3 sign, 9 a name or a call

    # -- what an atom says about itself -------------------------------------------------------------------------
    def _key(self) -> tuple[Any, ...]:
        """The constructor's arguments: what equality, hash and pickle go by."""
        return self.args

    def _value(self, *args: Array) -> Array:
        raise NotImplementedError

    def _partials(self, value: Array, *args: Array) -> tuple[Array | float, ...]:
        raise NotImplementedError

    def _interval(self, *args: Interval) -> Interval:
        raise NotImplementedError

    def _slopes(self, *args: Interval) -> tuple[Slope, ...]:
        """Monotonicity in each argument, given the arguments' ranges."""
        raise NotImplementedError

    def _curvature(self, *args: Interval) -> str:
        """Curvature as a function of the arguments, on their ranges: affine, concave, convex or unknown."""
        return rules.UNKNOWN

    def _polynomial(self) -> Polynomial | None:
        return None

    def _substitute(self, prevalence: float) -> Measure:
        return type(self)(*(arg._substitute(prevalence) for arg in self.args))

    def _expand(self) -> Measure:
        """The same in terms of the tape's primitives; itself if it is one."""
        return self

    def _spell(self) -> str:
        raise NotImplementedError

    def _changed(self, **attributes: Any) -> Measure:
        """A copy with other arguments or another declared range; what was found out about this one stays here."""
        other = copy.copy(self)
        for name in list(vars(other)):
            if isinstance(getattr(type(self), name, None), cached_property):
                delattr(other, name)
        for name, value in attributes.items():
            setattr(other, name, value)
        return other

    def ratio(self) -> tuple[Measure, Measure] | None:
        """``(numerator, denominator)`` if this is a ratio of two measures that vary with the rates, else None.

        >>> from steelyard.measures import FBeta
        >>> numerator, denominator = FBeta(1).ratio()
        >>> numerator.curvature, denominator.curvature
        ('affine', 'affine')
        """
        return None

    # -- analysis -----------------------------------------------------------------------------------------------
    @cached_property
    def polynomial(self) -> Polynomial | None:
        found = self._polynomial()
        return None if found is None or polynomial.degree(found) > polynomial.MAX_DEGREE else found

    @cached_property
    def range(self) -> Interval:
        """An interval ``(low, high)`` that holds all values over rates in [0, 1] and every prevalence.

        >>> from steelyard.measures import tpr, tnr
        >>> (tpr - tnr).range
        Interval(low=-1.0, high=1.0)
        """
        return rules.interval(self)

    @cached_property
    def varies(self) -> bool:
        """Whether the value depends on the rates at all."""
        return any(arg.varies for arg in self.args)

    @cached_property
    def is_lifted(self) -> bool:
        """Whether it is about several classes, each against the rest (`macro`, `of`, ...), and not about two rates.

        >>> from steelyard.measures import FBeta, macro
        >>> FBeta(1).is_lifted, macro(FBeta(1)).is_lifted
        (False, True)
        """
        return any(arg.is_lifted for arg in self.args)

    @cached_property
    def _slope_by_axis(self) -> tuple[Slope, Slope]:
        return rules.slope(self, 0), rules.slope(self, 1)

    def slope(self, axis: int) -> Slope:
        return self._slope_by_axis[axis]

    @property
    def monotonicity(self) -> dict[str, str]:
        """How the measure moves with each rate, for every prevalence.

        >>> from steelyard.measures import FBeta
        >>> FBeta(1).monotonicity
        {'tpr': 'non-decreasing', 'tnr': 'non-decreasing'}
        """
        return {"tpr": SLOPE_WORDS[self.slope(0)], "tnr": SLOPE_WORDS[self.slope(1)]}

    @property
    def is_monotone(self) -> bool:
        """Non-decreasing in both rates: better classification can never lower the measure."""
        return self.slope(0) in (0, 1) and self.slope(1) in (0, 1)

    @cached_property
    def curvature(self) -> str:
        """One of ``constant affine concave convex pseudo-linear pseudo-concave unknown``, in the two rates.

        >>> from steelyard.measures import BalancedAccuracy, NegKLD, NSS
        >>> (0.3 * BalancedAccuracy() + 0.7 * NegKLD()).curvature
        'concave'
        >>> (BalancedAccuracy() / (2 - NSS())).curvature
        'pseudo-concave'
        """
        return rules.curvature(self)

    @cached_property
    def needs_prevalence(self) -> bool:
        return any(arg.needs_prevalence for arg in self.args)

    @cached_property
    def needs_confusion(self) -> bool:
        """Whether the rates of the classes do not decide it: see `costs`."""
        return any(arg.needs_confusion for arg in self.args)

    def explain(self) -> str:
        """The tree with value range, monotonicity and curvature at each node, as text to print."""
        from .explain import explain

        return explain(self)

    # -- evaluation ---------------------------------------------------------------------------------------------
    def __call__(
        self,
        tpr: ArrayLike,
        tnr: ArrayLike,
        prevalence: ArrayLike | None = None,
        *,
        sample_size: float | None = None,
        classes: Sequence[Any] | None = None,
        confusion: ArrayLike | None = None,
        given: dict[Measure, Array] | None = None,
    ) -> Any:
        """The value at given rates; arrays broadcast. `sample_size` smooths `NegKLD` by ``eps = 1/(2 sample_size)``.

        For a measure of several classes the last axis has the classes, with the labels `classes` (0, 1, ... if None).
        `confusion` has the shares of rows by true and called class, which a table of costs may need, and `given` the
        values of what no rates decide (`by_row`).

        >>> from steelyard.measures import FBeta
        >>> round(FBeta(1)(tpr=0.8, tnr=0.9, prevalence=0.1), 6)
        0.592593
        """
        if hasattr(tpr, "predict"):  # scoring=measure: (estimator, X, y)
            return self.scorer()(tpr, tnr, prevalence)
        if is_tensor(tpr) or is_tensor(tnr):
            point = self._tensors(tpr, tnr, prevalence, sample_size)
            return _expanded(self._evaluate(point, {}), point)
        point = self._point(tpr, tnr, prevalence, sample_size)
        if self.is_lifted:
            from . import lifted

            return lifted.value(self, lifted.point_of(self, point, classes, confusion)._replace(given=given))
        with np.errstate(all="ignore"):
            return pieces.value(self, point)

    def gradient(
        self,
        tpr: ArrayLike,
        tnr: ArrayLike,
        prevalence: ArrayLike | None = None,
        *,
        sample_size: float | None = None,
        classes: Sequence[Any] | None = None,
    ) -> Gradient:
        """Derivatives ``(d/d tpr, d/d tnr)``; at a kink a one-sided one or the mean of two, infinite where they are.

        >>> from steelyard.measures import NSS
        >>> g = NSS().gradient(tpr=0.5, tnr=0.9, prevalence=0.5)
        >>> round(float(g.tpr), 3), round(float(g.tnr), 3)
        (0.8, -0.8)
        """
        if is_tensor(tpr) or is_tensor(tnr):
            point = self._tensors(tpr, tnr, prevalence, sample_size)
            _, d_tpr, d_tnr = self._differentiate(point, {})
            return Gradient(_expanded(d_tpr, point), _expanded(d_tnr, point))
        point = self._point(tpr, tnr, prevalence, sample_size)
        if self.is_lifted:
            from . import lifted

            return lifted.gradient(self, lifted.point_of(self, point, classes))
        with np.errstate(all="ignore"):
            _, d_tpr, d_tnr = self._differentiate(point, {})
            return Gradient(pieces.shaped(d_tpr, point), pieces.shaped(d_tnr, point))

    def _point(self, tpr: ArrayLike, tnr: ArrayLike, prevalence: ArrayLike | None, sample_size: float | None) -> Point:
        if prevalence is None and self.needs_prevalence:
            raise ValueError(
                f"{self!r} depends on the prevalence: pass prevalence=, the share of positives, or bind it by .at()"
            )
        if sample_size is not None and not sample_size >= 1:
            raise ValueError(f"sample_size must be at least 1; got {sample_size!r}")
        smoothing = 0.0 if sample_size is None else 0.5 / sample_size
        given = {"tpr": tpr, "tnr": tnr, "prevalence": 0.5 if prevalence is None else prevalence}
        arrays = {name: np.asarray(value, dtype=np.float64) for name, value in given.items()}
        for name, array in arrays.items():
            # Minimum and maximum let a NaN through, and neither comparison holds for one.
            if array.size and not (array.min() >= 0.0 and array.max() <= 1.0):
                bad = ~((array >= 0.0) & (array <= 1.0))
                raise ValueError(f"{name} must lie in [0, 1]; got {array[bad].ravel()[0]!r}".replace("np.float64", ""))
        return Point(arrays["tpr"], arrays["tnr"], arrays["prevalence"], np.asarray(smoothing))

    def _tensors(self, tpr: Any, tnr: Any, prevalence: Any, sample_size: Any) -> Point:
        """The same for rates that are tensors, which are not looked at: that would make a device wait."""
        if self.is_lifted:
            raise TypeError(f"{self!r} is about several classes; on tensors there are measures of two rates only")
        if prevalence is None and self.needs_prevalence:
            self._point(0.0, 0.0, None, None)
        like = tpr if is_tensor(tpr) else tnr
        tpr, tnr = (x if is_tensor(x) else like.new_tensor(x) for x in (tpr, tnr))
        share, smoothing = 0.5 if prevalence is None else prevalence, 0.0 if sample_size is None else 0.5 / sample_size
        return Point(tpr, tnr, share, smoothing)  # type: ignore[arg-type]

    def _evaluate(self, point: Point, memo: dict[int, Array]) -> Array:
        key = id(self)
        if key not in memo:
            memo[key] = self._value(*(arg._evaluate(point, memo) for arg in self.args))
        return memo[key]

    def _differentiate(self, point: Point, memo: dict[int, tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
        key = id(self)
        if key not in memo:
            parts = [arg._differentiate(point, memo) for arg in self.args]
            values = [part[0] for part in parts]
            value = self._value(*values)
            partials = self._partials(value, *values)
            zero = namespace.constant(0.0, point.tpr)
            d_tpr = sum((product(d, part[1]) for d, part in zip(partials, parts, strict=True)), start=zero)
            d_tnr = sum((product(d, part[2]) for d, part in zip(partials, parts, strict=True)), start=zero)
            memo[key] = value, d_tpr, d_tnr
        return memo[key]

    def tape(self) -> Tape:
        """The tree flattened to instructions for the compiled loops, which evaluate value and gradient at a point."""
        from .tape import flatten

        return flatten(self)

    # -- from labels --------------------------------------------------------------------------------------------
    def score(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
    ) -> float:
        """The measure of predictions against labels, with ``eps = 1/(2n)`` in `NegKLD`.

        `pos_label` is the larger of the two labels unless given; a measure of several classes has none. With one class
        only in `y_true` a rate is undefined; the value is returned if it does not depend on it, and an error raised
        otherwise.

        >>> from steelyard.measures import FBeta
        >>> FBeta(1).score(["no", "no", "yes", "yes"], ["no", "yes", "yes", "yes"])
        0.8
        """
        from .labels import score

        return score(self, y_true, y_pred, sample_weight, pos_label)

    def scorer(self, *, pos_label: Any = None) -> Any:
        """A scorer of scikit-learn, for ``scoring=``; the measure itself will do where no label needs to be named."""
        return import_module("steelyard.estimators._scorer").MeasureScorer(self, pos_label)  # only there is sklearn

    def at(self, prevalence: float) -> Measure:
        """The measure with the prevalence bound, for a population whose share of positives is known.

        >>> from steelyard.measures import Accuracy
        >>> round(Accuracy().at(0.25)(tpr=0.5, tnr=0.9), 3)
        0.8
        """
        from .binding import At

        return At(self, prevalence)

    # -- identity -----------------------------------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Measure) and type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._key()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._key()

    def __repr__(self) -> str:
        return self._spell()


def check_number(value: Any, name: str, *, low: float = -math.inf, high: float = math.inf) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not math.isfinite(value)
    ):
        raise ValueError(f"{name} must be a finite number; got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} must lie in [{low:g}, {high:g}]; got {value!r}")
    return value if isinstance(value, int) else float(value)


def _expanded(value: Any, point: Point) -> Any:
    """A tensor of the shape that the point's parts broadcast to."""
    like = point.tpr + point.tnr
    return value.expand_as(like) if is_tensor(value) else like.new_full(like.shape, value)  # type: ignore[attr-defined]
