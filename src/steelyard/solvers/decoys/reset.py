"""Half of the decoys train and the other half judges: a false-discovery rate that is kept, whatever was learned.

Given are targets and decoys, one row for each spectrum (or peptide, or whatever competes), where a wrong match meets d
decoys and is a target with probability 1/(1 + d). This is RESET (Freestone, Noble, Keich and Käll, "Semi-supervised
learning while controlling the FDR with an application to tandem mass spectrometry analysis", 2024; in
mass spectrometry Percolator-RESET):

1. Each decoy becomes a *training decoy* with probability s = 1/2, by a coin of its own. The others are *judges*: they
   hide among the targets, and nothing that learns is told which rows they are.
2. Any f is learned, from all features and from which rows are training decoys.
3. Without the training decoys, the longest list with ``(1 + D) / (d (1 - s) max(1, T)) <= q`` is accepted, with D
   judges and T targets in it.

Why the rate is kept. A wrong match is a target with probability 1/(1 + d), a training decoy with s d/(1 + d) and a
judge with (1 - s) d/(1 + d). Given that it is hidden it is a target with probability ``c = 1 / (1 + d (1 - s))``,
independently of all others; f does not know the labels of the hidden rows, so given f and the ranking this is still
so. Then `Selective SeqStep+` (Barber and Candès 2015, Theorem 3) says that for the longest list with
``(1 + D) c / (1 - c) <= q max(1, T)`` the mean of the share of wrong ones is at most q; and ``c / (1 - c)`` is
``1 / (d (1 - s))``: 2 for one decoy, 1 for two. The conditions: whether a wrong match is a target or a decoy is a coin
that depends neither on the features nor on other rows, and it falls on "target" no more often than said.

A training decoy stands for ``(1 + d (1 - s)) / (d s)`` wrong hidden rows (3 for one decoy), which is its weight, and a
list of hidden rows holds more wrong ones than the list of targets in it: `rate_to_learn`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ...statistics.target_decoy import Array, Mask, cut
from ..status import SOLVED, Ended, Status
from .q_value import QValueResult

SHARE = 0.5  # of the decoys that train, as in the paper


@dataclass(frozen=True, eq=False)
class Parted:
    """Which decoys train, and the decoys that a wrong target met."""

    trains: Mask
    decoys_per_target: float = 1.0

    @classmethod
    def by_coins(cls, is_target: Mask, seed: int, decoys_per_target: float = 1.0) -> Parted:
        """A coin for each row, so that the coins of decoys do not depend on who else is one."""
        heads = np.random.default_rng(seed).random(len(is_target)) < SHARE
        trains = heads & ~is_target
        if not trains.any():
            raise ValueError(
                f"proof='reset' trains with half of the decoys, drawn by coins, and none of the "
                f"{int((~is_target).sum())} was drawn: more decoys are needed, or proof=None"
            )
        return cls(trains, decoys_per_target)

    @property
    def judges_per_target(self) -> float:
        """Judges for each wrong target."""
        return self.decoys_per_target * (1.0 - SHARE)

    @property
    def wrong_per_training_decoy(self) -> float:
        return (1.0 + self.judges_per_target) / (self.decoys_per_target * SHARE)

    def rate_to_learn(self, max_q: float) -> float:
        """The share of wrong ones in a list of hidden rows whose targets have a share `max_q`.

        With R right ones and N wrong ones, of which a share c are targets: ``c N / (R + c N) = q``."""
        c = 1.0 / (1.0 + self.judges_per_target)
        return max_q / ((1.0 - max_q) * c + max_q)


def judged(found: QValueResult, scores: Array, is_target: Mask, parted: Parted, max_q: float) -> QValueResult:
    """The same model with its threshold where the list of these rows ends, and as objective the targets in it."""
    hidden = ~parted.trains
    count = int(hidden.sum())
    end = cut(scores[hidden], is_target[hidden], np.ones(count), max_q, parted.judges_per_target)
    threshold, status = end.threshold, SOLVED
    if not found.status.solved and found.status.ended is Ended.TROUBLE:
        status = found.status
    elif not end.targets:
        threshold = float(scores[hidden].max()) if count else 0.0
        status = Status(Ended.INFEASIBLE, f"no threshold keeps the rate that the judging decoys show within {max_q:g}")
    else:
        below = scores[hidden][scores[hidden] < threshold]
        threshold = (threshold + float(below.max())) / 2.0 if len(below) else threshold - 1.0
    model = dataclasses.replace(found.model, intercept=found.model.intercept - threshold)
    return dataclasses.replace(found, model=model, objective=end.targets, status=status)
