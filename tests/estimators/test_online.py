"""OnlineClassifier: chunks, bits, weights, labels, inputs, and what it does with bad rows."""

import copy
import pickle
import re
import sys
import threading
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m


def rows(n=4000, d=8, seed=0, share=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + rng.normal(size=n) > 2.0 * share).astype(int)


def bits(model):
    return np.r_[model.coef_.ravel(), model.intercept_]


def in_chunks(model, X, y, size, weight=None):
    for i in range(0, len(y), size):
        part = slice(i, i + size)
        model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=None if weight is None else weight[part])
    return model


KINDS = {
    "nemsis": {"measure": m.QMeasure(1)},
    "auto steps": {"measure": m.BAKLD()},
    "scan": {"measure": m.FBeta(1)},
    "to the letter": {"measure": m.QMeasure(1), "guard": False, "eta0": 0.1, "dual_rates": "surrogate"},
    "scan to the letter": {"measure": m.CQReward(), "guard": False, "eta0": 0.1},
    "spade": {"measure": m.GMean(), "solver": "spade"},
    "cap": {"measure": m.Recall(), "subject_to": m.fpr <= 0.05},
    "nonconvex": {"measure": m.Recall(), "subject_to": m.fpr <= 0.05, "reward": "sigmoid"},
    "q-value": {"measure": m.Recall(), "subject_to": m.fpr <= 0.1 * m.tpr},
    "precision floor": {"measure": m.Recall(), "subject_to": m.Precision() >= 0.5},
    "no curvature": {"measure": m.NegCQB()},
    "counting alone": {"measure": m.NegKLD()},
    "decay and ball": {"measure": m.HMean(), "alpha": 1e-3, "radius": 2.0},
    "mini-batch": {"measure": m.GMean(), "solver": "1pmb"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_do_not_matter(kind):
    X, y = rows()
    whole = bits(sy.OnlineClassifier(**KINDS[kind], random_state=0).partial_fit(X, y, classes=[0, 1]))
    assert np.abs(whole).max() > 0
    for size, n in ((1, 700), (7, 4000), (1000, 4000)):  # one at a time is slow: for the first rows only
        model = in_chunks(sy.OnlineClassifier(**KINDS[kind], random_state=0), X[:n], y[:n], size)
        assert np.array_equal(bits(in_chunks(model, X[n:], y[n:], 1000)), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_bits_and_dense_is_sparse(kind):
    X, y = rows()
    X[np.abs(X) < 0.5] = 0.0
    make = sy.OnlineClassifier(**KINDS[kind], max_iter=2, random_state=3)
    first, second = (bits(clone(make).fit(X, y)) for _ in range(2))
    assert np.array_equal(first, second)
    for sparse in (sp.csr_matrix(X), _with_long_indices(sp.csr_matrix(X))):
        np.testing.assert_allclose(bits(clone(make).fit(sparse, y)), first, rtol=1e-6, atol=1e-9)
    single = bits(clone(make).fit(X.astype(np.float32), y))
    np.testing.assert_allclose(single, first, rtol=0.05, atol=0.05)


def _with_long_indices(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("kind", ["auto steps", "to the letter", "cap", "mini-batch"])
def test_pickle_copy_and_going_on(kind):
    X, y = rows()
    model = sy.OnlineClassifier(**KINDS[kind], random_state=0).partial_fit(X[:1500], y[:1500], classes=[0, 1])
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(bits(twin), bits(model))
        on = copy.deepcopy(model).partial_fit(X[1500:], y[1500:])
        assert np.array_equal(bits(twin.partial_fit(X[1500:], y[1500:])), bits(on))


def test_two_threads_at_once():
    X, y = rows(60_000, 20)
    makes = [lambda s=s: sy.OnlineClassifier(m.BAKLD(), max_iter=5, random_state=s) for s in (0, 1)]
    alone = [bits(make().fit(X, y)) for make in makes]
    models = [make() for make in makes]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert all(np.array_equal(bits(model), one) for model, one in zip(models, alone, strict=True))


def test_weights_stand_for_rows():
    X, y = rows()
    rng = np.random.default_rng(0)
    keep = rng.random(len(y)) < 0.7
    options = {"measure": m.BAKLD(), "shuffle": False, "random_state": 0}
    without = sy.OnlineClassifier(**options).fit(X[keep], y[keep])
    zero = sy.OnlineClassifier(**options).fit(X, y, sample_weight=keep.astype(float))
    assert np.array_equal(bits(zero), bits(without))
    ones = sy.OnlineClassifier(**options).fit(X, y, sample_weight=np.ones(len(y)))
    assert np.array_equal(bits(ones), bits(sy.OnlineClassifier(**options).fit(X, y)))
    # A weight of three is about the row three times: weighing up the positives moves the prevalence that a counting
    # measure meets.
    weight = np.where(y == 1, 3.0, 1.0)
    counting = sy.OnlineClassifier(m.NegKLD(), random_state=0, max_iter=5)
    plain, weighted = clone(counting).fit(X, y), clone(counting).fit(X, y, sample_weight=weight)
    times = weight.astype(int)
    repeated = clone(counting).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.predict(X).mean() == pytest.approx(repeated.predict(X).mean(), abs=0.03)
    assert weighted.predict(X).mean() > plain.predict(X).mean() + 0.03


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), ("no", "yes"), (False, True), (2.0, 5.0)])
@pytest.mark.parametrize("flip", [False, True])
def test_any_two_labels(labels, flip):
    X, y = rows(1500)
    plain = sy.OnlineClassifier(m.FBeta(1), random_state=0).fit(X, 1 - y if flip else y)
    named = np.array(labels)[y]
    model = sy.OnlineClassifier(m.FBeta(1), random_state=0, pos_label=labels[0] if flip else None).fit(X, named)
    assert np.mean((plain.predict(X) == 1) == (model.predict(X) == labels[0 if flip else 1])) > 0.999
    assert model.classes_.tolist() == list(labels)
    scores = model.decision_function(X)
    assert np.array_equal(model.predict(X) == labels[1], scores > 0)


def test_data_frames():
    X, y = rows(800)
    expected = bits(sy.OnlineClassifier(random_state=0).fit(X, y))
    names = [f"x{j}" for j in range(X.shape[1])]
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = sy.OnlineClassifier(random_state=0).fit(frame, y)
        if isinstance(frame, pd.DataFrame):  # older scikit-learn does not find the names of a new polars
            assert model.feature_names_in_.tolist() == names
        assert np.array_equal(bits(model), expected)


def test_partial_fit_goes_on_after_fit_and_warm_start():
    X, y = rows()
    fitted = sy.OnlineClassifier(random_state=0).fit(X[:2000], y[:2000])
    before = bits(fitted)
    fitted.partial_fit(X[2000:], y[2000:])
    assert fitted._learner.n_rows == 4000
    assert not np.array_equal(bits(fitted), before)
    warm = sy.OnlineClassifier(random_state=0, warm_start=True).fit(X, y)
    assert warm.fit(X, y)._learner.n_rows == 8000
    cold = sy.OnlineClassifier(random_state=0).fit(X, y)
    assert cold.fit(X, y)._learner.n_rows == 4000


def test_history_is_a_learning_curve():
    X, y = rows(20_000)
    curve = sy.OnlineClassifier(m.BAKLD(), random_state=0).fit(X, y).history_
    assert len(curve["rows"]) >= 15
    assert (np.diff(curve["rows"]) > 0).all()
    assert curve["measure"][5:].mean() > curve["measure"][0]
    long = sy.OnlineClassifier(m.BAKLD(), random_state=0, max_iter=60).fit(X, y).history_
    assert 256 <= len(long["rows"]) <= 512


@pytest.mark.parametrize("measure", [m.NegKLD(), m.NSS()])
def test_counting_measures_keep_their_skill(measure):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30_000, 10))
    y = (X @ rng.normal(size=10) + 3 * rng.normal(size=30_000) > 7).astype(int)
    a, b = slice(0, 20_000), slice(20_000, None)
    model = sy.OnlineClassifier(measure, random_state=0).fit(X[a], y[a])
    matched = sy.ThresholdClassifier(LogisticRegression(), m.NegKLD(), cv=0.5, random_state=0).fit(X[a], y[a])
    skill = [m.BalancedAccuracy().score(y[b], one.predict(X[b])) for one in (model, matched)]
    assert skill[0] > skill[1] - 0.02
    assert m.NegKLD().score(y[b], model.predict(X[b])) > -0.001
    letter = sy.OnlineClassifier(measure, guard=False, eta0=0.1, random_state=0).fit(X[a], y[a])
    assert m.BalancedAccuracy().score(y[b], letter.predict(X[b])) < skill[0]  # the trap that the guard avoids


