"""Measures of several classes: against scikit-learn's, against finite differences, and what they say of themselves."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

import steelyard.measures as m

RNG = np.random.default_rng(0)
TRUE = RNG.choice(list("abcd"), 400, p=[0.5, 0.3, 0.15, 0.05])
CALLED = np.where(RNG.random(400) < 0.6, TRUE, RNG.choice(list("abcd"), 400))
WEIGHT = RNG.random(400) + 0.1

AGREE = {
    "macro F1": (m.macro(m.FBeta(1)), lambda **w: metrics.f1_score(TRUE, CALLED, average="macro", **w)),
    "micro F1": (m.micro(m.FBeta(1)), lambda **w: metrics.f1_score(TRUE, CALLED, average="micro", **w)),
    "accuracy": (m.micro(m.Recall()), lambda **w: metrics.accuracy_score(TRUE, CALLED, **w)),
    "balanced": (m.macro(m.Recall()), lambda **w: metrics.balanced_accuracy_score(TRUE, CALLED, **w)),
    "precision of c": (
        m.of("c", m.Precision()),
        lambda **w: metrics.precision_score(TRUE, CALLED, labels=["c"], average="macro", **w),
    ),
    "kappa": (m.Kappa(), lambda **w: metrics.cohen_kappa_score(TRUE, CALLED, **w)),
    "Matthews": (m.Matthews(), lambda **w: metrics.matthews_corrcoef(TRUE, CALLED, **w)),
    "worst": (m.worst(m.Recall()), lambda **w: metrics.recall_score(TRUE, CALLED, average=None, **w).min()),
}


@pytest.mark.parametrize("name", AGREE)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_the_same_as_scikit_learns(name, weight):
    measure, known = AGREE[name]
    given = {} if weight is None else {"sample_weight": weight}
    assert measure.score(TRUE, CALLED, **given) == pytest.approx(known(**given), abs=1e-12)


LIFTED = [
    m.macro(m.FBeta(1)),
    m.geometric(m.Recall()),
    m.micro(m.FBeta(2)),
    m.of(1, m.MCC()) + 0.3 * m.macro(m.GMean()),
    m.macro(m.Recall()) * m.of(0, m.tnr) / (2 - m.macro(m.tnr)),
    m.Kappa(),
    m.Matthews(),
    m.NegPrevalenceKLD(),
    m.PrevalenceNSS(),
]


@pytest.mark.parametrize("measure", LIFTED, ids=repr)
def test_gradients_are_those_of_finite_differences(measure):
    rng = np.random.default_rng(1)
    tpr, tnr = rng.uniform(0.2, 0.8, (2, 3))
    where = {"prevalence": np.array([0.5, 0.3, 0.2]), "sample_size": 100}
    found = measure.gradient(tpr, tnr, **where)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        by_tpr = (measure(tpr + step, tnr, **where) - measure(tpr - step, tnr, **where)) / 2e-6
        by_tnr = (measure(tpr, tnr + step, **where) - measure(tpr, tnr - step, **where)) / 2e-6
        assert found.tpr[k] == pytest.approx(by_tpr, rel=1e-5, abs=1e-8)
        assert found.tnr[k] == pytest.approx(by_tnr, rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("measure", LIFTED, ids=repr)
def test_values_over_arrays_lie_in_the_range(measure):
    mass = np.random.default_rng(2).dirichlet(np.ones(9), (5, 4)).reshape(5, 4, 3, 3)  # true by called
    prevalence, called, hits = mass.sum(axis=-1), mass.sum(axis=-2), np.diagonal(mass, axis1=-2, axis2=-1)
    tpr, tnr = hits / prevalence, np.clip(1 - (called - hits) / (1 - prevalence), 0, 1)
    values = measure(tpr, tnr, prevalence, sample_size=50)
    assert values.shape == (5, 4)
    one = measure(tpr[2, 1], tnr[2, 1], prevalence[2, 1], sample_size=50)
    assert isinstance(one, float)
    assert one == pytest.approx(values[2, 1], rel=1e-12)
    assert measure.range.low - 1e-9 <= values.min() <= values.max() <= measure.range.high + 1e-9


def test_two_classes_are_the_case_of_two():
    rng = np.random.default_rng(3)
    y, called = rng.integers(0, 2, (2, 200))
    pairs = [(m.of(1, m.FBeta(1)), m.FBeta(1)), (m.NegPrevalenceKLD(), m.NegKLD()), (m.PrevalenceNSS(), m.NSS())]
    pairs += [(m.Matthews(), m.MCC()), (m.macro(m.Recall()), m.BalancedAccuracy()), (m.worst(m.tpr), m.MinRate())]
    for lifted, plain in pairs:
        assert lifted.score(y, called) == pytest.approx(plain.score(y, called), abs=1e-12)


def test_what_they_say_of_themselves():
    assert (m.macro(m.NegKLD()).curvature, m.worst(m.Recall()).curvature) == ("concave", "concave")
    assert m.macro(m.FBeta(1)).curvature == "unknown"
    assert m.of("x", m.FBeta(1)).is_monotone
    assert not m.Kappa().is_monotone
    assert (m.macro(m.Recall()) + m.of("x", m.tnr)).curvature in ("affine", "concave")
    floor = m.of("x", m.Precision()) >= 0.9
    assert repr(floor) == "of('x', Precision()) >= 0.9"
    assert floor.is_linear
    assert pickle.loads(pickle.dumps(m.of("x", m.FBeta(2)))) == m.of("x", m.FBeta(2))
    assert "macro(FBeta(beta=1))" in m.macro(m.FBeta(1)).explain()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"tpr in it does not say which"):
        (m.macro(m.FBeta(1)) + m.tpr)([0.5, 0.5], [0.5, 0.5], [0.5, 0.5])
    with pytest.raises(ValueError, match="several classes already"):
        m.macro(m.worst(m.tpr))
    with pytest.raises(ValueError, match=r"no class 'z'; the classes are \['a', 'b', 'c', 'd'\]"):
        m.of("z", m.tpr).score(TRUE, CALLED)
    with pytest.raises(ValueError, match=r"Lift it to several classes.*macro\(measure\)"):
        m.FBeta(1).score(TRUE, CALLED)
    with pytest.raises(ValueError, match=r"y_true has no rows of \['d'\]"):
        m.macro(m.Recall()).score(["a", "b"], ["a", "d"])
    with pytest.raises(ValueError, match="a prevalence for each class"):
        m.macro(m.FBeta(1)).at(0.2)
