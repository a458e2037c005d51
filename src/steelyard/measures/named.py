"""The named measures, all higher-is-better, each written as an expression in the two rates.

Notation: ``P`` = TPR, ``N`` = TNR, ``p`` = prevalence, ``n = 1 - p``; false negatives are the share ``p (1 - P)`` of
the rows, false positives ``n (1 - N)``, and the estimated prevalence is ``q = p P + n (1 - N)``.

A named measure is its expression under a name: value, gradient, curvature and tape come from the expression. It may
declare a range tighter than the rules find, and that it `rises` in both rates; tests hold it to that. Formulas of the
quantification measures follow Kar et al. (KDD 2016) with the slips corrected: NSS keeps its denominator
``max(p, n)``, BKReward has ``1 + KLD``.
"""

from __future__ import annotations

import inspect
import math
from typing import Any, ClassVar

from .arithmetic import fnr, fpr, prevalence, smoothing, tnr, tpr
from .binding import Declared, Renamed
from .expression import Measure, check_number
from .functions import (
    absolute,
    geometric_mean,
    harmonic_mean,
    log,
    maximum,
    minimum,
    quadratic_mean,
    sqrt,
    square,
)
from .operators import as_measure
from .rules import Interval

_UNIT = Interval(0.0, 1.0)
_p, _n = prevalence, 1 - prevalence
_false_negatives, _false_positives = _p * fnr, _n * fpr
_called = _p * tpr + _n * fpr  # q, the share called positive
_not_called = _p * fnr + _n * tnr
_miscount = _false_negatives - _false_positives  # p - q
_larger_class = maximum(_p, _n)


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


class Recall(Named):
    """True positive rate ``P``.

    >>> Recall()(tpr=0.8, tnr=0.9)
    0.8
    """

    def _define(self) -> Measure:
        return tpr


class Specificity(Named):
    """True negative rate ``N``.

    >>> Specificity()(tpr=0.8, tnr=0.9)
    0.9
    """

    def _define(self) -> Measure:
        return tnr


class Accuracy(Named):
    """Share of right predictions, ``p P + n N``.

    >>> round(Accuracy()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.89
    """

    def _define(self) -> Measure:
        return _p * tpr + _n * tnr


class BalancedAccuracy(Named):
    """Mean of the two rates, ``(P + N)/2``.

    >>> round(BalancedAccuracy()(tpr=0.8, tnr=0.9), 4)
    0.85
    """

    def _define(self) -> Measure:
        return (tpr + tnr) / 2


class FBeta(Named):
    """F-measure, ``(1 + b^2) p P / (b^2 p + p P + n (1 - N))``; 0 when there are no positives and none is called.

    >>> round(FBeta(2)(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.7018
    """

    declared = _UNIT
    rises = True

    def __init__(self, beta: float = 1) -> None:
        self.beta = check_number(beta, "beta", low=0.0)
        super().__init__()

    def _define(self) -> Measure:
        b2 = float(self.beta) ** 2
        return (1 + b2) * _p * tpr / (b2 * _p + _called)


class Jaccard(Named):
    """Intersection over union of positives and calls, ``p P / (p + n (1 - N))``; 0 when both are empty.

    >>> round(Jaccard()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.4211
    """

    declared = _UNIT
    rises = True

    def _define(self) -> Measure:
        return _p * tpr / (_p + _false_positives)


class Precision(Named):
    """Share of the calls that are right, ``p P / q``; 0 when nothing is called positive.

    >>> round(Precision()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.4706
    """

    declared = _UNIT
    rises = True

    def _define(self) -> Measure:
        return _p * tpr / _called


class GMean(Named):
    """Geometric mean of the two rates, ``sqrt(P N)``.

    >>> round(GMean()(tpr=0.8, tnr=0.9), 4)
    0.8485
    """

    def _define(self) -> Measure:
        return geometric_mean(tpr, tnr)


class HMean(Named):
    """Harmonic mean of the two rates, ``2 P N / (P + N)``; 0 when both are 0.

    >>> round(HMean()(tpr=0.8, tnr=0.9), 4)
    0.8471
    """

    def _define(self) -> Measure:
        return harmonic_mean(tpr, tnr)


class QMean(Named):
    """One minus the quadratic mean of the two error rates, ``1 - sqrt(((1-P)^2 + (1-N)^2)/2)``.

    >>> round(QMean()(tpr=0.8, tnr=0.9), 4)
    0.8419
    """

    def _define(self) -> Measure:
        return 1 - quadratic_mean(fnr, fpr)


class MinRate(Named):
    """The worse of the two rates, ``min(P, N)``.

    >>> MinRate()(tpr=0.8, tnr=0.9)
    0.8
    """

    def _define(self) -> Measure:
        return minimum(tpr, tnr)


class NegCost(Named):
    """Minus the mean cost of a row, ``-(fp n (1 - N) + fn p (1 - P))``, given the costs of the two kinds of error.

    >>> round(NegCost(fp=1, fn=5)(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.19
    """

    def __init__(self, fp: float = 1, fn: float = 1) -> None:
        self.fp = check_number(fp, "fp", low=0.0)
        self.fn = check_number(fn, "fn", low=0.0)
        super().__init__()

    def _define(self) -> Measure:
        return -(float(self.fp) * _false_positives + float(self.fn) * _false_negatives)


