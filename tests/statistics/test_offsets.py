"""Offsets of several classes: every sweep against trying all cuts, and the search against a lattice of offsets."""

import itertools

import numpy as np
import pytest

import steelyard.measures as m
from reference.offsets import best_of as try_all
from steelyard.statistics import class_shrinkage, offsets
from steelyard.statistics.frontier import InfeasibleError
from steelyard.statistics.offsets import Goal, ScoredClasses

MEASURES = [m.macro(m.FBeta(1)), m.worst(m.Recall()), m.Kappa(), m.micro(m.FBeta(2)), m.geometric(m.Recall())]
MEASURES += [m.NegCost(table=[[0, 1, 3], [2, 0, 1], [1, 9, 0]])]
MEASURES += [m.NegCost(table=[[0, 1, -1], [2, 0, 1], [1, 9, 0]]) + 0.1 * m.Kappa()]
MEASURES += [m.of(1, m.FBeta(1)) + 0.2 * m.macro(m.NegKLD()), m.NegPrevalenceKLD()]


def drawn(seed, n=60, n_classes=3, ties=False):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes))
    y = np.r_[np.arange(n_classes), (scores + rng.normal(size=(n, n_classes))).argmax(axis=1)[n_classes:]]
    return (scores.round(1) if ties else scores), y


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
@pytest.mark.parametrize("ties", [False, True], ids=["", "ties"])
def test_a_sweep_is_the_best_of_all_cuts(measure, ties):
    for seed in range(4):
        scores, y = drawn(seed, ties=ties)
        rows = ScoredClasses.of(scores, y, range(3), None)
        aim = offsets.compiled(Goal(measure), rows)
        start = np.random.default_rng(seed).normal(size=3).round(1)
        for k in range(3):
            found = offsets.best_of(rows, aim, start, k)
            _, value = try_all(scores, y, range(3), start, k, measure.score)
            assert found.value == pytest.approx(value, abs=1e-9)
            assert offsets.judge(rows, Goal(measure), found.offsets).value == pytest.approx(value, abs=1e-9)


def test_weights_are_repetitions():
    scores, y = drawn(1)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    goal = Goal(m.macro(m.FBeta(1)))
    weighed = offsets.search(ScoredClasses.of(scores, y, range(3), times.astype(float)), goal)
    repeated = offsets.search(
        ScoredClasses.of(np.repeat(scores, times, axis=0), np.repeat(y, times), range(3), None), goal
    )
    assert weighed.value == pytest.approx(repeated.value, abs=1e-12)


def test_the_search_is_as_good_as_a_lattice():
    lattice = np.linspace(-3.0, 3.0, 25)
    as_good = 0
    for seed in range(8):
        scores, y = drawn(seed)
        rows, goal = ScoredClasses.of(scores, y, range(3), None), Goal(m.macro(m.FBeta(1)))
        found = offsets.search(rows, goal)
        tried = max(
            offsets.judge(rows, goal, np.array([0.0, a, b])).value for a, b in itertools.product(lattice, lattice)
        )
        plain = offsets.judge(rows, goal, np.zeros(3))
        assert found.value >= plain.value
        as_good += found.value >= tried - 1e-12
    assert as_good >= 7


def test_constraints_hold_and_what_cannot_hold_says_so():
    scores, y = drawn(3, n=300)
    rows = ScoredClasses.of(scores, y, range(3), None)
    goal = Goal(m.macro(m.FBeta(1)), (m.of(2, m.tpr) >= 0.9, m.of(0, m.Precision()) >= 0.6))
    at = rows.at(offsets.search(rows, goal).offsets)
    assert at.tpr[2] >= 0.9
    free = offsets.search(rows, Goal(m.macro(m.FBeta(1))))
    assert rows.at(free.offsets).tpr[2] < 0.9
    with pytest.raises(InfeasibleError, match=r"of\(2, tpr\) >= 0.99 and of\(0, tpr\) >= 0.99.*TPR/FPR by class"):
        offsets.search(rows, Goal(m.macro(m.FBeta(1)), (m.of(2, m.tpr) >= 0.99, m.of(0, m.tpr) >= 0.99)))


def test_many_rows_end_where_few_do():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(60_000, 4)) + np.array([1.5, 1.0, 0.0, -0.5])
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    rows, goal = ScoredClasses.of(scores, y, range(4), None), Goal(m.macro(m.FBeta(1)))
    slow = offsets.climb(rows, goal, offsets.judge(rows, goal, np.zeros(4)))
    assert offsets.search(rows, goal).value >= slow.value - 1e-3


def test_shrunk_labels_are_labels_where_rows_are_many_and_probabilities_where_they_are_few():
    scores, y = drawn(0, n=600)
    few = ScoredClasses.of(scores[:60], y[:60], range(3), None)
    shrunk = class_shrinkage.shrunk(few)
    np.testing.assert_allclose(shrunk.labels.sum(axis=1), 1.0)
    assert np.abs(shrunk.labels - class_shrinkage.calibrated(few)).max() < 0.05
    many = ScoredClasses.of(np.tile(scores, (60, 1)), np.tile(y, 60), range(3), None)
    assert class_shrinkage.shrunk(many) is many


def test_calibrated_probabilities_are_those_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20_000, 3))
    p = np.exp(2.0 * scores + [0.5, 0.0, -1.0])
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((len(p), 1))).argmax(axis=1)
    found = class_shrinkage.calibrated(ScoredClasses.of(scores, y, range(3), None))
    assert np.abs(found - p).mean() < 0.01


def test_a_gain_of_chance_is_left_alone():
    rng = np.random.default_rng(0)
    goal, kept = Goal(m.macro(m.FBeta(1))), 0
    for seed in range(10):
        scores, y = drawn(seed, n=90)
        rows = ScoredClasses.of(scores + 0.01 * rng.normal(size=scores.shape), y, range(3), None)
        found = offsets.judge(rows, goal, np.array([0.02, 0.0, -0.02]))
        kept += class_shrinkage.worth_it(rows, goal, found)
    assert kept <= 3
