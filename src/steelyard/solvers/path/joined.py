"""An exact path that rounding has ended, and the certified approximate one from there on.

The two meet at one tau with two models, each within its own precision of the optimum there: knots of the same tau, with
nothing between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..status import Status
from .approximate import ApproximatePath
from .exact import ExactPath
from .problem import Array, moved


@dataclass(frozen=True, eq=False)
class JoinedPath:
    """`first` up to where it ends, `rest` from there on; `gap` is that of the rest."""

    first: ExactPath
    rest: ApproximatePath

    @property
    def start(self) -> float:
        return self.first.start

    @property
    def end(self) -> float:
        return self.rest.end

    @property
    def kinks(self) -> Array:
        return np.concatenate([self.first.kinks, self.rest.kinks])

    @property
    def gap(self) -> float:
        return self.rest.gap

    @property
    def n_iter(self) -> int:
        return self.first.n_iter + self.rest.n_iter

    @property
    def converged(self) -> bool:
        return self.status.solved

    @property
    def status(self) -> Status:
        """Not solved: what was asked for is every kink."""
        reached = f"the path is approximate from there on, with a certified gap of {self.rest.gap:.2g}"
        return Status(self.first.status.ended, f"{self.first.status.where}; {reached}")

    def models(self, tau: ArrayLike) -> Array:
        wanted = np.atleast_1d(np.asarray(tau, dtype=np.float64))
        found = self.rest.models(wanted)
        early = wanted < self.rest.start
        if early.any():
            found[early] = self.first.models(wanted[early])
        return found

    def stretches(self) -> Iterator[tuple[Array, Array, Array]]:
        yield from self.first.stretches()
        last = self.first.models(self.first.end)
        w = np.concatenate([last, self.rest.w])
        yield np.r_[self.first.end, self.rest.tau], w, moved(w)