@pytest.mark.parametrize("cap", [0.02, 0.1])
def test_false_alarm_cap_holds_on_unseen_rows(cap):
    X, y = rows(60_000)
    a, b = slice(0, 30_000), slice(30_000, None)
    model = sy.OnlineClassifier(m.Recall(), subject_to=m.fpr <= cap, max_iter=2, random_state=0).fit(X[a], y[a])
    alarms = model.predict(X[b])[y[b] == 0].mean()
    error = np.sqrt(cap * (1 - cap) * (1 / np.sum(y[b] == 0) + 1 / 5000))
    assert cap - 4 * error < alarms < cap + 3 * error


@pytest.mark.parametrize("constraint", [m.Precision() >= 0.7, m.Recall() >= 0.9, m.fpr <= 0.05 * m.tpr])
def test_other_linear_constraints(constraint):
    X, y = rows(40_000)
    a, b = slice(0, 20_000), slice(20_000, None)
    measure = m.Specificity() if constraint == (m.Recall() >= 0.9) else m.Recall()
    model = sy.OnlineClassifier(measure, subject_to=constraint, max_iter=3, random_state=0).fit(X[a], y[a])
    found = m.rates(y[b], model.predict(X[b]))
    slack = constraint.slack(found.tpr, found.tnr, found.prevalence)
    assert -0.03 < slack < 0.1
    assert found.tpr + found.tnr > 1.2


