"""MeasureClassifier: right labels, weights, formats and attributes; not worse than a tuned threshold; CAN inside."""

import pickle
import signal
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit

import steelyard as sy
import steelyard.measures as m


def make(n=1200, seed=0, weights=0.85, flip=0.05):
    return make_classification(n, 8, n_informative=4, weights=[weights], flip_y=flip, class_sep=0.8, random_state=seed)


FAST = {"C": [0.01, 1.0], "random_state": 0}


def test_Cs_may_be_an_array():
    X, y = make(300)
    ours = sy.MeasureClassifier(m.FBeta(1), C=np.array(FAST["C"]), random_state=0).fit(X, y)
    same = sy.MeasureClassifier(m.FBeta(1), **FAST).fit(X, y)
    np.testing.assert_array_equal(ours.coef_, same.coef_)


def test_attributes():
    X, y = make()
    model = sy.MeasureClassifier(m.FBeta(1)).fit(X, y)
    assert model.coef_.shape == (1, 8)
    assert model.intercept_.shape == (1,)
    assert model.gap_ <= 1e-3
    assert model.loss_ in ("hinge", "squared_hinge", "logistic")
    assert model.C_ > 0
    assert len(model.costs_) == 2
    assert model.n_iter_ >= 1
    values = m.FBeta(1)(model.frontier_.tpr, model.frontier_.tnr, model.frontier_.prevalence)
    assert values.max() - 0.03 <= model.best_score_ <= values.max()
    assert np.abs(values - model.best_score_).min() < 1e-12  # an operating point, not something in between
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])


@pytest.mark.parametrize(
    "measure", [m.FBeta(1), m.BalancedAccuracy(), m.QMeasure(), m.BAKLD(), m.CQReward(), m.NegCQB()], ids=repr
)
def test_not_far_behind_a_tuned_threshold_and_often_ahead(measure):
    gains = []
    for seed in range(3):
        X, y = make(4000, seed)
        ours = sy.MeasureClassifier(measure, **FAST).fit(X[:2000], y[:2000])
        tuned = sy.ThresholdClassifier(LogisticRegression(), measure).fit(X[:2000], y[:2000])
        gains.append(measure.score(y[2000:], ours.predict(X[2000:])) - measure.score(y[2000:], tuned.predict(X[2000:])))
    assert np.mean(gains) > -0.01


def test_constraint_is_met_on_new_data_up_to_noise():
    X, y = make(8000, 3)
    model = sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.05, **FAST).fit(X[:4000], y[:4000])
    found = m.rates(y[4000:], model.predict(X[4000:]))
    assert 1 - found.tnr < 0.07
    assert found.tpr > 0.2


def test_unreachable_constraint_says_so():
    X, y = make(400, flip=0.5)
    with pytest.raises(ValueError, match="no threshold meets"):
        sy.MeasureClassifier(m.Recall(), subject_to=[m.fpr <= 0.001, m.tpr >= 0.99], **FAST).fit(X, y)


def test_a_constraint_that_is_not_linear_is_refused():
    X, y = make(200)
    with pytest.raises(ValueError, match="not linear"):
        sy.MeasureClassifier(m.Recall(), subject_to=m.GMean() >= 0.5).fit(X, y)


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), ("no", "yes"), (False, True)])
def test_any_two_labels(labels):
    X, y = make(600)
    named = np.array(labels)[y]
    model = sy.MeasureClassifier(**FAST).fit(X, named)
    plain = sy.MeasureClassifier(**FAST).fit(X, y)
    assert set(np.unique(model.predict(X))) <= set(labels)
    np.testing.assert_array_equal(model.predict(X) == labels[1], plain.predict(X) == 1)


def test_pos_label_turns_the_problem_round():
    X, y = make(900)
    flipped = sy.MeasureClassifier(pos_label=0, **FAST).fit(X, y)
    renamed = sy.MeasureClassifier(**FAST).fit(X, 1 - y)
    np.testing.assert_array_equal(flipped.predict(X), 1 - renamed.predict(X))
    np.testing.assert_allclose(flipped.decision_function(X), -renamed.decision_function(X))


