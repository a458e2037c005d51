"""The language of measures: expressions in ``tpr`` and ``tnr``, with ``prevalence`` a parameter.

>>> import steelyard.measures as m
>>> (0.3 * m.BalancedAccuracy() + 0.7 * m.NegKLD()).curvature
'concave'
>>> m.fpr <= 0.01
fpr <= 0.01
"""

from .arithmetic import fnr, fpr, prevalence, smoothing, tnr, tpr
from .by_row import by_row
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
from .given import measure_of
from .groups import gap, within
from .labels import class_rates, rates
from .lifted import geometric, macro, micro, of, total, worst
from .parsing import MeasureSyntaxError, parse_constraints, parse_measure
from .several import Kappa, Matthews, NegPrevalenceAE, NegPrevalenceKLD, PrevalenceNSS

NAMED = (
    Accuracy, BalancedAccuracy, FBeta, Jaccard, GMean, HMean, QMean, MinRate, NegCost, Recall, Specificity, Precision,
    MCC, NegNPCost, NegKLD, NSS, NAS, NegAE, QMeasure, BAKLD, CQReward, BKReward, NegCQB,
)  # fmt: skip

SEVERAL = (Kappa, Matthews, NegPrevalenceKLD, NegPrevalenceAE, PrevalenceNSS)  # named ones of several classes

__all__ = [
    "BAKLD",
    "MCC",
    "NAMED",
    "NAS",
    "NSS",
    "SEVERAL",
    "Accuracy",
    "BKReward",
    "BalancedAccuracy",
    "CQReward",
    "Constraint",
    "FBeta",
    "GMean",
    "HMean",
    "Jaccard",
    "Kappa",
    "Matthews",
    "Measure",
    "MeasureSyntaxError",
    "MinRate",
    "NegAE",
    "NegCQB",
    "NegCost",
    "NegKLD",
    "NegNPCost",
    "NegPrevalenceAE",
    "NegPrevalenceKLD",
    "Precision",
    "PrevalenceNSS",
    "QMean",
    "QMeasure",
    "Recall",
    "Specificity",
    "absolute",
    "by_row",
    "class_rates",
    "expected_fbeta_labels",
    "fnr",
    "fpr",
    "gap",
    "geometric",
    "geometric_mean",
    "harmonic_mean",
    "log",
    "macro",
    "maximum",
    "measure_of",
    "micro",
    "minimum",
    "of",
    "parse_constraints",
    "parse_measure",
    "power",
    "prevalence",
    "quadratic_mean",
    "rates",
    "smoothing",
    "sqrt",
    "square",
    "tnr",
    "total",
    "tpr",
    "within",
    "worst",
]
