"""The named measures of several classes that are no lift of one of two: agreement, and the error of counting.

Notation, with a sum over the classes k: ``p_k`` the prevalence of class k, ``q_k = p_k P_k + (1 - p_k) (1 - N_k)`` the
share of rows that are called k, and ``a = sum p_k P_k`` the accuracy. All are higher-is-better.
"""

from __future__ import annotations

from .arithmetic import tpr
from .costs import Costs
from .counting import _Smoothed
from .expression import Measure
from .functions import absolute, log, sqrt, square
from .lifted import macro, total, worst
from .named import UNIT, Named, called, miscount, p
from .rules import Interval

right, by_chance = total(p * tpr), total(p * called)  # the accuracy, and that of calls made blindly as often


class Kappa(Named):
    """Cohen's kappa, ``(a - c) / (1 - c)`` with ``c = sum p_k q_k`` the agreement by chance.

    >>> round(Kappa().score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    0.6364
    """

    declared = Interval(-1.0, 1.0)

    def _define(self) -> Measure:
        return (right - by_chance) / (1 - by_chance)


class Matthews(Named):
    """Matthews correlation of several classes, ``(a - c) / sqrt((1 - sum p_k^2) (1 - sum q_k^2))`` (Gorodkin 2004).

    >>> round(Matthews().score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    0.7
    """

    declared = Interval(-1.0, 1.0)

    def _define(self) -> Measure:
        return (right - by_chance) / sqrt((1 - total(p * p)) * (1 - total(called * called)))


class NegPrevalenceKLD(_Smoothed):
    """Minus the Kullback-Leibler divergence of the estimated prevalences, ``sum p_k log(q_k/p_k)``; smoothed as NegKLD.

    >>> round(NegPrevalenceKLD(eps=0).score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    -0.1733
    """

    def _define(self) -> Measure:
        e = self._eps
        return total((p + e) * log((called + e) / (p + e))) / (1 + total(e))


class NegPrevalenceAE(Named):
    """Minus the mean absolute error of the estimated prevalences, ``-sum |p_k - q_k| / K``.

    >>> round(NegPrevalenceAE().score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    -0.1667
    """

    declared = Interval(-1.0, 0.0)

    def _define(self) -> Measure:
        return -macro(absolute(miscount))


class PrevalenceNSS(Named):
    """Normalised squared score, ``1 - sum (p_k - q_k)^2 / (sum p_k^2 + 1 - 2 min p_k)``: over the largest error.

    >>> round(PrevalenceNSS().score(["a", "b", "c", "c"], ["a", "b", "c", "b"]), 4)
    0.8571
    """

    declared = UNIT

    def _define(self) -> Measure:
        return 1 - total(square(miscount)) / (total(p * p) + 1 - 2 * worst(p))


# What means nothing where a row has several labels.
OF_ONE_LABEL = (Kappa, Matthews, NegPrevalenceKLD, NegPrevalenceAE, PrevalenceNSS, Costs)
