"""What a false alarm costs against a miss, moved from round to round until the rate of false alarms is at the cap.

Given is the surrogate rate that a machine has at the ratio of costs so far; the next ratio is ``ratio (rate /
cap)^gain``: to first order the paper's ``1 + nu (rate - cap)`` with nu = gain / cap (002, Algorithms 1 and 3), but a
factor 2 too high and too low are answered alike. The gain follows the slope seen between the last two rounds, and late
steps are smaller, since the rows given up lag behind the ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class MultiplierRule:
    """How the ratio moves."""

    precision: float = 0.05
    largest_move: float = math.log(4.0)
    gains: tuple[float, float] = (0.2, 3.0)
    patience: int = 12
    runaway: float = 30.0
    reclaims: int = 3
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
        """``log(rate / cap)``; a rate of next to nothing counts as a thousandth of the cap."""
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
