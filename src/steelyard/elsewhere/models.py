"""What one pass over all rows is asked, and what it answers, wherever the rows are.

    for each model (w, c-, c+, mu):   risk_c = sum over class c of s_i loss(m_i),   m_i = y_i x_i.w
                                      dual = sum_i c_i dual_term(b_i),   v = sum_i c_i b_i y_i x_i

with ``c_i = s_i c_{y_i}`` and b_i the share of m_i, rounded by mu for the hinge: what `src/core/linear/evaluation.hpp`
finds in memory. There is no C in any of it, so that one pass serves every C:

    primal(C) = 1/2 |w|^2 + C c.risk,     dual(C) = C dual - C^2 |v|^2 / 2,     dual(C) <= optimum <= primal(C)
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Models:
    """Points and what is asked of them: w (k, columns), the costs (k, 2) of the classes, negative first, and mu (k)."""

    w: Array
    costs: Array
    mu: Array

    def __len__(self) -> int:
        return len(self.w)

    def only(self, which: Any) -> Models:
        return Models(self.w[which], self.costs[which], self.mu[which])

    def and_also(self, other: Models) -> Models:
        parts = zip((self.w, self.costs, self.mu), (other.w, other.costs, other.mu), strict=True)
        return Models(*(np.concatenate(both) for both in parts))


@dataclass(frozen=True, eq=False)
class Reading:
    """What a pass has found for each model."""

    risk: Array  # (k, 2), without costs, negative class first
    dual: Array  # (k,)
    v: Array  # (k, columns)

    def primal_at(self, models: Models, C: Array) -> Array:
        return np.asarray(0.5 * (models.w**2).sum(1) + C * (models.costs * self.risk).sum(1))

    def only(self, which: Any) -> Reading:
        return Reading(self.risk[which], self.dual[which], self.v[which])

    def dual_at(self, C: Array) -> Array:
        return np.asarray(C * self.dual - 0.5 * C**2 * (self.v**2).sum(1))


class Ray(Protocol):
    """Some rows along ``w + t p``, for k problems at once: sums over rows, as numbers of one each."""

    def at(self, w: Array) -> None:
        """These are the points."""
        ...

    def read(self, mu: Array) -> tuple[Array, Array, Array]:
        """Risk, rounding (see newton.hpp) and v there, by the caps of the classes."""
        ...

    def hessian(self, mu: Array, which: NDArray[np.intp]) -> Array:
        """``I + sum_i curvature_i x_i x_i'`` for each of `which`."""
        ...

    def ahead(self, p: Array) -> None:
        """These are the ways."""
        ...

    def force(self, t: Array, mu: Array) -> Array:
        """``sum_i cost share s`` where margins are larger by ``t s``, s those of p."""
        ...


class Sample(Protocol):
    """Rows that stand for all of them, or all of them (`is_all`)."""

    @property
    def n(self) -> int: ...
    @property
    def is_all(self) -> bool: ...
    def along(self, loss: str, caps: Array) -> Ray:
        """The caps (k, 2) are costs of the classes times C, negative first."""
        ...


class Source(Protocol):
    """Rows with their signs and weights, wherever they are: whoever answers this can be trained on by Newton."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_cols(self) -> int: ...
    def read(self, loss: str, models: Models) -> Reading: ...
    def sample(self, size: int, seed: int) -> Sample: ...
    def whole(self) -> Sample | None:
        """All rows; None where there is no room to have them as a sample."""
        ...

    def exactly(self) -> AbstractContextManager[None]:
        """What must be set while sums are taken, so that they have all their digits."""
        ...

    def class_risks(self, loss: str) -> Any:
        """`ClassRisks` of solvers/linear/bundle.py."""
        ...
