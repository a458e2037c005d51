"""A measure flattened to a tape: what the compiled loops evaluate, value and gradient, millions of times.

Given the tree, `flatten` returns one instruction per distinct node, arguments before their use: an operation, up to
two earlier instructions, and a number. Its inputs are tpr, tnr, prevalence and smoothing, so that a running prevalence
needs no new tape. `src/core/measure/tape.hpp` evaluates it, with the conventions of the tree (0/0 = 0, 0 times infinity
= 0).

A measure of several classes becomes the tapes of what it lifts, and a formula of the lifted numbers: a tape with these
as its inputs, and the smoothing after them (`flatten_lifted`, `src/core/measure/class_measure.hpp`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._core import evaluate_tape
from .arithmetic import Constant, Difference, Negative, Product, Quotient, Sum, Variable, smoothing
from .costs import Costs
from .expression import Measure
from .functions import Absolute, Log, Maximum, Minimum, Power
from .lifted import Geometric, Lift, Macro, Micro, Of, Total, Worst

# In the order of `Op` in src/core/measure/tape.hpp.
OPS = (
    "input",
    "constant",
    "add",
    "subtract",
    "multiply",
    "divide",
    "negate",
    "log",
    "power",
    "absolute",
    "minimum",
    "maximum",
)
_CODE = {name: np.int32(k) for k, name in enumerate(OPS)}
_BINARY = {
    Sum: "add",
    Difference: "subtract",
    Product: "multiply",
    Quotient: "divide",
    Minimum: "minimum",
    Maximum: "maximum",
}
# In the order of `LiftKind` in src/core/measure/class_measure.hpp.
LIFTS = (Macro, Total, Worst, Geometric, Of, Micro, Costs)
_UNARY = {Negative: "negate", Log: "log", Power: "power", Absolute: "absolute"}


@dataclass(frozen=True)
class Tape:
    """Instructions as four arrays of one length; the last one holds the measure."""

    op: NDArray[np.int32]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    number: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.op)

    def evaluate(self, points: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Values (m,) and gradients (m, 2) at points (m, 4): tpr, tnr, prevalence, smoothing; by the C++ core."""
        at = np.ascontiguousarray(points, dtype=np.float64)
        values, gradients = evaluate_tape(self.op, self.left, self.right, self.number, at)
        return np.asarray(values), np.asarray(gradients)


def flatten(measure: Measure) -> Tape:
    rows: list[tuple[np.int32, int, int, float]] = []
    _place(measure, rows, {})
    return _tape(rows)


def flatten_lifted(measure: Measure, classes: Sequence[Any]) -> _core.ClassMeasure:
    """For the core, with the classes in this order."""
    lifts = list(dict.fromkeys(_lifts_in(measure)))
    rows = [(_CODE["input"], place, 0, 0.0) for place in range(len(lifts) + 1)]
    where = _place(measure, rows, {**{lift: place for place, lift in enumerate(lifts)}, smoothing: len(lifts)})
    rows.append(rows[where])  # the last instruction is the measure
    made: list[tuple[int, int, _core.Tape]] = []
    tables: list[NDArray[np.float64]] = []
    for lift in lifts:
        place = classes.index(lift.label) if isinstance(lift, Of) else 0
        if isinstance(lift, Costs):
            place = len(tables)
            tables.append(lift.table_of(classes))
        inner = lift.args[0] if lift.args else Constant(0)  # a table has no tape
        made.append((LIFTS.index(type(lift)), place, _compiled(flatten(inner), 4)))
    return _core.ClassMeasure(made, _compiled(_tape(rows), len(lifts) + 1), tables)


def _lifts_in(node: Measure) -> Iterator[Lift]:
    if isinstance(node, Lift):
        yield node
    else:
        for arg in node.args:
            yield from _lifts_in(arg)


def _compiled(tape: Tape, n_inputs: int) -> _core.Tape:
    return _core.Tape(tape.op, tape.left, tape.right, tape.number, n_inputs)


def _tape(rows: list[tuple[np.int32, int, int, float]]) -> Tape:
    op, left, right, number = zip(*rows, strict=True)
    as_ints = partial(np.array, dtype=np.int32)
    return Tape(as_ints(op), as_ints(left), as_ints(right), np.array(number, dtype=np.float64))


def _place(node: Measure, rows: list[tuple[np.int32, int, int, float]], placed: dict[Measure, int]) -> int:
    """The row of `node`, added with all it needs if it is new."""
    if node in placed:
        return placed[node]
    expanded = node._expand()
    if expanded is not node:
        where = _place(expanded, rows, placed)
    else:
        where = _emit(node, [_place(arg, rows, placed) for arg in node.args], rows)
    placed[node] = where
    return where


def _emit(node: Measure, args: list[int], rows: list[tuple[np.int32, int, int, float]]) -> int:
    kind: Any = type(node)
    if isinstance(node, Variable):
        rows.append((_CODE["input"], node.axis, 0, 0.0))
    elif isinstance(node, Constant):
        rows.append((_CODE["constant"], 0, 0, node.number))
    elif kind in _UNARY:
        rows.append((_CODE[_UNARY[kind]], args[0], 0, node.exponent if isinstance(node, Power) else 0.0))
    else:
        # Extremes of several arguments become a chain of pairs.
        for k in range(1, len(args)):
            left = args[0] if k == 1 else len(rows) - 1
            rows.append((_CODE[_BINARY[kind]], left, args[k], 0.0))
    return len(rows) - 1
