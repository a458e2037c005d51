"""The dual variables of a nested concave measure on tensors (Kar et al., Algorithm 1, lines 7, 10, 13 and 15 to 17).

As in `src/core/stream/nested_duals.hpp`: a measure is a list of stages, each a function of two arguments that are rates
or earlier stages. Stage k keeps the running mean of ``zeta_k(x) + zeta_k'(x).(l - x)``, with x the means of its
arguments and l their latest values; the slopes, multiplied along the tree, are the weights of the two classes.
"""

from __future__ import annotations

from typing import Any

from ..measures import Measure
from ..measures.namespace import product
from ..measures.stages import TNR, TPR, stages
from ._torch import torch

Tensor = torch.Tensor


class Nest(torch.nn.Module):
    """The means of the stages, and their values, arguments and slopes when they were last looked at."""

    def __init__(self, measure: Measure) -> None:
        super().__init__()
        self.stages = stages(measure)
        k = len(self.stages)
        self.register_buffer("total", torch.zeros(k, dtype=torch.float64))
        self.register_buffer("frames", torch.zeros((k, 5), dtype=torch.float64))  # value, two arguments, two slopes
        self.register_buffer("started", torch.zeros((), dtype=torch.float64))

    def value(self) -> Tensor:
        return self.frames[-1, 0]

    def step(
        self, block: Tensor, mass: Tensor, total_mass: Tensor, rates: tuple[Tensor, Tensor], p: Any, size: Tensor
    ) -> Tensor:
        """Add a batch (its sums of (1/n) r- and (1/p) r+, and its mass), look at the rates; the weights of - and +."""
        total = self.total + self.started * self._sums(block, mass)
        frames, totals, means = [], [], []
        for k, stage in enumerate(self.stages):
            x = [_at(place, rates, means) for place in (stage.first, stage.second)]
            value = stage.function(*x, p, sample_size=size)
            slopes = stage.function.gradient(*x, p, sample_size=size)
            totals.append(torch.where(self.started > 0.0, total[k], total_mass * value))
            means.append((totals[k] / total_mass).clamp(stage.low, stage.high))
            frames.append(torch.stack((value, *x, slopes.tpr, slopes.tnr)))
        self.total.copy_(torch.stack(totals))
        self.frames.copy_(torch.stack(frames))
        self.started.fill_(1.0)
        return self._chain()

    def _sums(self, block: Tensor, mass: Tensor) -> Tensor:
        """What the batch adds to each total, by the slopes of the last look."""
        sums: list[Tensor] = []
        latest = (block[1], block[0])
        for k, stage in enumerate(self.stages):
            value, x, slope = self.frames[k, 0], self.frames[k, 1:3], self.frames[k, 3:5]
            moved = [_at(place, latest, sums) - mass * x[c] for c, place in enumerate((stage.first, stage.second))]
            sums.append(mass * value + slope[0] * moved[0] + slope[1] * moved[1])
        return torch.stack(sums)

    def _chain(self) -> Tensor:
        weight = [self.total.new_zeros(()) for _ in self.stages]
        rates = {TPR: self.total.new_zeros(()), TNR: self.total.new_zeros(())}
        weight[-1] = self.total.new_ones(())
        for k in reversed(range(len(self.stages))):
            stage = self.stages[k]
            for c, place in enumerate((stage.first, stage.second)):
                pull = product(weight[k], self.frames[k, 3 + c])
                if place in rates:
                    rates[place] = rates[place] + pull
                else:
                    weight[place] = weight[place] + pull
        return torch.stack((rates[TNR], rates[TPR]))


def _at(place: int, rates: tuple[Tensor, Tensor], stages: list[Tensor]) -> Tensor:
    return rates[0] if place == TPR else rates[1] if place == TNR else stages[place]
