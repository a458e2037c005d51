"""Who competes with whom before targets and decoys are counted: spectra, peptides, proteins, and several decoys.

Given scores, where higher is better. A list counts each spectrum, peptide or protein once, so the best row of each
stands for it. Which of equal rows that is must not depend on whether it is a target, so chance decides. The levels of a
search, as the field has them:

- spectra: the best match of each spectrum, targets and decoys together (target-decoy competition);
- peptides: of these the best of each peptide;
- proteins: of these the best of each protein, and then of each pair of a protein and its decoy ("picked protein").

Where every target has d decoys of its own (shuffled d times), `best_of_decoys` lets it compete with all of them: a
wrong target wins with probability 1/(1 + d), so that q-values take ``decoys_per_target=d``; and `mirrored` keeps the
balance of one to one: the target wins where it is in the upper half of the d + 1, and the score that counts then is
its own, and otherwise that of the decoy which mirrors its rank (Emery, Hasam, Noble and Keich 2020, "Multiple
competition-based FDR control", with c = lambda = 1/2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .target_decoy import Array, Mask

RowNumbers = NDArray[np.intp]


def winners(scores: ArrayLike, groups: ArrayLike, *, seed: int = 0) -> RowNumbers:
    """The number of the best row of each group, in the order of the rows; among equals chance decides.

    Parameters
    ----------
    scores : array of shape (n,)
    groups : array of shape (n,)
        What the rows compete for: the spectrum, the peptide, or the pair of a protein and its decoy.
    seed : int, default=0
        Of the chance that decides among equals.

    Examples
    --------
    >>> import steelyard as sy
    >>> sy.winners([1.0, 3.0, 2.0, 5.0], ["a", "a", "b", "b"]).tolist()
    [1, 3]
    """
    values = _scores(scores)
    group = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if group.shape != values.shape:
        raise ValueError(f"groups has shape {np.shape(groups)}; there are {len(values)} scores, and each has a group")
    chance = np.random.default_rng(seed).permutation(len(values))
    order = np.lexsort((chance, -values, group))
    first = np.r_[True, np.diff(group[order]) != 0][: len(order)]
    return np.sort(order[first])


def lead(scores: Array, groups: NDArray[Any]) -> Array:
    """By how much each row is ahead of the best other row of its group; behind the best it is negative.

    Alone in a group a row is ahead of the lowest score of all."""
    order = np.lexsort((-scores, groups))
    value, start = scores[order], np.flatnonzero(np.r_[True, groups[order][1:] != groups[order][:-1]][: len(order)])
    size = np.diff(np.r_[start, len(order)])
    second = np.where(size > 1, value[np.minimum(start + 1, len(order) - 1)], scores.min(initial=np.inf))
    out = np.empty(len(scores))
    out[order] = value - np.repeat(value[start], size)
    out[order[start]] = value[start] - second
    return out


def best_of_decoys(target: ArrayLike, decoys: ArrayLike, *, seed: int = 0) -> tuple[Array, Mask]:
    """Scores and which of them are targets', where each target competes with all its decoys (a column for each).

    >>> best_of_decoys([3.0, 1.0], [[2.0, 0.0], [4.0, 2.0]])[0].tolist()
    [3.0, 4.0]
    """
    own, others = _paired(target, decoys)
    together = np.column_stack([own, others])
    who = _ranks(together, seed)[:, 0] == 0
    return together.max(axis=1), who


def mirrored(target: ArrayLike, decoys: ArrayLike, *, seed: int = 0) -> tuple[Array, Mask]:
    """Scores and which of them are targets', one to one, from an odd number of decoys a target.

    >>> mirrored([3.0, 1.0], [[2.0, 0.0, 1.0], [4.0, 2.0, 0.0]])[0].tolist()
    [3.0, 2.0]
    """
    own, others = _paired(target, decoys)
    number = others.shape[1] + 1
    if number % 2:
        raise ValueError(f"the upper half of a target and its {number - 1} decoys is no whole number: give an odd one")
    together = np.column_stack([own, others])
    ranks = _ranks(together, seed)  # 0 is the best
    place = ranks[:, 0]
    is_target = place < number // 2
    wanted = np.where(is_target, place, number - 1 - place)
    who = np.argmax(ranks == wanted[:, None], axis=1)
    return together[np.arange(len(own)), who], is_target


def _ranks(scores: Array, seed: int) -> NDArray[np.intp]:
    """Of every column within its row, the best 0; chance decides among equals."""
    chance = np.random.default_rng(seed).random(scores.shape)
    order = np.lexsort((chance, -scores), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(scores.shape[1])[None, :], axis=1)
    return ranks


def _paired(target: ArrayLike, decoys: ArrayLike) -> tuple[Array, Array]:
    own, others = _scores(target), np.asarray(decoys, dtype=np.float64)
    if others.ndim != 2 or len(others) != len(own) or not others.shape[1]:
        raise ValueError(f"decoys has shape {others.shape}; {len(own)} targets need as many rows, a column a decoy")
    if np.isnan(others).any():
        raise ValueError(f"decoys hold {int(np.isnan(others).sum())} NaN: a decoy without a score cannot compete")
    return own, others


def _scores(scores: ArrayLike) -> Array:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores must have one dimension; got shape {values.shape}")
    if np.isnan(values).any():
        raise ValueError(f"scores hold {int(np.isnan(values).sum())} NaN: a row without a score has no place in a list")
    return values
