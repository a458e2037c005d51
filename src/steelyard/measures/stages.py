"""A measure as nested stages, the form in which Algorithm 1 of Kar et al. keeps its dual variables.

Given a tree, the result is a list of stages, each a function of two arguments that are rates or earlier stages.
``Psi(zeta1(P, N), zeta2(P, N))`` has three. A node whose arguments are all affine in the rates is one stage as it
stands, since there a mean of values is the value at the mean; only a function of nonlinear functions is split. The
range of each stage goes along, so that a running mean that strays is brought back before the next stage takes its
logarithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from . import Measure, tnr, tpr
from .rules import IS_AFFINE
from .tape import Tape

TPR, TNR = -1, -2  # the rates as arguments of a stage, beside the numbers of earlier stages
MARGIN = 1e-6  # means stay this far inside a finite range, where logarithms and roots have slopes of 1e6 at most


@dataclass(frozen=True)
class Stage:
    """A function of two arguments (`TPR`, `TNR`, or an earlier stage by its number), in the places of tpr and tnr."""

    function: Measure
    first: int
    second: int
    low: float
    high: float

    @cached_property
    def tape(self) -> Tape:
        return self.function.tape()


def stages(measure: Measure) -> list[Stage]:
    """
    >>> from steelyard.measures import NegKLD, QMeasure
    >>> len(stages(NegKLD())), len(stages(QMeasure()))
    (1, 3)
    """
    found: list[Stage] = []
    _place(measure, found, {})
    return found


def _place(node: Measure, found: list[Stage], placed: dict[Measure, int]) -> int:
    """The stage of this node, after those that it needs."""
    while node.is_identity:
        node = node.args[0] if node.declared is None else _with_range(node)
    if node in placed:
        return placed[node]
    varying = [arg for arg in node.args if arg.varies]
    if _is_flat(node) or len(varying) > 2:
        stage = _stage(node, node, TPR, TNR)
    else:
        children = [_place(arg, found, placed) for arg in varying]
        stage = _stage(node, _over_the_rates(node), children[0], children[-1] if len(children) > 1 else TNR)
    found.append(stage)
    placed[node] = len(found) - 1
    return placed[node]


def _with_range(node: Measure) -> Measure:
    """The inner node, with the range that the name around it declares."""
    return node.args[0]._changed(declared=node.declared)


def _is_flat(node: Measure) -> bool:
    """Whether no nonlinear function of a nonlinear function occurs in it."""
    if node.curvature in IS_AFFINE or all(arg.curvature in IS_AFFINE for arg in node.args):
        return True
    return node._curvature(*(arg.range for arg in node.args)) in IS_AFFINE and all(_is_flat(arg) for arg in node.args)


def _over_the_rates(node: Measure) -> Measure:
    """The node's own function, with tpr and tnr in place of its varying arguments."""
    stand_in = iter((tpr, tnr))
    return node._changed(args=tuple(next(stand_in) if arg.varies else arg for arg in node.args))


def _stage(node: Measure, function: Measure, first: int, second: int) -> Stage:
    low, high = node.range
    low, high = (low + MARGIN if math.isfinite(low) else low), (high - MARGIN if math.isfinite(high) else high)
    return Stage(function, first, second, low, high)
