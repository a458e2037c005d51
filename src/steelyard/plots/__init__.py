"""Pictures of classifiers. matplotlib is needed only when something is drawn (extra `plot`)."""

from .cost_path import CostPathDisplay
from .frontier import FrontierDisplay
from .neyman_pearson import NeymanPearsonDisplay
from .quantifiers import BiasDisplay, DiagonalDisplay, PriorShiftDisplay

__all__ = [
    "BiasDisplay",
    "CostPathDisplay",
    "DiagonalDisplay",
    "FrontierDisplay",
    "NeymanPearsonDisplay",
    "PriorShiftDisplay",
]
