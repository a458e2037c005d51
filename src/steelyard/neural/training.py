"""Training networks for a measure: batches of one part of the rows, and a look at the rest after every epoch.

Given networks, each with its loss, the rows to learn from and the rows to judge by, minimise the losses with AdamW.
What is judged is the moving average of a network's weights, and by its *loss* on the rows left out: the measure at
their best threshold is a maximum over thresholds of what a few rows decide, and its largest value over the epochs is
mostly luck (docs/neural.md has the figures). The weights of the best epoch are kept, network by network, and training
ends when none has been better for `patience` epochs. Ctrl-C ends it as well, with the best so far.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..solvers.status import Ended, Status
from ..statistics import frontier
from ..statistics.resampling import Goal
from ._torch import torch

Array = NDArray[np.float64]
Tensor = torch.Tensor
STEP_THREADS = 1  # a step of a small network is a millisecond: threads would wait for each other more than they work
AT_ONCE = 8192  # rows scored at once: a few MB at the widths used here
KEPT = 0.1  # of the rates of the epoch before, so that an epoch does not begin with rates of one batch


@dataclass(frozen=True)
class Schedule:
    """How long and how fast."""

    max_epochs: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    patience: int
    seed: int
    device: Any


@dataclass(frozen=True, eq=False)
class Part:
    """Rows with labels and weights, on the way to a network."""

    X: Any
    is_positive: NDArray[np.bool_]
    weight: Array | None

    def __len__(self) -> int:
        return len(self.is_positive)

    def take(self, which: NDArray[np.intp]) -> Part:
        weight = None if self.weight is None else self.weight[which]
        return Part(self.X[which], self.is_positive[which], weight)


class CrossEntropy(torch.nn.Module):
    """The plain loss, with the interface of `MeasureLoss`."""

    def forget(self, keep: float) -> None:
        """There is nothing to forget."""

    def forward(self, scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        total = torch.nn.functional.binary_cross_entropy_with_logits(
            scores, labels.to(scores.dtype), weights, reduction="sum"
        )
        return total / (len(scores) if weights is None else weights.sum())


class Member:
    """A network with its loss, the moving average of its weights, and the best of those so far."""

    def __init__(self, network: Any, loss: Any) -> None:
        self.network, self.loss = network, loss
        self.averaged = copy.deepcopy(network).eval()
        self.now: Array = np.empty(0)  # scores of the rows that judge
        self.state: dict[str, Tensor] | None = None
        self.scores: Array = np.empty(0)
        self.least, self.epoch = math.inf, 0

    def look(self, judge: Part, epoch: int, device: Any) -> None:
        """Score the rows that judge, and keep the average if its loss there is the least so far."""
        self.now = score_rows(self.averaged, judge.X, device, torch.float32)
        self.loss.eval()
        with torch.no_grad():
            weight = None if judge.weight is None else torch.from_numpy(judge.weight).to(device)
            scores, labels = (torch.from_numpy(part).to(device) for part in (self.now, judge.is_positive))
            value = float(self.loss(scores, labels, weight))
        if self.state is None or value < self.least:
            state = {name: part.detach().clone() for name, part in self.averaged.state_dict().items()}
            self.state, self.scores, self.least, self.epoch = state, self.now, value, epoch


@dataclass
class Trained:
    """The networks with the weights of their best epochs, the mean of their scores of the rows that judge, the last of
    those epochs, and how training went."""

    members: list[Member]
    status: Status
    history: dict[str, list[float]] = field(default_factory=dict)

    @property
    def scores(self) -> Array:
        return np.mean([member.scores for member in self.members], axis=0)

    @property
    def epoch(self) -> int:
        return max(member.epoch for member in self.members)


def standardise(network: Any, X: Any) -> None:
    """Set the network's means and scales; a column that never changes has a scale of 1."""
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0), dtype=np.float64).ravel()
        scale = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        mean, scale = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1e-300), scale, 1.0)
    network.mean.copy_(torch.from_numpy(mean))
    network.scale.copy_(torch.from_numpy(scale))


def score_rows(network: Any, X: Any, device: Any, dtype: Any) -> Array:
    """Logits of all rows, by a network in `eval` mode."""
    found = [np.empty(0)]
    with torch.no_grad():
        for start in range(0, X.shape[0], AT_ONCE):
            rows = _dense(X[start : start + AT_ONCE], device, dtype)
            found.append(network(rows).reshape(-1).double().cpu().numpy())
    return np.concatenate(found)


