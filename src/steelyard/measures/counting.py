"""The named measures of how well positives are counted, alone or beside classification, all higher-is-better.

Formulas follow Kar et al. (KDD 2016) with the slips corrected: NSS keeps its denominator ``max(p, n)``, BKReward has
``1 + KLD``. Notation as in `named`.
"""

from __future__ import annotations

import math
from typing import Any

from .arithmetic import smoothing
from .classification import BalancedAccuracy
from .expression import Measure, check_number
from .functions import absolute, harmonic_mean, log, square
from .named import UNIT, Named, called, false_negatives, false_positives, larger_class, miscount, n, not_called, p
from .operators import as_measure
from .rules import Interval


class _Smoothed(Named):
    """Minus a divergence of prevalences, which are smoothed by `eps`."""

    declared = Interval(-math.inf, 0.0)

    def __init__(self, eps: float | None = None) -> None:
        self.eps = None if eps is None else check_number(eps, "eps", low=0.0)
        super().__init__()

    @property
    def _eps(self) -> Measure:
        return smoothing if self.eps is None else as_measure(self.eps)


class NegKLD(_Smoothed):
    """Minus the Kullback-Leibler divergence of the estimated prevalence, ``p log(q/p) + n log((1-q)/n)``.

    Prevalences are smoothed to ``(p + eps)/(1 + 2 eps)``, as the field does. With ``eps=None`` it is ``1/(2 n_rows)``
    in `score` and in training, and 0 in calls on rates (unless `sample_size` is given). Terms with ``p = 0`` are 0.

    >>> round(NegKLD()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.0198
    """

    def _define(self) -> Measure:
        e = self._eps
        scale = 1 + 2 * e
        kept = (p + e) / scale * log((called + e) / (p + e))
        return kept + (n + e) / scale * log((not_called + e) / (n + e))


class NSS(Named):
    """Normalised squared score, ``1 - ((p - q)/max(p, n))^2``.

    >>> round(NSS()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.994
    """

    declared = UNIT

    def _define(self) -> Measure:
        return 1 - square(miscount / larger_class)


class NAS(Named):
    """Normalised absolute score, ``1 - |p - q|/max(p, n)``.

    >>> round(NAS()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.9222
    """

    declared = UNIT

    def _define(self) -> Measure:
        return 1 - absolute(miscount / larger_class)


class NegAE(Named):
    """Minus the absolute error of the estimated prevalence, ``-|p - q|``.

    >>> round(NegAE()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.07
    """

    def _define(self) -> Measure:
        return -absolute(miscount)


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
        return -absolute(square(false_positives) - square(false_negatives))
