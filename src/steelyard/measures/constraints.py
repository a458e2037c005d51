"""A constraint is a comparison of two measures, such as ``fpr <= 0.01`` or ``Precision() >= 0.9``.

It is kept as ``body >= 0``. A ratio is cleared of its non-negative denominator, so that ``Precision() >= 0.9`` becomes
``p P - 0.9 q >= 0``, linear in the rates and usable by every solver. Where the denominator vanishes the uncleared
form decides with 0/0 = 0: calling nothing positive has precision 0, which does not meet a floor of 0.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .expression import Measure
from .rules import IS_AFFINE

TOLERANCE = 1e-12  # 1 - 0.95 is a little more than 0.05; far below the 1/n by which a rate of n rows moves


class Constraint:
    """``left <= right`` or ``left >= right``. It has no truth value of its own: give it to ``subject_to=``.

    >>> from steelyard.measures import Precision, fpr
    >>> cap, floor = fpr <= 0.01, Precision() >= 0.9
    >>> cap, floor, floor.is_linear
    (fpr <= 0.01, Precision() >= 0.9, True)
    >>> bool(floor.holds(tpr=0.0, tnr=1.0, prevalence=0.1))
    False
    """

    needs_groups = False  # whether it is about groups of rows

    def __init__(self, left: Measure, sense: str, right: Measure) -> None:
        if sense not in ("<=", ">="):
            raise ValueError(f"sense is '<=' or '>='; got {sense!r}")
        self.left, self.sense, self.right = left, sense, right
        self.body = right - left if sense == "<=" else left - right
        if not self.body.varies:
            raise ValueError(f"{self!r} does not depend on tpr or tnr, so no classifier can change it")

    @cached_property
    def _ratio(self) -> tuple[Measure, Measure] | None:
        ratio = self.body.ratio()
        if ratio is None or ratio[1].range.sign not in (1, -1):
            return None
        return ratio if ratio[1].range.sign == 1 else (-ratio[0], -ratio[1])

    @property
    def cleared(self) -> Measure:
        """The body without its denominator: non-negative where the constraint holds and the denominator is positive."""
        return self.body if self._ratio is None else self._ratio[0]

    @property
    def below(self) -> Measure | None:
        """The denominator that `cleared` is without."""
        return None if self._ratio is None else self._ratio[1]

    @property
    def is_linear(self) -> bool:
        """Whether the cleared form is affine in the two rates."""
        return self.cleared.curvature in IS_AFFINE

    def coefficients(
        self, prevalence: float | None = None, *, sample_size: float | None = None
    ) -> tuple[float, float, float]:
        """``(a, b, c)`` of the cleared linear form ``a tpr + b tnr + c >= 0``.

        >>> from steelyard.measures import fpr
        >>> (fpr <= 0.25).coefficients()
        (0.0, 1.0, -0.75)
        """
        if not self.is_linear:
            raise ValueError(f"{self!r} is not linear in the rates, even without its denominator: {self.cleared!r}")
        form = self.cleared
        origin = form(0.0, 0.0, prevalence, sample_size=sample_size)
        slopes = form.gradient(0.0, 0.0, prevalence, sample_size=sample_size)
        return float(slopes.tpr), float(slopes.tnr), float(origin)

    def slack(
        self,
        tpr: ArrayLike,
        tnr: ArrayLike,
        prevalence: ArrayLike | None = None,
        *,
        sample_size: float | None = None,
        classes: Sequence[Any] | None = None,
        confusion: ArrayLike | None = None,
        given: Any = None,
    ) -> Any:
        """How far inside the constraint a point lies, in the units of the cleared form; negative outside."""
        where: dict[str, Any] = {"tpr": tpr, "tnr": tnr, "prevalence": prevalence}
        where |= {"sample_size": sample_size, "classes": classes, "confusion": confusion, "given": given}
        value = np.asarray(self.cleared(**where))
        if self._ratio is not None:
            denominator = np.asarray(self._ratio[1](**where))
            if (denominator == 0.0).any():
                value = np.where(denominator == 0.0, self.body(**where), value)
        return value if value.ndim else float(value)

    def holds(
        self,
        tpr: ArrayLike,
        tnr: ArrayLike,
        prevalence: ArrayLike | None = None,
        *,
        sample_size: float | None = None,
        classes: Sequence[Any] | None = None,
    ) -> Any:
        """Whether a point meets the constraint, up to rounding."""
        return np.asarray(self.slack(tpr, tnr, prevalence, sample_size=sample_size, classes=classes)) >= -TOLERANCE

    def _key(self) -> tuple[Any, ...]:
        return self.left, self.sense, self.right

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constraint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return Constraint, self._key()

    def __repr__(self) -> str:
        return f"{self.left!r} {self.sense} {self.right!r}"

    def __bool__(self) -> bool:
        raise TypeError(
            f"the constraint {self!r} has no truth value, so 'a <= fpr <= b' and 'and' do not work: "
            "give a list, subject_to=[fpr >= a, fpr <= b]"
        )


def as_constraints(subject_to: Any, *, groups: bool = False) -> tuple[Constraint, ...]:
    """None, one constraint or several, as a tuple; those on groups only for who can tell the groups."""
    if subject_to is None:
        return ()
    if isinstance(subject_to, Constraint):
        return _without_groups((subject_to,), groups)
    several = isinstance(subject_to, Iterable) and not isinstance(subject_to, str)
    given = _spelled(subject_to if several else [subject_to])
    if not all(isinstance(constraint, Constraint) for constraint in given):
        raise TypeError(f"subject_to takes a constraint such as fpr <= 0.01, or a list of them; got {subject_to!r}")
    return _without_groups(given, groups)


def _spelled(given: Iterable[Any]) -> tuple[Any, ...]:
    """Texts such as "fpr <= 0.01" become the constraints that they spell."""
    from .parsing import parse_constraints

    return tuple(one for part in given for one in (parse_constraints(part) if isinstance(part, str) else (part,)))


def _without_groups(given: tuple[Constraint, ...], groups: bool) -> tuple[Constraint, ...]:
    of_groups = next((constraint for constraint in given if constraint.needs_groups), None)
    if of_groups is not None and not groups:
        raise ValueError(f"{of_groups!r} is about groups of rows, which only ThresholdClassifier.fit(slices=...) knows")
    return given


def as_linear_constraints(subject_to: Any) -> tuple[Constraint, ...]:
    """The same for who needs them to be linear in the rates."""
    constraints = as_constraints(subject_to)
    for constraint in constraints:
        if not constraint.is_linear:
            raise ValueError(f"{constraint!r} is not linear in the rates; give a cap or a floor such as fpr <= 0.01")
    return constraints
