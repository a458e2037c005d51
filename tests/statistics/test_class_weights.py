"""Frank-Wolfe over class weights: its gains against finite differences, its rules against the known best ones."""

import numpy as np
import pytest

import steelyard.measures as m
from steelyard.statistics import class_weights, offsets
from steelyard.statistics.offsets import Goal, ScoredClasses


def world(seed, n, k):
    """Rows whose scores are the logarithms of the right probabilities."""
    rng = np.random.default_rng(seed)
    z = 2.0 * rng.normal(size=(n, k)) + np.linspace(2.0, 0.0, k)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return ScoredClasses.of(np.log(p), y, range(k), None)


def rates_of(cells):
    p, called, hits = cells.sum(axis=1), cells.sum(axis=0), cells.diagonal()
    return {"tpr": hits / p, "tnr": 1 - (called - hits) / (1 - p), "prevalence": p}


GOALS = [
    Goal(m.geometric(m.Recall())),
    Goal(m.Kappa() + m.of(1, m.tnr), (m.of(0, m.fnr) <= 0.3,)),
    Goal(m.NegPrevalenceKLD(eps=0.01), (m.of(2, m.Precision()) >= 0.5, m.of(1, m.fpr) <= 0.1)),
]


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: repr(goal.measure))
def test_gains_are_what_a_row_is_worth_when_it_is_called_otherwise(goal):
    cells = np.random.default_rng(0).dirichlet(np.ones(9)).reshape(3, 3)
    multipliers = np.array([0.7, 2.0])[: len(goal.constraints)]
    at = {**rates_of(cells), "classes": (0, 1, 2)}
    slopes = goal.measure.gradient(**at)
    unit = max(np.abs(slopes.tpr).max(), np.abs(slopes.tnr).max())

    def worth(moved):
        where = {**rates_of(moved), "classes": (0, 1, 2)}
        kept = sum(u * c.cleared(**where) for u, c in zip(unit * multipliers, goal.constraints, strict=True))
        return goal.measure(**where) + kept

    gains = class_weights._gains(goal, multipliers, at)
    for i in range(3):
        for j in range(3):
            step = np.zeros((3, 3))
            step[i, j] += 1e-6
            step[i, i] -= 1e-6  # the prevalences stay
            by_differences = (worth(cells + step) - worth(cells - step)) / 2e-6
            assert gains[i, j] - gains[i, i] == pytest.approx(by_differences, rel=1e-4, abs=1e-6)


def test_its_start_alone_comes_near_the_best_worst_recall():
    rows = world(0, 4000, 4)
    goal = Goal(m.worst(m.Recall()))
    first, _ = class_weights.starts(rows, goal)
    ends = [offsets.climb(rows, goal, offsets.judge(rows, goal, start)).value for start in offsets.starts(rows)]
    assert offsets.judge(rows, goal, first).value > max(ends) - 0.03
    assert offsets.judge(rows, goal, np.zeros(4)).value < max(ends) - 0.1


def test_caps_are_met_by_its_multipliers():
    rows = world(1, 4000, 4)
    goal = Goal(m.micro(m.Recall()), (m.of(3, m.fnr) <= 0.2, m.of(2, m.fnr) <= 0.4))
    first, _ = class_weights.starts(rows, goal)
    assert offsets.judge(rows, goal, np.zeros(4)).missed > 0.1
    assert offsets.judge(rows, goal, first).missed < 0.02


def test_the_search_is_never_worse_with_it_and_sometimes_better():
    goal, better = Goal(m.worst(m.Recall())), 0
    for seed in range(6):
        rows = world(seed, 800, 12)
        without, with_it = offsets.search(rows, goal), class_weights.search(rows, goal)
        assert with_it.value >= without.value
        better += with_it.beats(without)
    assert better >= 1


def test_where_it_is_of_use():
    assert class_weights.is_for(Goal(m.geometric(m.Recall())))
    assert class_weights.is_for(Goal(m.macro(m.FBeta(1)), (m.of(0, m.fnr) <= 0.1,)))
    assert not class_weights.is_for(Goal(m.macro(m.FBeta(1))))
    table = m.NegCost(table=[[0, 1, 3], [2, 0, 1], [1, 9, 0]])
    assert not class_weights.is_for(Goal(table))
