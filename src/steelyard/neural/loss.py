"""A loss for any PyTorch model whose gradient is that of the measure: NEMSIS, SCAN, Neyman-Pearson and q-value updates.

Given logits s and labels, with margins ``z = y s`` and rewards r (`rewards.py`), the value of a batch is

    sum_i w_i u(y_i) (1 - r(z_i)) / sum_i w_i,

where ``u(+) = a_P / p`` and ``u(-) = a_N / n`` are the weights of the classes (`duals.py`) and p the running share of
positives. That is the linearised objective ``a_P (1 - P) + a_N (1 - N)`` at the surrogate rates of the batch: what the
measure, made linear at the running rates, still misses of a perfect classifier; for a concave measure no less than
what is really missing. It falls to 0, and its gradient is the update of Kar et al. (Algorithms 1 and 3) and Gasso et
al. (Algorithm 4 and section 4), a batch in place of a row.
"""

from __future__ import annotations

import numbers as kinds
from collections.abc import Callable
from typing import Any

from ..measures import Constraint, Measure
from ..measures.constraints import as_constraints
from . import fused, numbers
from ._torch import torch
from .duals import Duals, Task
from .figures import MASS
from .rewards import check_reward, missed_by, shortfall

Tensor = torch.Tensor


class MeasureLoss(torch.nn.Module):
    """A loss that maximises any measure of TPR and TNR, with any model, optimizer, sampler and batch.

    Each batch is weighed by the slopes of the measure at the rates reached so far. The value is the linearised
    objective, 0 for a perfect classifier; `measure` is the running measure itself. In `eval()` mode nothing is
    learned from the batches. Across processes of `torch.distributed` the rates are those of all of them.

    Parameters
    ----------
    measure : Measure
        What to maximise: a measure of `steelyard.measures` or an expression of them.
    subject_to : Constraint, default=None
        One constraint that is linear in the rates: ``fpr <= 0.01``, ``Precision() >= 0.9``, ``fpr <= 0.01 * tpr``.
    prevalence : "running" or float, default="running"
        The share of positives that the measure is taken at: that of the rows seen, or, for a sampler that draws other
        shares than there will be, the true one.
    dual_rates : {"counts", "surrogate"}, default="counts"
        What the weights follow: the rates themselves, or means of the reward.
    guard : bool, default=True
        Weights are normalised, and neither class is ever rewarded for mistakes or forgotten. False is the papers'
        algorithm to the letter, which begins with weights of 0.
    reward : {"logistic", "hinge", "sigmoid", "ramp", "arctan", "erf"}, default="logistic"
        Surrogate of a right answer.
    width : float, default=1.0
        Of the last four rewards.

    Examples
    --------
    >>> import torch, steelyard.measures as m
    >>> from steelyard.neural import MeasureLoss
    >>> _ = torch.manual_seed(0)
    >>> X = torch.randn(2000, 5); y = X[:, 0] + 0.3 * torch.randn(2000) > 1.5
    >>> model, loss = torch.nn.Linear(5, 1), MeasureLoss(m.FBeta(1))
    >>> optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    >>> for _ in range(100):
    ...     loss.forget(0.5); optimizer.zero_grad(); loss(model(X), y).backward(); optimizer.step()
    >>> bool(loss.measure > 0.7)
    True
    """

    def __init__(
        self,
        measure: Measure,
        *,
        subject_to: Constraint | None = None,
        prevalence: Any = "running",
        dual_rates: str = "counts",
        guard: bool = True,
        reward: str = "logistic",
        width: float = 1.0,
    ) -> None:
        super().__init__()
        if not isinstance(measure, Measure):
            raise TypeError(f"measure is a measure such as steelyard.measures.FBeta(1); got {measure!r}")
        if dual_rates not in ("counts", "surrogate"):
            raise ValueError(f"dual_rates is 'counts' or 'surrogate'; got {dual_rates!r}")
        constraint = _one_constraint(subject_to)
        self.task = Task(measure, constraint, _share(prevalence), dual_rates == "counts", bool(guard))
        self.reward, self.width = check_reward(reward), float(width)
        self.duals = Duals(self.task)

    @property
    def measure(self) -> Tensor:
        """The measure at the rates of all rows that were weighed since the start, or since `forget`."""
        with torch.no_grad():
            neg, pos = self.duals.mean_credit(counts=True)
            share, size = self.duals.share(), self.duals.sample_size()
            return self.task.measure(pos, neg, share, sample_size=size)

    @property
    def rates(self) -> dict[str, Tensor]:
        """The running TPR, TNR and share of positives."""
        with torch.no_grad():
            neg, pos = self.duals.mean_credit(counts=True)
            return {"tpr": pos, "tnr": neg, "prevalence": self.duals.running_share()}

    @torch.no_grad()
    def forget(self, keep: float = 0.0) -> None:
        """Let the rates seen so far count as a share of what they were: at the start of an epoch, say, so that the
        weights follow the model as it is."""
        self.duals.forget(keep)

    def forward(self, scores: Tensor, labels: Tensor, weights: Tensor | None = None) -> Tensor:
        """The loss of a batch: logits, labels {0, 1} or bool, and weights, of one shape but for axes of size 1."""
        scores, labels, weights = _aligned(scores, labels, weights)
        if self.training and weights is None and scores.is_cpu and self.duals.takes_counts and self._is_plain(scores):
            row, labels = numbers.step(self.duals, scores.detach().numpy(), labels.numpy())
            mass = None
        elif fused.suits(self.duals, scores, weights, self.reward):
            step = fused.step_apart if torch.compiler.is_compiling() else fused.step
            return step(self.duals, self.reward, self.width, scores, labels, self.training)
        else:
            row, labels, mass = self._weigh(scores.detach(), labels, weights)
        total = missed_by(self.reward, scores, labels, row if weights is None else row * weights, self.width)
        if mass is None:
            return total
        if isinstance(mass, float):
            return total / (mass if mass > 0.0 else 1.0)
        return total / torch.where(mass > 0.0, mass, torch.ones_like(mass)).to(total.dtype)

    def _is_plain(self, scores: Tensor) -> bool:
        """Rows of this process alone, as they are."""
        return bool(len(scores)) and not torch.compiler.is_compiling() and _processes() == 1

    # Not compiled: a compiled backward pass would compute the weights once more, from buffers that have moved on.
    @torch.compiler.disable
    @torch.no_grad()
    def _weigh(self, scores: Tensor, labels: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Any]:
        """The weights of the rows by their class, after the batch was counted and before it moves them; the labels, as
        booleans or as numbers; and the mass to divide by, None if that is done. Across processes the mean over all of
        their rows is what DDP's mean of gradients has to become."""
        duals, processes, rows = self.duals, 1, scores.numel()
        positive = labels if labels.dtype == torch.bool else labels > 0
        if self.training:
            batch, processes = _summed(self._tally(scores, positive, weights))
            mass = batch[0][MASS]
            duals.observe(batch)
        known = weights is None and processes == 1
        row = self._row_weights(scores, positive, max(rows, 1) if known else 1)
        if self.training:
            duals.refresh(batch, rows if known else None)
        if known:
            return row, positive, None
        return row, positive, mass / processes if self.training else weights.sum()

    def _row_weights(self, scores: Tensor, positive: Tensor, rows: int) -> Tensor:
        """The weights of the rows by their class, each a share of so many rows."""
        if self.duals.reads_numbers():
            return numbers.row_weights(self.duals, positive, rows, scores.dtype)
        neg, pos = (self.duals.row_weights() / rows).to(scores.dtype)
        return torch.where(positive, pos, neg)

    def _tally(self, scores: Tensor, positive: Tensor, weights: Tensor | None) -> Any:
        """Rows, their mass, that of right answers, and the sum of rewards: of all rows, and of the positive ones."""
        plain = self.duals.reads_numbers()
        if weights is None and not self.task.needs_rewards and plain:
            return numbers.counts(scores.numpy(), positive.numpy())
        kind = self.duals.tally.dtype
        z = torch.where(positive, scores, -scores)
        right = z > 0.0
        if weights is None and not self.task.needs_rewards:
            called, pos, both = torch.stack((right.sum(), positive.sum(), (right & positive).sum())).to(kind)
            n, zero = torch.full_like(pos, scores.numel()), torch.zeros_like(pos)
            return torch.stack((n, n, called, zero, pos, pos, both, zero)).view(2, 4)
        mass = torch.ones_like(z, dtype=kind) if weights is None else weights.detach().to(kind)
        reward = 1.0 - torch.nan_to_num(shortfall(self.reward, z.to(kind), self.width), nan=1.0)
        table = torch.stack((mass > 0.0, mass, mass * right, mass * reward))
        table = torch.stack((table.sum(1), (table * positive).sum(1)))
        return table.tolist() if plain else table

    # -- what a module does with its buffers ----------------------------------------------------------------------
    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> MeasureLoss:
        """Move to a device; the duals stay double, whatever the model becomes (`half`, `bfloat16`, `float`)."""
        held = dict(self.duals.named_buffers())
        super()._apply(fn, recurse)
        for name, before in held.items():
            module, _, last = name.rpartition(".")
            owner, after = self.duals.get_submodule(module), self.duals.get_buffer(name)
            kind = torch.float32 if after.device.type == "mps" else torch.float64  # mps has no doubles
            if after.dtype != kind:
                setattr(owner, last, before.to(device=after.device, dtype=kind))
        return self

    def extra_repr(self) -> str:
        task = self.task
        parts = [repr(task.measure)]
        if task.constraint is not None:
            parts.append(f"subject_to={task.constraint!r}")
        if task.prevalence is not None:
            parts.append(f"prevalence={task.prevalence!r}")
        return ", ".join([*parts, *([] if task.guard else ["guard=False"]), f"reward={self.reward!r}"])


