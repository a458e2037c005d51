"""Every claim that the rules make about every measure, against samples; and broken rules, which the checks must catch."""

import pytest

import steelyard.measures as m
from measures import contracts, zoo
from steelyard.measures import functions, polynomial, rules, tape


@pytest.mark.parametrize("contract", contracts.ALL, ids=lambda f: f.__name__)
@pytest.mark.parametrize("measure", zoo.EVERYTHING, ids=repr)
def test_contract(measure, contract):
    contract(measure)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "contract", [c for c in contracts.ALL if c is not contracts.gradient_holds], ids=lambda f: f.__name__
)
def test_contract_on_random_trees(contract, seed):
    for measure in zoo.random_trees(60, seed):
        contract(measure)


EXPECTED = {
    "affine": [m.BAKLD(weight=1), m.Accuracy(), m.BalancedAccuracy(), m.NegCost(), m.Recall(), m.Specificity(), m.fpr],
    "concave": [
        m.GMean(), m.HMean(), m.QMean(), m.MinRate(), m.NegNPCost(), m.NegKLD(), m.NSS(), m.NAS(), m.NegAE(),
        m.QMeasure(), m.BAKLD(),
        m.QMeasure(beta=3, classification=m.GMean(), quantification=m.NAS()),
    ],
    "pseudo-linear": [m.FBeta(1), m.FBeta(2), m.Jaccard(), m.Precision(), 2 * m.FBeta(1) - 1, 1 - m.Precision()],
    "pseudo-concave": [m.CQReward(), m.BKReward(), m.CQReward(m.GMean(), m.NAS()), 3 * m.BKReward() + 1],
    "unknown": [m.MCC(), m.NegCQB(), -m.CQReward(), m.NegKLD() * m.GMean(), m.harmonic_mean(m.GMean(), m.NegKLD() + 2)],
    "convex": [m.absolute(m.tpr - m.tnr), m.square(m.fpr), m.maximum(m.tpr, m.tnr)],
    "constant": [m.prevalence * 1, 1 - m.prevalence],
}  # fmt: skip


@pytest.mark.parametrize(("claim", "measure"), [(k, v) for k, vs in EXPECTED.items() for v in vs], ids=str)
def test_the_rules_find_what_is_true(claim, measure):
    """The contracts accept 'unknown' for everything; this does not."""
    assert measure.curvature == claim


@pytest.mark.parametrize(
    "measure",
    [m.FBeta(1), m.FBeta(3), m.Jaccard(), m.Precision(), m.GMean(), m.QMean(), m.NegCost(2, 3)],
    ids=repr,
)
def test_monotone_measures_are_recognised(measure):
    assert measure.is_monotone


def test_bernstein_bounds_are_exact_for_the_estimated_prevalence():
    called = m.prevalence * m.tpr + (1 - m.prevalence) * m.fpr
    assert called.range == (0.0, 1.0)


# A wrong claim anywhere in the rules must make a contract fail: each entry breaks one thing and names what notices.
MUTATIONS = {
    "harmonic mean concave whatever the sign": (
        functions.HarmonicMean, "_curvature", lambda self, *r: rules.CONCAVE, m.harmonic_mean(m.tpr, m.tnr - 0.5), "curvature_holds",
    ),
    "harmonic mean rises whatever the sign": (
        functions.HarmonicMean, "_slopes", lambda self, *r: (1, 1), m.harmonic_mean(m.tpr, m.tnr - 0.5), "monotonicity_holds",
    ),
    "square concave": (functions.Power, "_curvature", lambda self, *r: rules.CONCAVE, m.square(m.tpr - m.tnr), "curvature_holds"),
    "absolute value always rises": (functions.Absolute, "_slopes", lambda self, *r: (1,), m.absolute(m.tpr - 0.5), "monotonicity_holds"),
    "absolute value keeps its argument's range": (functions.Absolute, "_interval", lambda self, x: x, m.absolute(m.tpr - 0.9), "range_holds"),
    "a ratio of concave over concave": (
        rules, "_curvature_of_ratio", lambda f, g: rules.PSEUDO_CONCAVE, m.tpr / (0.1 + m.sqrt(m.tnr)) / 1, "curvature_holds",
    ),
    "Bernstein bounds too tight": (polynomial, "bounds", lambda a: (0.0, 0.5), m.tpr * m.tnr, "range_holds"),
    "a wrong partial derivative": (functions.Log, "_partials", lambda self, v, x: (2.0 / x,), m.log(m.tpr + 1), "gradient_holds"),
    "a wrong instruction": (tape, "_BINARY", {**tape._BINARY, type(m.tpr + 1): "subtract"}, m.tpr + m.tnr, "tape_holds"),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_wrong_rule_is_caught(name, monkeypatch):
    where, attribute, wrong, measure, contract = MUTATIONS[name]
    check = getattr(contracts, contract)
    rebuild = lambda: type(measure)(*measure._key())  # a fresh tree: analysis is cached on the nodes
    check(rebuild())
    monkeypatch.setattr(where, attribute, wrong)
    with pytest.raises(AssertionError):
        check(rebuild())
