"""A step of the loss on a GPU in one launch, or two under a constraint.

A step of a small network there is some hundred launches of ten microseconds, whatever their size, so that the dozen
operations on tensors by which a batch is counted and weighed would be a tenth of it. One kernel reads scores and labels
once, writes the weights of the rows and their labels as numbers, and adds the counts to the tally; a second one, of a
single program, moves the multiplier of a constraint and the weights. What is left to tensors are the rare looks at the
slopes of the measure.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from . import figures as of
from ._torch import torch

if TYPE_CHECKING:
    from .duals import Duals

BLOCK = 1024  # rows of a program: 64 programs for the batches of 65,536 that the benchmark has; not tuned
HAS_TRITON = importlib.util.find_spec("triton") is not None


def suits(duals: Duals, scores: Any, weights: Any) -> bool:
    """Rows without weights on a GPU, counted, under the guard, and a constraint whose form does not move."""
    if not scores.is_cuda:
        return False
    task, distributed = duals.task, torch.distributed
    if not (HAS_TRITON and weights is None and scores.dtype == torch.float32 and len(scores)):
        return False
    if not task.guard or task.needs_rewards or duals.tally.device != scores.device:
        return False
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return False
    return task.constraint is None or not task.constraint.cleared.needs_prevalence


def weigh(duals: Duals, scores: Any, labels: Any, learns: bool) -> tuple[Any, Any]:
    """The weights of the rows, each a share of their number, and labels as numbers; the batch is counted and weights
    move for the next one if it `learns`."""
    from ._triton import constraint_kernel, weigh_kernel

    held, n, constrained = duals._buffers, len(scores), duals.task.constraint is not None
    scores, labels = scores.contiguous(), labels.contiguous()
    row, target = torch.empty_like(scores), torch.empty_like(scores)
    into = held["tally"] if learns and not constrained else duals.scratch(scores.device)
    labels = labels.view(torch.uint8) if labels.dtype == torch.bool else labels
    with torch.cuda.device_of(scores):
        weigh_kernel[(-(-n // BLOCK),)](scores, labels, held["pull"], row, target, into, n, 1.0 / n, BLOCK=BLOCK)
        if not learns:
            into.zero_()
            return row, target
        if constrained:
            side = 0 if duals.side_is_negative else 1
            share = 0.5 if duals.task.prevalence is None else duals.task.prevalence
            constraint_kernel[(1,)](
                held["tally"], into, held["line"], held["multiplier"], held["last"], held["slope"], held["pull"],
                duals.gain, share, RUNNING=duals.task.prevalence is None, SIDE=side, DOWN=of.DOWN, UP=of.UP,
                LOW=of.LOW, HIGH=of.HIGH, LEAST_SLACK=of.LEAST_SLACK, FLOOR=of.FLOOR, SHARE_POWER=of.SHARE_POWER,
                STEEPEST=of.STEEPEST,
                num_warps=1,
            )  # fmt: skip
    duals.look_if_due(n)
    return row, target
