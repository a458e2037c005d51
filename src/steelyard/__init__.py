"""steelyard: train a classifier for the measure you report.

>>> import steelyard as sy
>>> import steelyard.measures as m
>>> sy.ThresholdClassifier.__name__
'ThresholdClassifier'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

# Loaded on first use, so that `import steelyard` stays as light as scikit-learn's base.
_HOMES = {
    "MeasureClassifier": "estimators.measure_classifier",
    "ThresholdClassifier": "estimators.threshold",
    "FrontierDisplay": "plots",
}
__all__ = ["FrontierDisplay", "MeasureClassifier", "ThresholdClassifier", "__version__", "measures"]

if TYPE_CHECKING:
    from . import measures
    from .estimators.measure_classifier import MeasureClassifier
    from .estimators.threshold import ThresholdClassifier
    from .plots import FrontierDisplay


def __getattr__(name: str) -> Any:
    if name == "measures":
        return import_module(".measures", __name__)
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
