"""How many rows of each kind there are at each threshold, of all rows or of a group.

Given scores and labels (and the group of each row), `Scored.counts` returns true and false positives and negatives of
the rule "positive if score > t" for many t at once: the classes are sorted once, and each t is looked up.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Counts:
    """Of the four kinds of rows, one number for each threshold."""

    tp: Array
    fp: Array
    fn: Array
    tn: Array

    def __getitem__(self, index: Any) -> Counts:
        return Counts(*(np.asarray(getattr(self, part.name))[index] for part in fields(self)))

    def times(self, factor: float) -> Counts:
        """As of so many times the rows."""
        return Counts(*(factor * getattr(self, part.name) for part in fields(self)))

    @property
    def positives(self) -> Array:
        return self.tp + self.fn

    @property
    def negatives(self) -> Array:
        return self.fp + self.tn

    @property
    def n_rows(self) -> float:
        return float(self.positives[0] + self.negatives[0]) if len(self.tp) else 0.0

    def rates(self) -> tuple[Array, Array, float]:
        """TPR, TNR and prevalence; a rate of no rows is 0."""
        positives, negatives = np.maximum(self.positives, 1.0), np.maximum(self.negatives, 1.0)
        return self.tp / positives, self.tn / negatives, float(self.positives[0]) / max(self.n_rows, 1.0)


# The counts of all rows under None, those of a group under its name.
ByView = dict[Any, Counts]


class SeenByView:
    """For what holds counts by view, and is pickled: as pairs, since skops reads no dict with the key None."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: list(part.items()) if isinstance(part, dict) else part for name, part in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {name: dict(state[name]) for name in ("seen", "before") if name in state})


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of rows with their labels, and the group and the weight of each row if there are any."""

    scores: Array
    is_positive: Flags
    groups: NDArray[Any] | None = None
    weight: Array | None = None  # by design (`weighted`); counts do not know it

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: Any) -> Scored:
        groups, weight = (None if part is None else np.asarray(part)[rows] for part in (self.groups, self.weight))
        return Scored(self.scores[rows], self.is_positive[rows], groups, weight)

    def of(self, view: Any) -> Scored:
        """The rows of a group; all for None."""
        if view is None:
            return self
        inside = np.zeros(len(self), dtype=np.bool_) if self.groups is None else self.groups == view
        return Scored(self.scores[inside], self.is_positive[inside])

    def counts(self, thresholds: Array) -> Counts:
        called = [_above(self.scores[rows], thresholds) for rows in (self.is_positive, ~self.is_positive)]
        n_pos = float(np.count_nonzero(self.is_positive))
        return Counts(called[0], called[1], n_pos - called[0], len(self) - n_pos - called[1])

    def by_view(self, thresholds: Array, views: set[Any]) -> ByView:
        return {view: self.of(view).counts(thresholds) for view in {None, *views}}

    def ranked(self, ranks: NDArray[np.intp]) -> tuple[Array, Counts]:
        """The threshold that calls the first `ranks` rows and their counts. Rows that tie stand as they came: what
        is called there is no rule that could be used, but a step on the way to one (`orders.by_rank`)."""
        order = np.argsort(-self.scores, kind="stable")
        positive = np.concatenate([[0.0], np.cumsum(self.is_positive[order])])
        below = np.nextafter(self.scores[order[-1]], -np.inf)
        next_score = np.concatenate([self.scores[order], [below]])
        tp = positive[ranks]
        fp, total = ranks - tp, positive[-1]
        return next_score[ranks], Counts(tp, fp, total - tp, len(self) - total - fp)


def _above(scores: Array, thresholds: Array) -> Array:
    ordered = np.sort(scores)
    return (len(ordered) - np.searchsorted(ordered, thresholds, side="right")).astype(np.float64)
