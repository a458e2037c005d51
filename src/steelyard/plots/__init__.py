"""Pictures of classifiers. matplotlib is needed only when something is drawn (extra `plot`)."""

from .classes import ClassConfusionDisplay, ClassFrontierDisplay
from .cost_path import CostPathDisplay
from .frontier import FrontierDisplay
from .neyman_pearson import NeymanPearsonDisplay
from .quantifiers import BiasDisplay, DiagonalDisplay, PriorShiftDisplay

__all__ = [
    "BiasDisplay",
    "ClassConfusionDisplay",
    "ClassFrontierDisplay",
    "CostPathDisplay",
    "DiagonalDisplay",
    "FrontierDisplay",
    "NeymanPearsonDisplay",
    "PriorShiftDisplay",
]
