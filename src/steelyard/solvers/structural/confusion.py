"""Losses of a confusion matrix, and how the table of all confusion matrices is searched for each of them.

A structural SVM needs, for scores ``s`` and labels ``y``, the label vector of largest ``L(y') - kappa sum y_i s_i``
over the flipped rows. The loss ``L(a, b)`` depends on how many positives (``a`` of ``n_pos``) and negatives (``b`` of
``n_neg``) are called positive; all losses are in percent: 0 for perfect predictions and 100 at most, but for ``kld``
and ``mrae``, which have no limit, and measures of a wider range.
`resolve` turns a name or a measure into a `ConfusionLoss` that knows its values and its search:

========================= ======================================= ==================================================
loss                      what it is, times 100                   search
========================= ======================================= ==================================================
``kld``                   KLD of the counts, smoothed by 0.5      one pass over the sorted scores
``nkld``                  ``2 e^KLD/(1 + e^KLD) - 1``             one pass
``mae``                   ``|FP - FN|/n``                         one pass
``mrae``                  ``|FP - FN|`` over the smoothed counts  one pass
``zero_one``              ``(FP + FN)/n``                         bounds; divide and conquer behind them
``f1``, ``fbeta@B``       ``1 - F``; ``fbeta`` is ``fbeta@1``     the same for B >= 1, bounds alone below
``q``, ``qacc``,          ``1 - Q``, with NAS and recall,         bounds that prune the table
``qf1``, ``qgm``          accuracy, F1 or the geometric mean
``prbep``                 ``1 - recall``, over ``a + b = n_pos``  bounds, on one diagonal
``rec@K``                 ``1 - recall``, over ``a + b <= K``     bounds
``prec@K``                ``1 - precision``, over ``a + b >= K``  bounds
a measure                 ``M(1, 1) - M``                         one pass, bounds with divide and conquer, or bounds
========================= ======================================= ==================================================

The quantification losses are those of the patch to SVMperf that the field uses (Esuli & Sebastiani 2015; Barranquero
et al. 2015), with one difference: the patch leaves ``kld`` at a hundredth of its scale here, so its ``-c`` is C/100
for that one loss.

``rec@K`` and ``prec@K`` are SVMperf's: K is a number of training rows, or a share as in ``rec@5%``, not below the
positives for ``rec@K`` and not above them for ``prec@K``, so that the true labels are among those compared. (Over
exactly K calls they are not, and then an intercept alone meets every constraint.) These losses rank rows; the
threshold is then set to call K training rows, or `n_pos` for ``prbep``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ... import _core
from ...measures import NAS, Accuracy, FBeta, GMean, Measure, Precision, QMeasure, Recall
from ...measures.shape import is_count_only, mixed_sign

Array = NDArray[np.float64]

COUNT_LOSSES = ("kld", "nkld", "mae", "mrae")
# The losses of SVMperf and its quantification forks that are one minus a measure.
MEASURES: dict[str, Measure] = {
    "zero_one": Accuracy(),
    "f1": FBeta(1),
    "q": QMeasure(1, Recall(), NAS()),
    "qacc": QMeasure(1, Accuracy(), NAS()),
    "qf1": QMeasure(1, FBeta(1), NAS()),
    "qgm": QMeasure(1, GMean(), NAS()),
}
NAMES = (*MEASURES, "fbeta", *COUNT_LOSSES, "prbep", "rec@K", "prec@K")
SCALE = 100.0  # losses are in percent, as in SVMperf


@dataclass(frozen=True, eq=False)
class ConfusionLoss:
    """A loss bound to class sizes: `counts`, its value for 0 .. n calls, or `measure`, less than its top value."""

    name: str
    n_pos: int
    n_neg: int
    search: str  # "counts", "bounds"; also "divide" and "table", which the tests and benchmarks compare with
    counts: Array | None = None
    measure: Measure | None = None
    mixed: int = 0  # the sign of the mixed difference, 0 if none is known
    least: int = 0  # calls of the confusion matrices that count
    most: int = 0
    calls: int | None = None  # of a ranking loss: how many training rows the model is to call positive

    @property
    def n(self) -> int:
        return self.n_pos + self.n_neg

    def value(self, a: ArrayLike, b: ArrayLike) -> Any:
        """The loss of confusion matrices with `a` positives and `b` negatives called positive."""
        a, b = np.asarray(a), np.asarray(b)
        if self.measure is None:
            assert self.counts is not None
            return self.counts[a + b]
        return SCALE * (self._at(self.n_pos, 0) - self._at(a, b))

    def core(self) -> Any:
        """The same for the compiled search."""
        if self.measure is None:
            assert self.counts is not None
            return _core.ConfusionLoss.of_counts(self.counts, self.search)
        tape = self.measure.tape()
        return _core.ConfusionLoss.of_measure(
            tape.op, tape.left, tape.right, tape.number, 0.5 / self.n, SCALE, float(self._at(self.n_pos, 0)),
            self.search, self.mixed, self.least, self.most,
        )  # fmt: skip

    def _at(self, a: Any, b: Any) -> Any:
        assert self.measure is not None
        return self.measure(a / self.n_pos, (self.n_neg - b) / self.n_neg, self.n_pos / self.n, sample_size=self.n)


def resolve(loss: str | Measure, n_pos: int, n_neg: int) -> ConfusionLoss:
    """The loss of that name or measure for `n_pos` positive and `n_neg` negative rows.

    >>> resolve("f1", 10, 90).value(a=5, b=5)
    50.0
    >>> resolve("kld", 10, 90).search, resolve("f1", 10, 90).search
    ('counts', 'bounds')
    """
    if n_pos < 1 or n_neg < 1:
        raise ValueError(f"a confusion matrix needs rows of both classes; got {n_pos} positives and {n_neg} negatives")
    if isinstance(loss, Measure):
        return _of_measure(loss, repr(loss), n_pos, n_neg)
    if not isinstance(loss, str):
        raise TypeError(f"loss is one of {', '.join(NAMES)}, or a measure of steelyard.measures; got {loss!r}")
    if loss in COUNT_LOSSES:
        counts = _count_loss(loss, n_pos, n_neg)
        return ConfusionLoss(loss, n_pos, n_neg, "counts", counts=counts, most=n_pos + n_neg)
    if loss in MEASURES:
        return _of_measure(MEASURES[loss], loss, n_pos, n_neg)
    if loss == "prbep":
        return ConfusionLoss(loss, n_pos, n_neg, "bounds", measure=Recall(), least=n_pos, most=n_pos, calls=n_pos)
    return _with_number(loss, n_pos, n_neg)


def _of_measure(measure: Measure, name: str, n_pos: int, n_neg: int) -> ConfusionLoss:
    n = n_pos + n_neg
    prevalence = n_pos / n
    if not is_count_only(measure, prevalence):
        mixed = mixed_sign(measure, prevalence)
        # A sign of 0 is both signs: the table is additive, and either direction of divide and conquer is right.
        sign = 0 if mixed is None else mixed or 1
        found = ConfusionLoss(name, n_pos, n_neg, "bounds", measure=measure, mixed=sign, most=n)
    else:
        calls = np.arange(n + 1)
        a = np.minimum(calls, n_pos)
        values = ConfusionLoss(name, n_pos, n_neg, "counts", measure=measure).value(a, calls - a)
        found = ConfusionLoss(name, n_pos, n_neg, "counts", counts=np.ascontiguousarray(values), most=n)
    corners = found.value([0, 0, n_pos, n_pos], [0, n_neg, 0, n_neg])
    if not np.isfinite(corners).all():
        raise ValueError(
            f"{name} is not finite for every prediction, so its loss has no bound; smooth it, "
            "as NegKLD() does by default"
        )
    return found


def _count_loss(name: str, n_pos: int, n_neg: int) -> Array:
    n = n_pos + n_neg
    calls: Array = np.arange(n + 1.0)
    miscount = np.abs(calls - n_pos)
    if name == "mae":
        return SCALE * miscount / n
    if name == "mrae":
        return SCALE * miscount * (1.0 / (n_pos + 0.5) + 1.0 / (n_neg + 0.5)) / 2.0
    p, n_ = (n_pos + 0.5) / (n + 1.0), (n_neg + 0.5) / (n + 1.0)
    q = (calls + 0.5) / (n + 1.0)
    kld = np.maximum(0.0, p * np.log(p / q) + n_ * np.log(n_ / (1.0 - q)))
    return SCALE * (kld if name == "kld" else np.tanh(kld / 2.0))  # tanh(k/2) = 2 e^k/(1 + e^k) - 1


def _with_number(loss: str, n_pos: int, n_neg: int) -> ConfusionLoss:
    """``fbeta@2``, ``rec@200``, ``prec@5%``."""
    kind, _, number = loss.partition("@")
    if kind == "fbeta":
        try:
            beta = float(number or 1)
        except ValueError:
            raise ValueError(f"loss={loss!r}: write the beta after the @, as in 'fbeta@2'") from None
        return _of_measure(FBeta(beta), loss, n_pos, n_neg)
    if kind not in ("rec", "prec"):
        raise ValueError(f"loss is one of {', '.join(NAMES)}, or a measure of steelyard.measures; got {loss!r}")
    n = n_pos + n_neg
    k = _rows(loss, number, n)
    if not 1 <= k <= n:
        raise ValueError(f"loss={loss!r} asks for {k} calls, but there are {n} rows: K lies between 1 and {n}")
    if kind == "rec":
        if k < n_pos:
            raise ValueError(
                f"loss={loss!r}: recall at K needs K >= {n_pos}, the positives; for fewer calls use 'prec@{k}'"
            )
        return ConfusionLoss(loss, n_pos, n_neg, "bounds", measure=Recall(), most=k, calls=k)
    if k > n_pos:
        raise ValueError(
            f"loss={loss!r}: precision at K needs K <= {n_pos}, the positives; for more calls use 'rec@{k}'"
        )
    return ConfusionLoss(loss, n_pos, n_neg, "bounds", measure=Precision(), least=k, most=n, calls=k)


def _rows(loss: str, number: str, n: int) -> int:
    try:
        return max(1, round(float(number[:-1]) / 100.0 * n)) if number.endswith("%") else int(number)
    except ValueError:
        raise ValueError(
            f"loss={loss!r}: write a number of rows or a share after the @, as in 'rec@200' or 'rec@5%'"
        ) from None
