"""Pictures of classifiers. matplotlib is needed only when something is drawn (extra `plot`)."""

from .cost_path import CostPathDisplay
from .frontier import FrontierDisplay
from .neyman_pearson import NeymanPearsonDisplay

__all__ = ["CostPathDisplay", "FrontierDisplay", "NeymanPearsonDisplay"]
