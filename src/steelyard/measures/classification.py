"""The named measures of how well rows are told apart, all higher-is-better; notation as in `named`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arithmetic import fnr, fpr, tnr, tpr
from .costs import Costs, read_table
from .expression import Measure, check_number
from .functions import geometric_mean, harmonic_mean, maximum, minimum, quadratic_mean, sqrt
from .named import UNIT, Named, called, false_negatives, false_positives, n, not_called, p
from .rules import Interval


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
        return p * tpr + n * tnr


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

    declared = UNIT
    rises = True

    def __init__(self, beta: float = 1) -> None:
        self.beta = check_number(beta, "beta", low=0.0)
        super().__init__()

    def _define(self) -> Measure:
        b2 = float(self.beta) ** 2
        return (1 + b2) * p * tpr / (b2 * p + called)


class Jaccard(Named):
    """Intersection over union of positives and calls, ``p P / (p + n (1 - N))``; 0 when both are empty.

    >>> round(Jaccard()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.4211
    """

    declared = UNIT
    rises = True

    def _define(self) -> Measure:
        return p * tpr / (p + false_positives)


class Precision(Named):
    """Share of the calls that are right, ``p P / q``; 0 when nothing is called positive.

    >>> round(Precision()(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    0.4706
    """

    declared = UNIT
    rises = True

    def _define(self) -> Measure:
        return p * tpr / called


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

    Of several classes ``-sum_ij table_ij s_ij``, with ``s_ij`` the share of rows that are of class i and called j; rows
    and columns of the table are in the order of the labels, or in that of `classes`.

    >>> round(NegCost(fp=1, fn=5)(tpr=0.8, tnr=0.9, prevalence=0.1), 4)
    -0.19
    >>> NegCost(table=[[0, 1, 1], [2, 0, 1], [9, 4, 0]]).score(["a", "b", "c", "c"], ["a", "c", "c", "b"])
    -1.25
    """

    def __init__(self, fp: float = 1, fn: float = 1, table: Any = None, classes: Sequence[Any] | None = None) -> None:
        self.fp = check_number(fp, "fp", low=0.0)
        self.fn = check_number(fn, "fn", low=0.0)
        if classes is not None and table is None:
            raise ValueError("classes are the labels of a table's rows and columns: NegCost(table=..., classes=...)")
        if table is not None and (fp, fn) != (1, 1):
            raise ValueError(f"a table has the costs of all mistakes; fp={fp!r} and fn={fn!r} have no say in it")
        self.table = None if table is None else read_table(table)
        self.classes = None if classes is None else tuple(classes)
        super().__init__()

    def _key(self) -> tuple[Any, ...]:
        return (self.fp, self.fn) if self.table is None else super()._key()

    def _spell(self) -> str:
        if self.table is None:
            return super()._spell()
        labels = "" if self.classes is None else f", classes={list(self.classes)!r}"
        return f"NegCost(table={[list(row) for row in self.table]!r}{labels})"

    def _define(self) -> Measure:
        if self.table is not None:
            return Costs(self.table, self.classes)
        return -(float(self.fp) * false_positives + float(self.fn) * false_negatives)


class NegNPCost(Named):
    """Minus what a missed cap costs, ``-((1 - P) + max(0, (1 - N) - max_fpr) / max_fpr)``.

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
        return sqrt(p * n) * (tpr + tnr - 1) / sqrt(called * not_called)
