"""The few functions that atoms compute with, for numpy's arrays and for PyTorch's tensors.

A measure is evaluated by the same code whatever its rates are. Arrays go to numpy, call for call as they always did.
Where a rate is a tensor (of any device, under `torch.compile` too) the same functions are torch's, and what does not
depend on the rates stays a Python number, so that it costs no kernel. Nothing asks a tensor for its value: there is no
wait for a device, and autograd sees through. PyTorch is never imported here: whoever has a tensor has imported it.

Zero wins over infinity in `product`, and 0/0 is 0 in `quotient`: see `expression`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def is_tensor(x: Any) -> bool:
    return hasattr(type(x), "__torch_function__")


def _torch() -> Any:
    return sys.modules["torch"]


def _unary(name: str, of_numbers: Callable[[float], float]) -> Callable[[Any], Any]:
    of_arrays = getattr(np, name)

    def function(x: Any) -> Any:
        if is_tensor(x):
            return getattr(_torch(), name)(x)
        return of_numbers(x) if type(x) is float else of_arrays(x)

    return function


# Of plain numbers, with the infinities of numpy in place of Python's errors.
log = _unary("log", lambda x: math.log(x) if x > 0.0 else -math.inf if x == 0.0 else math.nan)
absolute = _unary("abs", abs)
sign = _unary("sign", lambda x: float((x > 0.0) - (x < 0.0)))
sqrt = _unary("sqrt", lambda x: math.sqrt(x) if x >= 0.0 else math.nan)


def power(x: Any, exponent: float) -> Any:
    if is_tensor(x):
        return _torch().pow(x, exponent)
    if type(x) is not float:
        return np.power(x, exponent)
    if x < 0.0 and not exponent.is_integer():
        return math.nan
    return math.inf if x == 0.0 and exponent < 0.0 else x**exponent


def inverse(x: Any) -> Any:
    """``1 / x``."""
    return _divided(1.0, x) if type(x) is float else 1.0 / x


def _divided(a: float, b: float) -> float:
    if b != 0.0:
        return a / b
    return math.nan if a == 0.0 else math.copysign(math.inf, a)


def minimum(a: Any, b: Any) -> Any:
    return _extreme("minimum", a, b)


def maximum(a: Any, b: Any) -> Any:
    return _extreme("maximum", a, b)


def _extreme(name: str, a: Any, b: Any) -> Any:
    if is_tensor(a) or is_tensor(b):
        return getattr(_torch(), name)(*(_like(x, b if is_tensor(b) else a) for x in (a, b)))
    return getattr(np, name)(a, b)


def _like(x: Any, tensor: Any) -> Any:
    return x if is_tensor(x) else _torch().full_like(tensor, x)


def is_equal(a: Any, b: Any) -> Any:
    """1.0 where they are equal, and 0.0 elsewhere."""
    if is_tensor(a) or is_tensor(b):
        return (a == b).to(b.dtype if is_tensor(b) else a.dtype)
    return np.equal(a, b).astype(np.float64)


def constant(number: float, like: Any) -> Any:
    """A number that goes with arrays, or with tensors."""
    return number if is_tensor(like) else np.asarray(number)


def product(a: Any, b: Any) -> Any:
    """Multiply with zero winning over infinity."""
    if not (is_tensor(a) or is_tensor(b)):
        return _product_of_numbers(a, b) if type(a) is type(b) is float else _product_of_arrays(a, b)
    for x, other in ((a, b), (b, a)):
        if not is_tensor(x):  # a plain number is finite, and 1 and 0 are what derivatives are full of
            return 0.0 if x == 0.0 else other if x == 1.0 else x * other
    torch, out = _torch(), a * b
    return torch.where(torch.isnan(out) & ((a == 0.0) | (b == 0.0)), torch.zeros_like(out), out)


def quotient(a: Any, b: Any) -> Any:
    """Divide with 0/0 = 0."""
    if not (is_tensor(a) or is_tensor(b)):
        return _quotient_of_numbers(a, b) if type(a) is type(b) is float else _quotient_of_arrays(a, b)
    if not is_tensor(b):
        return a / b if b != 0.0 else _torch().where(a == 0.0, _torch().zeros_like(a), a * math.inf)
    torch, out = _torch(), a / b
    return torch.where((b == 0.0) & (a == 0.0), torch.zeros_like(out), out)


def _product_of_numbers(a: float, b: float) -> float:
    return 0.0 if a == 0.0 or b == 0.0 else a * b


def _quotient_of_numbers(a: float, b: float) -> float:
    return 0.0 if a == 0.0 and b == 0.0 else _divided(a, b)


@np.errstate(all="ignore")
def _product_of_arrays(a: Any, b: Any) -> Any:
    out = np.asarray(np.multiply(a, b), dtype=np.float64)
    bad = np.isnan(out)
    return np.where(bad & (np.equal(a, 0.0) | np.equal(b, 0.0)), 0.0, out) if bad.any() else out


@np.errstate(all="ignore")
def _quotient_of_arrays(a: Any, b: Any) -> Any:
    out = np.asarray(np.divide(a, b), dtype=np.float64)
    bad = np.isnan(out)
    return np.where(bad & np.equal(a, 0.0) & np.equal(b, 0.0), 0.0, out) if bad.any() else out
