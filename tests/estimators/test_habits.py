"""The habits that people bring: names for measures, functions, string labels, the tools of scikit-learn around ours."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

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