def _one_constraint(subject_to: Any) -> Constraint | None:
    constraints = as_constraints(subject_to)
    if len(constraints) > 1:
        raise ValueError(f"a loss takes one constraint; got {len(constraints)}: {subject_to!r}")
    if constraints and not constraints[0].is_linear:
        raise ValueError(
            f"{constraints[0]!r} is not linear in the rates; use a cap on fpr, or a floor of precision or recall"
        )
    return constraints[0] if constraints else None


def _share(prevalence: Any) -> float | None:
    if isinstance(prevalence, str) and prevalence == "running":
        return None
    if not isinstance(prevalence, kinds.Real) or not 0.0 < prevalence < 1.0:
        raise ValueError(f"prevalence is 'running' or a share strictly between 0 and 1; got {prevalence!r}")
    return float(prevalence)


def _aligned(scores: Tensor, labels: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
    """One axis each: scores in single or double precision, weights like the scores."""
    shape, kind = scores.shape, scores.dtype
    if kind not in (torch.float32, torch.float64):
        if not scores.is_floating_point():
            raise TypeError(f"scores are logits of a float type; got {kind}")
        scores = scores.float()
    for name, other in (("labels", labels), ("weights", weights)):
        if other is not None and other.shape != shape and _long(other.shape) != _long(shape):
            raise ValueError(f"scores have shape {tuple(shape)}, and {name} {tuple(other.shape)}")
    if len(shape) != 1:
        scores = scores.reshape(-1)
    if labels.dim() != 1:
        labels = labels.reshape(-1)
    return scores, labels, None if weights is None else weights.reshape(-1).to(scores.dtype)


def _long(shape: Any) -> list[int]:
    return [int(n) for n in shape if n != 1]


def _processes() -> int:
    distributed = torch.distributed
    return distributed.get_world_size() if distributed.is_available() and distributed.is_initialized() else 1


def _summed(batch: Any) -> tuple[Any, int]:
    """The tally of the batches of all processes, and how many there are."""
    processes = _processes()
    if processes == 1:
        return batch, 1
    whole = torch.as_tensor(batch, dtype=torch.float64)
    torch.distributed.all_reduce(whole)
    return whole if isinstance(batch, Tensor) else whole.tolist(), processes