def test_formats_agree():
    X, y = make(600)
    X[np.abs(X) < 0.4] = 0.0
    names = [f"x{j}" for j in range(8)]
    dense = sy.MeasureClassifier(**FAST).fit(X, y)
    for other in (sp.csr_matrix(X), sp.csr_array(X), pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = sy.MeasureClassifier(**FAST).fit(other, y)
        np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-6)
        np.testing.assert_array_equal(model.predict(other), dense.predict(X))
    assert list(sy.MeasureClassifier(**FAST).fit(pd.DataFrame(X, columns=names), y).feature_names_in_) == names


def test_weights_count_in_losses_and_measure():
    # Rows of weight zero change nothing: same folds by construction, so the fitted models are the same.
    X, y = make(800)
    junk = np.random.default_rng(0).normal(size=X.shape) * 5
    both, labels = np.empty((1600, 8)), np.repeat(y, 2)
    both[0::2], both[1::2] = X, junk
    weight = np.tile([1.0, 0.0], 800)
    splits = [(np.flatnonzero(np.arange(800) % 4 != k), np.flatnonzero(np.arange(800) % 4 == k)) for k in range(4)]
    twice = [tuple(np.sort(np.r_[2 * part, 2 * part + 1]) for part in split) for split in splits]
    clean = sy.MeasureClassifier(cv=splits, tol=1e-6, **FAST).fit(X, y)
    dirty = sy.MeasureClassifier(cv=twice, tol=1e-6, **FAST).fit(both, labels, sample_weight=weight)
    assert dirty.best_score_ == pytest.approx(clean.best_score_, abs=2e-3)
    np.testing.assert_allclose(dirty.coef_, clean.coef_, rtol=1e-2, atol=1e-3)
    heavy = sy.MeasureClassifier(m.Accuracy(), **FAST).fit(X, y, sample_weight=np.where(y == 1, 20.0, 1.0))
    assert heavy.predict(X).mean() > sy.MeasureClassifier(m.Accuracy(), **FAST).fit(X, y).predict(X).mean() + 0.1


