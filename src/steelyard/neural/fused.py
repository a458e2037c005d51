"""A step of the loss on a GPU in one launch.

A step of a small network there is some hundred launches of ten microseconds, whatever their size. Cross-entropy takes a
dozen of them, forward and backward; the weights of a measure by operations on tensors would be a dozen more, and a look
at its slopes sixty. One kernel reads scores and labels once, and writes the loss and its gradient. Its programs add up
what they count; the one that ends last moves the multiplier of a constraint, looks at the slopes of the measure where
that is due, and leaves the weights for the next batch. Back goes one product.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from . import figures as of
from ._torch import torch

if TYPE_CHECKING:
    from .duals import Duals

BLOCK = 1024  # rows of a program: 64 programs for the batches of 65,536 that the benchmark has; not tuned
REWARDS = ("logistic", "hinge", "sigmoid", "ramp", "erf")  # Triton has no arctangent of its own
HAS_TRITON = importlib.util.find_spec("triton") is not None


def suits(duals: Duals, scores: Any, weights: Any, reward: str) -> bool:
    """Rows without weights on a GPU, counted, under the guard, and a constraint whose form does not move."""
    if not scores.is_cuda:
        return False
    task, distributed = duals.task, torch.distributed
    if not (HAS_TRITON and weights is None and scores.dtype == torch.float32 and len(scores) and reward in REWARDS):
        return False
    if not task.guard or task.needs_rewards or duals.tally.device != scores.device:
        return False
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return False
    return task.constraint is None or not task.constraint.cleared.needs_prevalence


# Not compiled: a compiled backward pass would compute the weights once more, from buffers that have moved on.
@torch.compiler.disable
def step(duals: Duals, reward: str, width: float, scores: Any, labels: Any, learns: bool) -> Any:
    """The loss of a batch; the batch is counted, and weights move for the next one, if it `learns`."""
    found: Any = Step.apply(scores, labels, duals, reward, width, learns)
    return found


class Step(torch.autograd.Function):
    """The loss, with the gradient made beside it."""

    @staticmethod
    def forward(ctx: Any, scores: Any, labels: Any, duals: Duals, reward: str, width: float, learns: bool) -> Any:
        from ._triton import step_kernel  # compiled at its first call

        held, n, task = duals._buffers, len(scores), duals.task
        constrained, programs = task.constraint is not None, -(-n // BLOCK)
        figures, scratch = _held(duals, scores.device, width, programs)
        scores, labels = scores.contiguous(), labels.contiguous()
        grad, value = torch.empty_like(scores), scores.new_empty(())
        labels = labels.view(torch.uint8) if labels.dtype == torch.bool else labels
        tally = held["tally"]
        line, multiplier, last = (held[k] for k in ("line", "multiplier", "last")) if constrained else (tally,) * 3
        n_tape = len(duals.tape[0])
        if learns:
            duals._mass = None  # of what a batch adds nothing is known here
        with torch.cuda.device_of(scores):
            step_kernel[(programs,)](
                scores, labels, grad, value, tally, held["pull"], held["slope"], held["looked_at"], line, multiplier, last,
                scratch, figures, n, n_tape, REWARD=reward, LEARNS=learns, CONSTRAINED=constrained,
                RUNNING=task.prevalence is None, SIDE=0 if constrained and duals.side_is_negative else 1,
                SLOTS=max(16, 1 << (n_tape - 1).bit_length()), BLOCK=BLOCK,
            )  # fmt: skip
        ctx.save_for_backward(grad)
        return value

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Any) -> Any:
        (grad,) = ctx.saved_tensors
        return grad * slope, None, None, None, None, None


_KEPT: WeakKeyDictionary[Duals, dict[Any, tuple[Any, Any]]] = WeakKeyDictionary()


def _held(duals: Duals, device: Any, width: float, programs: int) -> tuple[Any, Any]:
    """Made once: what the kernel is told, and zeros to count in, which it leaves as such."""
    kept = _KEPT.setdefault(duals, {})
    room, key = 9 + programs, (device, width)
    if key not in kept or len(kept[key][1]) < room:
        told = torch.from_numpy(given(duals, width)).to(device)
        kept[key] = told, torch.zeros(room, dtype=torch.float64, device=device)
    return kept[key]


def given(duals: Duals, width: float) -> np.ndarray:
    """What the kernel is told, in the order of its names: figures, and the tape of the measure."""
    share = 0.5 if duals.task.prevalence is None else duals.task.prevalence
    figures = [
        duals.gain, share, width, of.STALE, of.CLIP, of.FLOOR, of.SHARE_POWER, of.STEEPEST, of.DOWN, of.UP, of.LOW,
        of.HIGH, of.LEAST_SLACK,
    ]  # fmt: skip
    return np.concatenate([figures, np.column_stack(duals.tape).ravel()])