# -- rows and chunks that are not as they should be ----------------------------------------------------------------
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("size", [1, 3, 2000])
def test_a_bad_row_changes_nothing(value, make, size):
    X, y = rows(4000)
    model = sy.OnlineClassifier(random_state=0).partial_fit(X[:2000], y[:2000])
    before, state = bits(model), model._learner.save()
    bad = X[2000 : 2000 + size].copy()
    bad[-1, 3] = value
    with pytest.raises(ValueError, match=rf"row {size - 1}, column 3.*as it was before it"):
        model.partial_fit(make(bad), y[2000 : 2000 + size])
    assert model._learner.save() == state
    assert np.array_equal(bits(model), before)
    model.partial_fit(X[2000:], y[2000:])
    assert np.array_equal(bits(model), bits(sy.OnlineClassifier(random_state=0).partial_fit(X, y)))


def test_nan_in_row_one_million():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_002, 3)).astype(np.float32)
    y = (X[:, 0] > 1).astype(int)
    X[1_000_000, 1] = np.nan
    model = sy.OnlineClassifier(random_state=0).partial_fit(X[:10], y[:10], classes=[0, 1])
    state = model._learner.save()
    with pytest.raises(ValueError, match=r"NaN: row 1000000, column 1"):
        model.partial_fit(X, y)
    assert model._learner.save() == state


