"""What users give as a measure: a measure, a name that they know from scikit-learn, a text, or a function of the rates.

A function is called once, with the symbols `tpr` and `tnr` (and `prevalence`, if it takes three): what it returns is
the expression, which can be analysed, trained for and saved like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from .arithmetic import prevalence, tnr, tpr
from .constraints import Constraint
from .expression import Measure
from .known_names import BY_NAME
from .parsing import parse_measure


def measure_of(given: Any) -> Measure:
    """The measure that `given` stands for.

    >>> measure_of("f1"), measure_of("0.5*tpr + 0.5*tnr"), measure_of(lambda tpr, tnr: tpr * tnr)
    (FBeta(beta=1), 0.5 * tpr + 0.5 * tnr, tpr * tnr)
    """
    if isinstance(given, Measure):
        return given
    if isinstance(given, str):
        known = BY_NAME.get(given.strip().lower().replace("-", "_").replace(" ", "_"))
        return parse_measure(given) if known is None else known()
    if isinstance(given, type) and issubclass(given, Measure):
        raise TypeError(f"{given.__name__} is a kind of measure: write {given.__name__}() for the measure itself")
    if callable(given):
        return _followed(given)
    raise TypeError(
        "a measure is one of steelyard.measures such as FBeta(1), a name such as 'f1', or a function of (tpr, tnr); "
        f"got {given!r}"
    )


def _followed(function: Callable[..., Any]) -> Measure:
    """The expression that a function of the rates computes."""
    name = getattr(function, "__name__", type(function).__name__)
    try:
        takes = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        takes = []
    needed = [p.name for p in takes if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) not in (2, 3) or needed[:2] == ["y_true", "y_pred"]:
        raise TypeError(
            "a function that is a measure takes (tpr, tnr) or (tpr, tnr, prevalence); "
            f"{name} takes ({', '.join(needed)})"
        )
    try:
        found = function(*(tpr, tnr, prevalence)[: len(needed)])
    except Exception as error:
        raise TypeError(
            f"{name} cannot be followed, as it is called with the symbols of the rates and not with numbers: "
            f"{error}. Use + - * / ** and the functions of steelyard.measures (sqrt, log, minimum, maximum)"
        ) from error
    if not isinstance(found, Measure) or isinstance(found, Constraint) or not found.varies:
        raise TypeError(f"{name} returned {found!r}, which does not vary with the rates")
    return found
