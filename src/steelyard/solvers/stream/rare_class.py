"""A rare class on a stream: the direction from the sample that the stream keeps, solved to the end.

With a hundred rows of a class a pass takes a hundred steps for it, too few to turn a model to it, and more passes help
slowly. But the sample kept for the threshold then holds every row of that class, and 8,192 of the other. On it

    minimise  1/2 |w|^2 + sum_i c_i log(1 + exp(-y_i (w.x_i + b))),    c_i = rows of the class / kept rows of the class,

is logistic regression on the whole stream but for the sampling of the common class, and small enough to be solved when
a model is asked for. Of its direction and that of the steps the one with more skill on the sample is taken. This reads
the state of the stream and changes nothing in it, so chunks and checkpoints do not matter.

That is for measures like NegKLD and NSS, which in themselves ask for no skill. Where a measure does (BAKLD, F-beta,
G-mean) the stream weighs a rare class up by itself, and on the data on which this rule was chosen did better with it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from ..linear import cost_sensitive

Array = NDArray[np.float64]

RARE = 4096  # rows of a class up to which it counts as rare
ROWS_PER_FEATURE = 10  # kept rows for each feature: with fewer the sample's own threshold would say nothing
NEARLY_ALL = 0.9
TOL = 1e-6


@lru_cache(maxsize=256)
def asks_for_no_skill(measure: Measure) -> bool:
    """Whether at every point some mistake would help, as it does where FP = FN is all that counts."""
    rates = np.linspace(0.05, 0.95, 7)
    slope = measure.gradient(*np.meshgrid(rates, rates), 0.1)
    return bool(np.all(np.minimum(slope.tpr, slope.tnr) < 0.0))


def applies(kept: tuple[int, int], offered: tuple[int, int], n_features: int) -> bool:
    """Whether the sample says more than the stream has learned: it holds nearly all rows of a rare class, as many of
    the other one, and many rows a feature."""
    few = min(offered)
    enough = sum(kept) >= ROWS_PER_FEATURE * n_features
    return 0 < few <= RARE and min(kept) >= NEARLY_ALL * few and enough


def direction(rows: tuple[Any, Any], weight: Array) -> Array:
    """w from the kept rows of class - and +; the offset is left to the threshold."""
    sizes = [len(side) for side in rows]
    X = np.concatenate([np.asarray(side) for side in rows])
    X = np.concatenate([X, np.ones((len(X), 1))], axis=1)
    found = cost_sensitive.solve(X, np.repeat([-1.0, 1.0], sizes), tol=TOL, loss="logistic", sample_weight=weight)
    return found.w[:-1]
