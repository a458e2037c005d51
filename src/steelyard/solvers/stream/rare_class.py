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

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...measures import Measure
from ...rows import Rows
from ..linear import cost_sensitive

Array = NDArray[np.float64]


@dataclass(frozen=True)
class RareClassOptions:
    """When the sample is taken at its word. Chosen on classes thinned to between 60 and 2,000 rows, and measured on
    others by benchmarks/rare_classes.py; docs/online.md, "Rare classes", tells how."""

    rows: int = 4096
    """A class counts as rare up to so many rows: half of the sample for counting measures, so that the other class has
    as many. 512 was too few: a class of a thousand rows still fell short of the aim."""
    rows_per_feature: int = 10
    """Of the sample, a round number: a model that fits the sample closely says little about a threshold for others."""
    nearly_all: float = 0.9
    """So many of the rare rows are kept. Not all, since few are while there are fewer rows than features
    (`SampleOptions.held_while_wide`); 0.9 is a round number."""
    tol: float = 1e-6
    """Relative gap of the logistic regression: its direction is exact next to the sampling of the common class."""
    digits: int = 3
    """Values of the measure that agree to so many digits are told apart by skill: the aim of docs/online.md is a KLD
    of at most 0.001."""


OPTIONS = RareClassOptions()


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
    enough = sum(kept) >= OPTIONS.rows_per_feature * n_features
    return 0 < few <= OPTIONS.rows and min(kept) >= OPTIONS.nearly_all * few and enough


def direction(rows: Array, is_positive: NDArray[np.bool_], weight: Array) -> Array:
    """w from the kept rows; the offset is left to the threshold."""
    kept, y = Rows.of(rows, check=False).packed().with_constant(), np.where(is_positive, 1.0, -1.0)
    return cost_sensitive.solve(kept, y, tol=OPTIONS.tol, loss="logistic", sample_weight=weight).w[:-1]


class Valued(Protocol):
    @property
    def value(self) -> float: ...
    @property
    def tpr(self) -> float: ...
    @property
    def tnr(self) -> float: ...


AnyModel = TypeVar("AnyModel", bound=Valued)


def better(one: AnyModel, other: AnyModel) -> AnyModel:
    """Of two models with their thresholds the one of larger value on the sample, or of more skill if they agree."""
    return max(one, other, key=lambda model: (round(model.value, OPTIONS.digits), model.tpr + model.tnr))
