"""Methods that answer lazily for a Dask collection: what they give for each partition, in partitions.

``@lazily`` stands on a method of a fitted estimator that takes X and gives a number, a label or a row of numbers for
each of its rows. The estimator goes with the tasks; nothing is computed before somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..elsewhere import is_dask


def lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def asked(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        from sklearn.utils.validation import check_is_fitted

        from ..distributed.lazy import in_partitions

        check_is_fitted(self)
        if any(value is not None for value in (*args, *kwargs.values())):
            raise ValueError(f"{method.__name__} of a Dask collection takes X alone: call it on partitions for more")
        return in_partitions(self, method.__name__, X)

    return asked
