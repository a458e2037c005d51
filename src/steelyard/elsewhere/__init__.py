"""Rows that are not in this process's memory: in a torch tensor, or in the partitions of a Dask collection.

Here is what both have in common: which X is where, and Newton for many cost pairs at once (`newton`), which asks of
rows nothing but sums over all of them and one sample. `steelyard.tensors` and `steelyard.distributed` answer. Neither
torch nor Dask is imported before somebody hands in what is theirs: torch is asked whether X is a tensor only where it
has been imported already.
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


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array, frame or series; False wherever Dask has not been imported.

    >>> is_dask([[1.0, 2.0]])
    False
    """
    return "dask" in sys.modules and type(X).__module__.partition(".")[0].startswith("dask") and hasattr(X, "dask")


def is_elsewhere(X: Any) -> bool:
    """Whether X is a tensor or a Dask collection, or rows made of one."""
    return is_tensor(X) or is_dask(X) or getattr(X, "is_elsewhere", False) is True
