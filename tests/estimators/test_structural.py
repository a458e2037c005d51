"""StructuralSVM and ExpectedFBetaClassifier: what they promise beyond scikit-learn's contract."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from steelyard.measures import expected_fbeta_labels

X, Y = make_classification(1200, 8, weights=[0.85], flip_y=0.08, random_state=3)
LABELS = [(0, 1), (-1, 1), (1, 2), ("ham", "spam"), (False, True)]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("loss", ["kld", "f1", "prec@40", m.GMean()], ids=str)
def test_any_two_labels(labels, loss):
    low, high = labels
    model = sy.StructuralSVM(loss).fit(X, np.where(Y == 1, high, low))
    reference = sy.StructuralSVM(loss).fit(X, Y)
    assert model.classes_.tolist() == [low, high]
    np.testing.assert_array_equal(model.predict(X) == high, reference.predict(X) == 1)
    np.testing.assert_array_equal(model.coef_, reference.coef_)


def test_pos_label_mirrors_the_problem():
    y = np.where(Y == 1, "a", "b")
    turned, straight = sy.StructuralSVM("f1", pos_label="a").fit(X, y), sy.StructuralSVM("f1").fit(X, Y)
    np.testing.assert_array_equal(turned.predict(X) == "a", straight.predict(X) == 1)
    np.testing.assert_array_equal(turned.coef_, -straight.coef_)
    np.testing.assert_array_equal(turned.decision_function(X) > 0, turned.predict(X) == "b")


@pytest.mark.parametrize(
    "convert", [csr_matrix, pd.DataFrame, lambda a: pl.DataFrame(a, schema=[f"c{i}" for i in range(8)])]
)
def test_containers(convert):
    data = convert(X)
    model = sy.StructuralSVM("q", tol=1e-6).fit(data, pd.Series(Y))
    assert model.objective_ == pytest.approx(sy.StructuralSVM("q", tol=1e-6).fit(X, Y).objective_, rel=3e-6)
    assert model.predict(data).shape == Y.shape
    assert model.n_features_in_ == 8


def test_weights_are_repetitions():
    w = np.random.default_rng(0).integers(0, 4, len(Y))
    rows = np.repeat(np.arange(len(Y)), w)
    weighted, repeated = sy.StructuralSVM("f1").fit(X, Y, sample_weight=w), sy.StructuralSVM("f1").fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)


def test_weights_that_are_no_counts_are_rounded():
    plain = sy.StructuralSVM("f1").fit(X, Y)
    same = sy.StructuralSVM("f1").fit(X, Y, sample_weight=np.full(len(Y), 0.3))
    np.testing.assert_array_equal(same.coef_, plain.coef_)
    w = np.random.default_rng(0).integers(1, 4, len(Y))
    w[: (-w.sum()) % 2] += 1
    eighths = w / 8 * 8 / w.mean() + 1e-9  # of the mean: 8 w / mean(w) repetitions, rounded
    counts = np.rint(8 * w / w.mean()).astype(int)
    rows = np.repeat(np.arange(len(Y)), counts // np.gcd.reduce(counts))
    weighted, repeated = (
        sy.StructuralSVM("f1").fit(X, Y, sample_weight=eighths),
        sy.StructuralSVM("f1").fit(X[rows], Y[rows]),
    )
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)


@pytest.mark.parametrize(
    ("loss", "measure"), [("f1", m.FBeta(1)), (m.GMean(), m.GMean()), ("kld", m.NegKLD())], ids=str
)
def test_trained_for_a_measure_it_beats_the_plain_machine(loss, measure):
    trained = sy.StructuralSVM(loss, C=10.0).fit(X, Y)
    assert measure.score(Y, trained.predict(X)) > measure.score(Y, LinearSVC().fit(X, Y).predict(X))


@pytest.mark.parametrize(("loss", "calls"), [("prbep", Y.sum()), ("rec@300", 300), ("prec@40", 40), ("prec@1%", 12)])
def test_rankings_call_as_many_rows_as_they_say(loss, calls):
    model = sy.StructuralSVM(loss, C=10.0).fit(X, Y)
    assert model.predict(X).sum() == calls
    found = (Y[model.predict(X) == 1] == 1).mean()
    assert found > 2 * Y.mean()
    assert sy.StructuralSVM(loss, C=10.0, fit_intercept=False).fit(X, Y).intercept_ == 0.0


def test_the_objective_bounds_the_training_loss():
    model = sy.StructuralSVM("f1", C=1.0).fit(X, Y)
    w = np.append(model.coef_, model.intercept_)
    slack = model.objective_ - w @ w / 2
    assert slack >= 100 * (1 - m.FBeta(1).score(Y, model.predict(X))) - 1e-9


def test_inside_grid_search_and_over_pickle():
    search = GridSearchCV(
        sy.StructuralSVM(), {"loss": ["f1", m.GMean()], "C": [0.1, 1.0]}, scoring=m.FBeta(1).scorer(), cv=3
    ).fit(X, Y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert clone(search.best_estimator_).loss == search.best_estimator_.loss


def test_a_run_that_ends_early_says_so(capsys):
    with pytest.warns(ConvergenceWarning, match="limit reached: 3 cuts, with a relative gap of"):
        model = sy.StructuralSVM("f1", C=100.0, max_iter=3, verbose=2).fit(X, Y)
    assert model.n_iter_ == 3
    assert model.gap_ > 1e-3
    assert capsys.readouterr().err.count("StructuralSVM, cut ") == 3


def test_a_bound_that_is_best_at_zero_is_named():
    noise = np.random.default_rng(0).normal(size=(2000, 3))
    labels = np.arange(2000) % 20 == 0
    with pytest.warns(UserWarning, match="the bound on f1 is smallest at w = 0"):
        assert not sy.StructuralSVM("f1").fit(noise, labels).predict(noise).any()


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently")
def test_an_interrupt_from_outside_ends_the_fit_and_leaves_the_model_as_it_was(interrupts):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50_000, 30))
    labels = rows[:, 0] + 2 * rng.normal(size=50_000) > 2
    model = sy.StructuralSVM("kld", C=1e6, tol=1e-15, max_iter=20)
    with pytest.warns(ConvergenceWarning):
        before = model.fit(rows, labels).coef_.copy()
    pressed = []

    def press():
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(0.5, press).start()
    with pytest.raises(KeyboardInterrupt):
        model.set_params(max_iter=100_000).fit(rows, labels)  # would go on for minutes
    assert time.monotonic() - pressed[0] < 10  # a step takes milliseconds; the rest is for a busy machine
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sy.StructuralSVM(loss="auc"), "loss is one of zero_one"),
        (lambda: sy.StructuralSVM(loss="rec@5000"), "asks for 5000 calls, but there are 1200 rows"),
        (lambda: sy.StructuralSVM(C=-1.0), "C must be a finite number above 0; got -1.0"),
        (lambda: sy.StructuralSVM(tol=0.0), "tol must be a finite number above 0"),
        (lambda: sy.StructuralSVM(max_iter=0), "max_iter must be a whole number of at least 1; got 0"),
        (lambda: sy.StructuralSVM(n_jobs=0), "n_jobs is a number of threads"),
        (lambda: sy.StructuralSVM(pos_label=7), "pos_label=7 is not one of the classes"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, Y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="only one class, 0"):
        sy.StructuralSVM().fit(X, np.zeros(len(X), dtype=int))
    with pytest.raises(NotFittedError):
        sy.StructuralSVM().predict(X)


def test_a_refit_that_fails_leaves_the_model_as_it_was():
    model = sy.StructuralSVM("f1").fit(X, np.where(Y == 1, "b", "a"))
    before = dict(vars(model))
    for rows, labels, why in ((X[:, :3], Y, "asks for 5000 calls"), (X, np.zeros(len(Y)), "only one class")):
        with pytest.raises(ValueError, match=why):
            model.set_params(loss="rec@5000").fit(rows, labels)
        assert vars(model.set_params(loss="f1")) == before


@pytest.mark.parametrize(("size", "what"), [(1e300, "too large to compute with"), (1e7, "add up to")])
def test_weights_that_are_no_counts_are_refused(size, what):
    with pytest.raises(ValueError, match=what):
        sy.StructuralSVM().fit(X, Y, sample_weight=np.full(len(Y), size))


def test_what_cannot_be_computed_is_no_success():
    with pytest.warns(ConvergenceWarning, match="numerical trouble: the objective overflows; C or X is too large"):
        model = sy.StructuralSVM("kld", C=1e308).fit(X, Y)
    assert model.gap_ == np.inf
    assert not model.status_.solved


def test_two_threads_may_fit_at_once():
    alone = sy.StructuralSVM("kld").fit(X, Y).coef_
    found = []
    workers = [threading.Thread(target=lambda: found.append(sy.StructuralSVM("kld").fit(X, Y).coef_)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for coef in found:
        np.testing.assert_array_equal(coef, alone)


# -- the decision-theoretic rule -----------------------------------------------------------------------------------
@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_batches_get_the_labels_of_largest_expectation(labels, beta):
    low, high = labels
    model = sy.ExpectedFBetaClassifier(LogisticRegression(), beta).fit(X, np.where(Y == 1, high, low))
    proba = LogisticRegression().fit(X, Y).predict_proba(X[:300])[:, 1]
    np.testing.assert_array_equal(model.predict(X[:300]) == high, expected_fbeta_labels(proba, beta))


def test_a_label_belongs_to_its_batch():
    """Why scikit-learn's check of subsets cannot hold: a row alone is called above 1/2, in company well below."""
    rule = sy.ExpectedFBetaClassifier().fit(X, Y)
    proba = rule.estimator_.predict_proba(X)[:, 1]
    together = rule.predict(X) == 1
    alone = np.array([rule.predict(row[None])[0] for row in X]) == 1
    np.testing.assert_array_equal(alone, proba > 0.5)
    assert together.sum() > alone.sum()
    assert proba[together].min() < 0.45
    assert proba[together].min() > proba[~together].max()


def test_the_other_label_may_be_positive():
    y = np.where(Y == 1, "a", "b")
    turned = sy.ExpectedFBetaClassifier(LogisticRegression(), pos_label="a").fit(X, y)
    straight = sy.ExpectedFBetaClassifier(LogisticRegression()).fit(X, Y)
    np.testing.assert_array_equal(turned.predict(X) == "a", straight.predict(X) == 1)


def test_weights_reach_the_model():
    w = np.where(Y == 1, 5.0, 1.0)
    model = sy.ExpectedFBetaClassifier().fit(X, Y, sample_weight=w)
    np.testing.assert_array_equal(model.estimator_.coef_, LogisticRegression().fit(X, Y, sample_weight=w).coef_)
    with pytest.raises(TypeError, match=r"KNeighborsClassifier\.fit takes no sample_weight"):
        sy.ExpectedFBetaClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=w)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        sy.ExpectedFBetaClassifier(LinearSVC()).fit(X, Y)
