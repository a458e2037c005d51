"""Networks trained for the measure that is reported: a loss for any PyTorch model, and a classifier for tables.

`MeasureLoss` stands where a cross-entropy would stand; `NeuralMeasureClassifier` is a scikit-learn classifier. Both
need PyTorch: ``pip install 'steelyard[torch]'``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOMES = {"MeasureLoss": "loss", "NeuralMeasureClassifier": "classifier"}
__all__ = ["MeasureLoss", "NeuralMeasureClassifier"]

if TYPE_CHECKING:
    from .classifier import NeuralMeasureClassifier
    from .loss import MeasureLoss


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
