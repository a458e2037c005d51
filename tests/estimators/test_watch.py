"""Watch: chunks of any size are one stream, alarms come when they should, and the fortune is that of the reference."""

import pickle

import numpy as np
import pytest

import steelyard as sy
import steelyard.measures as m
from given_scores import FirstColumn
from reference import watching as slow
from steelyard.statistics.promises.watching import Fortune, interval


def rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(int)
    return rng.normal(size=(n, 1)) + 2.0 * y[:, None] + shift, y


def model(subject_to=m.fpr <= 0.1, **kwargs):
    made = sy.ThresholdClassifier(FirstColumn(), m.Recall(), subject_to=subject_to, cv="prefit", **kwargs)
    return made.fit(*rows(3000, 0))


def test_the_fortune_is_that_of_the_reference():
    rng = np.random.default_rng(0)
    paid = np.where(rng.random(700) < 0.22, -0.9, 0.1)
    state, reached = Fortune.new().after(paid, 0.1, 20.0)
    expected = slow.evidence(paid, 0.1)
    assert state.evidence == pytest.approx(slow.at_end(paid, 0.1))
    assert state.best == pytest.approx(max(1.0, max(expected)))
    first = next((k for k, e in enumerate(expected) if e >= 20.0), None)
    assert reached == first
    assert first is not None


def test_many_blocks_at_once_are_those_one_by_one():
    rng = np.random.default_rng(1)
    paid = np.where(rng.random(40_000) < 0.101, -0.9, 0.1)  # more than one step of the loop
    whole, reached = Fortune.new().after(paid, 0.1, 20.0)
    state, first, done = Fortune.new(), None, 0
    for size in (1, 255, 256, 257, 3000, 20_000, 10_000, 6231):
        state, at = state.after(paid[done : done + size], 0.1, 20.0)
        first = done + at if first is None and at is not None else first
        done += size
    assert done == len(paid)
    assert first == reached
    for name in ("capital", "sums", "squares", "weights"):
        assert getattr(state, name) == pytest.approx(getattr(whole, name), rel=1e-9)
    assert (state.n_paid, state.n_good, state.best) == (whole.n_paid, whole.n_good, pytest.approx(whole.best))


def test_chunks_are_one_stream():
    clf = model(delta=0.1)
    X, y = rows(2000, 5, shift=0.2)
    whole, parts = sy.Watch(clf, level=0.05), sy.Watch(clf, level=0.05)
    whole.update(y, clf.predict(X))
    for start in (0, 1, 300, 301, 900, 2000):
        end = {0: 1, 1: 300, 300: 301, 301: 900, 900: 2000, 2000: 2000}[start]
        parts.update(y[start:end], scores=X[start:end, 0])
    assert parts.n_seen == whole.n_seen == 2000
    assert parts.alarm.row == whole.alarm.row
    assert parts.e_values() == pytest.approx(whole.e_values())
    again = pickle.loads(pickle.dumps(parts))
    assert again.alarm == parts.alarm


def test_calm_and_broken():
    clf = model([m.fpr <= 0.1, m.Precision() >= 0.6], delta=0.1)
    calm = sy.Watch(clf, level=0.05)
    for seed in range(10):
        X, y = rows(1000, 10 + seed)
        calm.update(y, clf.predict(X))
    assert calm.alarm is None
    assert calm.alarms == ()
    low, high = calm.intervals()[m.fpr <= 0.1]
    true = np.mean(np.random.default_rng(0).normal(size=200_000) > clf.best_threshold_)
    assert low < true < high
    X, y = rows(3000, 99, shift=0.6)
    calm.update(y, clf.predict(X))
    assert calm.alarm.constraint == (m.fpr <= 0.1)
    assert 10_000 < calm.alarm.row < 12_000
    assert calm.alarm.e_value >= 2 / 0.05


def test_ratios_and_gaps_pay_by_blocks():
    clf = sy.ThresholdClassifier(
        FirstColumn(), m.Recall(), subject_to=[m.fpr <= 0.2 * m.tpr, m.gap(m.tpr) <= 0.2], cv="prefit"
    )
    X, y = rows(4000, 0)
    g = np.where(np.random.default_rng(1).random(4000) < 0.4, "a", "b")
    clf.fit(X, y, slices=g)
    watch = sy.Watch(clf, level=0.05).update(y, clf.predict(X), slices=g)
    assert watch.alarm is None
    Z, t = rows(4000, 2)
    Z[(g == "a") & (t == 1)] -= 1.5
    watch.update(t, clf.predict(Z), slices=g)
    assert watch.alarm.constraint == (m.gap(m.tpr) <= 0.2)
    with pytest.raises(ValueError, match="needs the groups"):
        watch.update(t, clf.predict(Z))


def test_drift_without_labels():
    X, y = rows(1000, 0)
    drift = sy.StreamQuantifier(random_state=0).partial_fit(X, y)
    watch = sy.Watch(model(), drift=drift)
    assert watch.look(rows(8000, 1)[0]).drift_alarms == []
    late = rows(8000, 2)
    assert watch.look(late[0][late[1] == 1]).drift_alarms
    with pytest.raises(ValueError, match="StreamQuantifier"):
        sy.Watch(model()).look(X)


def test_what_is_refused():
    clf = model()
    with pytest.raises(ValueError, match="not both"):
        sy.Watch(clf).update([0, 1])
    with pytest.raises(ValueError, match="none of the classes"):
        sy.Watch(clf).update([0, 2], [0, 1])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        sy.Watch(clf).update([0, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="level must be"):
        sy.Watch(clf, level=0.0).update([0, 1], [0, 1])
    with pytest.raises(ValueError, match="no constraints to watch"):
        sy.Watch(sy.ThresholdClassifier(FirstColumn(), m.FBeta(1), cv="prefit").fit(*rows(100, 0))).update([0], [0])
    watch = sy.Watch(clf).update([0, 1], [0, 1])
    with pytest.raises(ValueError, match="none of the classes"):
        watch.update([0, 7], [0, 1])
    assert watch.n_seen == 2


@pytest.mark.parametrize(("good", "n"), [(0, 10), (10, 10), (3, 40), (500, 1000)])
def test_the_interval_is_that_of_robbins(good, n):
    low, high = interval(good, n, 0.05)
    inside = slow.robbins(good, n, 0.05)
    assert low == pytest.approx(min(inside), abs=2e-3)
    assert high == pytest.approx(max(inside), abs=2e-3)
    assert low <= good / n <= high
