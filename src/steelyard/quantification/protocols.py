"""Batches of known prevalence from labelled rows, and what a quantifier makes of them.

Given labelled rows, a protocol draws batches of `sample_size` rows: the natural prevalence protocol (NPP) draws rows as
they come, the artificial one (APP) a grid of prevalences, the uniform one (UPP) prevalences uniform on the simplex. A
class is drawn without replacement where it has enough rows. A protocol is iterated as often as one likes, and gives the
same batches every time when `random_state` is a number.

>>> import numpy as np
>>> from steelyard.quantification import protocols
>>> X, y = np.arange(40.0).reshape(-1, 1), np.repeat(["a", "b"], 20)
>>> [p.tolist() for _, p in protocols.APP(X, y, sample_size=10, n_prevalences=3, repeats=1)]
[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
"""

from __future__ import annotations

import numbers
import typing
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d

from ..estimators._users import n_rows, part_of
from . import errors as _errors


class CountsBatches(typing.Protocol):
    """Whatever estimates the prevalence of a batch."""

    def predict(self, X: Any) -> Any: ...


class Protocol:
    """Batches ``(X, prevalence)`` drawn from rows; `indices` gives their rows instead. Subclasses say which."""

    def __init__(self, X: Any, y: Any, *, sample_size: int = 100, repeats: int = 100, random_state: Any = 0) -> None:
        self.X, self.y = X, column_or_1d(y)
        if n_rows(X) != len(self.y):
            raise ValueError(f"X has {n_rows(X)} rows and y has {len(self.y)}")
        self.classes_, codes = np.unique(self.y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("a protocol needs rows of two or more classes to draw from")
        for name, value in (("sample_size", sample_size), ("repeats", repeats)):
            if not isinstance(value, numbers.Integral) or value < 1:
                raise ValueError(f"{name} is a whole number from 1 up; got {value!r}")
        self.sample_size, self.repeats, self.random_state = int(sample_size), int(repeats), random_state
        self._rows = [np.flatnonzero(codes == k) for k in range(len(self.classes_))]

    def __iter__(self) -> Iterator[tuple[Any, NDArray[Any]]]:
        for rows, prevalence in self.indices():
            yield part_of(self.X, rows), prevalence

    def __len__(self) -> int:
        return self.repeats

    def indices(self) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
        """Row numbers of each batch, and its prevalence in the order of ``classes_``."""
        rng = check_random_state(self.random_state)
        for wanted in self._prevalences(rng):
            rows = self._draw(wanted, rng)
            counts = [np.count_nonzero(self.y[rows] == label) for label in self.classes_]
            yield rows, np.array(counts) / self.sample_size

    def _prevalences(self, rng: np.random.RandomState) -> Iterator[NDArray[Any] | None]:
        raise NotImplementedError

    def _draw(self, wanted: NDArray[Any] | None, rng: np.random.RandomState) -> NDArray[Any]:
        if wanted is None:
            return _choose(np.arange(len(self.y)), self.sample_size, rng)
        ends = np.round(np.cumsum(wanted) * self.sample_size).astype(int)
        counts = np.diff(np.concatenate([[0], ends[:-1], [self.sample_size]]))
        return rng.permutation(np.concatenate([_choose(r, n, rng) for r, n in zip(self._rows, counts, strict=True)]))


class NPP(Protocol):
    """Rows as they come: the prevalence is that of the data, up to chance."""

    def _prevalences(self, rng: np.random.RandomState) -> Iterator[NDArray[Any] | None]:
        return (None for _ in range(self.repeats))


class UPP(Protocol):
    """Prevalences uniform on the simplex (Kraemer's method), one to a batch."""

    def _prevalences(self, rng: np.random.RandomState) -> Iterator[NDArray[Any] | None]:
        for _ in range(self.repeats):
            cuts = np.sort(rng.uniform(size=len(self.classes_) - 1))
            yield np.diff(np.concatenate([[0.0], cuts, [1.0]]))


class APP(Protocol):
    """Every prevalence of a grid, `repeats` times: on two classes ``0, 0.05, ..., 1`` with 21 of them.

    On K classes the grid holds all vectors of multiples of ``1/(n_prevalences - 1)`` that sum to one, and grows fast:
    UPP is for those.
    """

    n_prevalences: int
    _grid: list[tuple[int, ...]]

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        sample_size: int = 100,
        n_prevalences: int = 21,
        repeats: int = 10,
        random_state: Any = 0,
    ) -> None:
        super().__init__(X, y, sample_size=sample_size, repeats=repeats, random_state=random_state)
        if not isinstance(n_prevalences, numbers.Integral) or n_prevalences < 2:
            raise ValueError(f"a grid has two or more prevalences; got n_prevalences={n_prevalences!r}")
        self.n_prevalences = int(n_prevalences)
        self._grid = list(_compositions(self.n_prevalences - 1, len(self.classes_)))

    def __len__(self) -> int:
        return self.repeats * len(self._grid)

    def _prevalences(self, rng: np.random.RandomState) -> Iterator[NDArray[Any] | None]:
        for steps in self._grid:
            for _ in range(self.repeats):
                yield np.array(steps) / (self.n_prevalences - 1)


def evaluate(
    quantifier: CountsBatches, protocol: Protocol, errors: Sequence[str] = ("ae", "rae", "kld")
) -> NDArray[Any]:
    """A table with a row for each batch: ``true``, ``estimated`` and one column for each error.

    A structured array, so ``table["ae"].mean()`` is the mean absolute error, and ``table["true"][:, 1]`` the prevalence
    of the second class. `quantifier` has ``predict(X)`` that returns a prevalence in the order of the protocol's
    ``classes_``; smoothing is by the protocol's own `sample_size`.
    """
    known = getattr(quantifier, "classes_", None)
    if known is not None and not np.array_equal(known, protocol.classes_):
        raise ValueError(f"the quantifier knows the classes {list(known)}, the protocol {protocol.classes_.tolist()}")
    measures = [(name, _errors.named(name, protocol.sample_size)) for name in errors]
    pairs = [(prevalence, np.asarray(quantifier.predict(X), dtype=float)) for X, prevalence in protocol]
    classes = (len(protocol.classes_),)
    kinds = [("true", float, classes), ("estimated", float, classes), *((name, float) for name in errors)]
    table = np.zeros(len(pairs), dtype=kinds)
    table["true"], table["estimated"] = (np.array(side) for side in zip(*pairs, strict=True))
    for name, error in measures:
        table[name] = error(table["true"], table["estimated"])
    return table


def _choose(rows: NDArray[Any], n: int, rng: np.random.RandomState) -> NDArray[Any]:
    return rng.choice(rows, n, replace=n > len(rows))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as an ordered sum of so many numbers from 0 up."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)
