"""Identity, spelling, evaluation and conventions of measures as Python objects."""

import copy
import pickle

import numpy as np
import pytest
from sklearn import metrics

import steelyard.measures as m
from measures import zoo
from steelyard.measures.pieces import PIECE


@pytest.mark.parametrize(
    "measure", zoo.EVERYTHING + [part for x in (m.BKReward(), m.FBeta(2)) for part in x.ratio()], ids=repr
)
def test_repr_evaluates_back_and_pickle_keeps(measure):
    again = eval(repr(measure), vars(m).copy())
    assert again == measure
    assert hash(again) == hash(measure)
    assert repr(again) == repr(measure)
    assert pickle.loads(pickle.dumps(measure)) == measure == copy.deepcopy(measure)


def test_random_trees_evaluate_back():
    for measure in zoo.random_trees(300, seed=99):
        assert eval(repr(measure), vars(m).copy()) == measure


def test_equality_is_structural():
    assert m.FBeta(1) == m.FBeta(1.0) != m.FBeta(2)
    assert m.tpr + 1 == m.tpr + 1
    assert m.tpr + 1 != 1 + m.tpr
    assert m.FBeta(1).at(0.1) != m.FBeta(1)
    assert len({m.GMean(), m.GMean(), m.HMean()}) == 2
    assert m.fpr == 1 - m.tnr
    assert repr(1 - m.tnr) == "fpr"


def test_numpy_numbers_build_measures():
    assert np.float64(0.5) * m.tpr == 0.5 * m.tpr
    assert m.tpr + np.int64(1) == m.tpr + 1
    assert repr(np.float64(0.01) >= m.fpr) == "fpr <= 0.01"


@pytest.mark.parametrize("bad", ["x", None, True, [1], float("nan"), float("inf")])
def test_only_finite_numbers_and_measures_combine(bad):
    with pytest.raises((TypeError, ValueError), match="measure"):
        m.tpr + bad


def test_values_broadcast_and_scalars_stay_scalars():
    grid = np.linspace(0, 1, 5)
    assert m.GMean()(grid[:, None], grid[None, :]).shape == (5, 5)
    assert isinstance(m.FBeta(1)(0.5, 0.5, 0.5), float)
    assert m.BAKLD().gradient(grid, 0.5, 0.3).tpr.shape == (5,)


@pytest.mark.parametrize("measure", [*zoo.EVERYTHING, m.prevalence * 1], ids=repr)
def test_many_points_are_the_same_bits_as_few(measure):
    tpr, tnr = np.random.default_rng(0).random((2, 3, 2 * PIECE // 3 + 5))
    many = measure(tpr, tnr, 0.3, sample_size=100)
    assert many.shape == tpr.shape
    few = [measure(a, b, 0.3, sample_size=100) for a, b in zip(tpr, tnr, strict=True)]
    np.testing.assert_array_equal(many, few)


def test_prevalence_is_asked_for_only_when_needed():
    assert m.GMean()(0.25, 1.0) == 0.5
    with pytest.raises(ValueError, match=r"depends on the prevalence.*\.at\("):
        m.FBeta(1)(0.5, 0.5)
    assert m.FBeta(1).at(0.5)(0.5, 0.5) == m.FBeta(1)(0.5, 0.5, 0.5)
    assert m.FBeta(1).at(0.5)(0.5, 0.5, 0.9) == m.FBeta(1)(0.5, 0.5, 0.5)


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan")])
def test_rates_outside_the_unit_interval_are_refused(bad):
    with pytest.raises(ValueError, match=r"tnr must lie in \[0, 1\]"):
        m.GMean()(0.5, bad)
    with pytest.raises(ValueError, match=r"tpr must lie in \[0, 1\]"):
        m.GMean().gradient([0.5, bad], 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: m.FBeta(-1), r"beta must lie in \[0, inf\]; got -1"),
        (lambda: m.BAKLD(weight=1.2), r"weight must lie in \[0, 1\]; got 1.2"),
        (lambda: m.NegCost(fp=float("nan")), "fp must be a finite number"),
        (lambda: m.FBeta(1).at(1.5), r"prevalence must lie in \[0, 1\]"),
        (lambda: m.minimum(m.tpr), "at least two arguments"),
        (lambda: m.harmonic_mean(m.tpr, m.tnr, weights=(0, 0)), "not both 0"),
        (lambda: m.NegKLD()(0.5, 0.5, 0.5, sample_size=0), "sample_size must be at least 1"),
    ],
)
def test_errors_teach(make, message):
    with pytest.raises(ValueError if "arguments" not in message else TypeError, match=message):
        make()