def test_same_bits_for_any_n_jobs_and_the_same_seed():
    X, y = make(900)
    one = sy.MeasureClassifier(n_jobs=1, loss="hinge", solver="coordinate", **FAST).fit(X, y)
    two = sy.MeasureClassifier(n_jobs=2, loss="hinge", solver="coordinate", **FAST).fit(X, y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.intercept_ == two.intercept_


def test_clone_and_pickle():
    X, y = make(400)
    model = sy.MeasureClassifier(m.BAKLD(0.3), subject_to=m.fpr <= 0.3, **FAST).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert repr(clone(model)) == repr(sy.MeasureClassifier(m.BAKLD(0.3), subject_to=m.fpr <= 0.3, **FAST))


@pytest.mark.parametrize("solver", ["coordinate", "newton", "bundle"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_solvers_find_models_of_one_quality(solver, loss):
    X, y = make(2500)
    model = sy.MeasureClassifier(solver=solver, loss=loss, **FAST).fit(X, y)
    reference = sy.MeasureClassifier(loss=loss, **FAST).fit(X, y)
    assert model.loss_ == loss
    best = [
        m.FBeta(1)(one.frontier_.tpr, one.frontier_.tnr, one.frontier_.prevalence).max() for one in (model, reference)
    ]
    assert best[0] == pytest.approx(best[1], abs=0.02)


def test_can_raises_its_level_and_ends_near_the_search():
    X, y = make(1500)
    model = sy.MeasureClassifier(m.FBeta(1), solver="can", **FAST).fit(X, y)
    assert (np.diff(model.levels_) >= -1e-5).all()
    searched = sy.MeasureClassifier(m.FBeta(1), **FAST).fit(X, y)
    assert model.best_score_ > searched.best_score_ - 0.03
    with pytest.raises(ValueError, match="use solver='auto'"):
        sy.MeasureClassifier(m.BAKLD(), solver="can", **FAST).fit(X, y)


def test_not_monotone_measures_stay_skilful():
    X, y = make(1500)
    model = sy.MeasureClassifier(m.NegKLD(), **FAST).fit(X, y)
    assert m.NegKLD().score(y, model.predict(X)) > -0.02
    assert m.BalancedAccuracy().score(y, model.predict(X)) > 0.6


def test_held_out_share_and_splitters():
    X, y = make(900)
    share = sy.MeasureClassifier(cv=0.3, **FAST).fit(X, y)
    assert share.frontier_.n_rows == 270
    assert sy.MeasureClassifier(cv=ShuffleSplit(3, test_size=0.2, random_state=0), **FAST).fit(X, y).best_score_ > 0.3
    with pytest.raises(ValueError, match="nothing 'prefit'"):
        sy.MeasureClassifier(cv="prefit").fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": "large"}, "C must be 'auto'"),
        ({"C": -1.0}, "C must be 'auto', a finite number above 0"),
        ({"loss": "zero_one"}, "loss must be one of 'auto'"),
        ({"solver": "simplex"}, "solver must be one of"),
        ({"n_jobs": 0}, "n_jobs is a number"),
        ({"measure": "f7"}, "measure must be a measure"),
    ],
)
def test_errors_teach(parameters, message):
    X, y = make(200)
    with pytest.raises((ValueError, TypeError), match=message):
        sy.MeasureClassifier(**parameters).fit(X, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    X, y = make(400, flip=0.5)
    model = sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.3, **FAST).fit(X, y)
    before = dict(vars(model))
    model.subject_to = [m.fpr <= 0.001, m.tpr >= 0.99]
    with pytest.raises(ValueError, match="no threshold meets"):
        model.fit(X[:, :5], np.where(y, "b", "a"))
    del before["subject_to"]
    assert {name: value for name, value in vars(model).items() if name != "subject_to"} == before
    fresh = sy.MeasureClassifier(m.Recall(), subject_to=model.subject_to, **FAST)
    with pytest.raises(ValueError, match="no threshold meets"):
        fresh.fit(X, y)
    assert not [name for name in vars(fresh) if name.endswith("_")]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals by timer are POSIX")
def test_what_a_signal_handler_raises_arrives_and_nothing_has_changed():
    def alarm(number, frame):
        raise TimeoutError("time is up")

    X, y = make(400)
    model = sy.MeasureClassifier(**FAST).fit(X, y)
    before = dict(vars(model))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 60)) * np.logspace(-2, 2, 60)
    y = (X[:, 20] + X[:, 40] + rng.normal(size=len(X)) > 1.0).astype(int)
    handler = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeoutError, match="time is up"):
            model.fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
    assert vars(model) == before


def test_no_fold_is_copied():
    # numpy's own memory only, which is where copies of rows were; the rows to train on are 0.7 of X.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 600), dtype=np.float32)
    y = (X[:, 0] + rng.normal(size=len(X)) > 1.0).astype(int)
    model = sy.MeasureClassifier(C=1e-3, loss="hinge", tol=1e-2, cv=0.3, random_state=0)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * X.nbytes


# -- promises -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("labels", [(0, 1), ("yes", "no")])
def test_delta_sets_the_offset_by_what_the_rows_held_out_promise(labels):
    rng = np.random.default_rng(0)
    y = rng.random(3000) < 0.3
    X = rng.normal(size=(3000, 3)) + 1.5 * y[:, None]
    named = np.where(y, labels[1], labels[0])
    asked = {"subject_to": [m.Precision() >= 0.7, m.tpr >= 0.5], "delta": 0.1, "cv": 0.4, "random_state": 0}
    model = sy.MeasureClassifier(m.Recall(), C=1.0, pos_label=labels[1], **asked).fit(X[:2000], named[:2000])
    called = model.predict(X[2000:]) == labels[1]
    assert y[2000:][called].mean() > 0.7
    assert called[y[2000:]].mean() > 0.5
    assert model.promise_.n_rows == 800
    assert model.promise_.p_value <= 0.1
    with pytest.raises(ValueError, match=r"cv=0.3 holds out a share"):
        sy.MeasureClassifier(m.Recall(), subject_to=m.fpr <= 0.1, delta=0.1).fit(X, y)
    assert sy.MeasureClassifier(m.Recall(), C=1.0, subject_to=m.fpr <= 0.1).fit(X, y).promise_ is None
