"""The rows of one partition, and the sums over them that rounds are made of.

A `Part` is what a task holds: rows (dense or CSR, perhaps with a constant column), signs -1 and 1, weights, and the
partition's number. It never changes. Each function here takes a part and numbers of the size of a model, and gives
numbers of that size back; margins, one number a row, are made again in every round and never leave. Rows go in blocks
that stay in a core's cache, and what there is of them for k models is (k, rows), so that loops run along the rows. The
products are those of `Rows`: same rows, same bits, on whichever machine.

Folds and samples are a matter of a row's `hashes`, which depend on the seed, the partition's number and the row's place
in it, so that a partition that is computed again has the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..rows import Rows
from .losses import curvature_of, dual_term, share_of, value_of

Array = NDArray[np.float64]
# Numbers of an array that comes and goes with a block, 64 kB: X stays in a core's cache, and a worker's allocator keeps
# such arrays. From 128 kB on it asks the system for each, as Dask sets MALLOC_TRIM_THRESHOLD_: three times slower.
BLOCK = 1 << 13
PIECE = 1 << 10  # rows of a Hessian that are packed at once
NEGLIGIBLE = 1e-9  # of the largest curvature that a row of its cost can have: nothing to a direction that is searched


@dataclass(frozen=True)
class Fold:
    """One fold of `folds`: the rows in it, or (`out`) those outside."""

    folds: int
    seed: int
    out: bool = False

    def holds(self, number: int, n_rows: int) -> NDArray[np.bool_]:
        inside = hashes(self.seed, number, n_rows) % np.uint64(self.folds) == 0
        return np.asarray(~inside if self.out else inside)


def hashes(seed: int, number: int, n_rows: int) -> NDArray[np.uint64]:
    """64 bits for each row of a partition (the finaliser of SplitMix64, Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        start = _mixed(np.uint64(seed % 2**64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(number))
        found = np.arange(1, n_rows + 1, dtype=np.uint64)
        for first in range(0, n_rows, BLOCK):
            block = found[first : first + BLOCK]
            block[:] = _mixed(start + block * np.uint64(0x9E3779B97F4A7C15))
        return found


def _mixed(x: Any) -> Any:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class Part:
    """See the top of this file."""

    rows: Rows
    y: NDArray[np.int8]
    weight: Array | None
    number: int

    @property
    def n(self) -> int:
        return len(self.y)

    def kept(self, fold: Fold | None) -> Part:
        """With weight 0 for the rows that are not in the fold: no copy of the others."""
        if fold is None:
            return self
        inside = fold.holds(self.number, self.n)
        return replace(self, weight=inside.astype(np.float64) if self.weight is None else inside * self.weight)

    def take(self, which: NDArray[Any]) -> Part:
        return Part(self.rows.take(which), self.y[which], None if self.weight is None else self.weight[which], -1)

    def thinned(self, most: int) -> Part:
        """At most so many rows of each class, evenly spread over those that are here."""
        of_class = [np.flatnonzero(self.y == side) for side in (-1, 1)]
        chosen = [one[np.arange(min(most, len(one))) * len(one) // max(min(most, len(one)), 1)] for one in of_class]
        return self.take(np.sort(np.concatenate(chosen))).alone()

    def alone(self) -> Part:
        """With the rows that it has, copied out of the table."""
        rows = Rows.of(self.rows.source[self.rows.which], check=False).with_constant(self.rows.constant)
        return replace(self, rows=rows)

    def with_constant(self, constant: float) -> Part:
        return replace(self, rows=self.rows.with_constant(constant))

    def blocks(self, k: int = 1) -> Iterator[Part]:
        """For k models."""
        source, constant, size = self.rows.source, self.rows.constant, max(BLOCK // k, 1)
        views = self.rows.which is None and not sp.issparse(source)
        for first in range(0, self.n, size):
            block = slice(first, min(first + size, self.n))
            if views:
                rows = Rows.of(source[block], check=False).with_constant(constant)
            else:
                rows = self.rows.take(block)
            yield Part(rows, self.y[block], None if self.weight is None else self.weight[block], self.number)

    def costs(self, by_class: Array) -> Array:
        """What each row costs in each model (k, rows), by the costs (k, 2) of the classes, negative first."""
        found = np.where(self.y > 0, by_class[:, 1:], by_class[:, :1])
        return found if self.weight is None else found * self.weight

    def slacks(self, W: Array) -> Array:
        """``1 - y x.w`` (k, rows)."""
        return np.asarray(1.0 - self.margins(W))

    def margins(self, W: Array) -> Array:
        """``y x.w`` (k, rows)."""
        return np.multiply(self.rows.scores(W).T, self.y, order="C")

    def pull(self, force: Array) -> Array:
        """``sum_i force_ki y_i x_i``, a row for each k."""
        return self.rows.sums(force * self.y)


Sums = tuple[Array, ...]


def read(part: Part, fold: Fold | None, loss: str, models: tuple[Array, Array, Array]) -> Sums:
    """One pass (models.py): risk, dual terms and v of each model (w, costs, mu)."""
    W, costs, mu = models
    risk, dual, v = np.zeros((len(W), 2)), np.zeros(len(W)), np.zeros_like(W)
    for block in part.kept(fold).blocks(len(W)):
        z, cost = block.slacks(W), block.costs(costs)
        value, share = value_of(loss, z), share_of(loss, z, mu[:, None])
        dual += (cost * dual_term(loss, z, value, share)).sum(1)
        v += block.pull(cost * share)
        risk += by_class(block, value)
    return risk, dual, v


def by_class(block: Part, value: Array) -> Array:
    """Sums over the rows of each class, (k, 2), negative first."""
    lost = value if block.weight is None else value * block.weight
    return np.stack([(lost * (block.y < 0)).sum(1), (lost * (block.y > 0)).sum(1)], axis=1)


# -- along a ray (`Ray` in models.py) -----------------------------------------------------------------------
def ray_read(part: Part, fold: Fold | None, loss: str, caps: Array, W: Array, mu: Array) -> Sums:
    risk, rounding, pull = np.zeros(len(W)), np.zeros(len(W)), np.zeros_like(W)
    for block in part.kept(fold).blocks(len(W)):
        z, cost = block.slacks(W), block.costs(caps)
        value, share = value_of(loss, z), share_of(loss, z, mu[:, None])
        risk += (cost * value).sum(1)
        if loss == "hinge":
            rounding += (cost * (value - share * z)).sum(1)
        pull += block.pull(cost * share)
    return risk, rounding, pull


def ray_force(
    part: Part, fold: Fold | None, loss: str, caps: Array, W: Array, P: Array, t: Array, mu: Array | None
) -> Sums:
    force, rounded = np.zeros(len(W)), None if mu is None else mu[:, None]
    for block in part.kept(fold).blocks(2 * len(W)):
        m, s = np.split(block.margins(np.concatenate([W, P])), 2)
        force += (block.costs(caps) * share_of(loss, 1.0 - m - t[:, None] * s, rounded) * s).sum(1)
    return (force,)


def ray_hessian(part: Part, fold: Fold | None, loss: str, caps: Array, W: Array, mu: Array) -> Sums:
    found, width = np.zeros((len(W), W.shape[1], W.shape[1])), mu[:, None]
    for block in part.kept(fold).blocks(len(W)):
        z, cost = block.slacks(W), block.costs(caps)
        curvature = cost * curvature_of(loss, z, share_of(loss, z, width), width)
        least = NEGLIGIBLE * cost / (4.0 * width) if loss == "hinge" else np.zeros_like(cost)
        for k in range(len(W)):
            near = np.flatnonzero(curvature[k] > least[k])
            if len(near):
                found[k] += _outer(block, near, curvature[k, near])
    return (found,)


def _outer(block: Part, near: NDArray[np.intp], curvature: Array) -> Array:
    """``sum c_i x_i x_i'``, the constant column last."""
    source, constant = block.rows.source, block.rows.constant
    which = near if block.rows.which is None else block.rows.which[near]
    if sp.issparse(source):
        x = source[which]
        square = np.asarray((x.T @ sp.diags_array(curvature) @ x).todense(), dtype=np.float64)
        edge = np.asarray(x.T @ curvature).ravel()
    else:
        square, edge = _dense_outer(source, which, np.sqrt(curvature))
    if constant == 0.0:
        return square
    edge, corner = constant * edge, np.array([[constant**2 * curvature.sum()]])
    return np.block([[square, edge[:, None]], [edge[None, :], corner]])


def _dense_outer(source: NDArray[Any], which: NDArray[Any], root: Array) -> tuple[Array, Array]:
    """``sum r_i^2 x_i x_i'`` and ``sum r_i^2 x_i``, by pieces in one buffer (BLOCK says why)."""
    d = source.shape[1]
    square, edge = np.zeros((d, d)), np.zeros(d)
    size = min(len(which), PIECE)
    taken, scaled = np.empty((size, d), dtype=source.dtype), np.empty((size, d))
    for first in range(0, len(which), size):
        some, by = which[first : first + size], root[first : first + size]
        x, half = taken[: len(some)], scaled[: len(some)]
        np.take(source, some, axis=0, out=x, mode="clip")  # the mode that needs no copy of `out`
        np.multiply(x, by[:, None], out=half)
        square += half.T @ half  # of one array: BLAS makes one triangle of it
        edge += by @ half
    return square, edge


# -- samples ----------------------------------------------------------------------------------------------------------
def drawn(part: Part, fold: Fold | None, shares: tuple[float, float], seed: int) -> list[Part]:
    """About these shares of the rows of the two classes, negative first; in a list of one."""
    chance = hashes(seed, part.number, part.n) / 2.0**64
    chosen = chance < np.where(part.y > 0, shares[1], shares[0])
    if fold is not None:
        chosen &= fold.holds(part.number, part.n)
    return [part.take(np.flatnonzero(chosen)).alone()]


def joined(parts: list[Part]) -> Part:
    """One part of several, in their order."""
    sources = [part.rows.source for part in parts]
    if any(sp.issparse(source) for source in sources):
        source = sp.csr_matrix(sp.vstack([sp.csr_matrix(source) for source in sources]))
    else:
        source = np.concatenate(sources)
    weights = [part.weight for part in parts]
    weight = None if weights[0] is None else np.concatenate([np.asarray(one) for one in weights])
    rows = Rows.of(source, check=False).with_constant(parts[0].rows.constant)
    return Part(rows, np.concatenate([part.y for part in parts]), weight, -1)
