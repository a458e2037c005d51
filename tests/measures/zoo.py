"""All the measures and atoms that the contracts run over, and random trees made of them."""

import numpy as np

import steelyard.measures as m

NAMED = [cls() for cls in m.NAMED]

PARAMETERS = [
    m.FBeta(0.5),
    m.FBeta(2),
    m.FBeta(0),
    m.NegCost(fp=5, fn=0.5),
    m.NegKLD(eps=0.01),
    m.QMeasure(beta=2),
    m.QMeasure(beta=1, classification=m.GMean(), quantification=m.NAS()),
    m.BAKLD(weight=0.2),
    m.BAKLD(weight=1),
    m.BAKLD(weight=0.3, classification=m.HMean(), quantification=m.NSS()),
    m.CQReward(classification=m.MinRate()),
    m.CQReward(m.GMean(), m.NAS()),
    m.BKReward(classification=m.QMean()),
    m.FBeta(1).at(0.05),
    m.BAKLD(weight=0.5).at(0.3),
    m.MCC().at(0.2),
]

ATOMS = [
    m.tpr,
    m.tnr,
    m.fpr,
    m.fnr,
    m.prevalence + 0 * m.tpr,
    m.tpr + m.tnr,
    m.tpr - 2 * m.tnr,
    -m.tpr,
    m.tpr * m.tnr,
    m.tpr / (1 + m.tnr),
    1 / (1 + m.fpr),
    -3 / (2 - m.tpr),
    m.log(m.tpr + 0.1),
    m.log(0.5 + m.NSS()),
    m.sqrt(m.tpr),
    m.square(m.tpr - m.tnr),
    m.square(m.fpr),
    m.power(m.tpr, 1.5),
    m.power(m.tpr - m.tnr, 3),
    m.power(0.5 + m.tpr, -2),
    m.power(m.fpr - 1.5, 2),
    (m.tpr + m.tnr) ** 2,
    m.absolute(m.tpr - m.tnr),
    abs(m.fpr - 2),
    m.minimum(m.tpr, m.tnr, m.GMean()),
    m.maximum(m.tpr, 0.3, m.fpr),
    m.geometric_mean(m.tpr, m.tnr, 1 - 0.5 * m.fpr),
    m.harmonic_mean(m.tpr, m.NSS(), weights=(1, 3)),
    m.quadratic_mean(m.fpr, m.fnr, m.tpr - m.tnr),
]

COMPOSED = [
    0.3 * m.BalancedAccuracy() + 0.7 * m.NegKLD(),
    m.BalancedAccuracy() / (2 - m.NSS()),
    2 * m.FBeta(1) + 1,
    1 - m.Precision(),
    -m.CQReward(),
    m.NegKLD() * m.GMean(),
    m.harmonic_mean(m.GMean(), m.NegKLD() + 2),
    m.harmonic_mean(m.GMean(), m.tpr + m.tnr - 0.5),
    m.geometric_mean(m.tpr - 0.2, m.tnr),
    m.sqrt(m.FBeta(1)),
    (m.tpr - 0.5) / (1 + m.fpr),
    (m.GMean() - 0.5) / (1 + m.square(m.fpr)),
    (m.GMean() - 1) / (1 + m.sqrt(m.tnr)),
    m.tpr / (m.tnr - 3),
    m.minimum(m.FBeta(1), m.GMean()),
    m.Accuracy() / 2 - m.NegCost(fp=2, fn=1) * 0.1,
    m.NegAE() + m.NAS() * 2 - 1,
]

EVERYTHING = NAMED + PARAMETERS + ATOMS + COMPOSED

_UNARY = [
    m.sqrt,
    m.square,
    m.absolute,
    m.log,
    lambda x: -x,
    lambda x: m.power(x, 3),
    lambda x: 0.5 * x,
    lambda x: x + 1,
]
_BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    m.minimum,
    m.maximum,
    m.geometric_mean,
    m.harmonic_mean,
    m.quadratic_mean,
]


def random_tree(rng: np.random.Generator, depth: int) -> m.Measure:
    if depth == 0 or rng.random() < 0.15:
        leaves = [m.tpr, m.tnr, m.fpr, m.fnr, m.prevalence, m.NSS(), m.GMean(), 0.7 + 0 * m.tpr]
        return leaves[rng.integers(len(leaves))]
    if rng.random() < 0.4:
        return _UNARY[rng.integers(len(_UNARY))](random_tree(rng, depth - 1))
    return _BINARY[rng.integers(len(_BINARY))](random_tree(rng, depth - 1), random_tree(rng, depth - 1))


def random_trees(count: int, seed: int = 0) -> list[m.Measure]:
    rng = np.random.default_rng(seed)
    return [random_tree(rng, int(rng.integers(1, 5))) for _ in range(count)]