def train(
    members: list[Member],
    learn: Part,
    judge: Part,
    goal: Goal,
    schedule: Schedule,
    watch: Callable[[int, str], None],
) -> Trained:
    """The networks, each at its least loss on the rows `judge`; `watch` is told of every epoch."""
    weights = [weight for member in members for weight in member.network.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=schedule.learning_rate, weight_decay=schedule.weight_decay)
    batches = _Batches(learn, schedule)
    trained = Trained(members, Status(Ended.LIMIT, f"{schedule.max_epochs} epochs"), {"loss": [], "measure": []})
    epoch = 0
    try:
        for epoch in range(1, schedule.max_epochs + 1):
            mean = _epoch(members, optimizer, batches, epoch, bool(goal.constraints))
            for member in members:
                member.look(judge, epoch, schedule.device)
            now = np.mean([member.now for member in members], axis=0)
            if not np.isfinite(now).all():
                trained.status = Status(
                    Ended.TROUBLE, f"the scores of epoch {epoch} are not finite: try a smaller learning_rate"
                )
                break
            value = value_of(now, judge, goal)
            trained.history["loss"].append(mean), trained.history["measure"].append(value)
            watch(len(learn), f"epoch {epoch}, loss {mean:.4f}, measure {value:.4f}")
            if epoch - trained.epoch >= schedule.patience:
                words = f"no less loss on the rows left out in {schedule.patience} epochs after epoch {trained.epoch}"
                trained.status = Status(Ended.SOLVED, words)
                break
    except KeyboardInterrupt:
        if any(member.state is None for member in members):
            raise
        trained.status = Status(Ended.STOPPED, f"interrupted in epoch {epoch}; that of epoch {trained.epoch} is kept")
    if not trained.history["loss"]:
        raise FloatingPointError(str(trained.status))
    return trained


@contextmanager
def one_thread(device: Any) -> Iterator[None]:
    """On a processor, steps by `STEP_THREADS`; also, sums then have the same bits on every machine of a kind."""
    before = torch.get_num_threads()
    try:
        if torch.device(device).type == "cpu":
            torch.set_num_threads(STEP_THREADS)
        yield
    finally:
        torch.set_num_threads(before)


def value_of(scores: Array, judge: Part, goal: Goal) -> float:
    """The best value of any threshold on these rows; minus infinity where none meets the constraints."""
    points = frontier.scan(scores, judge.is_positive, judge.weight)
    try:
        value = frontier.best_point(points, goal.measure, goal.constraints).value
    except frontier.InfeasibleError:
        return -math.inf
    return value


def _epoch(members: list[Member], optimizer: Any, batches: _Batches, epoch: int, constrained: bool) -> float:
    """One time over the rows; the mean of the losses."""
    for member in members:
        member.network.train(), member.loss.train()
        if not constrained:  # a multiplier settles by the number of rows that have moved it
            member.loss.forget(KEPT)
    total, count = 0.0, 0
    # The average spans about an epoch, and in the first ones as much as there is.
    decay = min(1.0 - 1.0 / max(len(batches), 2), epoch / (epoch + 9.0))
    live = [weight for member in members for weight in member.network.parameters()]
    slow = [weight for member in members for weight in member.averaged.parameters()]
    for rows, labels, weight in batches.shuffled():
        optimizer.zero_grad(set_to_none=True)
        value = sum(member.loss(member.network(rows), labels, weight) for member in members)
        value.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(slow, live, 1.0 - decay)
        total, count = total + value.detach(), count + 1
    for member in members:
        for ours, theirs in zip(member.averaged.buffers(), member.network.buffers(), strict=True):
            ours.copy_(theirs)
    return float(total) / max(count, 1) / len(members)


class _Batches:
    """Rows in a new order every epoch; a last batch that is too small for a mean joins the one before."""

    def __init__(self, part: Part, schedule: Schedule) -> None:
        self.part, self.schedule = part, schedule
        self.rng = np.random.default_rng(schedule.seed)
        n = len(part)
        self.cuts = np.linspace(0, n, max(1, round(n / schedule.batch_size)) + 1).astype(int)
        self.dense = None if sp.issparse(part.X) else _dense(part.X, schedule.device, torch.float32)
        self.labels = torch.from_numpy(part.is_positive).to(schedule.device)
        self.weight = None
        if part.weight is not None:
            self.weight = torch.from_numpy(part.weight / part.weight.mean()).to(schedule.device, torch.float32)

    def __len__(self) -> int:
        return len(self.cuts) - 1

    def shuffled(self) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        order = self.rng.permutation(len(self.part))
        where = torch.from_numpy(order).to(self.schedule.device)
        for start, end in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            some = where[start:end]
            if self.dense is None:
                rows = _dense(self.part.X[np.sort(order[start:end])], self.schedule.device, torch.float32)
                some = torch.sort(some).values
            else:
                rows = self.dense[some]
            yield rows, self.labels[some], None if self.weight is None else self.weight[some]


def _dense(X: Any, device: Any, dtype: Any) -> Tensor:
    rows = X.toarray() if sp.issparse(X) else X
    return torch.from_numpy(np.ascontiguousarray(rows)).to(device=device, dtype=dtype)
