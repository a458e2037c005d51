"""Every operating point of a scored sample, and the best of them for a measure under constraints, exactly.

Given scores ``s_i``, labels and weights, the rule "positive if score > t" has as many different outcomes as there are
distinct scores, plus one. `scan` sorts once and returns all of them, each threshold placed in the middle of its gap
(at the ends: just below the smallest score, and at the largest);
`best_point` evaluates the measure at every one and returns the largest value among the points that meet the
constraints. Points that tie (within rounding) are decided by skill, ``tpr + tnr``: a measure that is not monotone may
be indifferent between a good and a useless classifier.

The scan is compiled (`src/core/measure/frontier.hpp`): a radix sort and one pass, O(n) in time and memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import scan_frontier
from ..measures import Measure
from ..measures.constraints import Constraint

Array = NDArray[np.float64]

TIE = 1e-12  # relative: a measure is some ten operations on rates, each off by 1e-16 or so; gains that matter are 1/n


@dataclass(frozen=True)
class Frontier:
    """Operating points in the order of rising thresholds: from everything called positive to nothing.

    Parameters
    ----------
    thresholds, tpr, tnr : ndarray
        A row is called positive above its threshold; the rates there.
    prevalence, n_rows : float, int
        Of the rows behind them.

    See Also
    --------
    FrontierDisplay : The same, drawn.
    """

    thresholds: Array
    tpr: Array
    tnr: Array
    prevalence: float
    n_rows: int

    def __len__(self) -> int:
        return len(self.thresholds)


@dataclass(frozen=True)
class Choice:
    """One point of a frontier, and the measure's value there."""

    index: int
    threshold: float
    tpr: float
    tnr: float
    value: float


class InfeasibleError(ValueError):
    """No operating point meets the constraints; `closest`, where there is one, is the point that misses them least (a
    `Choice`, of several classes `Offsets`)."""

    def __init__(self, message: str, closest: Any = None) -> None:
        super().__init__(message)
        self.closest = closest


def scan(scores: Array, is_positive: NDArray[np.bool_], weight: Array | None = None) -> Frontier:
    """All operating points of the rule ``score > threshold``."""
    check_scores(scores)
    if weight is None:
        positives, total = float(np.count_nonzero(is_positive)), float(len(scores))
    else:
        positives, total = float(weight[is_positive].sum()), float(weight.sum())
    if not 0.0 < positives < total:
        which = "positive" if positives == 0.0 else "negative"
        raise ValueError(f"none of the {len(scores)} scored rows is {which} (with weight): rates need both classes")
    as_doubles = partial(np.ascontiguousarray, dtype=np.float64)
    thresholds, tpr, tnr = scan_frontier(
        as_doubles(scores),
        np.ascontiguousarray(is_positive, dtype=np.bool_),
        None if weight is None else as_doubles(weight),
    )
    n_rows = len(scores) if weight is None else int(np.count_nonzero(weight))
    return Frontier(thresholds, tpr, tnr, positives / total, n_rows)


def check_scores(scores: Array) -> None:
    """Refuse scores that cannot be ranked."""
    if len(scores) == 0:
        raise ValueError("there are no rows to set a threshold on")
    bad = ~np.isfinite(scores)
    if bad.any():
        raise ValueError(
            f"{int(bad.sum())} of {len(scores)} scores are NaN or infinite, so they cannot be ranked; "
            "the first is row " + str(int(np.flatnonzero(bad)[0])) + ". Check the estimator's output on these rows"
        )


def best_point(
    frontier: Frontier,
    measure: Measure,
    constraints: Sequence[Constraint] = (),
    allowed: NDArray[np.bool_] | None = None,
    values: Array | None = None,
) -> Choice:
    """The point of largest value that meets all constraints; among equals the one of largest ``tpr + tnr``.

    `values` are the measure at every point, where the caller has them already (`values_of`).
    """
    where: dict[str, Any] = {"tpr": frontier.tpr, "tnr": frontier.tnr, "prevalence": frontier.prevalence}
    if values is None:
        values = measure(**where, sample_size=frontier.n_rows)
    feasible = ~np.isnan(values)
    if allowed is not None:
        feasible = feasible & allowed
    for constraint in constraints:
        feasible = feasible & constraint.holds(**where, sample_size=frontier.n_rows)
    if not feasible.any():
        raise _infeasible(frontier, values, constraints)
    top = values[feasible].max()
    tolerance = TIE * (1.0 + abs(top)) if np.isfinite(top) else 0.0
    tied = np.flatnonzero(feasible & (values >= top - tolerance))
    return _choice(frontier, values, int(tied[np.argmax(frontier.tpr[tied] + frontier.tnr[tied])]))


def values_of(frontiers: Sequence[Frontier], measure: Measure) -> list[Array]:
    """The measure at every point of frontiers of the same rows, all in one call: a measure is a dozen small ones."""
    first = frontiers[0]
    tpr, tnr = (np.concatenate([getattr(one, rate) for one in frontiers]) for rate in ("tpr", "tnr"))
    values = np.asarray(measure(tpr, tnr, first.prevalence, sample_size=first.n_rows), dtype=np.float64)
    return np.split(values, np.cumsum([len(one) for one in frontiers])[:-1])


def _choice(frontier: Frontier, values: Array, index: int) -> Choice:
    at = (float(part[index]) for part in (frontier.thresholds, frontier.tpr, frontier.tnr, values))
    return Choice(index, *at)


def _infeasible(frontier: Frontier, values: Array, constraints: Sequence[Constraint]) -> InfeasibleError:
    """With the reachable point that misses the constraints by least."""
    where: dict[str, Any] = {"tpr": frontier.tpr, "tnr": frontier.tnr, "prevalence": frontier.prevalence}
    slacks = [np.asarray(c.slack(**where, sample_size=frontier.n_rows)) for c in constraints]
    if not slacks:
        return InfeasibleError("no operating point has a defined value of the measure")
    closest = _choice(frontier, values, int(np.argmax(np.min(np.broadcast_arrays(*slacks), axis=0))))
    return InfeasibleError(
        f"no threshold meets {' and '.join(map(repr, constraints))} on the {frontier.n_rows} rows scored; the closest "
        f"reachable point has TPR {closest.tpr:.4g} and FPR {1.0 - closest.tnr:.4g}. Loosen it or improve the model",
        closest,
    )
