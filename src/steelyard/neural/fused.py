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
    if not (scores.is_cuda and HAS_TRITON and weights is None and scores.dtype == torch.float32 and len(scores)):
        return False
    task, distributed = duals.task, torch.distributed
    if not task.guard or task.needs_rewards or reward not in REWARDS or duals._buffers["tally"].device != scores.device:
        return False
    if distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1:
        return False
    return task.constraint is None or not task.constraint.cleared.needs_prevalence


def step(duals: Duals, reward: str, width: float, scores: Any, labels: Any, learns: bool) -> Any:
    """The loss of a batch; the batch is counted, and weights move for the next one, if it `learns`."""
    found: Any = Step.apply(scores, labels, duals, reward, width, learns)
    return found


# A compiled backward pass would compute the weights once more, from buffers that have moved on.
step_apart = torch.compiler.disable(step)


class Step(torch.autograd.Function):
    """The loss, with the gradient made beside it."""

    @staticmethod
    def forward(ctx: Any, scores: Any, labels: Any, duals: Duals, reward: str, width: float, learns: bool) -> Any:
        programs = -(-len(scores) // BLOCK)
        launch = _KEPT.get(duals)
        if launch is None or not launch.fits(duals, width, programs):
            launch = _KEPT[duals] = Launch(duals, scores.device, width, programs)
        scores, labels = scores.contiguous(), labels.contiguous()
        labels = labels.view(torch.uint8) if labels.dtype == torch.bool else labels
        grad, value = torch.empty_like(scores), scores.new_empty(())
        if learns and duals._mass is not None:
            duals._mass = None  # of what a batch adds nothing is known here
        with torch.cuda.device_of(scores):
            launch(programs, (scores, labels, grad, value), reward, learns)
        ctx.save_for_backward(grad)
        return value

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, slope: Any) -> Any:
        (grad,) = ctx.saved_tensors
        return grad * slope, None, None, None, None, None


class Launch:
    """All that one call of the kernel has in common with the next. The kernel leaves zeros where it has counted."""

    def __init__(self, duals: Duals, device: Any, width: float, programs: int) -> None:
        from ._triton import step_kernel  # compiled at its first call

        held, n_tape, constrained = duals._buffers, len(duals.tape[0]), duals.task.constraint is not None
        of_constraint = ("line", "multiplier", "last") if constrained else ("tally",) * 3
        state = [held[name] for name in ("tally", "pull", "slope", "looked_at", *of_constraint)]
        batch, parts = (torch.zeros(n, dtype=torch.float64, device=device) for n in (9, programs))
        told, tape = (torch.from_numpy(x).to(device) for x in (given(duals, width), np.column_stack(duals.tape)))
        self.kept = [*state, batch, parts, told, tape]
        self.places = torch.tensor([x.data_ptr() for x in self.kept], device=device)
        self.kernel, self.width, self.programs = step_kernel, width, programs
        self.form = {"CONSTRAINED": constrained, "SLOTS": max(16, 1 << (n_tape - 1).bit_length()), "BLOCK": BLOCK}

    def fits(self, duals: Duals, width: float, programs: int) -> bool:
        """Whether the buffers are still the same, and there is room for so many programs."""
        return duals._buffers["tally"] is self.kept[0] and width == self.width and programs <= self.programs

    def __call__(self, programs: int, batch: tuple[Any, ...], reward: str, learns: bool) -> None:
        self.kernel[(programs,)](*batch, self.places, len(batch[0]), REWARD=reward, LEARNS=learns, **self.form)


_KEPT: WeakKeyDictionary[Duals, Launch] = WeakKeyDictionary()


def given(duals: Duals, width: float) -> np.ndarray:
    """The figures that the kernel is told, in its order."""
    side = duals.task.constraint is not None and not duals.side_is_negative
    return np.array([
        duals.gain, -1.0 if duals.task.prevalence is None else duals.task.prevalence, width, of.STALE, of.CLIP,
        of.FLOOR, of.SHARE_POWER, of.STEEPEST, of.DOWN, of.UP, of.LOW, of.HIGH, of.LEAST_SLACK, side,
        len(duals.tape[0]),
    ], dtype=np.float64)  # fmt: skip
