"""The one place that needs matplotlib."""

from __future__ import annotations

from typing import Any


def axes_or_new(ax: Any, size: tuple[float, float]) -> Any:
    """The axes given, or new ones of that size in inches."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("drawing needs matplotlib: pip install 'steelyard[plot]'") from error
    return plt.subplots(figsize=size, layout="constrained")[1] if ax is None else ax
