"""What a part of a saved object may be, declared once, and checked when it is read.

    {"n_features_in_": COUNT, "coef_": Array("f8", 1, "d"), "classes_": Labels(2), "levels_": IfThere(Array("f8", "n"))}

A size that is a word, such as "d", is the same wherever that word stands in one object; ``n_features_in_`` is "d" too.
"*" is any size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

Sizes = dict[str, int]

LARGEST = sys.float_info.max  # a number is finite if it lies between this and its negative


class Kind(Protocol):
    """What a part may be."""

    def check(self, value: Any, sizes: Sizes) -> None:
        """Raise ValueError if it is something else."""
        ...


Fields = Mapping[str, Kind]


def check_fields(fields: Fields, state: Mapping[str, Any], sizes: Sizes | None = None) -> None:
    """Raise ValueError unless the state has these fields, each of its kind, and no other."""
    sizes = {} if sizes is None else sizes
    strange = sorted(set(state) - set(fields))
    if strange:
        raise ValueError(f"{strange[0]!r} is not among its parts")
    for name, kind in fields.items():
        if name not in state:
            if isinstance(kind, IfThere):
                continue
            raise ValueError(f"{name} is missing")
        try:
            kind.check(state[name], sizes)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def fits(good: Any, what: str) -> None:
    """Raise unless these parts fit each other."""
    if not good:
        raise ValueError(f"{what} do not fit each other")


def _expect(good: bool, words: str) -> None:
    if not good:
        raise ValueError(f"it should be {words}")


@dataclass(frozen=True)
class Number:
    """A number from `low` to `high`; NaN only where `nan` says so, and of a `whole` or a `real` type only."""

    low: float = -math.inf
    high: float = math.inf
    nan: bool = False
    whole: bool = False
    real: bool = False
    size: str = ""  # the word for it, where it is a size

    def check(self, value: Any, sizes: Sizes) -> None:
        types: tuple[type, ...] = () if self.real else (int, np.integer)
        types += () if self.whole else (float, np.floating)
        _expect(isinstance(value, types) and not isinstance(value, bool), "a number")
        _expect(self.low <= value <= self.high or (self.nan and value != value), f"from {self.low:g} to {self.high:g}")
        if self.size:
            _same(self.size, int(value), sizes)


@dataclass(frozen=True)
class Text:
    """Text; one of some words if they are given."""

    words: tuple[str, ...] = ()

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(isinstance(value, str) and (not self.words or value in self.words), f"text {' or '.join(self.words)}")


@dataclass(frozen=True)
class Array:
    """An array of numbers, each from `low` to `high`; `dtypes` are those it may have, such as "f8"."""

    dtypes: str
    shape: tuple[int | str, ...]
    low: float
    high: float
    nan: bool

    def __init__(self, dtypes: str, *shape: int | str, low: float = -LARGEST, high: float = LARGEST, nan: bool = False):
        for name, value in (("dtypes", dtypes), ("shape", shape), ("low", low), ("high", high), ("nan", nan)):
            object.__setattr__(self, name, value)

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(isinstance(value, np.ndarray), "an array")
        _expect(value.dtype.str[1:] in self.dtypes.split(), f"an array of {self.dtypes}; it is of {value.dtype}")
        _check_shape(value, self.shape, sizes)
        if value.size and value.dtype.kind in "iuf":
            # Minimum and maximum let a NaN through, and neither comparison holds for one.
            good = np.nanmin(value) >= self.low and np.nanmax(value) <= self.high if self.nan else (
                value.min() >= self.low and value.max() <= self.high
            )  # fmt: skip
            _expect(bool(good) or (self.nan and bool(np.isnan(value).all())), "an array of numbers within their range")


@dataclass(frozen=True)
class Labels:
    """Classes: different labels in order, as many as the size."""

    size: int | str = 2

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(isinstance(value, np.ndarray) and value.dtype.kind in "biufUSO", "an array of labels")
        _check_shape(value, (self.size,), sizes)
        labels = value.tolist()
        _expect(len(labels) >= 2 and len({type(label) for label in labels}) == 1, "two or more labels of one type")
        try:
            ordered = all(a < b for a, b in pairwise(labels))
        except TypeError:
            ordered = False
        _expect(ordered, "labels in order")


@dataclass(frozen=True)
class Names:
    """Names of columns."""

    size: str = "d"

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(isinstance(value, np.ndarray) and value.dtype == object, "an array of names")
        _check_shape(value, (self.size,), sizes)
        _expect(all(isinstance(name, str) for name in value), "an array of names")


@dataclass(frozen=True)
class Table:
    """Rows of numbers, as an array or CSR."""

    rows: int | str = "n"
    columns: int | str = "d"

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(sp.issparse(value) or (isinstance(value, np.ndarray) and value.ndim == 2), "a table")
        _expect(value.dtype in (np.float32, np.float64), "a table of numbers")
        _check_shape(value, (self.rows, self.columns), sizes)
        _expect(bool(np.isfinite(value.data if sp.issparse(value) else value).all()), "a table of finite numbers")


@dataclass(frozen=True)
class Is:
    """An object of one of some types."""

    types: tuple[type, ...]

    def __init__(self, *types: type) -> None:
        object.__setattr__(self, "types", types)

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(isinstance(value, self.types), " or ".join(kind.__name__ for kind in self.types))


@dataclass(frozen=True)
class Having:
    """Somebody else's object with some methods."""

    methods: tuple[str, ...]

    def __init__(self, *methods: str) -> None:
        object.__setattr__(self, "methods", methods)

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(all(hasattr(value, name) for name in self.methods), f"an object with {', '.join(self.methods)}")


