"""Fewer rows to learn from, where a copy of all with columns that level off would be too large.

Given n rows that are targets or decoys, and room for m of them, which m, and how much does each count, so that lists
and losses come out as those of all rows? Lists end among the rows at the top, and far below one row is like the next:

1. A pilot is learned, a mixture (`decoys.steps`) of half as many rows as there is room for, drawn from targets and
   from decoys, and scores all rows.
2. The best half of the room by this score is kept as it is, targets and decoys alike. Of what is left of each class as
   many are drawn as there is room for, and share the weight of those that were not.

So every count of a list that ends in the upper part is exact, and every sum over the rest has the right mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...rows import Rows
from ...statistics.target_decoy import Array, Mask
from . import steps
from .bounds import Soft
from .q_value import MatchScore, looped
from .steps import Aim, Matches

# Numbers in the copy of the rows: 23 MB as float32, with which a fit of 500,000 rows keeps within the memory that
# benchmarks/memory.py allows. A table of 120,000 rows and 50 columns is still learned from whole.
ROOM = 6_000_000
# Rows, however wide they are: by benchmarks/qvalue_thinning.py so many accept what three times as many do, and some
# 15,000 lose up to 3 %.
LEAST = 50_000


@dataclass(frozen=True, eq=False)
class Thinned:
    """The numbers of the rows that stay, rising, and how much each counts."""

    which: NDArray[np.intp]
    weight: Array

    def numbers(self, folds: Sequence[NDArray[Any]], n_rows: int) -> tuple[NDArray[Any], ...]:
        """Rows to leave out, by their place among those that stay."""
        place = np.full(n_rows, -1, dtype=np.int32 if n_rows < 2**31 else np.intp)
        place[self.which] = np.arange(len(self.which))
        found = (place[fold] for fold in folds)
        return tuple(at[at >= 0] for at in found)


def room(rows: Rows) -> int:
    """How many rows there is room for."""
    return max(LEAST, int(ROOM * (rows.n_rows / max(rows.n_entries, 1))))


def thin(
    rows: Rows, is_target: Mask, weight: Array | None, bounds: Soft, aim: Aim, most: int, seed: int = 0
) -> Thinned:
    """At most so many rows to learn from, fewer than there are, drawn by `seed`.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 2)); target = np.arange(4000) % 2 == 0
    >>> X[:800, 0] += 4.0 * target[:800]
    >>> found = thin(Rows.of(X), target, None, Soft.of(Rows.of(X), 3.0), Aim(0.05), 1000)
    >>> len(found.which), round(found.weight.sum()), bool((found.weight[X[found.which, 0] > 3.0] == 1.0).all())
    (1000, 4000, True)
    """
    draw, weight = np.random.default_rng(seed), np.broadcast_to(1.0, rows.n_rows) if weight is None else weight
    some = _share(np.arange(rows.n_rows), is_target, weight, most // 2, draw)
    scores = _pilot(rows.take(some.which), is_target[some.which], some.weight, bounds, aim)(rows)
    order = np.argsort(-scores, kind="stable")
    best, others = order[: most // 2], order[most // 2 :]
    rest = _share(others, is_target, weight, most - len(best), draw)
    which = np.concatenate([best, rest.which])
    back = np.argsort(which)
    return Thinned(which[back], np.concatenate([weight[best], rest.weight])[back])


def _share(pool: NDArray[np.intp], is_target: Mask, weight: Array, most: int, draw: np.random.Generator) -> Thinned:
    """So many of the pool, half of each class if there are as many, that share the weight of their class."""
    sides = sorted((pool[is_target[pool]], pool[~is_target[pool]]), key=len)
    few = min(len(sides[0]), most // 2)
    parts = []
    for side, number in zip(sides, (few, most - few), strict=True):
        chosen = draw.choice(side, min(number, len(side)), replace=False)
        mass = float(weight[chosen].sum())
        parts.append(Thinned(chosen, weight[chosen] * (float(weight[side].sum()) / mass if mass > 0 else 1.0)))
    return Thinned(np.concatenate([part.which for part in parts]), np.concatenate([part.weight for part in parts]))


def _pilot(rows: Rows, is_target: Mask, weight: Array, bounds: Soft, aim: Aim) -> MatchScore:
    flat = Matches(bounds(rows), is_target, weight).with_ones()
    w = steps.mixture(flat, looped(flat, aim)[0], aim)
    return MatchScore(w[:-1], float(w[-1]), None, bounds)
