"""What a named measure is, and the shares that the named ones are written in.

Notation: ``P`` = TPR, ``N`` = TNR, ``p`` = prevalence, ``n = 1 - p``; false negatives are the share ``p (1 - P)`` of
the rows, false positives ``n (1 - N)``, and the estimated prevalence is ``q = p P + n (1 - N)``.

A named measure is its expression under a name: value, gradient, curvature and tape come from the expression. It may
declare a range tighter than the rules find, and that it `rises` in both rates; tests hold it to that.
"""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from .arithmetic import fnr, fpr, prevalence, tnr, tpr
from .binding import Declared, Renamed
from .expression import Measure
from .functions import maximum
from .rules import Interval

UNIT = Interval(0.0, 1.0)  # where rates and most measures lie
p, n = prevalence, 1 - prevalence
false_negatives, false_positives = p * fnr, n * fpr
called = p * tpr + n * fpr  # q, the share called positive
not_called = p * fnr + n * tnr
miscount = false_negatives - false_positives  # p - q
larger_class = maximum(p, n)


class Named(Renamed):
    """A measure with a name: the constructor's parameters, and the expression that they define."""

    _defaults: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        cls._defaults = {name: parameter.default for name, parameter in inspect.signature(cls).parameters.items()}

    def __init__(self) -> None:
        self.args = (self._define(),)

    def _define(self) -> Measure:
        raise NotImplementedError

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._defaults)

    def _substitute(self, prevalence: float) -> Measure:
        body = self.args[0]._substitute(prevalence)
        return body if self.declared is None else Declared(body, *self.declared, rises=self.rises)

    def _spell(self) -> str:
        # A number says which of the family it is and is always shown; the parts when they are not the default.
        shown = []
        for name, default in self._defaults.items():
            value = getattr(self, name)
            if isinstance(value, (int, float)) or value != default:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"
