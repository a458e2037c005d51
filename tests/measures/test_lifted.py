"""Measures of several classes: against scikit-learn's, against finite differences, and what they say of themselves."""

import pickle

import numpy as np
import pytest
from sklearn import metrics

import steelyard.measures as m
from steelyard.files.expressions import expression_from_list, expression_to_list

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
    m.macro(m.Recall()) + 0.1 * m.NegCost(table=[[0, 2, 2], [1, 0.5, 1], [7, 7, 0]]),
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


TABLE = np.array([[0.0, 1.0, 2.0, 1.0], [3.0, -0.5, 1.0, 1.0], [4.0, 1.0, 0.0, 2.5], [9.0, 6.0, 1.0, 0.0]])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
def test_a_table_of_costs_is_the_mean_cost_of_a_row(weight):
    true, called = (np.searchsorted(list("abcd"), part) for part in (TRUE, CALLED))
    cost = -np.average(TABLE[true, called], weights=weight)
    assert m.NegCost(table=TABLE).score(TRUE, CALLED, sample_weight=weight) == pytest.approx(cost, abs=1e-12)
    shuffled = [2, 0, 3, 1]
    labels = np.array(list("abcd"))[shuffled]
    other = m.NegCost(table=TABLE[np.ix_(shuffled, shuffled)], classes=labels.tolist())
    assert other.score(TRUE, CALLED, sample_weight=weight) == pytest.approx(cost, abs=1e-12)
    some = np.isin(TRUE, ["a", "c"]) & np.isin(CALLED, ["a", "c"])
    assert np.isfinite(other.score(TRUE[some], CALLED[some]))


def test_two_classes_have_a_table_too():
    rng = np.random.default_rng(5)
    y, called = rng.integers(0, 2, (2, 100))
    table = m.NegCost(table=[[0, 1], [5, 0]])
    assert table.score(y, called) == pytest.approx(m.NegCost(fp=1, fn=5).score(y, called), abs=1e-12)
    assert table([0.9, 0.8], [0.8, 0.9], [0.9, 0.1]) == pytest.approx(m.NegCost(fp=1, fn=5)(0.8, 0.9, 0.1), abs=1e-12)
    assert m.NegCost(fp=1, fn=5)._key() == (1, 5)
    assert repr(m.NegCost(fp=1, fn=5)) == "NegCost(fp=1, fn=5)"


def test_what_a_table_says_of_itself():
    measure = m.NegCost(table=TABLE)
    assert tuple(measure.range) == (-9.0, 0.5)
    assert (measure.curvature, measure.is_monotone, measure.is_lifted, measure.needs_confusion) == (
        "affine", True, True, True,
    )  # fmt: skip
    rewarding = TABLE.copy()
    rewarding[0, 1] = -1.0
    assert not m.NegCost(table=rewarding).is_monotone
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert expression_from_list(expression_to_list(measure)) == measure
    named = m.NegCost(table=TABLE, classes=[3, 5, 7, 9])
    assert expression_from_list(expression_to_list(named)) == named
    with pytest.raises(ValueError, match="whom missed rows are called"):
        measure([0.5] * 4, [0.5] * 4, [0.25] * 4)
    with pytest.raises(ValueError, match=r"4 classes, and there are 2"):
        measure.score(["a", "b"], ["b", "b"])
    with pytest.raises(ValueError, match="no class 'a'"):
        named.score(TRUE, CALLED)
    with pytest.raises(ValueError, match=r"row and a column for each class; got shape \(1, 2\)"):
        m.NegCost(table=[[0, 1]])
    with pytest.raises(ValueError, match="have no say"):
        m.NegCost(2, table=TABLE)


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
