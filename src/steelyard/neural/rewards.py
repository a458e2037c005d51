"""One minus the reward of a margin, on tensors: what a row costs before its class is weighed.

    hinge     max(0, 1 - z)                 logistic  log(1 + exp(-z))
    sigmoid   1 / (1 + exp(z / width))      ramp      clip((width - z) / (2 width), 0, 1)
    arctan    1/2 - arctan(z / width) / pi  erf       (1 - erf(z / width)) / 2

for the margin ``z = y f(x)``: the rewards of `src/core/stream/rewards.hpp`, with the slopes that autograd finds.
(Where a reward has a kink, a score that is exactly there may count as of either side.)
"""

from __future__ import annotations

import math

from ..solvers.stream.problem import REWARDS
from ._torch import torch


def shortfall(kind: str, z: torch.Tensor, width: float) -> torch.Tensor:
    """One minus the reward."""
    functional = torch.nn.functional
    if kind == "hinge":
        return functional.relu(1.0 - z)
    if kind == "logistic":
        return functional.softplus(-z)
    s = z if width == 1.0 else z / width
    if kind == "sigmoid":
        return torch.sigmoid(-s)
    if kind == "ramp":
        return functional.hardtanh(0.5 - 0.5 * s, 0.0, 1.0)
    return 0.5 - torch.atan(s) / math.pi if kind == "arctan" else 0.5 * torch.erfc(s)


def missed_by(
    kind: str, scores: torch.Tensor, labels: torch.Tensor, weight: torch.Tensor, width: float
) -> torch.Tensor:
    """The weighted sum over rows of one minus the reward; labels are booleans, or numbers of the scores' type."""
    if kind == "logistic":  # in one kernel, and one for its gradient
        summed = 2  # what torch.nn.functional, whose checks are ours, makes of reduction="sum"
        return torch.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype), weight, None, summed)
    positive = labels if labels.dtype == torch.bool else labels > 0
    return (weight * shortfall(kind, torch.where(positive, scores, -scores), width)).sum()


def check_reward(kind: str) -> str:
    if kind not in REWARDS:
        raise ValueError(f"reward is one of {', '.join(map(repr, REWARDS))}; got {kind!r}")
    return kind
