"""Training a network for a measure: batches of one part of the rows, and the measure on the rest after every epoch.

Given a network, the rows to learn from and the rows to judge by, minimise `MeasureLoss` with AdamW. What is judged is
the moving average of the weights; the weights of the best epoch are kept, and training ends when none has been better
for `patience` epochs. Ctrl-C ends it as well, with the best so far.
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
from .loss import MeasureLoss

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


@dataclass
class Trained:
    """The weights of the best epoch, its scores of the rows that judge, and how training went."""

    state: dict[str, Tensor]
    scores: Array
    value: float
    epoch: int
    status: Status
    history: dict[str, list[float]] = field(default_factory=dict)


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
    network: Any,
    loss: MeasureLoss,
    learn: Part,
    judge: Part,
    goal: Goal,
    schedule: Schedule,
    watch: Callable[[int, str], None],
) -> Trained:
    """Weights that are best for the goal on the rows `judge`; `watch` is told of every epoch."""
    averaged = copy.deepcopy(network).eval()
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.learning_rate, weight_decay=schedule.weight_decay)
    batches, best, since = _Batches(learn, schedule), None, 0
    status = Status(Ended.LIMIT, f"{schedule.max_epochs} epochs")
    history: dict[str, list[float]] = {"loss": [], "measure": []}
    epoch = 0
    try:
        for epoch in range(1, schedule.max_epochs + 1):
            mean = _epoch(network, averaged, loss, optimizer, batches, epoch, bool(goal.constraints))
            scores = score_rows(averaged, judge.X, schedule.device, torch.float32)
            if not np.isfinite(scores).all():
                status = Status(
                    Ended.TROUBLE, f"the scores of epoch {epoch} are not finite: try a smaller learning_rate"
                )
                break
            value = value_of(scores, judge, goal)
            history["loss"].append(mean), history["measure"].append(value)
            watch(len(learn), f"epoch {epoch}, loss {mean:.4f}, measure {value:.4f}")
            if best is None or value > best.value:
                best, since = Trained(_copied(averaged), scores, value, epoch, status), 0
            else:
                since += 1
            if since >= schedule.patience:
                status = Status(Ended.SOLVED, f"no better measure in {since} epochs after epoch {best.epoch}")
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        status = Status(Ended.STOPPED, f"interrupted in epoch {epoch}; that of epoch {best.epoch} is kept")
    if best is None:
        raise FloatingPointError(str(status))
    best.status, best.history = status, history
    return best


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


def _epoch(
    network: Any, averaged: Any, loss: MeasureLoss, optimizer: Any, batches: _Batches, epoch: int, constrained: bool
) -> float:
    """One time over the rows; the mean of the loss."""
    network.train(), loss.train()
    if not constrained:  # a multiplier settles by the number of rows that have moved it
        loss.forget(KEPT)
    total, count = 0.0, 0
    # The average spans about an epoch, and in the first ones as much as there is.
    decay = min(1.0 - 1.0 / max(len(batches), 2), epoch / (epoch + 9.0))
    live, slow = list(network.parameters()), list(averaged.parameters())
    for rows, labels, weight in batches.shuffled():
        optimizer.zero_grad(set_to_none=True)
        value = loss(network(rows), labels, weight)
        value.backward()
        optimizer.step()
        with torch.no_grad():
            torch._foreach_lerp_(slow, live, 1.0 - decay)
        total, count = total + value.detach(), count + 1
    for ours, theirs in zip(averaged.buffers(), network.buffers(), strict=True):
        ours.copy_(theirs)
    return float(total) / max(count, 1)


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


def _copied(module: Any) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}
