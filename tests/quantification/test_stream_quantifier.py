"""`StreamQuantifier`: follows the prevalence, forgets what it must, alarms when it moves and hardly when it does not."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import steelyard as sy


def rows(rng, n, p, shift=1.2):
    y = (rng.uniform(size=n) < p).astype(int)
    return rng.normal(size=(n, 3)) + shift * y[:, None], y


def started(seed=0, **how):
    rng = np.random.default_rng(seed)
    return sy.StreamQuantifier(random_state=0, **how).partial_fit(*rows(rng, 800, 0.3), classes=[0, 1]), rng


def test_follows_the_drift():
    q, rng = started(window=1000)
    errors = []
    for p in np.linspace(0.2, 0.8, 20):
        q.update(rows(rng, 1000, p)[0])
        errors.append(abs(q.prevalence_[1] - p))
    assert np.mean(errors) < 0.04
    low, high = q.interval()[:, 1]
    assert low <= 0.8 + 0.03
    assert high >= 0.8 - 0.03


def test_is_the_quantifier_on_the_window():
    q, rng = started(window=500)
    X, _ = rows(rng, 1700, 0.6)
    for start in (0, 300, 350, 1200):
        q.update(X[start : {0: 300, 300: 350, 350: 1200, 1200: 1700}[start]])
    np.testing.assert_allclose(q.prevalence_, q._quantifier.predict(X[-500:]), atol=1e-9)
    np.testing.assert_allclose(q.interval(0.9), q._quantifier.predict_interval(X[-500:], confidence=0.9), atol=1e-9)
    ours, theirs = (r.p_value([0.3, 0.7]) for r in (q.region(), q._quantifier.predict_region(X[-500:])))
    assert ours == pytest.approx(theirs, rel=1e-6)


def test_chunks_do_not_matter():
    one, rng = started(window=300, false_alarms=0.9)
    other, _ = started(window=300, false_alarms=0.9)
    X = np.concatenate([rows(rng, 3000, 0.2)[0], rows(rng, 3000, 0.7)[0]])
    one.update(X)
    for part in np.array_split(X, 37):
        other.update(part)
    np.testing.assert_allclose(one.prevalence_, other.prevalence_, atol=1e-12)
    assert one.alarms_ == other.alarms_ != []
    assert one.n_seen_ == other.n_seen_ == 6000


def test_decaying_window():
    q, rng = started(half_life=200, window=100)
    X = np.concatenate([rows(rng, 4000, 0.1)[0], rows(rng, 600, 0.8)[0]])
    found = q.update(X).prevalence_
    weights = 0.5 ** (np.arange(1600)[::-1] / 200)
    assert found[1] == pytest.approx(0.1 + 0.7 * weights[-600:].sum() / weights.sum(), abs=0.06)
    np.testing.assert_allclose(found.sum(), 1.0)


def test_alarm_after_the_change_and_soon():
    q, rng = started(window=500)
    q.update(rows(rng, 6000, 0.2)[0])
    assert q.alarms_ == []
    q.update(rows(rng, 3000, 0.4)[0])
    assert q.n_alarms_ >= 1
    assert 6000 < q.alarms_[0] <= 7000


def test_memory_is_constant():
    q, rng = started(window=200, memory=100)
    q.update(rows(rng, 1000, 0.3)[0])
    before = len(pickle.dumps(q))
    for _ in range(5):
        q.partial_fit(*rows(rng, 500, 0.3)).update(rows(rng, 5000, 0.3)[0])
    assert len(pickle.dumps(q)) < 1.1 * before


def test_new_labelled_rows_are_learned_from():
    """The classes move apart in another direction: only labelled rows can tell."""
    q, rng = started(window=1000, memory=500)
    q.partial_fit(*rows(rng, 3000, 0.5, shift=-1.2))
    q.update(rows(rng, 1000, 0.7, shift=-1.2)[0])
    assert q.prevalence_[1] == pytest.approx(0.7, abs=0.08)


def test_refit_keeps_the_window():
    q, rng = started(window=600)
    q.update(rows(rng, 600, 0.6)[0])
    before = q.prevalence_[1]
    q.partial_fit(*rows(rng, 800, 0.3))
    assert q.prevalence_[1] == pytest.approx(before, abs=0.06)


def test_labels_sparse_clone_and_pickle():
    rng = np.random.default_rng(0)
    X, y = rows(rng, 600, 0.4)
    q = clone(sy.StreamQuantifier(LinearSVC(), random_state=0, window=300))
    q.partial_fit(sp.csr_matrix(X), np.array(["no", "yes"])[y]).update(sp.csr_matrix(rows(rng, 700, 0.5)[0]))
    assert q.classes_.tolist() == ["no", "yes"]
    again = pickle.loads(pickle.dumps(q))
    new = sp.csr_matrix(rows(rng, 50, 0.5)[0])
    np.testing.assert_array_equal(again.update(new).prevalence_, q.update(new).prevalence_)


@pytest.mark.parametrize("first", [sp.csr_matrix, np.asarray])
def test_dense_and_sparse_rows_may_alternate(first):
    plain = started(window=300)[0]
    rng = np.random.default_rng(5)
    q = sy.StreamQuantifier(random_state=0, window=300)
    X, y = rows(np.random.default_rng(0), 800, 0.3)
    q.partial_fit(first(X), y, classes=[0, 1])
    new = rows(rng, 200, 0.5)[0]
    q.update(new).update(sp.csr_matrix(new))
    np.testing.assert_allclose(q.prevalence_, plain.update(new).update(new).prevalence_, atol=1e-4)


def several(rng, n, p, apart=2.0):
    y = rng.choice(len(p), n, p=p)
    return rng.normal(size=(n, len(p))) + apart * np.eye(len(p))[y], y


def test_three_classes():
    rng = np.random.default_rng(1)
    q = sy.StreamQuantifier(random_state=0).partial_fit(*several(rng, 900, [0.3, 0.3, 0.4]), classes=[0, 1, 2])
    q.update(several(rng, 2000, [0.1, 0.2, 0.7])[0])
    assert np.abs(q.prevalence_ - [0.1, 0.2, 0.7]).max() < 0.06
    assert [0.1, 0.2, 0.7] in q.region(0.99)
    assert [0.2, 0.2, 0.6] not in q.region(0.99)


@pytest.mark.parametrize("moved", [[0.5, 0.2, 0.1, 0.2], [0.3, 0.4, 0.2, 0.1]])
def test_alarm_when_two_of_four_classes_move(moved):
    rng, before = np.random.default_rng(2), [0.5, 0.2, 0.2, 0.1]
    q = sy.StreamQuantifier(window=1000, random_state=0).partial_fit(*several(rng, 1200, np.full(4, 0.25)))
    q.update(several(rng, 10_000, before)[0])
    assert q.alarms_ == []
    q.update(several(rng, 4000, moved)[0])
    assert 10_000 < q.alarms_[0] <= 12_000
    assert np.abs(q.prevalence_ - moved).max() < 0.06


def test_late_classes_are_refused():
    rng = np.random.default_rng(3)
    X, y = several(rng, 300, [0.3, 0.3, 0.4])
    q = sy.StreamQuantifier(random_state=0).partial_fit(X[y < 2], y[y < 2], classes=[0, 1, 2])
    with pytest.raises(NotFittedError, match=r"none or one of \[2\]"):
        q.update(X)
    q.partial_fit(X, y).update(X)
    before = q.prevalence_
    with pytest.raises(ValueError, match=r"labels \[3\] .* comes late .* classes= of the first call, or begin again"):
        q.partial_fit(X, y + 1)
    np.testing.assert_array_equal(q.prevalence_, before)
    assert q.fit(X, y + 1).classes_.tolist() == [1, 2, 3]


def test_what_is_refused():
    rng = np.random.default_rng(0)
    X, y = rows(rng, 100, 0.5)
    q = sy.StreamQuantifier()
    with pytest.raises(NotFittedError, match="call partial_fit"):
        q.update(X)
    with pytest.raises(NotFittedError, match="call update"):
        _ = q.prevalence_
    q.partial_fit(X[:1], y[:1], classes=[0, 1])  # one class so far: no models yet
    with pytest.raises(NotFittedError, match="labelled rows of every class"):
        q.update(X)
    q.partial_fit(X, y)
    with pytest.raises(NotFittedError, match="call update"):
        _ = q.prevalence_
    with pytest.raises(ValueError, match="not among the classes"):
        q.partial_fit(X, y + 5)
    with pytest.raises(ValueError, match="not those of the first call"):
        q.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="the batch is empty"):
        q.update(X[:0])
    for call in (lambda: q.update(X[:, :2]), lambda: q.partial_fit(X[:, :2], y)):
        with pytest.raises(ValueError, match="X has 2 features, but StreamQuantifier is expecting 3"):
            call()
    with pytest.raises(ValueError, match="window must be a whole number of at least 1"):
        sy.StreamQuantifier(window=0).partial_fit(X, y)
    with pytest.raises(ValueError, match="two or more classes"):
        sy.StreamQuantifier().partial_fit(X, np.zeros(100))


def test_data_frames_with_other_columns_are_refused():
    rng = np.random.default_rng(0)
    X, y = rows(rng, 400, 0.5)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    q = sy.StreamQuantifier(random_state=0).partial_fit(frame, y)
    assert q.feature_names_in_.tolist() == ["a", "b", "c"]
    q.update(frame)
    before = q.prevalence_
    for call in (lambda X: q.update(X), lambda X: q.partial_fit(X, y)):
        with pytest.raises(ValueError, match="feature names"):
            call(frame[["b", "a", "c"]])
    np.testing.assert_array_equal(q.prevalence_, before)


def test_a_call_that_fails_leaves_everything_as_it_was():
    rng = np.random.default_rng(0)
    X, y = rows(rng, 400, 0.5)

    class Breaks(LogisticRegression):
        def fit(self, X, y):
            if broken:
                raise RuntimeError("no more")
            return super().fit(X, y)

    broken = []
    q = sy.StreamQuantifier(Breaks(), random_state=0).partial_fit(X, y).update(X)
    before = dict(vars(q))
    broken.append(True)
    with pytest.raises(RuntimeError, match="no more"):
        q.partial_fit(X, y)
    assert vars(q) == before
    broken.clear()
    assert q.partial_fit(X, y).update(X).n_seen_ == 800
