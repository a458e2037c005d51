"""Groups of rows, given to `fit` as ``slices``: read, and the best threshold under constraints within them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..measures import Measure
from ..measures.constraints import Constraint
from ..measures.groups import GroupConstraint
from ..statistics import frontier
from ..statistics.frontier import Choice, Frontier, InfeasibleError
from ..statistics.promises.counts import Scored
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
