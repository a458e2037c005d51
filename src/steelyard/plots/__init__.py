"""Pictures of classifiers. matplotlib is needed only when something is drawn (extra `plot`)."""

from .cost_path import CostPathDisplay
from .counting import BiasDisplay, DiagonalDisplay, DriftDisplay
from .frontier import FrontierDisplay
from .neyman_pearson import NeymanPearsonDisplay

__all__ = [
    "BiasDisplay",
    "CostPathDisplay",
    "DiagonalDisplay",
    "DriftDisplay",
    "FrontierDisplay",
    "NeymanPearsonDisplay",
]
