"""What a file holds of a network: its shape and its arrays, each checked against the other. No PyTorch is needed here.

A module of the user's own is code, which a file here does not hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..estimators._saved import ANY_NUMBER, BINARY, PROMISE, SEEN, estimator
from ..estimators._saved_parts import frozen
from ..files.errors import ModelFileError
from ..files.kinds import COUNT, REAL, Array, ByName, Fields, Is, Number, check_fields, fits
from ..files.values import Description
from ..solvers.status import Status
from ..statistics.frontier import Frontier
from .classifier import NeuralMeasureClassifier
from .fitted import FittedNetwork, Shape

SIZE = Number(1, 2**31 - 1, whole=True)  # what PyTorch takes for a size
DEPTH = Number(1, 10_000, whole=True)  # each block has arrays in the file; a list of so many is looked through at once
HISTORY = ByName(Array("f8", "*", low=-np.inf, high=np.inf, nan=True))
SINGLE = np.float32(np.finfo(np.float32).max)  # arrays are compared with numbers of their own type
OWN = "a module of your own is code, and files here hold none: keep network_.module().state_dict() by torch.save"


def _state_of(network: FittedNetwork) -> dict[str, Any]:
    if network.shape is None:
        raise ModelFileError(OWN)
    return {"shape": network.shape, "arrays": dict(network.arrays)}


def _make(state: dict[str, Any]) -> FittedNetwork:
    check_fields({"shape": Is(Shape), "arrays": ByName(Is(np.ndarray))}, state)
    shape, arrays = state["shape"], state["arrays"]
    fits(shape.depth * shape.members <= len(arrays), "the depth of a network and its arrays")
    check_fields({name: Array("f4", *size, low=-SINGLE, high=SINGLE) for name, size in shape.arrays().items()}, arrays)
    scales = [arrays[f"members.{k}.scale"] for k in range(shape.members)]
    fits(all(bool((scale > 0.0).all()) for scale in scales), "the scales of a network")
    return FittedNetwork(shape, arrays)


def _sound(model: Any) -> None:
    fits(model.network_.shape.n_features == model.n_features_in_, "the network and the number of columns")


FITTED: Fields = {
    **SEEN, **BINARY, "network_": Is(FittedNetwork), "best_threshold_": REAL, "best_score_": ANY_NUMBER,
    "frontier_": Is(Frontier), "history_": HISTORY, "n_iter_": COUNT, "best_epoch_": COUNT, "status_": Is(Status),
    "promise_": PROMISE,
}  # fmt: skip
_PLAIN = estimator(NeuralMeasureClassifier, FITTED, _sound)


def _without_code(model: Any) -> dict[str, Any]:
    if model.module is not None:
        raise ModelFileError(OWN)
    return _PLAIN.state_of(model)


# Of the default network; dropout is a share.
SHAPE = frozen(
    Shape, {"n_features": SIZE, "width": SIZE, "depth": DEPTH, "dropout": Number(0.0, 1.0), "members": DEPTH}
)
DESCRIPTIONS = (
    SHAPE,
    Description("FittedNetwork", FittedNetwork, _state_of, _make),
    Description(_PLAIN.name, _PLAIN.type, _without_code, _PLAIN.make),
)
