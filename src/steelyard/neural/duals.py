"""What the batches have shown so far, and the weights of the two classes that follow from it: dual state in buffers.

For a batch with margins ``z`` the stream's learner (`src/core/stream/class_weights.hpp`) is followed step by step, a
batch in place of a row: the batch enters the tallies, its rows are weighed with what was known before, and then the
weights are looked at anew. A batch of one row does exactly what the compiled loop does (refresh=1).

    guarded   the slopes of the measure at the running rates, normalised, no less than a quarter of a class's share
    letter    Kar et al., Algorithm 1: the nested duals of `nested.py`, from zero, exact gradients. A ratio (SCAN)
              weighs numerator - level * denominator, at the level of the running rates
    constraint  a P + b N + c >= 0 with multiplier lam: the weights of M + lam (a P + b N + c), lam moving by factors

All of it is tensor arithmetic: no device is waited for. Buffers are double, whatever
the model's type, since counts of a million rows have no place in half precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..measures import Constraint, Measure
from ..solvers.stream.problem import NeymanPearson, choose_solver
from . import figures as of
from . import numbers
from ._torch import torch
from .nested import Nest

Tensor = torch.Tensor


@dataclass(frozen=True)
class Task:
    """What the weights are for. `prevalence` None is the running share of positives."""

    measure: Measure
    constraint: Constraint | None = None
    prevalence: float | None = None
    counts: bool = True
    guard: bool = True

    @property
    def needs_rewards(self) -> bool:
        """Whether means of the reward are asked for, and not counts alone."""
        return not self.counts or (self.constraint is not None and not self.guard)


class Duals(torch.nn.Module):
    """Tallies and class weights of a `Task`."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task
        self.gain = NeymanPearson().gain_for(task.guard)
        for name, shape in (("tally", (2, 4)), ("pull", (2,)), ("slope", (2,)), ("looked_at", ())):
            self.register_buffer(name, torch.zeros(shape, dtype=torch.float64))
        tape = task.measure.tape()
        self.tape = (tape.op, tape.left, tape.right, tape.number)
        self.nests = torch.nn.ModuleList()
        if task.guard:
            self.pull.fill_(1.0)
        elif task.constraint is None:
            choose_solver(task.measure, None, guard=False)  # refuses what is neither concave nor a ratio
            ratio = task.measure.ratio() if task.measure.curvature not in ("concave", "affine") else None
            self.nests.extend(Nest(part) for part in (ratio or (task.measure,)))
        if task.constraint is not None:
            share = 0.5 if task.prevalence is None else task.prevalence
            line = torch.tensor(task.constraint.coefficients(share), dtype=torch.float64)
            # Rows of the negative class move the multiplier, unless only the positive one counts.
            self.side_is_negative = bool(line[1] != 0.0 or line[0] == 0.0)
            self.register_buffer("line", line)  # a, b, c of a P + b N + c, at the last look
            self.register_buffer("multiplier", torch.ones((), dtype=torch.float64))
            self.register_buffer("last", torch.zeros(2, dtype=torch.float64))
            if not task.guard:
                self._weigh_constraint(share)
        # The mass of all rows, and at the last look, while it is known without asking the device.
        self._mass: float | None = 0.0
        self._looked_at = 0.0

    # -- before a batch is weighed ------------------------------------------------------------------------------
    def observe(self, batch: Any) -> None:
        """The tally of one batch, over all processes: a tensor, or numbers where those are read."""
        if self.reads_numbers():
            return numbers.observe(self, batch)
        self.tally.add_(batch)
        if self.task.constraint is not None:
            self._move_multiplier(batch)

    def row_weights(self) -> Tensor:
        """Of a negative and of a positive row."""
        if self.task.guard:
            return self.pull
        mass = self._by_class(of.MASS)
        return self.pull * mass.sum() / torch.where(mass > 0.0, mass, torch.ones_like(mass))

    # -- after it -----------------------------------------------------------------------------------------------
    def refresh(self, batch: Any, exact_rows: int | None) -> None:
        """Look at the weights anew. `exact_rows`: the mass of the batch, where it is known without asking a device."""
        if self.reads_numbers():
            return numbers.refresh(self)
        if not self.task.guard:
            return self._to_the_letter(batch)
        if self._may_be_stale(exact_rows) or self.task.constraint is not None:
            self._look()

    def _look(self) -> None:
        p, mass = self.share(), self.tally[0, of.MASS]
        stale = mass >= of.STALE * self.looked_at
        self.slope.copy_(torch.where(stale, self._slopes(p), self.slope))
        self.looked_at.copy_(torch.where(stale, mass, self.looked_at))
        if self.task.constraint is not None:
            self.pull.copy_(self._guarded(p))
        else:
            self.pull.copy_(torch.where(stale, self._guarded(p), self.pull))

    def forget(self, keep: float) -> None:
        """The rows seen so far count as a share of what they were; how many they were stays known."""
        self.tally[:, of.MASS :] *= keep
        self.looked_at.zero_()
        self._mass, self._looked_at = None if self._mass is None else keep * self._mass, 0.0

    def _may_be_stale(self, exact_rows: int | None) -> bool:
        """False where it is certain that nothing is to be done: that saves the evaluation of the measure."""
        if torch.compiler.is_compiling():
            return True
        if exact_rows is None or self._mass is None:
            self._mass = None
            return True
        self._mass += exact_rows
        if self._mass < of.STALE * self._looked_at:
            return False
        self._looked_at = self._mass
        return True

    # -- rates --------------------------------------------------------------------------------------------------
    def _by_class(self, column: int) -> Tensor:
        """Of negatives and positives."""
        pos = self.tally[1, column]
        return torch.stack((self.tally[0, column] - pos, pos))

    def running_share(self) -> Tensor:
        mass = self.tally[:, of.MASS]
        return (mass[1] + 0.5) / (mass[0] + 1.0) if self.task.guard else mass[1] / mass[0]

    def share(self) -> Any:
        """The prevalence that the measure is taken at."""
        return self.running_share() if self.task.prevalence is None else self.task.prevalence

    def sample_size(self) -> Tensor:
        return self.tally[0, of.ROWS].clamp(min=1.0)

    def mean_credit(self, counts: bool) -> Tensor:
        """The rates of negatives and positives, or means of their rewards; halfway from 1/2 under the guard."""
        mass, credit = self._by_class(of.MASS), self._by_class(of.RIGHT if counts else of.REWARD)
        if self.task.guard:
            return (credit + 0.5) / (mass + 1.0)
        return credit / torch.where(mass > 0.0, mass, torch.ones_like(mass))

    def rates(self) -> tuple[Tensor, Tensor]:
        """TPR and TNR, or their surrogates, where logarithms and roots have finite slopes."""
        neg, pos = self.mean_credit(self.task.counts).clamp(of.CLIP, 1.0 - of.CLIP)
        return pos, neg

    # -- weights ------------------------------------------------------------------------------------------------
    def _slopes(self, p: Any) -> Tensor:
        """The gradient of the measure at the running rates, for negatives and positives."""
        pos, neg = self.rates()
        pos, neg = self.task.measure.gradient(pos, neg, p, sample_size=self.sample_size())
        return torch.stack((neg, pos))

    @property
    def takes_counts(self) -> bool:
        """Whether counts of rows are all that the weights follow, and plain numbers do."""
        return not self.task.needs_rewards and self.reads_numbers()

    def reads_numbers(self) -> bool:
        """Whether the guarded weights are worked out in plain numbers: on a processor, and not being compiled."""
        return self.task.guard and self._buffers["tally"].is_cpu and not torch.compiler.is_compiling()

    def _guarded(self, p: Any) -> Tensor:
        slope = self.slope if self.task.constraint is None else self.slope + self._pull_of_constraint(p)
        shares = torch.stack((1.0 - p, p)) if isinstance(p, Tensor) else self.slope.new_tensor([1.0 - p, p])
        # Where a measure falls in a rate its slope would reward mistakes.
        slope = torch.where((slope < 0.0).any(), shares**of.SHARE_POWER, slope)
        slope = torch.nan_to_num(slope, nan=of.STEEPEST, posinf=of.STEEPEST)
        total = slope.sum()
        part = torch.maximum(torch.where(total > 0.0, slope / total, shares), of.FLOOR * shares)
        running = shares
        if self.task.prevalence is not None:  # rows of a class count by their share in the batches that come
            share = self.running_share()
            running = torch.stack((1.0 - share, share))
        return part / part.sum() / running

    def _to_the_letter(self, batch: Tensor) -> None:
        mass, p = self._by_class(of.MASS), self.share()
        if self.task.constraint is not None:
            return self._weigh_constraint(p)
        size = self.sample_size()
        credit = batch[:, of.RIGHT if self.task.counts else of.REWARD]
        block = torch.stack((credit[0] - credit[1], credit[1])) * mass.sum()
        block = block / torch.where(mass > 0.0, mass, torch.ones_like(mass))
        found = [nest.step(block, batch[0, of.MASS], mass.sum(), self.rates(), p, size) for nest in self.nests]
        pull = found[0]
        if len(found) == 2:
            pull = pull - self.nests[0].value() / self.nests[1].value() * found[1]
        self.pull.copy_(pull)

    # -- the constraint -----------------------------------------------------------------------------------------
    def _pull_of_constraint(self, p: Any) -> Tensor:
        """What the constraint, looked at anew, adds to the slopes of negatives and positives."""
        form = self.task.constraint.cleared
        if form.needs_prevalence:
            zero, size = self.tally.new_zeros(()), self.sample_size()
            slopes = form.gradient(zero, zero, p, sample_size=size)
            self.line.copy_(torch.stack((slopes.tpr, slopes.tnr, form(zero, zero, p, sample_size=size))))
        return self.multiplier * self.line[:2].flip(0)

    def _weigh_constraint(self, p: Any) -> None:
        """To the letter: the measure is linear, so it does not matter where its slopes are taken."""
        half = self.tally.new_full((), 0.5)
        pos, neg = self.task.measure.gradient(half, half, p, sample_size=self.sample_size())
        self.pull.copy_(torch.stack((neg, pos)) + self._pull_of_constraint(p))

    def _move_multiplier(self, batch: Tensor) -> None:
        """``lam *= 1 - gain slack / (slack of a perfect classifier)`` for every row of the negative class, or of the
        positive one if only it counts: right rows and wrong rows each by their own factor, as often as there are."""
        slopes, perfect = self.line[:2].flip(0), self.line.sum()  # of negatives and positives
        by_class = torch.stack((batch[0] - batch[1], batch[1]))
        rows, mass = by_class[:, of.ROWS], by_class[:, of.MASS]
        seen, one = rows > 0.0, torch.ones_like(rows)
        counts = self.task.counts and self.task.guard
        value = by_class[:, of.RIGHT if counts else of.REWARD] / torch.where(mass > 0.0, mass, one)
        self.last.copy_(torch.where(seen, value, self.last))
        other = self.mean_credit(self.task.counts) if self.task.guard else self.last
        rest = slopes.flip(0) * other.flip(0) + self.line[2]  # the slack without the class at hand
        weight = mass / torch.where(seen, rows, one)
        parts = ((one, value * rows), (0.0 * one, (1.0 - value) * rows)) if counts else ((value, rows),)
        logs = torch.zeros_like(rows)  # a product over a large batch would not fit into a number
        for reward, times in parts:
            log = self._factor(weight * (slopes * reward + rest), perfect).log()
            logs = logs + torch.where(times > 0.0, times * log, torch.zeros_like(times))
        lam = self.multiplier * torch.where((slopes[0] != 0.0) | (slopes[1] == 0.0), logs[0], logs[1]).exp()
        self.multiplier.copy_(lam.clamp(of.LOW, of.HIGH) if self.task.guard else lam)

    def _factor(self, slack: Tensor, perfect: Tensor) -> Tensor:
        if not self.task.guard:
            return (1.0 - self.gain * slack).clamp(min=0.0)
        gain = self.gain / self._by_class(of.MASS).clamp(min=1e-300).sqrt()
        return (1.0 - gain * slack / perfect.clamp(min=of.LEAST_SLACK)).clamp(of.DOWN, of.UP)
