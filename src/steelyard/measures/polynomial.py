"""Bounds of a polynomial over a box, by its Bernstein coefficients.

Given a polynomial in ``(tpr, tnr, prevalence, smoothing)`` over ``[0, 1]^3 x [0, 1/2]``, written as a mapping from
exponents to coefficients, `bounds` returns an interval that holds all its values. The Bernstein coefficients
``b_i = sum_{j <= i} C(i, j) / C(d, j) a_j`` (one axis; the axes are independent) average to the polynomial with
non-negative weights that sum to one, so their extremes bound it. For a polynomial of degree one in each variable
they are its values at the corners, and the bound is exact: so the estimated prevalence
``p tpr + (1 - p)(1 - tnr)`` is found to lie in [0, 1], where interval arithmetic would say [0, 2].
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import numpy as np

Exponents = tuple[int, int, int, int]
Polynomial = dict[Exponents, float]

VARIABLES = ("tpr", "tnr", "prevalence", "smoothing")
UPPER = (1.0, 1.0, 1.0, 0.5)  # rates and prevalence are shares; smoothing is 1 / (2 n), so at most one half
# The named measures that are polynomials, or ratios of two, have degree 2 at most, so products of four of them are
# analysed; above that a form of four variables has hundreds of coefficients, which cancel in their last digits.
MAX_DEGREE = 8


def constant(value: float) -> Polynomial:
    return {(0, 0, 0, 0): value}


def variable(axis: int) -> Polynomial:
    return {tuple(int(k == axis) for k in range(4)): 1.0}  # type: ignore[dict-item]


def add(a: Mapping[Exponents, float], b: Mapping[Exponents, float], sign: float = 1.0) -> Polynomial:
    total = dict(a)
    for exponents, c in b.items():
        total[exponents] = total.get(exponents, 0.0) + sign * c
    return total


def multiply(a: Mapping[Exponents, float], b: Mapping[Exponents, float]) -> Polynomial:
    product: Polynomial = {}
    for (i, j, k, s), c in a.items():
        for (u, v, w, t), e in b.items():
            key = (i + u, j + v, k + w, s + t)
            product[key] = product.get(key, 0.0) + c * e
    return product


def degree(a: Mapping[Exponents, float], *axes: int) -> int:
    """Largest total degree in the given axes (all of them by default)."""
    chosen = axes or range(4)
    return max((sum(e[k] for k in chosen) for e, c in a.items() if c != 0.0), default=0)


def derivative(a: Mapping[Exponents, float], axis: int) -> Polynomial:
    slope: Polynomial = {}
    for e, c in a.items():
        if e[axis]:
            lower = tuple(x - (k == axis) for k, x in enumerate(e))
            slope[lower] = c * e[axis]  # type: ignore[index]
    return slope


def bounds(a: Mapping[Exponents, float]) -> tuple[float, float]:
    degrees = [degree(a, axis) for axis in range(4)]
    tensor = np.zeros([d + 1 for d in degrees])
    for e, c in a.items():
        if c != 0.0:
            tensor[e] = c * UPPER[3] ** e[3]
    for axis, d in enumerate(degrees):
        to_bernstein = np.array(
            [[comb(i, j) / comb(d, j) if j <= i else 0.0 for j in range(d + 1)] for i in range(d + 1)]
        )
        tensor = np.moveaxis(np.tensordot(to_bernstein, tensor, axes=(1, axis)), 0, axis)
    # Cancellation leaves dust of the size of rounding: it must not turn a sign that is known into one that is not.
    dust = 1e-12 * max(1.0, float(np.abs(tensor).max()))
    low, high = float(tensor.min()), float(tensor.max())
    return (0.0 if abs(low) < dust else low), (0.0 if abs(high) < dust else high)