class NegNPCost(Named):
    """Minus what a missed cap costs, ``-((1 - P) + max(0, (1 - N) - max_fpr) / max_fpr)``: 002's choice of models.

    Misses count one for one; false alarms nothing up to the cap, and ``1 / max_fpr`` each beyond it.

    >>> round(NegNPCost(max_fpr=0.05)(tpr=0.8, tnr=0.9), 4)
    -1.2
    """

    def __init__(self, max_fpr: float = 0.05) -> None:
        self.max_fpr = check_number(max_fpr, "max_fpr", low=0.0, high=1.0)
        if not max_fpr > 0:
            raise ValueError("max_fpr must be above 0: nothing can be paid for beyond a cap of 0")
        super().__init__()

    def _define(self) -> Measure:
        cap = float(self.max_fpr)
        return -(fnr + maximum(0, fpr - cap) / cap)


class MCC(Named):
    """Matthews correlation, ``sqrt(p n) (P + N - 1) / sqrt(q (1 - q))``; 0 when all or nothing is called positive.

    >>> round(MCC()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.5591
    """

    declared = Interval(-1.0, 1.0)

    def _define(self) -> Measure:
        return sqrt(_p * _n) * (tpr + tnr - 1) / sqrt(_called * _not_called)


class NegKLD(Named):
    """Minus the Kullback-Leibler divergence of the estimated prevalence, ``p log(q/p) + n log((1-q)/n)``.

    Prevalences are smoothed to ``(p + eps)/(1 + 2 eps)``, as the field does. With ``eps=None`` it is ``1/(2 n_rows)``
    in `score` and in training, and 0 in calls on rates (unless `sample_size` is given). Terms with ``p = 0`` are 0.

    >>> round(NegKLD()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.0198
    """

    declared = Interval(-math.inf, 0.0)

    def __init__(self, eps: float | None = None) -> None:
        self.eps = None if eps is None else check_number(eps, "eps", low=0.0)
        super().__init__()

    def _define(self) -> Measure:
        e = smoothing if self.eps is None else as_measure(self.eps)
        scale = 1 + 2 * e
        kept = (_p + e) / scale * log((_called + e) / (_p + e))
        return kept + (_n + e) / scale * log((_not_called + e) / (_n + e))


class NSS(Named):
    """Normalised squared score, ``1 - ((p - q)/max(p, n))^2``.

    >>> round(NSS()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.994
    """

    declared = _UNIT

    def _define(self) -> Measure:
        return 1 - square(_miscount / _larger_class)


class NAS(Named):
    """Normalised absolute score, ``1 - |p - q|/max(p, n)``.

    >>> round(NAS()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.9222
    """

    declared = _UNIT

    def _define(self) -> Measure:
        return 1 - absolute(_miscount / _larger_class)


class NegAE(Named):
    """Minus the absolute error of the estimated prevalence, ``-|p - q|``.

    >>> round(NegAE()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.07
    """

    def _define(self) -> Measure:
        return -absolute(_miscount)


class _Hybrid(Named):
    """A classification part and a quantification part, any of each."""

    def _parts(self, classification: Any, quantification: Any) -> None:
        self.classification = as_measure(classification)
        self.quantification = as_measure(quantification)


class QMeasure(_Hybrid):
    """Weighted harmonic mean of classification and quantification, ``(1 + b^2) A B / (b^2 A + B)``; 0 when both are 0.

    >>> round(QMeasure(beta=1)(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.9164
    """

    def __init__(
        self, beta: float = 1, classification: Measure = BalancedAccuracy(), quantification: Measure = NSS()
    ) -> None:
        self.beta = check_number(beta, "beta", low=0.0)
        self._parts(classification, quantification)
        super().__init__()

    def _define(self) -> Measure:
        return harmonic_mean(self.classification, self.quantification, weights=(1.0, float(self.beta) ** 2))


class BAKLD(_Hybrid):
    """Weighted mean of classification and quantification, ``weight A + (1 - weight) B``: by default BA and NegKLD.

    >>> round(BAKLD(weight=0.5)(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.4151
    """

    def __init__(
        self,
        weight: float = 0.5,
        classification: Measure = BalancedAccuracy(),
        quantification: Measure = NegKLD(),
    ) -> None:
        self.weight = check_number(weight, "weight", low=0.0, high=1.0)
        self._parts(classification, quantification)
        super().__init__()

    def _define(self) -> Measure:
        weight = float(self.weight)
        if weight in (0.0, 1.0):  # 0 times a measure is a constant that the rules would have to look into
            return self.classification if weight else self.quantification
        return weight * self.classification + (1 - weight) * self.quantification


class CQReward(_Hybrid):
    """Classification over miscount, ``A / (2 - B)``, balanced accuracy and NSS by default.

    >>> round(CQReward()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.8449
    """

    def __init__(self, classification: Measure = BalancedAccuracy(), quantification: Measure = NSS()) -> None:
        self._parts(classification, quantification)
        super().__init__()

    def _define(self) -> Measure:
        return self.classification / (2 - self.quantification)


class BKReward(_Hybrid):
    """Classification over divergence, ``A / (1 - B)``, balanced accuracy and NegKLD by default: ``BA/(1 + KLD)``.

    >>> round(BKReward()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.8335
    """

    def __init__(self, classification: Measure = BalancedAccuracy(), quantification: Measure = NegKLD()) -> None:
        self._parts(classification, quantification)
        super().__init__()

    def _define(self) -> Measure:
        return self.classification / (1 - self.quantification)


class NegCQB(Named):
    """Minus classification-quantification balancing, ``-|FP^2 - FN^2|`` with FP and FN as shares of the rows.

    >>> round(NegCQB()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.0077
    """

    def _define(self) -> Measure:
        return -absolute(square(_false_positives) - square(_false_negatives))
