"""The guarded weights of the classes as plain numbers: what `Duals` does with tensors, where reading one costs nothing.

A step of a small network on a processor takes about a millisecond, and forty operations on tensors of two numbers take
a tenth of that. So on a processor a batch is counted by numpy and the rest is arithmetic of Python's floats, written
through to the same buffers. Both forms are held to the compiled stream learner by the same tests.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import evaluate_tape
from . import figures as of
from ._torch import torch

if TYPE_CHECKING:
    from .duals import Duals

Pair = tuple[float, float]  # of negatives and positives
Line = list[float]


def step(duals: Duals, scores: np.ndarray, labels: np.ndarray) -> tuple[Any, Any]:
    """A batch without weights, from its counts to the next weights: the weights of its rows, each a share of their
    number, and labels as numbers. In one function, as a step of a network leaves nothing of it in the caches."""
    positive = labels if labels.dtype == bool else labels > 0
    batch = counts(scores, positive)
    held, n = duals._buffers, len(scores)
    neg, pos = held["pull"].tolist()
    kind = scores.dtype.type
    row = np.where(positive, kind(pos / n), kind(neg / n))
    tally = held["tally"].numpy()
    tally += batch
    if duals.task.constraint is not None:
        _move_multiplier(duals, tally.tolist(), batch)
        refresh(duals)
    elif float(tally[0, of.MASS]) >= of.STALE * held["looked_at"].item():
        refresh(duals)
    return torch.from_numpy(row), torch.from_numpy(positive.astype(kind))


def counts(scores: np.ndarray, positive: np.ndarray) -> list[Line]:
    """The tally of rows without weights: all rows, and the positive ones."""
    n, pos = len(scores), int(np.count_nonzero(positive))
    both = int(np.count_nonzero((scores > 0.0) & positive))
    right = both + int(np.count_nonzero((scores < 0.0) > positive))
    return [[n, n, right, 0.0], [pos, pos, both, 0.0]]


def row_weights(duals: Duals, positive: Any, rows: int, kind: Any) -> Any:
    """A tensor of the weights of the rows by their class, each a share of so many rows."""
    number = np.float32 if kind == torch.float32 else np.float64
    neg, pos = duals._buffers["pull"].tolist()
    return torch.from_numpy(np.where(positive.numpy(), number(pos / rows), number(neg / rows)))


def observe(duals: Duals, batch: list[Line]) -> None:
    """Add the tally of a batch, and let it move the multiplier of a constraint."""
    tally = duals._buffers["tally"].numpy()
    tally += batch
    if duals.task.constraint is not None:
        _move_multiplier(duals, tally.tolist(), batch)


def refresh(duals: Duals) -> None:
    """Look at the weights anew: at the slopes of the measure if rows enough have come, at a constraint always."""
    held = duals._buffers  # past `Module.__getattr__`, which takes a microsecond a name
    tally = held["tally"].tolist()
    constrained = duals.task.constraint is not None
    stale = tally[0][of.MASS] >= of.STALE * held["looked_at"].item()
    if not stale and not constrained:
        return
    running = _share(tally)
    p = running if duals.task.prevalence is None else duals.task.prevalence
    slope = held["slope"].numpy()
    if stale:
        neg, pos = (min(max(rate, of.CLIP), 1.0 - of.CLIP) for rate in _credit(tally, duals.task.counts))
        point = np.array([[pos, neg, p, 0.5 / max(tally[0][of.ROWS], 1.0)]])
        gradient = evaluate_tape(*duals.tape, point)[1]
        slope[0], slope[1] = gradient[0, 1], gradient[0, 0]
        held["looked_at"].fill_(tally[0][of.MASS])
    neg, pos = slope.tolist()
    if constrained:
        line, lam = _line(duals, p, tally[0][of.ROWS]), held["multiplier"].item()
        neg, pos = neg + lam * line[1], pos + lam * line[0]
    held["pull"].numpy()[:] = _guarded(neg, pos, p, running)


def _share(tally: list[Line]) -> float:
    return (tally[1][of.MASS] + 0.5) / (tally[0][of.MASS] + 1.0)


def _credit(tally: list[Line], by_counts: bool) -> Pair:
    """The rates, or means of the rewards, halfway from 1/2."""
    (_, mass, *of_all), (_, mass_pos, *of_pos) = tally
    all_credit, pos_credit = (of_all[0], of_pos[0]) if by_counts else (of_all[1], of_pos[1])
    return (all_credit - pos_credit + 0.5) / (mass - mass_pos + 1.0), (pos_credit + 0.5) / (mass_pos + 1.0)


def _guarded(neg: float, pos: float, p: float, running: float) -> Pair:
    """The weights of a row of each class from the slopes: see `Duals._guarded`."""
    n = 1.0 - p
    if neg < 0.0 or pos < 0.0:
        neg, pos = n**of.SHARE_POWER, p**of.SHARE_POWER
    neg, pos = (x if math.isfinite(x) else of.STEEPEST for x in (neg, pos))
    total = neg + pos
    neg, pos = (neg / total, pos / total) if total > 0.0 else (n, p)
    neg, pos = max(neg, of.FLOOR * n), max(pos, of.FLOOR * p)
    total = neg + pos
    return neg / total / (1.0 - running), pos / total / running


def _line(duals: Duals, p: float, rows: float) -> Line:
    """a, b, c of the constraint ``a P + b N + c >= 0`` at this share of positives."""
    line = duals._buffers["line"]
    if duals.task.constraint.cleared.needs_prevalence:
        line.numpy()[:] = duals.task.constraint.coefficients(p, sample_size=max(rows, 1.0))
    return line.tolist()


def _move_multiplier(duals: Duals, tally: list[Line], batch: list[Line]) -> None:
    """See `Duals._move_multiplier`."""
    held = duals._buffers
    a, b, c = held["line"].tolist()
    side = 0 if duals.side_is_negative else 1
    by_class = [[x - y for x, y in zip(*batch, strict=True)], batch[1]]
    last = held["last"].numpy()
    column = of.RIGHT if duals.task.counts else of.REWARD
    for k, one in enumerate(by_class):
        if one[of.ROWS] > 0.0:
            last[k] = one[column] / one[of.MASS] if one[of.MASS] > 0.0 else 0.0
    n_rows, mass, *_ = by_class[side]
    if not n_rows > 0.0:
        return
    slopes, value = (b, a), float(last[side])
    rest = slopes[1 - side] * _credit(tally, duals.task.counts)[1 - side] + c
    seen = tally[1][of.MASS] if side else tally[0][of.MASS] - tally[1][of.MASS]
    gain = duals.gain / math.sqrt(max(seen, 1e-300)) / max(a + b + c, of.LEAST_SLACK)
    weight = mass / n_rows
    parts = ((1.0, value * n_rows), (0.0, (1.0 - value) * n_rows)) if duals.task.counts else ((value, n_rows),)
    log = 0.0  # a product over a large batch would not fit into a number
    for reward, times in parts:
        if times > 0.0:
            log += times * math.log(min(max(1.0 - gain * weight * (slopes[side] * reward + rest), of.DOWN), of.UP))
    lam = held["multiplier"]
    lam.fill_(min(max(lam.item() * math.exp(min(max(log, -700.0), 700.0)), of.LOW), of.HIGH))