def test_one_class_for_a_while():
    X, y = rows(6000)
    order = np.argsort(y, kind="stable")
    model = sy.OnlineClassifier(m.BAKLD(), random_state=0)
    zeros = int((y == 0).sum())
    model.partial_fit(X[order][: zeros // 2], y[order][: zeros // 2], classes=[0, 1])
    assert np.isfinite(bits(model)).all()
    assert (model.predict(X) == 0).mean() > 0.9
    for _ in range(3):
        model.partial_fit(X[order][zeros // 2 :], y[order][zeros // 2 :])
    assert m.BalancedAccuracy().score(y, model.predict(X)) > 0.7
    with pytest.raises(ValueError, match="only one class"):
        sy.OnlineClassifier().partial_fit(X[order][:10], y[order][:10])


def test_zero_rows_empty_chunks_and_feature_counts():
    X, y = rows(1000)
    X[::10] = 0.0
    model = sy.OnlineClassifier(random_state=0).fit(X, y)
    before = bits(model)
    assert np.isfinite(before).all()
    model.partial_fit(np.empty((0, 8)), np.empty(0, dtype=int))
    assert np.array_equal(bits(model), before)
    with pytest.raises(ValueError, match="8 features"):
        model.partial_fit(np.zeros((2, 9)), [0, 1])
    with pytest.raises(ValueError, match=r"label .*7.*not one of the classes \[0, 1\]"):
        model.partial_fit(X[:2], [0, 7])
    assert np.array_equal(bits(model), before)


def test_scales_far_apart_warn_once():
    X, y = rows(3000)
    X[:, 0] *= 1e12  # of the two columns that matter
    model = sy.OnlineClassifier(random_state=0)
    with pytest.warns(UserWarning, match="StandardScaler"):
        model.fit(X, y)
    assert np.isfinite(bits(model)).all()
    assert m.BalancedAccuracy().score(y, model.predict(X)) > 0.6  # the large one is learned, not lost to an overflow
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, y)
    for scale in (1e-12, 1e12, 1e100):  # all columns alike: nothing to warn of
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            alike = sy.OnlineClassifier(random_state=0).fit(X[:, 1:2] * scale, y)
        assert m.BalancedAccuracy().score(y, alike.predict(X[:, 1:2] * scale)) > 0.6


def test_columns_outside_a_sparse_matrix_are_refused():
    X, y = rows(50)
    broken = sp.csr_matrix(X)
    broken.indices = broken.indices.copy()
    broken.indices[11] = 400
    with pytest.raises(ValueError, match="row 1"):
        sy.OnlineClassifier(random_state=0).fit(broken, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "newton"}, "solver must be one of 'auto'"),
        ({"reward": "sigmoid"}, "not concave"),
        ({"reward": "square"}, "reward must be one of"),
        ({"eta0": -1.0}, "eta0 must be a finite number above 0"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"refresh": 0}, "refresh must be a whole number of at least 1"),
        ({"max_iter": 0}, "max_iter"),
        ({"dual_rates": "none"}, "dual_rates must be one of"),
        ({"solver": "neyman-pearson"}, "needs a constraint"),
        ({"subject_to": m.fpr <= 0.1, "solver": "nemsis"}, "needs solver='neyman-pearson'"),
        ({"subject_to": m.GMean() >= 0.9}, "not linear"),
        ({"subject_to": [m.fpr <= 0.1, m.fnr <= 0.1]}, "one constraint"),
        ({"measure": m.NegCQB(), "guard": False}, r"because of .*guard=True takes any measure"),
    ],
)
def test_errors_teach(options, message):
    X, y = rows(50)
    with pytest.raises(ValueError, match=message):
        sy.OnlineClassifier(**options).fit(X, y)


@pytest.mark.parametrize("bar", ["tqdm", "none"])
def test_progress_shows_rows_a_second_and_the_measure(bar, capsys, monkeypatch):
    if bar == "tqdm":
        pytest.importorskip("tqdm.std")
        monkeypatch.setitem(sys.modules, "ipykernel", None)  # as in a notebook
        monkeypatch.setitem(sys.modules, "tqdm.auto", sys.modules["tqdm.std"])  # but without its widgets
    X, y = rows(3000)
    sy.OnlineClassifier(m.GMean(), random_state=0, verbose=1, max_iter=2).fit(X, y)
    shown = capsys.readouterr().err
    assert re.search(r"[\d.,]+[kM]? rows/s", shown)
    assert re.search(r"GMean\(\) 0\.\d{4}", shown)
    sy.OnlineClassifier(m.GMean(), random_state=0, verbose=1).fit_stream([(X[:1500], y[:1500]), (X[1500:], y[1500:])])
    assert "rows/s" in capsys.readouterr().err
    sy.OnlineClassifier(m.GMean(), random_state=0).fit(X, y)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("alpha", [1.0, 20.0, 1e4])
def test_strong_decay_ends_in_a_small_finite_model(alpha):
    X, y = rows()
    weak = sy.OnlineClassifier(alpha=1e-4, random_state=0).fit(X, y)
    strong = sy.OnlineClassifier(alpha=alpha, random_state=0).fit(X, y)
    assert np.isfinite(bits(strong)).all()
    assert np.linalg.norm(strong.coef_) < np.linalg.norm(weak.coef_)
    # Small, but still an average of steps towards the classes.
    assert m.BalancedAccuracy().score(y, strong.predict(X)) > 0.7
