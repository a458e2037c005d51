"""Newton's questions along a ray (`Ray` in models.py), answered by sums over parts of the rows.

The rows are one part that is here (`InMemory`), or many that are elsewhere and are asked in rounds; what a part answers
is in part.py. A part knows nothing from one question to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import part as sums
from .part import Part

Array = NDArray[np.float64]
Ask = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class InMemory:
    """A sample that is here, as one part (`Sample` in models.py)."""

    part: Part
    is_all: bool

    @property
    def n(self) -> int:
        return self.part.n

    def along(self, loss: str, caps: Array) -> SumsRay:
        return SumsRay(lambda function, *given: function(self.part, None, *given), loss, caps)


class SumsRay:
    """Asks with the point and the direction every time."""

    def __init__(self, ask: Ask, loss: str, caps: Array) -> None:
        self.ask, self.loss, self.caps = ask, loss, caps

    def at(self, w: Array) -> None:
        self.w = np.ascontiguousarray(w)

    def ahead(self, p: Array) -> None:
        self.p = np.ascontiguousarray(p)

    def read(self, mu: Array) -> tuple[Array, Array, Array]:
        risk, rounding, pull = self.ask(sums.ray_read, self.loss, self.caps, self.w, mu)
        return risk, rounding, pull

    def hessian(self, mu: Array, which: NDArray[np.intp]) -> Array:
        (found,) = self.ask(sums.ray_hessian, self.loss, self.caps[which], self.w[which], mu[which])
        return np.asarray(found + np.eye(self.w.shape[1]))

    def force(self, t: Array, mu: Array) -> Array:
        (found,) = self.ask(sums.ray_force, self.loss, self.caps, self.w, self.p, t, mu)
        return np.asarray(found)
