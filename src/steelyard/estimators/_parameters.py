"""Parameters of an estimator, declared once: what each may be, and one check with one kind of message.

An estimator that is `Checked` has a table from each parameter of its constructor to the kinds of values it takes::

    _parameters = {"C": (POSITIVE, Words("auto")), "max_iter": (Number(1, whole=True),), "verbose": (ANYTHING,)}

and calls `_check_parameters` first thing in `fit`. What depends on the data, or on two parameters together, is checked
where it is known.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from ..measures import Measure
from ..measures.given import measure_of
from ._html import html_with_formula


class ParameterError(ValueError, TypeError):
    """A parameter that is none of the kinds it may be."""


class Kind(Protocol):
    """One of the kinds of values that a parameter takes."""

    def takes(self, value: Any) -> bool: ...
    def __str__(self) -> str:
        """What it is, after "must be"."""
        ...


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`, with or without these two; never NaN, an infinity only if it is a bound let in."""

    low: float = -np.inf
    high: float = np.inf
    low_too: bool = True
    high_too: bool = True
    whole: bool = False
    meaning: str = ""  # what it counts or measures, for the message

    def takes(self, value: Any) -> bool:
        kind = numbers.Integral if self.whole else numbers.Real
        if not isinstance(value, kind) or isinstance(value, (bool, np.bool_)):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number of Python that no float holds
            return False
        above = number >= self.low if self.low_too else number > self.low
        return bool(np.isfinite(number) and above and (number <= self.high if self.high_too else number < self.high))

    def __str__(self) -> str:
        what = "a whole number" if self.whole else "a finite number"
        if self.low > -np.inf and self.high < np.inf:
            ends = ("from" if self.low_too else "above", "to" if self.high_too else "below")
            what = f"{what} {ends[0]} {self.low:g} {'' if self.low_too and self.high_too else 'and '}".rstrip()
            what += f" {ends[1] if not (not self.low_too and self.high_too) else 'at most'} {self.high:g}"
        elif self.low > -np.inf:
            what += f" {'of at least' if self.low_too else 'above'} {self.low:g}"
        elif self.high < np.inf:
            what += f" {'of at most' if self.high_too else 'below'} {self.high:g}"
        return f"{what} ({self.meaning})" if self.meaning else what


@dataclass(frozen=True)
class Words:
    """One of some words."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def takes(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        quoted = [repr(word) for word in self.words]
        return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"


@dataclass(frozen=True)
class ListOf:
    """Some values of one kind, at least one."""

    kind: Kind

    def takes(self, value: Any) -> bool:
        if isinstance(value, (str, set, frozenset, dict)) or not hasattr(value, "__len__") or len(value) == 0:
            return False  # a set has no order, so that a model of it would change from run to run
        return all(self.kind.takes(one) for one in value)

    def __str__(self) -> str:
        return f"a list of which each is {self.kind}"


@dataclass(frozen=True)
class A:
    """An object of a type, or one that has all of some methods; `name` says what it is."""

    name: str
    type: type | tuple[type, ...] = object
    having: tuple[str, ...] = ()
    unless: str = ""  # an attribute that must not be true

    def takes(self, value: Any) -> bool:
        fits = isinstance(value, self.type) and all(hasattr(value, method) for method in self.having)
        return fits and not (self.unless and getattr(value, self.unless))

    def __str__(self) -> str:
        return self.name


# Kinds that many estimators name.
POSITIVE = Number(0.0, low_too=False)  # C, tol, gamma
NOT_NEGATIVE = Number(0.0)  # alpha
SHARE = Number(0.0, 1.0, low_too=False, high_too=False)  # a cap, delta
COUNT = Number(1, whole=True)  # rounds, passes, folds
NOTHING = A("None", type(None))
FLAG = A("True or False", (bool, np.bool_))
ANYTHING = A("anything")
ANY_MEASURE = A("a measure such as steelyard.measures.FBeta(1), an expression of them, or a name", Measure)
MEASURE = A(
    "a measure of two classes such as steelyard.measures.FBeta(1), or an expression of them (ThresholdClassifier, "
    "MeasureClassifier and OnlineClassifier take those of several)",
    Measure,
    unless="is_lifted",
)
THREADS = A("a number of threads, None for one or -1 for all cores", (numbers.Integral, type(None)))
RANDOM = A("a seed, a RandomState or None", (numbers.Integral, np.random.RandomState, type(None)))
CV = A("a number of folds, a held-out share, a splitter, a list of splits or 'prefit'")  # read by _splits.py

Table = Mapping[str, tuple[Kind, ...]]


class GivenMeasure:
    """The parameter `measure` of a class: a name or a function of the rates becomes the measure when it is stored.

    So `get_params` shows what is maximised, and an estimator that was given a lambda can be pickled and saved. What
    stands for no measure stays as it is, for `fit` to refuse.
    """

    def __set__(self, owner: Any, given: Any) -> None:
        try:
            owner.__dict__["measure"] = measure_of(given)
        except (TypeError, ValueError):
            owner.__dict__["measure"] = given

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None or "measure" not in owner.__dict__:
            raise AttributeError("measure")
        return owner.__dict__["measure"]


class Checked:
    """For estimators that declare their parameters."""

    _parameters: ClassVar[Table]
    measure = GivenMeasure()  # of those that have one

    def _html_repr(self) -> str:
        return html_with_formula(self)

    def _check_parameters(self) -> None:
        self._explain_measure()
        for name, kinds in self._parameters.items():
            check_parameter(name, getattr(self, name), *kinds)

    def _explain_measure(self) -> None:
        """Say what is wrong with a name or a function that was not understood."""
        given = getattr(self, "measure", None) if "measure" in self._parameters else None
        if given is None or isinstance(given, Measure):
            return
        try:
            measure_of(given)
        except (TypeError, ValueError) as error:
            raise ParameterError(
                f"measure must be a measure, a name of one or a function; got {given!r}: {error}"
            ) from None


def check_parameter(name: str, value: Any, *kinds: Kind) -> None:
    """Raise unless `value` is of one of the kinds.

    >>> check_parameter("C", -1, POSITIVE, Words("auto"))
    Traceback (most recent call last):
    steelyard.estimators._parameters.ParameterError: C must be a finite number above 0 or 'auto'; got -1
    """
    if not any(kind.takes(value) for kind in kinds):
        said = [str(kind) for kind in kinds]
        last = f" or {said[-1]}" if len(said) > 1 else ""
        raise ParameterError(f"{name} must be {', '.join(said[:-1] or said)}{last}; got {value!r}")
