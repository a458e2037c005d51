"""Weights of rows by class, from a linearised measure."""

import numpy as np
import pytest
from tests.reference import class_models

import steelyard.measures as m
from steelyard.solvers.search.models import linearised_costs
from steelyard.statistics.class_costs import RAILS, row_weights
from steelyard.statistics.frontier import Choice

CLASSES = ("a", "b", "c")
TABLE = np.array([[60.0, 7.0, 3.0], [4.0, 12.0, 4.0], [1.0, 2.0, 7.0]])
COSTS = m.NegCost(table=[[0, 1, 2], [3, 0, 1], [5, 9, 0]], classes=["a", "b", "c"])  # whom a row is called matters
MEASURES = [
    m.macro(m.FBeta(1)), m.geometric(m.Recall()), m.Kappa(), m.macro(m.Recall()), m.micro(m.FBeta(1)), COSTS,
    COSTS + 0.5 * m.macro(m.FBeta(1)),
]  # fmt: skip


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_they_are_the_mean_cost_of_an_error_found_by_moving_rows(measure):
    slow = class_models.row_weights(measure, TABLE, CLASSES, 100)
    assert (slow > RAILS.floor).all()
    np.testing.assert_allclose(row_weights(measure, TABLE, CLASSES, 100), slow, rtol=1e-4)


def test_two_classes_have_the_usual_pair_of_costs():
    table = np.array([[70.0, 10.0], [5.0, 15.0]])
    pair = linearised_costs(m.FBeta(1), Choice(0, 0.0, 0.75, 70 / 80, 0.0), 0.2, 100)
    np.testing.assert_allclose(row_weights(m.of("b", m.FBeta(1)), table, ("a", "b"), 100), pair[::-1])


def test_no_class_is_ignored_and_none_takes_all():
    worst = row_weights(m.worst(m.Recall()), TABLE, CLASSES, 100)
    assert worst[1] > worst[0]
    assert worst[1] > worst[2]
    assert (worst >= RAILS.floor * 0.5).all()
    assert np.isclose(worst @ TABLE.sum(1), TABLE.sum())
    table = np.diag([1e6, 1e6, 0.0])
    table[2, 0] = 1.0
    lost = row_weights(m.geometric(m.Recall()), table, CLASSES, 2e6)
    assert np.isfinite(lost).all()
    assert lost[2] == lost.max()


def test_a_measure_that_falls_in_a_rate_weighs_by_shares():
    p = TABLE.sum(1) / TABLE.sum()
    found = row_weights(m.NegPrevalenceAE(), TABLE, CLASSES, 100)
    np.testing.assert_allclose(found / found[0], (p / p[0]) ** (RAILS.power - 1))
