"""The habits that people bring: names for measures, functions, string labels, the tools of scikit-learn around ours."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, check_scoring, f1_score, get_scorer, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m


@pytest.fixture(scope="module")
def rows():
    return make_classification(600, 6, weights=[0.8], flip_y=0.05, random_state=0)


def balanced(tpr, tnr):
    return 0.5 * tpr + 0.5 * tnr


@pytest.mark.parametrize("kind", [sy.ThresholdClassifier, sy.MeasureClassifier, sy.OnlineClassifier])
def test_measures_by_name_text_and_function(rows, kind):
    X, y = rows
    for given, same in (
        ("f1", m.FBeta(1)),
        ("0.5*tpr + 0.5*tnr", m.measure_of(balanced)),
        (balanced, m.measure_of(balanced)),
    ):
        model = kind(measure=given, random_state=0).fit(X, y)
        assert (model.predict(X) == kind(measure=same, random_state=0).fit(X, y).predict(X)).all()
        again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
        assert (again.predict(X) == model.predict(X)).all()


def test_a_lambda_can_be_pickled_saved_and_set(rows, tmp_path):
    X, y = rows
    model = sy.OnlineClassifier().set_params(measure=lambda tpr, tnr: m.sqrt(tpr * tnr), random_state=0).fit(X, y)
    sy.save(model, tmp_path / "model")
    assert (sy.load(tmp_path / "model").predict(X) == pickle.loads(pickle.dumps(model)).predict(X)).all()


def test_constraints_by_text(rows):
    X, y = rows
    by_text = sy.ThresholdClassifier(LogisticRegression(), "recall", subject_to="fpr <= 0.05").fit(X, y)
    by_hand = sy.ThresholdClassifier(LogisticRegression(), m.Recall(), subject_to=m.fpr <= 0.05).fit(X, y)
    assert by_text.best_threshold_ == by_hand.best_threshold_


@pytest.mark.parametrize("bad", ["f7", 3, max, lambda y_true, y_pred: 0.0])
def test_what_is_no_measure_is_refused_by_fit(rows, bad):
    model = sy.ThresholdClassifier(LogisticRegression(), bad)
    with pytest.raises(ValueError, match="measure"):
        model.fit(*rows)


def test_words_as_labels_warn_once_unless_it_does_not_matter(rows):
    X, y = rows
    words = np.where(y == 1, "default", "paid")
    model = sy.ThresholdClassifier(LogisticRegression(), "f1")
    with pytest.warns(UserWarning, match="'paid' is taken as the positive class"):
        model.fit(X, words)
    assert model.pos_label_ == "paid"
    with pytest.warns(UserWarning, match="positive class"):
        sy.ThresholdClassifier(LogisticRegression(), "balanced_accuracy", subject_to="fpr <= 0.1").fit(X, words)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit(X, words)  # said already
        sy.ThresholdClassifier(LogisticRegression(), "balanced_accuracy").fit(X, words)
        sy.ThresholdClassifier(LogisticRegression(), "f1").fit(X, y)
        named = sy.ThresholdClassifier(LogisticRegression(), "f1", pos_label="default").fit(X, words)
    assert named.pos_label_ == "default"


# -- the tools of scikit-learn around ours ---------------------------------------------------------------------------
def test_probabilities_pass_through_the_batch_rule(rows):
    X, y = rows
    model = sy.ExpectedFBetaClassifier(LogisticRegression()).fit(X, y)
    assert (model.predict_proba(X) == LogisticRegression().fit(X, y).predict_proba(X)).all()
    vote = VotingClassifier([("rule", sy.ExpectedFBetaClassifier()), ("plain", LogisticRegression())], voting="soft")
    np.testing.assert_allclose(vote.fit(X, y).predict_proba(X), model.predict_proba(X))
    assert CalibratedClassifierCV(sy.ExpectedFBetaClassifier(), cv=3).fit(X, y).predict_proba(X).shape == (600, 2)


def test_boosting_around_a_structural_svm(rows):
    X, y = rows
    boosted = AdaBoostClassifier(sy.StructuralSVM("f1"), n_estimators=3).fit(X, y)
    assert boosted.score(X, y) > 0.85


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_skops_with_a_path(rows, kernel, method):
    io = pytest.importorskip("skops.io")
    X, y = rows[0][:200], rows[1][:200]
    path = sy.CostPath(kernel=kernel, method=method).fit(X, y)
    data = io.dumps(path)
    again = io.loads(data, trusted=io.get_untrusted_types(data=data))
    assert (again.kinks_ == path.kinks_).all()
    assert (again.at(0.3).decision_function(X) == path.at(0.3).decision_function(X)).all()
    twice = pickle.loads(pickle.dumps(path))
    assert (twice.at(0.3).decision_function(X) == path.at(0.3).decision_function(X)).all()


def test_measures_are_scorers(rows):
    X, y = rows
    by_name = cross_val_score(LogisticRegression(), X, y, scoring="f1")
    for scoring in (m.FBeta(1), m.FBeta(1).scorer()):
        np.testing.assert_allclose(cross_val_score(LogisticRegression(), X, y, scoring=scoring), by_name)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=m.FBeta(1).scorer()).fit(X, y)
    assert (
        tuned.best_threshold_
        == TunedThresholdClassifierCV(LogisticRegression(), scoring="f1").fit(X, y).best_threshold_
    )
    assert isinstance(pickle.loads(pickle.dumps(m.FBeta(1).scorer())), type(get_scorer("f1")).__mro__[1])
    assert check_scoring(LogisticRegression(), scoring=m.FBeta(1).scorer()) is not None


def test_weights_are_routed_to_a_scorer(rows):
    X, y = rows
    weight = np.random.default_rng(0).uniform(0.1, 2.0, len(y))
    with config_context(enable_metadata_routing=True):
        scorer = m.FBeta(1).scorer().set_score_request(sample_weight=True)
        theirs = make_scorer(f1_score).set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        ours, same = (
            cross_val_score(model, X, y, scoring=one, params={"sample_weight": weight}) for one in (scorer, theirs)
        )
    plain = cross_val_score(LogisticRegression(), X, y, scoring=m.FBeta(1).scorer())
    np.testing.assert_allclose(ours, same)
    assert (ours != plain).any()


def test_a_model_of_a_path_in_a_pipeline(rows):
    """A pipeline has no `at`: its last step does, and what stands before it is its front."""
    X, y = rows
    path = make_pipeline(StandardScaler(), sy.CostPath()).fit(X, y)
    at = make_pipeline(path[:-1], path[-1].at(0.3))
    scaled = path[:-1].transform(X)
    by_hand = sy.CostPath().fit(scaled, y)
    assert (at.predict(X) == by_hand.at(0.3).predict(scaled)).all()
    best = make_pipeline(path[:-1], path[-1].best(m.FBeta(1), scaled, y))
    assert (best.predict(X) == by_hand.best(m.FBeta(1), scaled, y).predict(scaled)).all()
    assert (at.predict(X) != best.predict(X)).any()
    again = pickle.loads(pickle.dumps(at))
    assert (again.predict(X) == at.predict(X)).all()


def test_what_is_built_on_probabilities_does_not_feel_the_threshold(rows):
    """The Brier score, and a prevalence by expectation-maximisation, are those of the model inside."""
    X, y = rows
    plain = LogisticRegression().fit(X[:300], y[:300])
    tuned = sy.ThresholdClassifier(LogisticRegression(), "f1").fit(X[:300], y[:300])
    assert abs(tuned.best_threshold_ - 0.5) > 0.01  # or nothing is shown
    proba = [one.predict_proba(X[300:])[:, 1] for one in (plain, tuned)]
    assert brier_score_loss(y[300:], proba[1]) == brier_score_loss(y[300:], proba[0])
    share = [sy.Quantifier(one, method="emq", cv="prefit").fit(X[:300], y[:300]) for one in (plain, tuned)]
    np.testing.assert_allclose(*(q.predict(X[300:]) for q in share), atol=0.02)
