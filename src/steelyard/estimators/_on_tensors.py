"""The border for tensors: labels and weights as tensors on the device of X, scores and predictions as tensors beside
it. Nothing that has a number for each row leaves the device, but for up to `HOST_ROWS` of them.

Torch is imported when there is a tensor; without one this file asks for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..elsewhere import is_tensor

Array = NDArray[np.float64]
Tensor = Any

# Rows that are taken to where numpy is: a bounded number, 57 MB with 54 columns of float64. Up to here a fit on a
# tensor is that on the same numbers in memory, bit for bit; beyond, what is searched for is searched on a sample of so
# many, and what is fitted is fitted on all.
HOST_ROWS = 1 << 17


@dataclass(frozen=True, eq=False)
class TensorLabels:
    """Two classes, which of them is positive, and which rows are, on the device."""

    classes: np.ndarray
    positive: Any
    is_positive: Tensor

    @classmethod
    def of(cls, y: Any, pos_label: Any, device: Any, n_rows: int) -> TensorLabels:
        """Read on the device: two reductions, and all that leaves it are the distinct labels."""
        import torch

        from ._binary import encode_labels

        given = torch.as_tensor(y, device=device)
        if tuple(given.shape) != (n_rows,):
            raise ValueError(f"y has shape {tuple(given.shape)}; X has {n_rows} rows, so y must have shape ({n_rows},)")
        low, high = (given.to(torch.int8) if given.dtype == torch.bool else given).aminmax() if n_rows else (None, None)
        two = n_rows and bool(((given == low) | (given == high)).all())  # NaN is neither, and is told below
        distinct = torch.stack([low, high]).to(given.dtype) if two else torch.unique(given)[:100]
        classes, _, positive = encode_labels(np.unique(distinct.cpu().numpy()), pos_label)
        return cls(classes, positive, given == positive.item())


def check_weight(sample_weight: Any, is_positive: Tensor) -> Tensor | None:
    """None stays None; otherwise on the device, finite, not negative, with mass in both classes."""
    if sample_weight is None:
        return None
    import torch

    weight = torch.as_tensor(sample_weight, dtype=torch.float64, device=is_positive.device)
    if weight.shape != is_positive.shape:
        raise ValueError(f"sample_weight has shape {tuple(weight.shape)}; X has {len(is_positive)} rows")
    if not bool((torch.isfinite(weight) & (weight >= 0)).all()):
        raise ValueError(f"sample_weight must be finite and not negative; its smallest is {float(weight.min())}")
    if not (bool(weight[is_positive].any()) and bool(weight[~is_positive].any())):
        raise ValueError("sample_weight leaves only one class with weight: a classifier needs rows of both classes")
    return weight


def signed_rows(X: Any, y: Any, sample_weight: Any, pos_label: Any, constant: float) -> tuple[Any, TensorLabels]:
    """Rows with their signs and weights, and the labels."""
    import torch

    from ..tensors.rows import SignedRows, TensorRows

    rows = TensorRows.of(X).with_constant(constant)
    labels = TensorLabels.of(y, pos_label, rows.X.device, rows.n_rows)
    weight = check_weight(sample_weight, labels.is_positive)
    return SignedRows.of(rows, torch.where(labels.is_positive, 1, -1), weight), labels


def either(called: Tensor, positive: Any, negative: Any) -> Tensor:
    """The label `positive` where called, `negative` elsewhere."""
    import torch

    pair = torch.as_tensor(np.array([negative, positive]), device=called.device)
    return pair[called.long()]


def beside(columns: list[Tensor]) -> Tensor:
    import torch

    return torch.stack(columns, 1)


def rows_to_score(estimator: Any, X: Any) -> Any:
    """New rows for a fitted estimator."""
    from sklearn.utils.validation import check_is_fitted

    from ..tensors.rows import TensorRows

    check_is_fitted(estimator)
    rows = TensorRows.of(X)
    wanted = getattr(estimator, "n_features_in_", rows.X.shape[1])
    if rows.X.shape[1] != wanted:
        raise ValueError(
            f"X has {rows.X.shape[1]} features, but {type(estimator).__name__} is expecting {wanted} features as input"
        )
    return rows


def linear_scores(estimator: Any, X: Any, w: Array, intercept: float) -> Tensor:
    return rows_to_score(estimator, X).with_constant(1.0).scores(np.append(w, intercept))


def some_in_memory(rows: Any) -> Any:
    """Up to `HOST_ROWS` of the rows, evenly spread, without their constant column."""
    return rows.with_constant(0.0).in_memory(slice(0, None, -(-rows.n_rows // HOST_ROWS)))


def in_memory(X: Any, y: Any) -> tuple[Any, Any]:
    """Tensors as arrays, for what is read in memory; anything else as it is."""
    if is_tensor(X) and len(X) > HOST_ROWS:
        raise ValueError(f"this reads at most {HOST_ROWS} rows of a tensor; got {len(X)}: give a part of them")
    return host(X) if is_tensor(X) else X, host(y) if is_tensor(y) else y


def host(tensor: Tensor) -> np.ndarray:
    """A tensor as an array; of rows only what `HOST_ROWS` allows."""
    return np.asarray(tensor.detach().cpu().numpy())


def positive_scores(estimator: Any, X: Tensor, response_method: str, positive: Any) -> Tensor:
    """One score a row on the device of X, larger for the positive class."""
    import torch

    from ._scored_rows import resolve_response

    method = resolve_response(estimator, response_method)
    classes = np.asarray(estimator.classes_).tolist()
    if len(classes) != 2 or positive not in classes:
        raise ValueError(f"the model knows the classes {classes}; the positive label here is {positive!r}")
    out = torch.as_tensor(getattr(estimator, method)(X), device=X.device)
    if out.ndim == 2:
        return out[:, classes.index(positive)].contiguous()
    return out if classes[1] == positive else -out
