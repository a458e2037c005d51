"""PyTorch, or the words for how to get it: the one place of `steelyard.neural` that imports it."""

from __future__ import annotations

try:
    import torch
except ImportError as error:
    raise ImportError(
        "steelyard.neural needs PyTorch, which is not installed here: pip install 'steelyard[torch]' (for a processor "
        "only: pip install torch --index-url https://download.pytorch.org/whl/cpu first)"
    ) from error

__all__ = ["torch"]
