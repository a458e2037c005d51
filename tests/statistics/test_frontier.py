"""The scan of all thresholds against counting each of them anew."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard.measures as m
from reference.thresholds import operating_points
from steelyard.statistics.frontier import InfeasibleError, best_point, scan

CASES = st.lists(st.tuples(st.integers(-4, 4), st.booleans(), st.integers(0, 3)), min_size=2, max_size=30).filter(
    lambda rows: {label for _, label, w in rows if w} == {True, False}
)


def arrays(rows):
    scores, positive, weight = map(np.array, zip(*rows, strict=True))
    return scores / 3.0, positive.astype(bool), weight.astype(float)


@settings(deadline=None, max_examples=300)
@given(CASES)
def test_scan_equals_counting(rows):
    scores, positive, weight = arrays(rows)
    for w in (weight, None):
        if w is None and len(set(positive)) < 2:
            continue
        found = scan(scores, positive, w)
        np.testing.assert_allclose(
            np.column_stack([found.tpr, found.tnr]), operating_points(scores, positive, w), atol=1e-12
        )
        for t, tpr in zip(found.thresholds, found.tpr, strict=True):
            mass = np.ones(len(scores)) if w is None else w
            assert mass[positive & (scores > t)].sum() / mass[positive].sum() == pytest.approx(tpr, abs=1e-12)


@settings(deadline=None, max_examples=200)
@given(CASES)
def test_best_point_equals_brute_force(rows):
    scores, positive, weight = arrays(rows)
    points = operating_points(scores, positive, weight)
    p = weight[positive].sum() / weight.sum()
    n = np.count_nonzero(weight)
    for measure in (m.FBeta(1), m.NegKLD(), m.MCC(), m.QMeasure()):
        values = np.array([measure(P, N, p, sample_size=n) for P, N in points])
        choice = best_point(scan(scores, positive, weight), measure)
        assert choice.value == pytest.approx(values.max(), abs=1e-12)
        tied = values >= values.max() - 1e-12
        assert choice.tpr + choice.tnr == pytest.approx(points[tied].sum(axis=1).max(), abs=1e-12)
        cap = m.fpr <= 0.3
        feasible = 1 - points[:, 1] <= 0.3 + 1e-12
        assert best_point(scan(scores, positive, weight), measure, [cap]).value == pytest.approx(
            values[feasible].max(), abs=1e-12
        )


def test_thresholds_lie_in_the_middle_of_the_gaps():
    found = scan(np.array([0.0, 1.0, 1.0, 4.0]), np.array([False, True, False, True]))
    np.testing.assert_array_equal(found.thresholds[1:-1], [0.5, 2.5])
    assert found.thresholds[0] < 0.0
    assert found.thresholds[-1] == 4.0


def test_neighbouring_floats_and_huge_gaps_are_separated():
    low = 1.0
    high = np.nextafter(low, 2.0)
    for scores in (np.array([low, high]), np.array([-1.7e308, 1.7e308])):
        found = scan(scores, np.array([False, True]))
        assert ((scores > found.thresholds[1]) == [False, True]).all()


def test_constant_scores_have_two_points():
    found = scan(np.zeros(4), np.array([True, False, True, False]))
    assert list(zip(found.tpr, found.tnr, strict=True)) == [(1.0, 0.0), (0.0, 1.0)]


def test_ties_go_to_the_most_skilful_point():
    constant = 0 * m.tpr + 0.5
    scores = np.array([0.1, 0.2, 0.8, 0.9])
    choice = best_point(scan(scores, np.array([False, False, True, True])), constant)
    assert (choice.tpr, choice.tnr) == (1.0, 1.0)


def test_infeasible_names_the_closest_point():
    found = scan(np.array([0.1, 0.4, 0.3, 0.9]), np.array([False, False, True, True]))
    with pytest.raises(InfeasibleError, match=r"no threshold meets fpr <= 0.25 and tpr >= 0.75 .* TPR .* FPR"):
        best_point(found, m.FBeta(1), [m.fpr <= 0.25, m.tpr >= 0.75])


@pytest.mark.parametrize(
    ("scores", "labels", "weight", "message"),
    [
        ([np.nan, 1.0], [False, True], None, "1 of 2 scores are NaN or infinite.*row 0"),
        ([0.0, np.inf], [False, True], None, "NaN or infinite"),
        ([0.0, 1.0], [False, False], None, "none of the 2 scored rows is positive"),
        ([0.0, 1.0], [False, True], [0.0, 1.0], "none of the 2 scored rows is negative"),
        ([], [], None, "no rows"),
    ],
)
def test_bad_scores_are_refused(scores, labels, weight, message):
    weight = None if weight is None else np.array(weight)
    with pytest.raises(ValueError, match=message):
        scan(np.array(scores, dtype=float), np.array(labels, dtype=bool), weight)
