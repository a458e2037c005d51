"""`ThresholdClassifier` for several labels a row, as users call it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m

X, Y = make_multilabel_classification(1200, n_features=12, n_classes=5, n_labels=1, random_state=3)
TRAIN, TEST = slice(0, 800), slice(800, None)
MODEL = OneVsRestClassifier(LogisticRegression())


@pytest.mark.parametrize("measure", [m.macro(m.FBeta(1)), m.micro(m.FBeta(1)), m.by_row(m.FBeta(1))], ids=repr)
def test_it_is_better_than_thresholds_of_one_half(measure):
    tuned = sy.ThresholdClassifier(MODEL, measure).fit(X[TRAIN], Y[TRAIN])
    plain = MODEL.fit(X[TRAIN], Y[TRAIN])
    assert tuned.label_thresholds_.shape == (5,)
    called = tuned.predict(X[TEST])
    assert called.shape == Y[TEST].shape
    assert measure.score(Y[TEST], called) > measure.score(Y[TEST], plain.predict(X[TEST]))


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(15, random_state=0), MultiOutputClassifier(LogisticRegression()), OneVsRestClassifier(LinearSVC())],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_say_their_scores_in_several_ways(model):
    tuned = sy.ThresholdClassifier(model, m.macro(m.FBeta(1)), cv=2).fit(X[TRAIN], Y[TRAIN])
    margins = tuned.decision_function(X[TEST])
    np.testing.assert_array_equal(tuned.predict(X[TEST]), margins > 0)
    if hasattr(model, "predict_proba"):
        said = tuned.predict_proba(X[TEST])
        said = np.column_stack([part[:, 1] for part in said]) if isinstance(said, list) else said
        np.testing.assert_allclose(said, margins + tuned.label_thresholds_)


def test_a_share_a_fitted_model_frames_sparse_labels_weights_and_files(tmp_path):
    tuned = sy.ThresholdClassifier(MODEL, m.micro(m.FBeta(1)), cv=0.3, random_state=0).fit(X[TRAIN], Y[TRAIN])
    same = sy.ThresholdClassifier(MODEL, m.micro(m.FBeta(1)), cv=0.3, random_state=0)
    for labels in (sp.csr_matrix(Y[TRAIN]), pd.DataFrame(Y[TRAIN]), Y[TRAIN].tolist()):
        np.testing.assert_array_equal(same.fit(X[TRAIN], labels).label_thresholds_, tuned.label_thresholds_)
    frozen = FrozenEstimator(MODEL.fit(X[TRAIN], Y[TRAIN]))
    assert sy.ThresholdClassifier(frozen, m.macro(m.FBeta(1))).fit(X[TEST], Y[TEST]).estimator_ is frozen
    weight = 1.0 + Y[TRAIN, 0]
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        sy.ThresholdClassifier(MODEL, m.macro(m.FBeta(1))).fit(X[TRAIN], Y[TRAIN], weight)
    sy.save(tuned, tmp_path / "labels.sy")
    np.testing.assert_array_equal(sy.load(tmp_path / "labels.sy").predict(X), tuned.predict(X))


def test_a_constraint_on_one_label_and_a_scorer():
    floor = m.of(2, m.tpr) >= 0.9
    tuned = sy.ThresholdClassifier(MODEL, m.micro(m.FBeta(1)), subject_to=floor).fit(X[TRAIN], Y[TRAIN])
    assert tuned.predict(X[TRAIN])[Y[TRAIN, 2] == 1, 2].mean() > 0.85
    assert np.isfinite(cross_val_score(MODEL, X, Y, scoring=m.by_row(m.FBeta(1)).scorer(), cv=3)).all()


def test_one_label_and_back():
    model = sy.ThresholdClassifier(RandomForestClassifier(10, random_state=0), m.macro(m.FBeta(1)), cv=2).fit(X, Y)
    model.fit(X, Y[:, 0])
    assert not hasattr(model, "label_thresholds_")
    assert model.predict(X).shape == (len(X),)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="indicator matrix of 0 and 1"):
        sy.ThresholdClassifier(MODEL, m.macro(m.FBeta(1))).fit(X, Y + np.arange(5))
    with pytest.raises(ValueError, match=r"delta=0\.1 is for one label a row"):
        sy.ThresholdClassifier(MODEL, m.macro(m.FBeta(1)), delta=0.1).fit(X, Y)
    with pytest.raises(ValueError, match="y has one label a row"):
        sy.ThresholdClassifier(LogisticRegression(), m.by_row(m.FBeta(1))).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="about rows of one class each"):
        sy.ThresholdClassifier(MODEL, m.Kappa()).fit(X, Y)
