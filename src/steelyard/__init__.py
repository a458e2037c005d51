"""steelyard: train a classifier for the measure you report.

>>> import steelyard as sy
>>> import steelyard.measures as m
>>> sy.ThresholdClassifier.__name__
'ThresholdClassifier'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Loaded on first use, so that `import steelyard` stays as light as scikit-learn's base.
_HOMES = {
    "Comparison": "comparison",
    "CostClassifier": "estimators.cost_path",
    "CostPath": "estimators.cost_path",
    "ExpectedFBetaClassifier": "estimators.expected_fbeta",
    "MeasureClassifier": "estimators.measure_classifier",
    "NeuralMeasureClassifier": "neural.classifier",
    "NeymanPearsonClassifier": "estimators.neyman_pearson",
    "OnlineClassifier": "estimators.online",
    "QValueClassifier": "estimators.q_value",
    "QuantilePath": "estimators.quantile_path",
    "Quantifier": "quantification",
    "StreamQuantifier": "quantification",
    "StructuralSVM": "estimators.structural",
    "ThresholdClassifier": "estimators.threshold",
    "Watch": "estimators.watch",
    "BiasDisplay": "plots",
    "ClassConfusionDisplay": "plots",
    "ClassFrontierDisplay": "plots",
    "CostPathDisplay": "plots",
    "DiagonalDisplay": "plots",
    "PriorShiftDisplay": "plots",
    "FrontierDisplay": "plots",
    "NeymanPearsonDisplay": "plots",
    "compare": "comparison",
    "ModelFileError": "files",
    "load": "saving",
    "save": "saving",
    "Frontier": "statistics.frontier",
    "InfeasibleError": "statistics.frontier",
    "RefusedError": "statistics.promises.promise",
    "Report": "report",
    "q_values": "statistics.target_decoy",
    "separate_q_values": "statistics.separate_search",
    "winners": "statistics.competition",
}
__all__ = [
    "BiasDisplay",
    "ClassConfusionDisplay",
    "ClassFrontierDisplay",
    "Comparison",
    "CostClassifier",
    "CostPath",
    "CostPathDisplay",
    "DiagonalDisplay",
    "ExpectedFBetaClassifier",
    "Frontier",
    "FrontierDisplay",
    "InfeasibleError",
    "MeasureClassifier",
    "ModelFileError",
    "NeuralMeasureClassifier",
    "NeymanPearsonClassifier",
    "NeymanPearsonDisplay",
    "OnlineClassifier",
    "PriorShiftDisplay",
    "QValueClassifier",
    "Quantifier",
    "QuantilePath",
    "RefusedError",
    "Report",
    "StreamQuantifier",
    "StructuralSVM",
    "ThresholdClassifier",
    "Watch",
    "__version__",
    "compare",
    "load",
    "measures",
    "neural",
    "q_values",
    "quantification",
    "save",
    "separate_q_values",
    "streams",
    "winners",
]

if TYPE_CHECKING:
    from . import measures, neural, quantification, streams
    from .comparison import Comparison, compare
    from .estimators.cost_path import CostClassifier, CostPath
    from .estimators.expected_fbeta import ExpectedFBetaClassifier
    from .estimators.measure_classifier import MeasureClassifier
    from .estimators.neyman_pearson import NeymanPearsonClassifier
    from .estimators.online import OnlineClassifier
    from .estimators.q_value import QValueClassifier
    from .estimators.quantile_path import QuantilePath
    from .estimators.structural import StructuralSVM
    from .estimators.threshold import ThresholdClassifier
    from .estimators.watch import Watch
    from .files import ModelFileError
    from .neural.classifier import NeuralMeasureClassifier
    from .plots import (
        BiasDisplay,
        ClassConfusionDisplay,
        ClassFrontierDisplay,
        CostPathDisplay,
        DiagonalDisplay,
        FrontierDisplay,
        NeymanPearsonDisplay,
        PriorShiftDisplay,
    )
    from .quantification import Quantifier, StreamQuantifier
    from .report import Report
    from .saving import load, save
    from .statistics.competition import winners
    from .statistics.frontier import Frontier, InfeasibleError
    from .statistics.promises.promise import RefusedError
    from .statistics.separate_search import separate_q_values
    from .statistics.target_decoy import q_values


def __getattr__(name: str) -> Any:
    if name in ("measures", "neural", "quantification", "streams"):
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
