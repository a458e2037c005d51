"""What every display needs: axes to draw on (the one place that needs matplotlib), and the rows called positive."""

from __future__ import annotations

from typing import Any

import numpy as np


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or new ones of that size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'steelyard[plot]'") from error
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax


def called_positive(scores: np.ndarray, threshold: float | None, predicted: Any, positive: Any) -> np.ndarray | None:
    """The rows called positive at the point to mark, by the labels predicted or by the threshold; None without both."""
    if predicted is not None:
        return np.asarray(np.asarray(predicted) == positive)
    return None if threshold is None else scores > threshold
