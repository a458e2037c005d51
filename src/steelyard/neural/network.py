"""The network for tables: standardised columns, smooth limits on outliers, and residual blocks of two layers.

    x -> s(x) = (x - mean) / scale,  c(s) = s / sqrt(1 + (s / LIMIT)^2)
      -> h = W0 c
      -> h + W2 dropout(act(W1 norm(h))),  `depth` times
      -> w . act(norm(h)) + b

Standardising is part of the network, so that nothing has to be scaled outside. The limit on outliers is that of
Holzmueller, Grinsztajn and Steinwart (NeurIPS 2024), the blocks those of Gorishniy et al. (NeurIPS 2021).
"""

from __future__ import annotations

from ._torch import torch

Tensor = torch.Tensor
nn = torch.nn
LIMIT = 3.0  # standard deviations at which a column bends, as in Holzmueller et al.; not tuned here


class TableNet(nn.Module):
    """Logits of shape (n,) from rows of shape (n, d)."""

    def __init__(self, n_features: int, width: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_features))
        self.register_buffer("scale", torch.ones(n_features))
        self.entry = nn.Linear(n_features, width)
        self.blocks = nn.ModuleList(Block(width, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.exit = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        s = (x - self.mean) / self.scale
        s = s * torch.rsqrt(1.0 + (s / LIMIT) ** 2)
        h = self.entry(s)
        for block in self.blocks:
            h = block(h)
        return self.exit(nn.functional.silu(self.norm(h))).squeeze(1)


class Block(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)
        self.dropout = dropout

    def forward(self, h: Tensor) -> Tensor:
        inner = nn.functional.silu(self.first(self.norm(h)))
        return h + self.second(nn.functional.dropout(inner, self.dropout, self.training))


class Mean(nn.Module):
    """The mean of the logits of several networks."""

    def __init__(self, members: list[nn.Module]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([member(x) for member in self.members]).mean(0)


class Standardised(nn.Module):
    """Somebody's own module behind standardised columns."""

    def __init__(self, module: nn.Module, n_features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_features))
        self.register_buffer("scale", torch.ones(n_features))
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return self.module((x - self.mean) / self.scale).reshape(-1)
