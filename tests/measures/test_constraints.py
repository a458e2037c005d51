"""Constraints made by comparison."""

import pickle

import numpy as np
import pytest

import steelyard.measures as m
from steelyard.measures.constraints import as_constraints

LINEAR = [
    m.fpr <= 0.01,
    m.fpr <= 0.01 * m.tpr,
    m.Precision() >= 0.9,
    m.tpr >= 0.8,
    m.FBeta(1) >= 0.5,
    m.Recall() >= 0.9,
]


@pytest.mark.parametrize("constraint", LINEAR, ids=repr)
def test_linear_form_agrees_with_the_comparison(constraint):
    assert constraint.is_linear
    rng = np.random.default_rng(0)
    for P, N, p in rng.random((200, 3)):
        a, b, c = constraint.coefficients(p)
        assert constraint.slack(P, N, p) == pytest.approx(a * P + b * N + c, abs=1e-12)
        left, right = constraint.left(P, N, p), constraint.right(P, N, p)
        met = left <= right if constraint.sense == "<=" else left >= right
        assert bool(constraint.holds(P, N, p)) == met


def test_calling_nothing_positive_has_no_precision():
    floor = m.Precision() >= 0.9
    assert floor.slack(0.0, 1.0, 0.1) < 0
    assert not floor.holds(0.0, 1.0, 0.1)
    assert (m.Precision() <= 0.5).holds(0.0, 1.0, 0.1)
    assert list(floor.holds(np.array([0.0, 0.5]), np.array([1.0, 1.0]), 0.1)) == [False, True]


def test_a_count_that_meets_the_cap_exactly_is_not_lost_to_rounding():
    assert (m.fpr <= 0.05).holds(0.5, 0.95, 0.1)


def test_truth_value_and_chains_raise():
    with pytest.raises(TypeError, match="no truth value"):
        bool(m.fpr <= 0.1)
    with pytest.raises(TypeError, match="give a list"):
        0.01 <= m.fpr <= 0.1  # noqa: B015
    with pytest.raises(TypeError, match="write <="):
        m.fpr < 0.1  # noqa: B015


def test_not_linear_is_said():
    curved = m.GMean() >= 0.5
    assert not curved.is_linear
    with pytest.raises(ValueError, match="not linear"):
        curved.coefficients(0.1)
    assert not (m.Precision() >= m.Recall()).is_linear


def test_a_constraint_on_nothing_is_refused():
    with pytest.raises(ValueError, match="does not depend on tpr or tnr"):
        m.prevalence <= 0.5  # noqa: B015


def test_identity():
    a = m.fpr <= 0.01
    assert a == (m.fpr <= 0.01) != (m.fpr <= 0.02)
    assert eval(repr(a), vars(m).copy()) == a == pickle.loads(pickle.dumps(a))
    assert len({a, m.fpr <= 0.01}) == 1


def test_as_constraints():
    a, b = m.fpr <= 0.01, m.tpr >= 0.1
    assert as_constraints(None) == ()
    assert as_constraints(a) == (a,)
    assert as_constraints([a, b]) == (a, b)
    assert as_constraints("fpr <= 0.01") == as_constraints(["fpr <= 0.01"]) == (a,)
    for bad in (0.01, [a, 3], m.fpr):
        with pytest.raises(TypeError, match="subject_to takes a constraint"):
            as_constraints(bad)
