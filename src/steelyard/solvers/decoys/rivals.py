"""Rows that compete for one spectrum: a score that knows how far ahead of its rivals a row is.

Given rows in groups (the matches of one spectrum), of which only the best is counted, learn f for

    max over f, u   T(u)    subject to   D(u) <= q T(u)

with T(u) and D(u) the targets and decoys *among the best rows of their groups* that score u or higher. What a row alone
does not say, its group does: a right match leaves all others behind, and the best of many wrong ones does not. Targets
and decoys lead and follow by one rule that does not look at labels, so that a wrong target and a decoy still have the
same chances.

1. A mixture (`decoys.steps`) of the columns. Where the likely right targets are says how far a column may count: up to
   the share `BEYOND` of them that lies further out, on the side that raises the score. No freak gains by being further
   out than right ones are. A mixture of the columns within these bounds is the score *alone*.
2. By this score each row has a `lead` over the best other row of its group, one more column, bounded as the others. A
   mixture of all rows, and then `ROUNDS` more on the best row of each group by the score so far.
3. f is the mean of both, each with its threshold at 0 and the median decoy at -1.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rows import Rows
from ...statistics.competition import lead, winners
from ...statistics.target_decoy import Array, chance_right, cut
from ..status import Status
from . import steps
from .bounds import Clip, stored
from .q_value import MatchScore, looped, status_of, threshold
from .steps import Aim, Matches, levelled

# Chosen with the seeds from 100 on of psm-percolator and of run 0 of psm-scope2. Of the likely right targets, on the
# side that raises the score; 0.02 accepts some 1 % less at 0.01 to 0.02 and 1 % more at 0.1.
BEYOND = 0.05
ELSEWHERE = 0.001  # of all rows, on the other side: the largest share that changed nothing there
ROUNDS = 3  # on the winners; 1 accepts 1 % less


@dataclass(frozen=True, eq=False)
class RivalScore:
    """The mean of a score of the columns and of one of the columns and the lead over the rivals."""

    alone: MatchScore
    together: MatchScore
    centre: float
    scale: float

    def __call__(self, X: Any, groups: NDArray[Any] | None = None) -> Array:
        """Without groups every row is one: the scores of rows without rivals."""
        rows = Rows.of(X)
        alone = self.alone(rows)
        groups = np.arange(rows.n_rows) if groups is None else groups
        ahead = (lead(alone, groups) - self.centre) / self.scale
        return (alone + self.together(with_column(rows, ahead))) / 2.0

    def moved(self, by: float) -> RivalScore:
        """The same ranking, with all scores lower by so much."""
        alone, together = (
            dataclasses.replace(part, intercept=part.intercept - by) for part in (self.alone, self.together)
        )
        return RivalScore(alone, together, self.centre, self.scale)


@dataclass(frozen=True, eq=False)
class RivalResult:
    """``model(x, groups) > 0`` is a target within the cap, by the rows given; `objective` is how many those were."""

    model: RivalScore
    objective: float
    n_iter: int
    status: Status


def solve(X: Any, is_target: NDArray[np.bool_], groups: NDArray[Any], aim: Aim, seed: int = 0) -> RivalResult:
    """Learn from rows in groups; which of equal rows stands for a group is drawn by `seed`."""
    given = Matches.of(Rows.of(X).check_squares(), is_target)
    bounds = _bounds(given, _mixture(given, aim), aim)
    inside = Matches(bounds(given.rows), is_target, given.weight)
    alone = _score(_mixture(inside, aim), bounds)
    ahead = lead(alone(given.rows), groups)
    centre, scale = float(ahead.mean()), float(ahead.std()) or 1.0
    wide = Matches.of(with_column(inside.rows, (ahead - centre) / scale), is_target)
    outer = _bounds(wide, np.append(alone.w, [1.0, alone.intercept]), aim)  # a lead is for the better
    wide = Matches(outer(wide.rows), is_target, wide.weight)
    w = _mixture(wide, aim)
    for _ in range(ROUNDS):
        best = wide.take(winners(wide.rows.with_constant().scores(w), groups, seed=seed)).with_ones()
        w = levelled(steps.mixture(best, w, aim), best, aim.max_q)
    model = RivalScore(alone, _score(w, outer), centre, scale)
    scores = model(given.rows, groups)
    best_rows = winners(scores, groups, seed=seed)
    zero, accepted = threshold(scores[best_rows], given.take(best_rows), aim.max_q)
    model = model.moved(zero)
    return RivalResult(model, accepted, aim.rounds * (3 + ROUNDS), status_of(model.together, accepted, aim.max_q))


def left_out_scores(
    X: Any, is_target: NDArray[np.bool_], groups: NDArray[Any], aim: Aim, n_folds: int = 3, seed: int = 0
) -> Array:
    """The score of every row by a model learned without its group's fold, threshold at 0 and median decoy at -1.

    Folds are whole groups, dealt by `seed`; the scale is each fold's own, so that folds can be put into one list."""
    names, group = np.unique(groups, return_inverse=True)
    fold = (np.random.default_rng(seed).permutation(len(names)) % n_folds)[group.ravel()]
    rows, scores, numbers = Rows.of(X), np.empty(len(is_target)), np.unique(fold)
    if any(len(np.unique(is_target[fold != number])) < 2 for number in numbers):
        raise ValueError(
            f"{n_folds} folds of {len(names)} whole spectra: without one of them there are no targets or no decoys to "
            "learn from. It takes more spectra"
        )
    for number in numbers:
        test, train = fold == number, fold != number
        model = solve(rows.take(train), is_target[train], groups[train], aim, seed).model
        scores[test] = _on_one_scale(model(rows.take(test), groups[test]), is_target[test], aim.max_q)
    return scores


def _on_one_scale(scores: Array, is_target: NDArray[np.bool_], max_q: float) -> Array:
    """As mokapot does (Granholm, Noble and Käll 2012); where no list is short enough the best target is the end."""
    zero = cut(scores, is_target, np.ones(len(scores)), max_q).threshold
    zero = zero if np.isfinite(zero) else float(scores.max())
    size = zero - float(np.median(scores[~is_target])) if (~is_target).any() else 0.0
    return (scores - zero) / (size if size > 0 else 1.0)


def with_column(rows: Rows, column: Array) -> Rows:
    """The rows, dense, with one more column."""
    X = stored(rows)
    dense = X.toarray() if rows.is_sparse else X
    return Rows.of(np.column_stack([dense, column.astype(dense.dtype)]))


def _mixture(matches: Matches, aim: Aim) -> Array:
    flat = matches.with_ones()
    return levelled(steps.mixture(flat, looped(flat, aim)[0], aim), flat, aim.max_q)


def _score(w: Array, bounds: Clip) -> MatchScore:
    return MatchScore(w[:-1], float(w[-1]), None, bounds)


def _bounds(matches: Matches, w: Array, aim: Aim) -> Clip:
    """By the likely right targets where the score rises, and by all rows on the other side."""
    scores = matches.rows.with_constant().scores(w)
    right = np.where(matches.is_target, chance_right(scores, matches.is_target, matches.weight), 0.0)
    wide = Clip.of(matches.rows, ELSEWHERE)
    narrow = Clip.of(matches.rows, BEYOND, right) if right.any() else wide
    rises = w[:-1] > 0
    low = np.where(rises, wide.low, np.clip(narrow.low, wide.low, wide.high))
    high = np.where(rises, np.clip(narrow.high, wide.low, wide.high), wide.high)
    return Clip(low, high)
