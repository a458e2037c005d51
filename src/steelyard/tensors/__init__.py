"""Rows that are a torch tensor, on a GPU or not: what the solvers ask of rows, answered where the data is.

Nothing here is imported before somebody hands in a tensor, so that steelyard does without torch: `is_tensor` looks
whether torch has been imported at all. What grows with the number of rows stays on the tensor's device.
"""

from __future__ import annotations

import sys
from typing import Any


def is_tensor(X: Any) -> bool:
    """Whether X is a torch tensor; False wherever torch has not been imported.

    >>> is_tensor([[1.0, 2.0]])
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(X, torch.Tensor)


def is_elsewhere(X: Any) -> bool:
    """Whether X is a tensor, or rows made of one."""
    return is_tensor(X) or getattr(X, "on_a_tensor", False) is True
