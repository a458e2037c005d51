"""Short streams under a constraint: what is read again, what rows left out say, and the margin of the threshold."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

import steelyard as sy
import steelyard.measures as m
from steelyard.solvers.stream import second_reading
from steelyard.solvers.stream.learner import Learner
from steelyard.solvers.stream.problem import NeymanPearson, Pass, Problem
from steelyard.solvers.stream.second_reading import Sample, in_place
from steelyard.solvers.stream.threshold import choose, expected_excess
from steelyard.statistics import frontier


def draw(n, d, seed, shift=1.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    return X, y


def learned(n, d, cap=0.05, passes=1, X=None):
    given, y = draw(n, d, 0)
    learner = Learner(Problem(m.Recall(), m.fpr <= cap, NeymanPearson()), d)
    for number in range(passes):
        learner.learn(given if X is None else X, (2 * y - 1).astype(np.int8), None, Pass(True, number))
    return learner


def points_of(fpr, tpr, prevalence=0.3):
    fpr, tpr = np.asarray(fpr, dtype=float), np.asarray(tpr, dtype=float)
    return frontier.Frontier(-fpr, tpr, 1.0 - fpr, prevalence, 1000)


@pytest.mark.parametrize("constraint", [m.fpr <= 0.05, m.Precision() >= 0.8, m.Recall() >= 0.9])
def test_the_expected_excess_is_that_of_rates_drawn_given_the_sample(constraint):
    points, rows = points_of([0.02, 0.04, 0.06], [0.7, 0.9, 0.95]), (600.0, 300.0)
    rng, draws = np.random.default_rng(0), 400_000
    a, b, c = constraint.coefficients(0.3, sample_size=1000)
    for k, found in enumerate(expected_excess(points, constraint, rows)):
        neg, pos = (
            rng.beta(n * rate + 0.5, n * (1 - rate) + 0.5, draws)
            for n, rate in zip(rows, (points.tnr[k], points.tpr[k]), strict=True)
        )
        drawn = np.maximum(0.0, -(a * pos + b * neg + c)) / (a + b + c)
        # Beta is skew, which the normal is not: by a hundredth of the excess that counts.
        assert found == pytest.approx(drawn.mean(), abs=4 * drawn.std() / np.sqrt(draws) + 0.01)


def test_the_margin_is_wide_with_few_rows_and_vanishes_with_many():
    fpr = np.linspace(0.0, 0.2, 401)
    points, problem = points_of(fpr, np.sqrt(fpr)), Problem(m.Recall(), m.fpr <= 0.1, NeymanPearson())
    rates = [1.0 - choose(points, problem, (n, n))[0].tnr for n in (100.0, 1000.0, 1e9)]
    assert rates == sorted(rates)
    assert rates[0] < 0.08
    assert rates[2] == pytest.approx(0.1)


def test_places_do_not_depend_on_the_scale_of_a_model():
    rng = np.random.default_rng(1)
    own, weight = rng.normal(size=500), rng.random(500) + 0.5
    left, rest = np.arange(100), np.arange(100, 500)
    parts = weight[rest], weight
    found = in_place(own[left], own[rest], own, parts)
    np.testing.assert_allclose(found, own[left], atol=0.25)  # the same model: the same scores, but for the sampling
    moved = in_place(7.0 + 3.0 * own[left], 7.0 + 3.0 * own[rest], own, parts)
    np.testing.assert_allclose(moved, found, rtol=1e-9)
    assert np.all(np.diff(found[np.argsort(own[left])]) >= 0.0)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_the_sample_of_a_short_stream_is_the_stream(make):
    X, y = draw(400, 12, 0)
    X[np.abs(X) < 1.7] = 0.0  # mostly zeros, so that it is kept as CSR
    learner = learned(400, 12, X=make(X))
    sample = Sample.of(learner._core, learner.problem, 12)
    assert sp.issparse(sample.rows.source)
    kept = sample.rows.source.toarray()
    np.testing.assert_array_equal(kept, np.concatenate([X[y == 0], X[y == 1]]))
    np.testing.assert_allclose(sample.weight, 1.0)


@pytest.mark.parametrize("passes", [1, 4])
def test_to_look_at_a_model_changes_nothing(passes):
    learner = learned(500, 8, passes=passes)
    before = learner.save()
    again = learner._plan().again
    assert again == second_reading.OPTIONS.passes - passes
    model = learner.model()
    assert learner.save() == before
    assert not np.array_equal(model.w, learner._coefficients())
    np.testing.assert_array_equal(model.w, learner.direction())


def test_long_streams_are_left_alone():
    learner = learned(60_000, 4, passes=5)
    assert learner._plan().is_nothing
    np.testing.assert_array_equal(learner.model().w, learner._coefficients())
    assert not learner.settles


def test_rows_that_were_learned_from_flatter_the_cap_and_rows_left_out_do_not(monkeypatch):
    def mean_rate():
        rates = []
        for seed in range(6):
            X, y = draw(9_000, 60, seed)
            model = sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= 0.05, random_state=seed).fit(X[:1500], y[:1500])
            rates.append(1.0 - m.rates(y[1500:], model.predict(X[1500:]), pos_label=1).tnr)
        return np.mean(rates)

    error = np.sqrt(0.05 * 0.95 / (6 * 1050))  # of a rate on the negatives of all streams
    assert 0.03 < mean_rate() < 0.05 + 2 * error
    monkeypatch.setattr(second_reading, "OPTIONS", dataclasses.replace(second_reading.OPTIONS, rows_per_feature=0))
    assert mean_rate() > 0.05 + 5 * error
