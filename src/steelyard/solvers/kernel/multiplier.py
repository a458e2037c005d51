"""What a false alarm costs against a miss, moved from round to round until the rate of false alarms is at the cap.

Given is the surrogate rate that a machine has at the ratio of costs so far; the next ratio is ``ratio (rate /
cap)^gain``: to first order the paper's ``1 + nu (rate - cap)`` with nu = gain / cap (Gasso et al., Algorithms 1
and 3), but a factor 2 too high and too low are answered alike. The gain follows the slope seen between
the last two rounds, and late steps are smaller, since the rows given up lag behind the ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MultiplierRule:
    """How the ratio moves.

    Counts are of 96 runs on overlapping classes (`settling` of benchmarks/papers/neyman_pearson.py, seeds 1000 to
    1007): 3 do not settle as it is, after 21 rounds in the mean.
    """

    # How close to the cap the surrogate rate ends, relative to it. The offset is exact in any case, and with 400
    # negatives the standard error of a rate of 0.05 is four times this; 0.02 to 0.1 do the same (4 and 2 unsettled).
    precision: float = 0.05
    # Of the log ratio in a round. From log 2 on no matter (2 unsettled); log 16 overshoots (6).
    largest_move: float = math.log(4.0)
    # Bounds of the secant's slope: two rounds may be alike by chance. Half and twice of each do the same (1 or 2
    # unsettled), a high of 6 takes 24 rounds.
    gains: tuple[float, float] = (0.2, 3.0)
    # Rounds after which the steps shrink like 1/n, or the ratio and the rows given up may chase each other: 8 unsettled
    # if they never shrink, 2 or 3 from 6 to 24.
    patience: int = 12
    # A ratio that is reached where the cap cannot be: runs that settle end at 21 or less. 10 to 100 do the same.
    runaway: float = 30.0
    # Times that negatives given up are taken back there: never, and 3 runs end above the cap; once is enough here.
    reclaims: int = 3
    # A row of one class has then 10,000 times the say of one of the other, and a kernel value in single precision has
    # seven digits. No run that settles comes near it (1 to 21).
    ratios: tuple[float, float] = (1e-4, 1e4)


@dataclass
class Multiplier:
    """The ratio of costs, from 1 (the paper's lambda = C n-/n+) on."""

    cap: float
    rule: MultiplierRule
    ratio: float = 1.0
    gain: float = 1.0
    taken_back: int = 0
    seen: list[tuple[float, float]] = field(default_factory=list)  # log ratio, log (rate / cap)

    def miss(self, rate: float) -> float:
        """``log(rate / cap)``; a rate of nothing counts as a thousandth of the cap, beyond any step that is made."""
        return math.log(max(rate, 1e-3 * self.cap) / self.cap)

    def next_move(self, miss: float, n_iter: int) -> float:
        """How far the logarithm of the ratio should move, by a secant through the last two rounds."""
        self.seen.append((math.log(self.ratio), miss))
        if len(self.seen) > 1:
            (ratio_before, miss_before), (ratio, _) = self.seen[-2:]
            if (miss - miss_before) * (ratio - ratio_before) < 0.0:
                low, high = self.rule.gains
                self.gain = min(max((ratio - ratio_before) / (miss_before - miss), low), high)
        move = self.gain * miss * min(1.0, self.rule.patience / n_iter)
        return min(max(move, -self.rule.largest_move), self.rule.largest_move)

    def has_run_away(self, move: float) -> bool:
        """Whether negatives given up while they were cheap seem to keep the rate above the cap at any price."""
        return move > 0.0 and self.ratio > self.rule.runaway and self.taken_back < self.rule.reclaims

    def take_back(self) -> None:
        """They are taken back: what was seen with them given up says nothing of what comes."""
        self.taken_back, self.seen = self.taken_back + 1, []

    def move(self, by: float) -> bool:
        """False at the end of its range: negatives cost next to nothing, or next to everything."""
        before, (low, high) = self.ratio, self.rule.ratios
        self.ratio = min(max(self.ratio * math.exp(by), low), high)
        return self.ratio != before
