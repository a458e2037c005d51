"""The language of measures: expressions in ``tpr`` and ``tnr``, with ``prevalence`` a parameter.

>>> import steelyard.measures as m
>>> (0.3 * m.BalancedAccuracy() + 0.7 * m.NegKLD()).curvature
'concave'
>>> m.fpr <= 0.01
fpr <= 0.01
"""

from .arithmetic import fnr, fpr, prevalence, smoothing, tnr, tpr
from .classification import (
    MCC,
    Accuracy,
    BalancedAccuracy,
    FBeta,
    GMean,
    HMean,
    Jaccard,
    MinRate,
    NegCost,
    NegNPCost,
    Precision,
    QMean,
    Recall,
    Specificity,
)
from .constraints import Constraint
from .counting import BAKLD, NAS, NSS, BKReward, CQReward, NegAE, NegCQB, NegKLD, QMeasure
from .expected import expected_fbeta_labels
from .expression import Measure
from .functions import (
    absolute,
    geometric_mean,
    harmonic_mean,
    log,
    maximum,
    minimum,
    power,
    quadratic_mean,
    sqrt,
    square,
)
from .labels import rates

NAMED = (
    Accuracy, BalancedAccuracy, FBeta, Jaccard, GMean, HMean, QMean, MinRate, NegCost, Recall, Specificity, Precision,
    MCC, NegNPCost, NegKLD, NSS, NAS, NegAE, QMeasure, BAKLD, CQReward, BKReward, NegCQB,
)  # fmt: skip

__all__ = [
    "tpr", "tnr", "fpr", "fnr", "prevalence", "smoothing",
    "log", "sqrt", "square", "power", "absolute", "minimum", "maximum",
    "geometric_mean", "harmonic_mean", "quadratic_mean",
    "Measure", "Constraint", "rates", "expected_fbeta_labels", "NAMED",
    "Accuracy", "BalancedAccuracy", "FBeta", "Jaccard", "GMean", "HMean", "QMean", "MinRate", "NegCost", "Recall",
    "Specificity", "Precision", "MCC", "NegNPCost", "NegKLD", "NSS", "NAS", "NegAE", "QMeasure", "BAKLD", "CQReward",
    "BKReward", "NegCQB",
]  # fmt: skip
