"""Labels and weights of a chunk: later ones may hold one class only, and none that was not there or declared first."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..labels import check_one_kind
from ..measures import Measure
from ..rows import Rows
from ._binary import Labels, check_weight, several_instead
from ._offsets import ClassLabels


def first_labels(y: NDArray[Any], pos_label: Any, measure: Measure | None = None) -> Labels:
    """Labels of a first chunk, when nobody has said what the classes are."""
    _refuse_one(y)
    return Labels.of(y, pos_label, measure)


def _refuse_one(y: NDArray[Any]) -> None:
    if len(y) and np.all(y == y[0]):
        raise ValueError(
            f"the first chunk holds only one class, {y[:1].tolist()[0]!r}: a classifier needs both. "
            "Say them with classes=[...], and it may"
        )


def known_labels(y: NDArray[Any], classes: NDArray[Any], positive: Any) -> Labels:
    """Labels of known classes; one class alone is fine."""
    is_positive = np.asarray(y == positive)
    negative = classes[0] if positive == classes[1] else classes[1]
    is_negative = np.asarray(y == negative)
    if np.count_nonzero(is_positive) + np.count_nonzero(is_negative) != len(y):
        stranger = np.asarray(y)[~(is_positive | is_negative)].tolist()[0]
        raise ValueError(
            f"y has the label {stranger!r}, which is not one of the classes {classes.tolist()} given first"
        )
    return Labels(classes, positive, is_positive)


def check_classes(classes: Any, measure: Measure) -> NDArray[Any]:
    given: NDArray[Any] = np.asarray(list(classes) if isinstance(classes, Set) else classes)
    check_one_kind(given)
    found: NDArray[Any] = np.unique(given)
    if len(found) != 2 and not (measure.is_lifted and len(found) > 2):
        raise ValueError(
            f"Only binary classification is supported: classes must hold two labels; got {found.tolist()}"
            + (f". Or {several_instead(measure)}" if len(found) > 2 else "")
        )
    return found


# -- several classes ------------------------------------------------------------------------------------------------
def first_classes(y: NDArray[Any]) -> ClassLabels:
    """Labels of a first chunk of several classes, when nobody has said what they are."""
    _refuse_one(y)
    return ClassLabels.of(y)


def known_codes(y: NDArray[Any], classes: NDArray[Any]) -> ClassLabels:
    """Labels of known classes; some may be missing."""
    try:
        codes = np.searchsorted(classes, y)
    except TypeError:
        codes = np.full(len(y), len(classes))
    strangers = classes[np.minimum(codes, len(classes) - 1)] != y
    if np.any(strangers):
        stranger = np.asarray(y)[strangers].tolist()[0]
        raise ValueError(
            f"y has the label {stranger!r}, which is not one of the classes {classes.tolist()} given first"
        )
    return ClassLabels(classes, codes.astype(np.intp))


def signs_and_weight(
    labels: Labels | ClassLabels, sample_weight: Any, rows: Rows, *, both: bool
) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
    """-1 and +1 as the loop reads them, codes of several classes, and the weights; `both` asks for weight in all."""
    if isinstance(labels, ClassLabels):
        weight = check_weight(sample_weight, rows)
        mass = np.bincount(labels.codes, weight, len(labels.classes))
        if both and not (mass > 0.0).all():
            raise ValueError(f"sample_weight leaves class {labels.classes.tolist()[mass.argmin()]!r} without weight")
        return labels.codes.astype(np.int32), weight
    signs = (labels.is_positive.view(np.int8) * np.int8(2)) - np.int8(1)
    return signs, check_weight(sample_weight, rows, labels.is_positive if both else None)
