"""The exact best threshold, and quantiles, of scores that stay in their partitions (`statistics.bins`).

A partition is a `Part`, which a linear model scores anew in every round, or `Scored`, where the scores of some other
model are kept beside the labels. What moves in a round are the tallies of a few thousand bins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elsewhere.part import Fold, Part
from ..statistics.bins import Search, Tally
from ..statistics.frontier import check_scores

Array = NDArray[np.float64]
EDGES = 2048  # first ones, at scores of rows: on a smooth frontier three rounds find the best threshold then


@dataclass(frozen=True, eq=False)
class Scored:
    """Scores of one partition, with labels and weights."""

    scores: Array
    is_positive: NDArray[np.bool_]
    weight: Array | None


def search(ask: Callable[..., Any], n_parts: int, w: Array | None = None, known: Array | None = None) -> Search:
    """All thresholds of the scores by w, or of those that are there; ``ask(function, *given, combine=...)``. Scores of
    some rows, if they are `known`, say where to begin."""
    some = np.concatenate(ask(spread, w, max(2, EDGES // n_parts))) if known is None else _ranked(known, EDGES)
    found = Search(lambda edges, whole: Tally(*ask(tally, w, edges, whole, combine=tallied)))
    found.begin(np.unique(some))
    return found


def spread(part: Part | Scored, fold: Fold | None, w: Array | None, count: int) -> list[Array]:
    """Scores at evenly spaced ranks, in a list of one."""
    return [_ranked(_scored(part, fold, w).scores, count)]


def _ranked(scores: Array, count: int) -> Array:
    ranked = np.sort(scores)
    return ranked[np.linspace(0, len(ranked) - 1, count).astype(int)] if len(ranked) else ranked


def tally(part: Part | Scored, fold: Fold | None, w: Array | None, edges: Array, whole: bool = True) -> tuple[Any, ...]:
    scored = _scored(part, fold, w)
    found = Tally.of(scored.scores, scored.is_positive, scored.weight, edges, whole)
    return found.mass, found.low, found.high, found.n_rows


def tallied(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    total = Tally(*parts[0])
    for part in parts[1:]:
        total = total + Tally(*part)
    return total.mass, total.low, total.high, total.n_rows


def called(part: Part, fold: Fold | None, w: Array, threshold: float) -> tuple[Array]:
    """The mass at or below the threshold, and above."""
    mass = np.zeros(2)
    for block in part.kept(fold).blocks():
        above = block.rows.scores(w) > threshold
        for side in (False, True):
            mass[int(side)] += (above == side).sum() if block.weight is None else block.weight @ (above == side)
    return (mass,)


def _scored(part: Part | Scored, fold: Fold | None, w: Array | None) -> Scored:
    if isinstance(part, Scored):
        return part
    if fold is not None:
        part = part.take(np.flatnonzero(fold.holds(part.number, part.n)))
    assert w is not None
    scores = part.rows.scores(w)
    if len(scores):
        check_scores(scores)
    return Scored(scores, part.y > 0, part.weight)
