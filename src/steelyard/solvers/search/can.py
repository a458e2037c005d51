"""CAN, concave alternation (Kar et al. 2016, Algorithm 2): maximise a ratio of a concave over a convex measure.

Given ``M = A / B`` with ``0 < m <= B <= M'``, the valuation at level v is ``V(x, v) = A(x) - v B(x)``; ``M(x) >= v``
exactly where ``V(x, v) >= 0``. CAN alternates::

    x_{t+1} = argmax V(x, v_t)          one oracle call
    v_{t+1} = A(x_{t+1}) / B(x_{t+1})   (the printed level test ``V >= v`` is a slip for ``V >= 0``)

and the excess error falls by the factor ``1 - m/M'`` each time (Theorem 5). The oracle maximises the valuation,
itself a measure, over whatever can be reached: a finite set of operating points, or models trained with its
linearised costs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...measures import Measure
from ...statistics.frontier import Choice


@dataclass(frozen=True)
class CanResult:
    """The last point, and the level after each round, the starting level first."""

    point: Choice
    payload: Any
    levels: tuple[float, ...]
    converged: bool

    @property
    def n_iter(self) -> int:
        return len(self.levels) - 1


# oracle(valuation, previous point or None) -> (point, whatever belongs to it)
Oracle = Callable[[Measure, "Choice | None"], "tuple[Choice, Any]"]


def parts(measure: Measure) -> tuple[Measure, Measure]:
    """Numerator and denominator, or an error that says why CAN has no guarantee here.

    >>> from steelyard.measures import FBeta
    >>> parts(FBeta(1))[1].curvature
    'affine'
    """
    ratio = measure.ratio()
    if ratio is None:
        raise ValueError(
            f"CAN alternates between the two parts of a ratio, and {measure!r} is not one ({measure.curvature}); "
            "use solver='auto'"
        )
    if measure.curvature not in ("pseudo-concave", "pseudo-linear"):
        raise ValueError(
            f"CAN needs a concave numerator over a convex positive denominator; {measure!r} has "
            f"{ratio[0].curvature} over {ratio[1].curvature}. Use solver='auto', which needs no curvature"
        )
    return ratio


def can(
    measure: Measure,
    oracle: Oracle,
    rate: Callable[[Measure, Choice], float],
    *,
    start: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 50,
) -> CanResult:
    """Raise the level until it stops rising by more than `tol`; `rate` evaluates a measure at a point."""
    top, bottom = parts(measure)
    levels = [start]
    point, payload = oracle(top - start * bottom, None)
    levels.append(rate(top, point) / rate(bottom, point))
    for _ in range(max_iter - 1):
        new_point, new_payload = oracle(top - levels[-1] * bottom, point)
        level = rate(top, new_point) / rate(bottom, new_point)
        if level < levels[-1]:  # only an inexact oracle falls back: the point before was better
            return CanResult(point, payload, tuple(levels), True)
        point, payload = new_point, new_payload
        levels.append(level)
        if levels[-1] <= levels[-2] + tol:
            return CanResult(point, payload, tuple(levels), True)
    return CanResult(point, payload, tuple(levels), False)