def test_zero_over_zero_is_zero():
    assert m.Precision()(0.0, 1.0, 0.3) == 0.0
    assert m.FBeta(1)(0.0, 1.0, 0.0) == 0.0
    assert m.HMean()(0.0, 0.0) == 0.0
    assert m.MCC()(0.0, 1.0, 0.3) == 0.0
    assert m.NegKLD()(0.5, 1.0, 0.0) == 0.0


def test_negkld_smoothing():
    p, q, eps = 0.3, 0.3 * 0.5 + 0.7 * 0.2, 1 / 200
    smooth = lambda v: (v + eps) / (1 + 2 * eps)
    expected = smooth(p) * np.log(smooth(q) / smooth(p)) + smooth(1 - p) * np.log(smooth(1 - q) / smooth(1 - p))
    for value in (m.NegKLD()(0.5, 0.8, p, sample_size=100), m.NegKLD(eps=eps)(0.5, 0.8, p)):
        assert value == pytest.approx(expected, rel=1e-12)
    assert m.NegKLD()(0.0, 1.0, 0.3) == -np.inf


def test_named_measures_against_scikit_learn():
    rng = np.random.default_rng(0)
    y, z, w = rng.random(500) < 0.3, rng.random(500) < 0.4, rng.random(500)
    pairs = {
        m.Accuracy(): metrics.accuracy_score(y, z, sample_weight=w),
        m.BalancedAccuracy(): metrics.balanced_accuracy_score(y, z, sample_weight=w),
        m.FBeta(1): metrics.f1_score(y, z, sample_weight=w),
        m.FBeta(2): metrics.fbeta_score(y, z, beta=2, sample_weight=w),
        m.Jaccard(): metrics.jaccard_score(y, z, sample_weight=w),
        m.Precision(): metrics.precision_score(y, z, sample_weight=w),
        m.Recall(): metrics.recall_score(y, z, sample_weight=w),
        m.MCC(): metrics.matthews_corrcoef(y, z, sample_weight=w),
    }
    for measure, expected in pairs.items():
        assert measure.score(y, z, sample_weight=w) == pytest.approx(expected, abs=1e-12), measure


def test_quantification_measures_by_hand():
    P, N, p = 0.8, 0.9, 0.1
    q = p * P + (1 - p) * (1 - N)
    assert m.NSS()(P, N, p) == pytest.approx(1 - ((p - q) / 0.9) ** 2)
    assert m.NAS()(P, N, p) == pytest.approx(1 - abs(p - q) / 0.9)
    assert m.NegAE()(P, N, p) == pytest.approx(-abs(p - q))
    kld = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    assert m.NegKLD()(P, N, p) == pytest.approx(-kld)
    assert m.BKReward()(P, N, p) == pytest.approx(0.85 / (1 + kld))
    assert m.NegCQB()(P, N, p) == pytest.approx(-abs(0.09**2 - 0.02**2))
    factor = p / q - (1 - p) / (1 - q)
    assert m.NegKLD().gradient(P, N, p) == pytest.approx((p * factor, -(1 - p) * factor))


def test_explain_names_the_offender():
    text = (m.NegKLD() * m.GMean()).explain()
    assert "cannot tell the curvature of NegKLD() * GMean()" in text
    assert "frontier" in text
    assert "concave" in m.BAKLD().explain()
    inner = m.minimum(m.GMean(), m.tpr * m.tnr)
    assert "of tpr * tnr:" in inner.explain()
