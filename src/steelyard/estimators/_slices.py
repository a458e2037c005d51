"""Groups of rows, given as ``slices``: read, the best threshold under constraints within them, and a report on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..measures import Measure
from ..measures.constraints import Constraint, as_constraints
from ..measures.groups import GroupConstraint, WithinConstraint
from ..statistics import frontier
from ..statistics.frontier import Choice, Frontier, InfeasibleError
from ..statistics.promises.counts import Scored
from ..statistics.reporting import Figures, report
from ._scored_rows import ScoredRows


def read_slices(slices: Any, y: Any) -> NDArray[Any] | None:
    """One group for each row."""
    if slices is None:
        return None
    found: NDArray[Any] = column_or_1d(np.asarray(slices))
    check_consistent_length(found, y)
    of_any = found.dtype == object
    missing = np.array([one is None or one != one for one in found]) if of_any else found != found
    if np.any(missing):
        raise ValueError(f"slices names the group of each row; {int(np.sum(missing))} of {len(found)} have none")
    return found


def best_in_groups(
    found: Frontier, scored: ScoredRows, measure: Measure, constraints: tuple[Constraint, ...]
) -> Choice:
    """The best point of the scored rows that meets all constraints, those of groups on their own rows."""
    if scored.weight is not None:
        raise ValueError("constraints within groups are for unweighted rows; drop sample_weight")
    rows = Scored(scored.scores, scored.is_positive, scored.slices)
    names = np.unique(np.asarray(rows.groups)).tolist()
    rates = {name: rows.of(name).counts(found.thresholds).rates() for name in names}
    within = [constraint for constraint in constraints if isinstance(constraint, GroupConstraint)]
    plain = [constraint for constraint in constraints if not isinstance(constraint, GroupConstraint)]
    allowed = np.all([constraint.met(rates) for constraint in within], axis=0)
    if not allowed.any():
        raise InfeasibleError(
            f"no threshold meets {' and '.join(map(repr, within))} on the {found.n_rows} rows scored: one threshold "
            "for all groups may be too few. Loosen it or improve the model"
        )
    return frontier.best_point(found, measure, plain, allowed)


def report_on(model: Any, y: Any, called: NDArray[np.bool_], slices: NDArray[Any] | None, confidence: float) -> Figures:
    """The report of a classifier with `measure` and `subject_to` on labelled rows."""
    truth = column_or_1d(np.asarray(y))
    check_consistent_length(truth, called)
    unknown = set(np.unique(truth).tolist()) - set(model.classes_.tolist())
    if unknown:
        raise ValueError(f"labels {sorted(map(repr, unknown))} are none of the classes {model.classes_.tolist()}")
    is_positive = truth == model._positive
    constraints = as_constraints(model.subject_to, groups=True)
    bounded = tuple(c.left for c in constraints if not c.needs_groups)
    found = report(*kinds(is_positive, called), (model.measure, *bounded), confidence)
    if slices is None:
        return found
    figures = dict(found.figures)
    for one in constraints:
        if isinstance(one, WithinConstraint):
            inside = slices == one.group
            part = report(*kinds(is_positive[inside], called[inside]), (one.left,), confidence)
            figures[f"within({one.group!r}, {one.left!r})"] = part[repr(one.left)]
    return Figures(figures, confidence, found.n_rows)


def kinds(is_positive: NDArray[np.bool_], called: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """How many rows are true and false positives, and false and true negatives."""
    four = (called & is_positive, called & ~is_positive, ~called & is_positive, ~called & ~is_positive)
    tp, fp, fn, tn = (int(kind.sum()) for kind in four)
    return tp, fp, fn, tn
