"""Constraints within groups of rows, and on the gap between groups.

``within("a", fpr) <= 0.05`` is the constraint on the rows of group "a"; ``gap(tpr) <= 0.03`` bounds the largest
difference of a rate between any two groups. Both become constraints that are given to ``subject_to=``; the groups are
an array given along with the rows, ``fit(X, y, slices=...)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .arithmetic import Constant
from .constraints import TOLERANCE, Constraint
from .expression import Measure

# (tpr, tnr, prevalence) of the rows of each group, numbers or arrays over thresholds.
RatesByGroup = Mapping[Any, tuple[Any, Any, float]]


class Within:
    """A measure of the rows of one group; compare it with a number to have a constraint."""

    def __init__(self, group: Any, measure: Measure) -> None:
        _check(measure)
        self.group, self.measure = group, measure

    def __le__(self, bound: float) -> WithinConstraint:
        return WithinConstraint(self.group, self.measure <= bound)

    def __ge__(self, bound: float) -> WithinConstraint:
        return WithinConstraint(self.group, self.measure >= bound)

    def __repr__(self) -> str:
        return f"within({self.group!r}, {self.measure!r})"


class Gap:
    """The largest difference of a measure between two groups; ``gap(tpr) <= 0.03`` is a constraint."""

    def __init__(self, measure: Measure) -> None:
        _check(measure)
        self.measure = measure

    def __le__(self, bound: float) -> GapConstraint:
        return GapConstraint(self.measure, float(bound))

    def __ge__(self, bound: float) -> GapConstraint:
        raise TypeError(f"{self!r} has a largest value to allow, not a smallest: write {self!r} <= {bound!r}")

    def __repr__(self) -> str:
        return f"gap({self.measure!r})"


def within(group: Any, measure: Measure) -> Within:
    """A measure of the rows of one group of ``slices``.

    >>> import steelyard.measures as m
    >>> m.within("a", m.fpr) <= 0.05
    within('a', fpr) <= 0.05
    """
    return Within(group, measure)


def gap(measure: Measure) -> Gap:
    """The largest difference of a measure between any two groups of ``slices``.

    >>> import steelyard.measures as m
    >>> m.gap(m.tpr) <= 0.03
    gap(tpr) <= 0.03
    """
    return Gap(measure)


class GroupConstraint(Constraint):
    """What needs to know the groups."""

    needs_groups = True

    def met(self, rates: RatesByGroup) -> Any:
        """Whether it holds, given the rates of every group."""
        raise NotImplementedError

    def _rates_of(self, group: Any, rates: RatesByGroup) -> tuple[Any, Any, float]:
        if group not in rates:
            raise ValueError(f"{self!r}: slices has no group {group!r}; it has {sorted(map(str, rates))}")
        return rates[group]


class WithinConstraint(GroupConstraint):
    """A constraint on the rows of one group."""

    def __init__(self, group: Any, plain: Constraint) -> None:
        super().__init__(plain.left, plain.sense, plain.right)
        self.group, self.plain = group, plain

    def met(self, rates: RatesByGroup) -> Any:
        return self.plain.holds(*self._rates_of(self.group, rates))

    def _key(self) -> tuple[Any, ...]:
        return self.group, self.plain

    def __reduce__(self) -> tuple[Any, ...]:
        return WithinConstraint, self._key()

    def __repr__(self) -> str:
        return f"within({self.group!r}, {self.left!r}) {self.sense} {self.right!r}"


class GapConstraint(GroupConstraint):
    """A bound on the largest difference between two groups."""

    def __init__(self, measure: Measure, bound: float) -> None:
        super().__init__(measure, "<=", Constant(bound))
        self.measure, self.bound = measure, bound

    def met(self, rates: RatesByGroup) -> Any:
        values = np.array([np.asarray(self.measure(*self._rates_of(group, rates))) for group in rates])
        return values.max(axis=0) - values.min(axis=0) <= self.bound + TOLERANCE

    def _key(self) -> tuple[Any, ...]:
        return self.measure, self.bound

    def __reduce__(self) -> tuple[Any, ...]:
        return GapConstraint, self._key()

    def __repr__(self) -> str:
        return f"gap({self.left!r}) <= {self.right!r}"


def _check(measure: Any) -> None:
    if not isinstance(measure, Measure):
        raise TypeError(f"within and gap take a measure such as fpr or Precision(); got {measure!r}")
