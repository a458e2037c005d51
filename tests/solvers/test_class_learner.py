"""The stream of several classes against a slow one, and its sample."""

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference import class_models

import steelyard.measures as m
from steelyard.rows import Rows
from steelyard.solvers.stream.class_learner import NEVER, ClassLearner
from steelyard.solvers.stream.class_sample import ClassSample, _uniform
from steelyard.solvers.stream.learner import BadRowError
from steelyard.solvers.stream.problem import Pass, Problem
from steelyard.solvers.stream.settings import SAMPLE
from steelyard.statistics.class_costs import row_weights

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1200, 5))
CODES = (
    (X @ RNG.normal(size=(5, 4)) + [2.0, 0.0, 0.0, -1.0] + RNG.gumbel(size=(1200, 4))).argmax(axis=1).astype(np.int32)
)
WEIGHT = RNG.uniform(0.5, 2.0, 1200)
CLASSES = ("a", "b", "c", "d")
F1 = m.macro(m.FBeta(1))


def learner(measure=F1, **options):
    return ClassLearner(Problem(measure, **options), 5, CLASSES)


@pytest.mark.parametrize("reward", ["hinge", "logistic"])
def test_it_is_the_slow_stream(reward):
    # Every row is learned from: none is left to the sample, though the first five are fewer than the features.
    def weigh(table, n_rows, seen):
        return row_weights(m.macro(m.FBeta(1)), table, [CLASSES[k] for k in seen], n_rows)

    fast = learner(reward=reward, seed=next(s for s in range(50) if (_uniform(s + 1, np.arange(5)) > 0.1).all()))
    fast.learn(X, CODES, WEIGHT)
    slow, table = class_models.stream(X, CODES, WEIGHT, m.macro(m.FBeta(1)), 4, reward, weigh)
    np.testing.assert_allclose(fast._state.confusion, table)
    found = fast.model()
    np.testing.assert_allclose(found.W, slow[:, :5], rtol=2e-3, atol=2e-4)  # the core's roots have 4 to 5 digits


def test_chunks_change_nothing():
    whole, parts = learner(), learner()
    whole.learn(X, CODES, WEIGHT)
    start = 0
    while start < len(X):
        size = int(RNG.integers(1, 90))
        some = slice(start, start + size)
        parts.learn(X[some], CODES[some], WEIGHT[some])
        start += size
    assert parts.save() == whole.save()


def test_sparse_rows_and_rows_of_no_weight_are_as_they_should_be():
    dense, sparse, without = learner(), learner(), learner()
    weight = WEIGHT * (RNG.random(1200) < 0.7)
    dense.learn(X, CODES, weight)
    sparse.learn(sp.csr_matrix(X), CODES, weight)
    without.learn(X[weight > 0], CODES[weight > 0], weight[weight > 0])
    np.testing.assert_allclose(sparse.model().W, dense.model().W, rtol=1e-9)
    np.testing.assert_array_equal(without.model().W, dense.model().W)
    np.testing.assert_array_equal(without.model().intercept, dense.model().intercept)


def test_a_class_that_comes_late():
    late = learner()
    early = CODES != 3
    late.learn(X[early], CODES[early])
    before = late.model()
    assert before.intercept[3] == NEVER
    assert not before.W[3].any()
    late.learn(X, CODES)
    after = late.model()
    called = (X @ after.W.T + after.intercept).argmax(axis=1)
    assert (called[CODES == 3] == 3).mean() > 0.3
    named = learner(m.of("d", m.FBeta(1)) + m.macro(m.Recall()))  # of a class that is not there yet
    named.learn(X[early], CODES[early])
    assert named.model().intercept[3] == NEVER
    named.learn(X, CODES)
    assert named.model().intercept[3] > NEVER


def test_a_chunk_that_fails_changes_nothing():
    it = learner()
    it.learn(X, CODES)
    before = it.save()
    bad = X.copy()
    bad[77, 1] = np.inf
    with pytest.raises(BadRowError) as error:
        it.learn(bad, CODES)
    assert error.value.row == 77
    assert it.save() == before


def test_bytes_of_another_learner_are_refused():
    it = learner()
    it.learn(X, CODES)
    again = learner()
    again.load(it.save())
    assert again.save() == it.save()
    for other in (ClassLearner(it.problem, 6, CLASSES), ClassLearner(it.problem, 5, CLASSES[:3])):
        with pytest.raises(ValueError, match="not one of this learner"):
            other.load(it.save())
    with pytest.raises(ValueError, match="not one of this learner"):
        again.load(it.save()[:-9])


def test_the_curve_and_passes():
    it = learner()
    for number in range(3):
        it.learn(X, CODES, None, Pass(True, number))
    curve = it.curve()
    assert it.n_rows == 3600
    assert it._state.n_once == 1200
    assert curve["weights"].shape == (len(curve["rows"]), 4)
    assert np.all(np.diff(curve["rows"]) > 0)
    assert curve["measure"][-1] > curve["measure"][0]
    kept = sum(it._state.sample.count(k) for k in range(4))
    assert 1195 <= kept <= 1200  # of the first five, fewer than the features, some are for the sample and others not


# -- the sample -----------------------------------------------------------------------------------------------------
def test_the_sample_is_uniform_and_of_rows_as_they_were():
    sample = ClassSample.new(2, 3, seed=1)
    sample.capacity = 50
    table = np.arange(3000.0).reshape(1000, 3)
    codes = np.r_[np.zeros(990), np.ones(10)].astype(np.int32)
    for start in range(0, 1000, 100):
        some = slice(start, start + 100)
        sample.offer(Rows.of(table[some]), codes[some], None, np.arange(100), start, again=False)
    assert (sample.count(0), sample.count(1)) == (50, 10)
    kept = sample.kept[0]
    np.testing.assert_array_equal(kept.rows.source, table[kept.number])
    assert 350 < kept.number.mean() < 640  # of 0 ... 989: five standard errors are 190
    np.testing.assert_array_equal(np.sort(kept.number), kept.number)


def test_while_there_are_fewer_rows_than_features_some_are_for_the_sample_only():
    wide = ClassSample.new(2, 400, seed=0)
    rows = Rows.of(RNG.normal(size=(500, 400)))
    codes = (np.arange(500) % 2).astype(np.int32)
    held = wide.offer(rows, codes, None, np.arange(500), 0, again=False)
    assert not held[400:].any()
    assert 20 < held.sum() < 70  # a tenth of 400
    assert wide.count(0) + wide.count(1) == held.sum() + 100
    np.testing.assert_array_equal(wide.offer(rows, codes, None, np.arange(500), 0, again=True), held)
    assert SAMPLE.held_while_wide == 0.1
