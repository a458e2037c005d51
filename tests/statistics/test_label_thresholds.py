"""Thresholds of several labels a row: every block against trying all cuts, and the whole against all combinations."""

import numpy as np
import pytest
from sklearn import metrics

import steelyard.measures as m
from reference.label_thresholds import best_of_all, best_of_one
from steelyard.statistics import label_thresholds
from steelyard.statistics.frontier import InfeasibleError
from steelyard.statistics.label_thresholds import LabelledRows
from steelyard.statistics.offsets import Goal

MEASURES = [
    m.macro(m.FBeta(1)),
    m.micro(m.FBeta(1)),
    m.by_row(m.FBeta(1)),
    m.by_row(m.Jaccard()) + 0.3 * m.of(1, m.tpr),
    m.macro(m.Accuracy()) + m.micro(m.FBeta(2)),
]


def drawn(seed, n=12, n_labels=3, ties=False):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < [0.5, 0.3, 0.2][:n_labels]).astype(int)
    Y[0], Y[1] = 1, 0
    scores = Y + 0.9 * rng.normal(size=Y.shape)
    return (scores.round(1) if ties else scores), Y


def rows_of(scores, Y, weight=None):
    return LabelledRows(scores, Y != 0, weight)


def test_the_same_as_scikit_learns():
    _, Y = drawn(0, 60)
    called = drawn(1, 60)[1]
    weight = np.random.default_rng(2).random(60) + 0.1
    f1 = metrics.f1_score
    for w in (None, weight):
        known = {
            m.macro(m.FBeta(1)): f1(Y, called, average="macro", sample_weight=w),
            m.micro(m.FBeta(1)): f1(Y, called, average="micro", sample_weight=w),
            m.by_row(m.FBeta(1)): f1(Y, called, average="samples", sample_weight=w, zero_division=0),
            m.by_row(m.Jaccard()): metrics.jaccard_score(
                Y, called, average="samples", sample_weight=w, zero_division=0
            ),
            1 - m.macro(m.Accuracy()): metrics.hamming_loss(Y, called, sample_weight=w),
        }
        for measure, value in known.items():
            assert measure.score(Y, called, sample_weight=w) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("ties", [False, True], ids=["", "ties"])
def test_a_block_is_the_best_of_all_cuts_of_its_label(measure, ties):
    for seed in range(4):
        scores, Y = drawn(seed, 25, ties=ties)
        rows, goal = rows_of(scores, Y), Goal(measure)
        places = label_thresholds._nearest(rows, np.array([0.4, 0.6, 0.5]))
        now = label_thresholds.judge(rows, goal, places)
        assert now.value == pytest.approx(measure.score(Y, (scores > [0.4, 0.6, 0.5]).astype(int)), abs=1e-12)
        for j in range(3):
            found = label_thresholds.best_of(rows, goal, now, j)
            assert found.value == pytest.approx(best_of_one(scores, Y, now.thresholds, j, measure.score), abs=1e-12)
            called = (scores > found.thresholds).astype(int)
            assert measure.score(Y, called) == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES[:3], ids=repr)
def test_the_whole_is_as_good_as_all_combinations(measure):
    as_good = 0
    for seed in range(6):
        scores, Y = drawn(seed, 7)
        found = label_thresholds.search(rows_of(scores, Y), Goal(measure), own=0.5)
        as_good += found.value >= best_of_all(scores, Y, measure.score) - 1e-12
    assert as_good >= (6 if measure == MEASURES[0] else 5)


def test_weights_are_repetitions():
    scores, Y = drawn(3, 40)
    times = np.random.default_rng(0).integers(1, 4, 40)
    for measure in MEASURES:
        weighed = label_thresholds.search(rows_of(scores, Y, times.astype(float)), Goal(measure), own=0.5)
        again = rows_of(np.repeat(scores, times, axis=0), np.repeat(Y, times, axis=0))
        assert weighed.value == pytest.approx(label_thresholds.search(again, Goal(measure), own=0.5).value, abs=1e-12)


def test_constraints_hold_and_what_cannot_hold_says_so():
    scores, Y = drawn(5, 300)
    caps = (m.of(2, m.tpr) >= 0.9, m.of(2, m.Precision()) >= 0.25)
    found = label_thresholds.search(rows_of(scores, Y), Goal(m.macro(m.FBeta(1)), caps), own=0.5)
    called = (scores > found.thresholds).astype(int)
    assert metrics.recall_score(Y[:, 2], called[:, 2]) >= 0.9
    free = label_thresholds.search(rows_of(scores, Y), Goal(m.macro(m.FBeta(1))), own=0.5)
    assert metrics.recall_score(Y[:, 2], scores[:, 2] > free.thresholds[2]) < 0.9
    too_much = (m.of(2, m.tpr) >= 1, m.of(2, m.Precision()) >= 0.95)
    with pytest.raises(InfeasibleError, match="the closest miss them by"):
        label_thresholds.search(rows_of(scores, Y), Goal(m.macro(m.FBeta(1)), too_much), own=0.5)


def test_a_label_that_no_row_has_is_never_called():
    scores, Y = drawn(6, 50)
    Y[:, 1] = 0
    for measure in MEASURES[:3]:
        found = label_thresholds.search(rows_of(scores, Y), Goal(measure), own=0.5)
        assert found.thresholds[1] == np.inf


def test_measures_of_one_label_are_refused():
    _, Y = drawn(0, 20)
    with pytest.raises(ValueError, match="about rows of one class each"):
        m.Kappa().score(Y, Y)
    with pytest.raises(ValueError, match=r"score\(Y_true, Y_pred\) of indicator matrices"):
        m.by_row(m.FBeta(1)).score(["a", "b"], ["a", "b"])
