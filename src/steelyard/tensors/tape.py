"""A measure's tape (`measures.tape`) at millions of points at once: each instruction is one operation on tensors.

Numbers stay numbers until they meet a tensor. Conventions are the tree's: 0/0 = 0, and 0 times infinity = 0; where
nothing is undefined, as nearly everywhere, they cost one look at the outcome, which is NaN if any part of it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..measures import Measure
from ..measures.tape import OPS, Tape

Value = Any  # a float, or a tensor
Operation = Callable[[Value, Value, float], Value]


def evaluate(measure: Measure, tpr: Value, tnr: Value, prevalence: float, sample_size: int) -> Value:
    """The measure's value at rates that are tensors of one shape."""
    tape, inputs = measure.tape(), (tpr, tnr, prevalence, 0.5 / sample_size)
    out = _run(tape, inputs, _PLAIN)
    undefined = torch.isnan(out).any() if isinstance(out, torch.Tensor) else math.isnan(out)
    return _run(tape, inputs, _MENDED) if bool(undefined) else out


def _run(tape: Tape, inputs: tuple[Value, ...], operations: dict[str, Operation]) -> Value:
    slots: list[Value] = []
    last_use = {int(slot): k for k in range(len(tape)) for slot in (tape.left[k], tape.right[k])}
    for k, (op, left, right, number) in enumerate(zip(tape.op, tape.left, tape.right, tape.number, strict=True)):
        name = OPS[op]
        if name == "input":
            slots.append(inputs[left])
        elif name == "constant":
            slots.append(float(number))
        else:
            slots.append(operations[name](slots[left], slots[right], float(number)))
            for used in {int(left), int(right)}:
                if last_use[used] <= k and OPS[tape.op[used]] not in ("input", "constant"):
                    slots[used] = None  # fifty million numbers that nobody needs again
    return slots[-1]


def _mended(out: Value, is_zero: Callable[[], Value]) -> Value:
    """0 where the outcome is undefined and the convention says so."""
    if not isinstance(out, torch.Tensor):
        return 0.0 if math.isnan(out) and bool(is_zero()) else out
    bad = torch.isnan(out)
    return torch.where(bad & is_zero(), 0.0, out) if bool(bad.any()) else out


def _product(x: Value, y: Value) -> Value:
    return _mended(x * y, lambda: (x == 0) | (y == 0))


def _quotient(x: Value, y: Value) -> Value:
    if isinstance(y, torch.Tensor) or y != 0.0:
        return _mended(x / y, lambda: (x == 0) & (y == 0))
    x = torch.as_tensor(x, dtype=torch.float64)
    return torch.where(x == 0, 0.0, x * math.inf)


def _extreme(name: str) -> Callable[[Value, Value, float], Value]:
    def operation(x: Value, y: Value, number: float) -> Value:
        like = x if isinstance(x, torch.Tensor) else y
        if not isinstance(like, torch.Tensor):
            return min(x, y) if name == "minimum" else max(x, y)
        both = (one if isinstance(one, torch.Tensor) else torch.full_like(like, one) for one in (x, y))
        return getattr(torch, name)(*both)

    return operation


def _of_one(of_tensor: Callable[..., Value], of_number: Callable[..., float]) -> Callable[[Value, Value, float], Value]:
    return lambda x, y, number: (of_tensor if isinstance(x, torch.Tensor) else of_number)(x, number)


def _divided(x: Value, y: Value) -> Value:
    return x / y if isinstance(x, torch.Tensor) or isinstance(y, torch.Tensor) or y != 0.0 else _quotient(x, y)


# In the words of `measures.tape.OPS`, with the conventions ...
_MENDED: dict[str, Operation] = {
    "add": lambda x, y, number: x + y,
    "subtract": lambda x, y, number: x - y,
    "multiply": lambda x, y, number: _product(x, y),
    "divide": lambda x, y, number: _quotient(x, y),
    "negate": lambda x, y, number: -x,
    "log": _of_one(lambda x, number: torch.log(x), lambda x, number: math.log(x) if x > 0.0 else -math.inf),
    "power": _of_one(torch.pow, lambda x, number: x**number),
    "absolute": lambda x, y, number: abs(x),
    "minimum": _extreme("minimum"),
    "maximum": _extreme("maximum"),
}
# ... and without.
_PLAIN: dict[str, Operation] = {
    **_MENDED,
    "multiply": lambda x, y, number: x * y,
    "divide": lambda x, y, number: _divided(x, y),
}
