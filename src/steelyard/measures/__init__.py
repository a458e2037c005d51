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
from .groups import gap, within
from .labels import rates

NAMED = (
    Accuracy, BalancedAccuracy, FBeta, Jaccard, GMean, HMean, QMean, MinRate, NegCost, Recall, Specificity, Precision,
    MCC, NegNPCost, NegKLD, NSS, NAS, NegAE, QMeasure, BAKLD, CQReward, BKReward, NegCQB,
)  # fmt: skip

__all__ = [
    "BAKLD",
    "MCC",
    "NAMED",
    "NAS",
    "NSS",
    "Accuracy",
    "BKReward",
    "BalancedAccuracy",
    "CQReward",
    "Constraint",
    "FBeta",
    "GMean",
    "HMean",
    "Jaccard",
    "Measure",
    "MinRate",
    "NegAE",
    "NegCQB",
    "NegCost",
    "NegKLD",
    "NegNPCost",
    "Precision",
    "QMean",
    "QMeasure",
    "Recall",
    "Specificity",
    "absolute",
    "expected_fbeta_labels",
    "fnr",
    "fpr",
    "gap",
    "geometric_mean",
    "harmonic_mean",
    "log",
    "maximum",
    "minimum",
    "power",
    "prevalence",
    "quadratic_mean",
    "rates",
    "smoothing",
    "sqrt",
    "square",
    "tnr",
    "tpr",
    "within",
]
