"""Measures and constraints as lists: the name of the node, and what its constructor takes. Never code.

    FBeta(1) + 0.5 * tpr  ->  ["Sum", ["FBeta", 1], ["Product", ["Constant", 0.5], ["Variable", "tpr"]]]

Only the nodes of `steelyard.measures` have names here. A measure that somebody else wrote as a class or a function is
code, and is refused when it is saved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..measures import NAMED, SEVERAL, Constraint, Measure, NegCost, functions, lifted
from ..measures.arithmetic import Constant, Difference, Negative, Product, Quotient, Sum, Variable
from ..measures.binding import At, Declared
from ..measures.by_row import ByRow
from ..measures.groups import GapConstraint, WithinConstraint
from .errors import ModelFileError

# What each constructor takes, a letter each: a measure, a number, a word, a flag, a pair of numbers, a
# label; * is "all others".
_TAKES: dict[type[Measure], str] = {
    Variable: "w", Constant: "n", Sum: "mm", Difference: "mm", Product: "mm", Quotient: "mm", Negative: "m",
    functions.Log: "m", functions.Power: "mn", functions.Absolute: "m", functions.Minimum: "m*",
    functions.Maximum: "m*", functions.GeometricMean: "m*", functions.QuadraticMean: "m*",
    functions.HarmonicMean: "mmp", Declared: "mnnf", At: "mn",
    lifted.Macro: "m", lifted.Total: "m", lifted.Worst: "m", lifted.Geometric: "m", lifted.Micro: "m", lifted.Of: "lm",
    ByRow: "m",
}  # fmt: skip
_NAMES = (str, int, bool, float)  # of groups and classes
_KINDS: list[type[Measure]] = [*NAMED, *SEVERAL, *_TAKES]
_NODES = {kind.__name__: kind for kind in _KINDS}
# A tree that people write has some ten nodes; each is analysed, some in milliseconds, and some by recursion.
MOST_NODES, DEEPEST = 1_000, 60


def expression_to_list(measure: Measure) -> list[Any]:
    """The tree as lists, numbers and words."""
    return _written(measure, _Budget(ModelFileError))


def expression_from_list(given: Any) -> Measure:
    return _read(given, _Budget(ValueError))


def constraint_to_list(constraint: Constraint) -> list[Any]:
    """Left, comparison, right; within a group also its name."""
    if isinstance(constraint, WithinConstraint):
        if type(constraint.group) not in _NAMES:
            raise ModelFileError(f"a file holds groups named by text or numbers; got {constraint.group!r}")
        return ["within", constraint.group, constraint_to_list(constraint.plain)]
    if isinstance(constraint, GapConstraint):
        return ["gap", expression_to_list(constraint.measure), constraint.bound]
    return [expression_to_list(constraint.left), constraint.sense, expression_to_list(constraint.right)]


def constraint_from_list(given: Any) -> Constraint:
    if not isinstance(given, list) or len(given) != 3:
        raise ValueError("a constraint is two measures and a comparison")
    if given[0] == "within" and type(given[1]) in _NAMES:
        plain = constraint_from_list(given[2])
        if plain.needs_groups:
            raise ValueError("a constraint within a group is one of its rows alone")
        return WithinConstraint(given[1], plain)
    if given[0] == "gap" and _is_number(given[2]):
        return GapConstraint(expression_from_list(given[1]), float(given[2]))
    return Constraint(expression_from_list(given[0]), given[1], expression_from_list(given[2]))


class _Budget:
    """How many nodes may still come, and how deep they may be."""

    def __init__(self, error: Callable[[str], Exception]) -> None:
        self.error, self.left, self.depth = error, MOST_NODES, 0

    def __enter__(self) -> None:
        self.left, self.depth = self.left - 1, self.depth + 1
        if self.left < 0 or self.depth > DEEPEST:
            raise self.error(f"a measure in a file has at most {MOST_NODES} parts and is at most {DEEPEST} deep")

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


def _written(measure: Measure, budget: _Budget) -> list[Any]:
    kind = type(measure)
    if _NODES.get(kind.__name__) is not kind:
        raise ModelFileError(
            f"the measure {kind.__module__}.{kind.__qualname__} is Python code of your own, and a file holds no code: "
            "write it as an expression of steelyard.measures, or save without it"
        )
    with budget:
        return [kind.__name__, *(_part(part, budget, kind is NegCost) for part in measure._key())]


def _part(part: Any, budget: _Budget, names_classes: bool = False) -> Any:
    if isinstance(part, Measure):
        return _written(part, budget)
    if isinstance(part, tuple) and part and isinstance(part[0], tuple):
        return {"table": [list(row) for row in part]}
    if isinstance(part, tuple) and names_classes:
        return {"labels": list(part)}
    if isinstance(part, tuple):
        return {"pair": [float(number) for number in part]}
    if isinstance(part, float) and not math.isfinite(part):
        return {"end": "low" if part < 0 else "high"}
    return part


def _read(given: Any, budget: _Budget) -> Measure:
    if not isinstance(given, list) or not given or not isinstance(given[0], str) or given[0] not in _NODES:
        raise ValueError(f"there is no measure {given[0] if isinstance(given, list) and given else given!r}"[:100])
    kind = _NODES[given[0]]
    with budget:
        parts = [_part_of(part, budget) for part in given[1:]]
    if kind in _TAKES:
        _check_parts(kind, parts)
    return kind(*parts)


def _part_of(part: Any, budget: _Budget) -> Any:
    if isinstance(part, list):
        return _read(part, budget)
    if isinstance(part, dict):
        if part in ({"end": "low"}, {"end": "high"}):
            return -math.inf if part["end"] == "low" else math.inf
        if len(part) == 1 and isinstance(next(iter(part.values())), list) and next(iter(part)) in ("table", "labels"):
            return _cells_of(part)
        pair = part.get("pair")
        if not isinstance(pair, list) or not all(_is_number(number) for number in pair):
            raise ValueError("a part of a measure is neither a measure nor a number")
        return tuple(pair)
    return part


def _cells_of(part: dict[str, list[Any]]) -> tuple[Any, ...]:
    """A table of costs, or the labels of its rows; the constructor looks at the numbers."""
    if "labels" in part:
        if not all(type(label) in _NAMES for label in part["labels"]):
            raise ValueError("the labels of a table of costs are text or numbers")
        return tuple(part["labels"])
    if not all(isinstance(row, list) and all(map(_is_number, row)) for row in part["table"]):
        raise ValueError("a table of costs has rows of numbers")
    if len({len(row) for row in part["table"]}) != 1:
        raise ValueError("the rows of a table of costs are of one length")
    return tuple(tuple(row) for row in part["table"])


def _check_parts(kind: type[Measure], parts: list[Any]) -> None:
    takes = _TAKES[kind]
    letters = takes[0] * len(parts) if takes.endswith("*") else takes
    if len(letters) != len(parts) or not all(_FITS[letter](part) for letter, part in zip(letters, parts, strict=True)):
        raise ValueError(f"the measure {kind.__name__} is not made of such parts")


def _is_number(part: Any) -> bool:
    return isinstance(part, (int, float)) and not isinstance(part, bool)


# What the letters of `_TAKES` stand for.
_FITS: dict[str, Callable[[Any], bool]] = {
    "l": lambda part: type(part) in _NAMES,
    "m": lambda part: isinstance(part, Measure),
    "n": _is_number,
    "w": lambda part: isinstance(part, str),
    "f": lambda part: isinstance(part, bool),
    "p": lambda part: isinstance(part, tuple) and len(part) == 2,
}