@dataclass(frozen=True)
class IfThere:
    """Of a kind, or missing altogether."""

    kind: Kind

    def check(self, value: Any, sizes: Sizes) -> None:
        self.kind.check(value, sizes)


@dataclass(frozen=True)
class Maybe:
    """None, or of a kind."""

    kind: Kind

    def check(self, value: Any, sizes: Sizes) -> None:
        if value is not None:
            self.kind.check(value, sizes)


@dataclass(frozen=True)
class Each:
    """A list or a tuple of parts of one kind, as many as the size."""

    kind: Kind
    size: int | str = ""
    type: type = tuple

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(type(value) is self.type, f"a {self.type.__name__}")
        if self.size != "":
            _same(self.size, len(value), sizes)
        for one in value:
            self.kind.check(one, sizes)


@dataclass(frozen=True)
class ByName:
    """A dict from text to parts of one kind."""

    kind: Kind

    def check(self, value: Any, sizes: Sizes) -> None:
        _expect(type(value) is dict and all(isinstance(name, str) for name in value), "a dict")
        for one in value.values():
            self.kind.check(one, sizes)


@dataclass(frozen=True)
class Anything:
    """Whatever a file can hold."""

    def check(self, value: Any, sizes: Sizes) -> None:
        pass


# Kinds that many objects name.
FINITE = Number(-LARGEST, LARGEST)
REAL = Number(-LARGEST, LARGEST, real=True)
COUNT = Number(0, 2**62, whole=True)
FLAG = Is(bool)
COLUMNS = Number(1, 2**62, whole=True, size="d")
ANYTHING = Anything()


def _check_shape(value: Any, shape: tuple[int | str, ...], sizes: Sizes) -> None:
    _expect(len(value.shape) == len(shape), f"of {len(shape)} dimensions")
    for wanted, found in zip(shape, value.shape, strict=True):
        _same(wanted, int(found), sizes)


def _same(wanted: int | str, found: int, sizes: Sizes) -> None:
    if wanted == "*":
        return
    if isinstance(wanted, str):
        wanted = sizes.setdefault(wanted, found)
    _expect(wanted == found, f"of the size {wanted}; it is of {found}")
