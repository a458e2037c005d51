"""A network that has been trained: arrays of numbers, and the module made of them when rows are to be scored.

Of the default network a file holds its shape and its arrays (`_saved.py`), and nothing has to be pickled. Scores are in
double precision: a row's is then the same, up to the last digits, whatever rows it is scored with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


def resolve_device(device: Any) -> Any:
    from ._torch import torch

    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)


@dataclass(frozen=True)
class Shape:
    """Of the default network: `members` of one kind, whose logits are averaged."""

    n_features: int
    width: int
    depth: int
    dropout: float = 0.0
    members: int = 1

    def module(self) -> Any:
        from .network import Mean

        return Mean([self.member() for _ in range(self.members)])

    def member(self) -> Any:
        from .network import TableNet

        return TableNet(self.n_features, self.width, self.depth, self.dropout)

    def arrays(self) -> dict[str, tuple[int, ...]]:
        """The sizes of its arrays, by name."""
        d, w = self.n_features, self.width
        found: dict[str, tuple[int, ...]] = {"mean": (d,), "scale": (d,), "entry.weight": (w, d), "entry.bias": (w,)}
        for k in range(self.depth):
            found[f"blocks.{k}.norm.weight"] = found[f"blocks.{k}.norm.bias"] = (w,)
            for layer in ("first", "second"):
                found[f"blocks.{k}.{layer}.weight"], found[f"blocks.{k}.{layer}.bias"] = (w, w), (w,)
        found |= {"norm.weight": (w,), "norm.bias": (w,), "exit.weight": (1, w), "exit.bias": (1,)}
        return {f"members.{k}.{name}": size for k in range(self.members) for name, size in found.items()}


@dataclass(frozen=True, eq=False)
class FittedNetwork:
    """The shape of the default network and its arrays, or a module of the user's own: always a `Mean`."""

    shape: Shape | None
    arrays: dict[str, NDArray[np.float32]]
    own: Any = None
    _made: list[Any] = field(default_factory=list, repr=False)

    @classmethod
    def of(cls, network: Any, shape: Shape | None) -> FittedNetwork:
        if shape is None:
            return cls(None, {}, network)
        return cls(shape, {name: value.numpy() for name, value in network.state_dict().items()})

    def module(self) -> Any:
        """The module, in `eval` mode: a new one of the default network, the trained one of the user's own. Its
        `members` are the networks whose logits are averaged."""
        if self.shape is None:
            return self.own
        from ._torch import torch

        made = self.shape.module().eval()
        made.load_state_dict({name: torch.from_numpy(value) for name, value in self.arrays.items()})
        return made

    def scores(self, X: Any, device: Any) -> NDArray[np.float64]:
        """Logits of rows, an array or CSR."""
        from ._torch import torch
        from .training import score_rows

        where = resolve_device(device)
        # mps has no doubles, and a module of the user's own may have numbers of its own type in it.
        exact = torch.float32 if self.shape is None or where.type == "mps" else torch.float64
        if not self._made or self._made[0] != where:
            module = self.module()
            self._made[:] = [where, module.to(where) if self.shape is None else module.to(where, exact)]
        return score_rows(self._made[1], X, where, exact)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_made": []}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
