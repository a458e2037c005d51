"""`ThresholdClassifier` for several classes, as users call it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m

X, CODES = make_classification(
    1500, n_features=8, n_informative=5, n_classes=3, weights=[0.8, 0.14, 0.06], class_sep=0.7, random_state=0
)
Y = np.array(["common", "rare", "rarest"])[CODES]
TRAIN, TEST = slice(0, 1000), slice(1000, None)


RECALLS = m.macro(m.Recall())


def fitted(measure=RECALLS, **options):
    return sy.ThresholdClassifier(LogisticRegression(), measure, **options).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("measure", [m.macro(m.FBeta(1)), m.worst(m.Recall()), m.geometric(m.Recall()), m.Kappa()])
def test_it_is_better_than_the_argmax(measure):
    tuned = fitted(measure)
    assert tuned.offsets_.shape == (3,)
    plain = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    assert measure.score(Y[TEST], tuned.predict(X[TEST])) >= measure.score(Y[TEST], plain.predict(X[TEST]))


def test_predict_takes_the_largest_log_probability_plus_offset():
    tuned = fitted()
    proba = tuned.predict_proba(X[TEST])
    np.testing.assert_array_equal(proba, tuned.estimator_.predict_proba(X[TEST]))
    margins = tuned.decision_function(X[TEST])
    np.testing.assert_allclose(margins, np.log(proba) + tuned.offsets_)
    np.testing.assert_array_equal(tuned.predict(X[TEST]), tuned.classes_[margins.argmax(axis=1)])


def test_a_table_of_costs():
    measure = m.NegCost(table=[[0, 1, 1], [5, 0, 2], [20, 4, 0]], classes=["common", "rare", "rarest"])
    tuned = fitted(measure)
    plain = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    assert measure.score(Y[TEST], tuned.predict(X[TEST])) > measure.score(Y[TEST], plain.predict(X[TEST])) + 0.1
    dear = fitted(m.macro(m.FBeta(1)), subject_to=measure >= -0.85)
    assert measure.score(Y[TEST], dear.predict(X[TEST])) > measure.score(Y[TEST], plain.predict(X[TEST]))


def test_constraints_on_one_class():
    tuned = fitted(m.macro(m.FBeta(1)), subject_to=[m.of("rarest", m.tpr) >= 0.8])
    free = fitted(m.macro(m.FBeta(1)))
    recall = m.of("rarest", m.tpr)
    assert recall.score(Y[TEST], tuned.predict(X[TEST])) > recall.score(Y[TEST], free.predict(X[TEST]))
    with pytest.raises(ValueError, match=r"of\('rarest', tpr\) >= 1"):
        fitted(m.macro(m.FBeta(1)), subject_to=[m.of("rarest", m.tpr) >= 1, m.of("common", m.tpr) >= 1])


CAPS = [m.of("rarest", m.fnr) <= 0.6, m.of("common", m.fnr) <= 0.5]


def test_caps_on_classes_are_promised_together(tmp_path):
    ask = {"subject_to": CAPS, "delta": 0.2, "random_state": 0}
    clf = sy.ThresholdClassifier(LogisticRegression(), m.of("rare", m.tpr), cv=0.5, **ask).fit(X, Y)
    assert clf.promise_.constraints == tuple(CAPS)
    assert clf.promise_.p_value <= 0.2
    held = sum((label == Y).sum() for label in ("common", "rare", "rarest")) - 750
    assert clf.promise_.n_rows == held
    rates = m.class_rates(Y, clf.predict(X))
    assert 1 - rates.tpr[2] < 0.6
    assert 1 - rates.tpr[0] < 0.5
    sy.save(clf, tmp_path / "clf.sy")
    again = sy.load(tmp_path / "clf.sy")
    np.testing.assert_array_equal(again.predict(X), clf.predict(X))
    assert again.promise_.p_values == clf.promise_.p_values
    assert again.promise_.attainable() == clf.promise_.attainable()
    fitted_already = LogisticRegression().fit(X[:500], Y[:500])
    one = {**ask, "subject_to": CAPS[1]}
    prefit = sy.ThresholdClassifier(fitted_already, m.of("rare", m.tpr), cv="prefit", **one).fit(X[500:], Y[500:])
    assert prefit.promise_.n_rows < 1000
    assert clf.set_params(delta=None).fit(X, Y).promise_ is None


def test_caps_that_cannot_hold_say_so():
    too_much = [m.of(label, m.fnr) <= 0.01 for label in ("common", "rare", "rarest")]
    with pytest.raises(sy.InfeasibleError, match="the closest rule has TPR/FPR by class") as caught:
        fitted(m.micro(m.Recall()), subject_to=too_much)
    assert caught.value.closest.offsets.shape == (3,)
    with pytest.raises(sy.InfeasibleError, match="cannot be promised"):
        fitted(m.micro(m.Recall()), subject_to=too_much, delta=0.1, cv=0.5)


@pytest.mark.parametrize("model", [RandomForestClassifier(20, random_state=0), LinearSVC()])
def test_any_model_with_a_score_for_each_class(model):
    tuned = sy.ThresholdClassifier(model, RECALLS, cv=3).fit(X[TRAIN], Y[TRAIN])
    plain = model.fit(X[TRAIN], Y[TRAIN])
    assert RECALLS.score(Y[TEST], tuned.predict(X[TEST])) > RECALLS.score(Y[TEST], plain.predict(X[TEST]))


def test_a_fitted_model_a_share_a_frame_a_pipeline_and_weights():
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    model = make_pipeline(StandardScaler(), LogisticRegression())
    for how in ({"cv": 0.3, "random_state": 0}, {"cv": 3}, {"rule": "exact"}):
        tuned = sy.ThresholdClassifier(model, m.macro(m.FBeta(1)), **how).fit(frame[TRAIN], Y[TRAIN])
        assert set(tuned.predict(frame[TEST])) <= set(Y)
    frozen = FrozenEstimator(model.fit(frame[TRAIN], Y[TRAIN]))
    assert sy.ThresholdClassifier(frozen, m.Kappa()).fit(frame[TEST], Y[TEST]).estimator_ is frozen
    weight = np.where(Y[TRAIN] == "rarest", 5.0, 1.0)
    weighed = sy.ThresholdClassifier(LogisticRegression(), m.macro(m.FBeta(1))).fit(X[TRAIN], Y[TRAIN], weight)
    assert weighed.offsets_.shape == (3,)


def test_two_classes_and_back():
    two = np.where(Y == "common", "common", "rare")
    model = sy.ThresholdClassifier(LogisticRegression(), m.macro(m.FBeta(1))).fit(X, two)
    assert model.offsets_.shape == (2,)
    assert not hasattr(model, "best_threshold_")
    model.set_params(measure=m.FBeta(1)).fit(X, two)
    assert isinstance(model.best_threshold_, float)
    assert not hasattr(model, "offsets_")


def test_a_scorer_and_a_search_take_several_classes():
    scores = cross_val_score(LogisticRegression(), X, Y, scoring=m.macro(m.FBeta(1)).scorer(), cv=3)
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("door", [sy.CostPath(), sy.StructuralSVM(), sy.QValueClassifier()], ids=repr)
def test_doors_of_two_classes_say_which_one_takes_several(door):
    with pytest.raises(ValueError, match=r"y holds 3 classes.*ThresholdClassifier with a measure of several classes"):
        door.fit(X, Y)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"ThresholdClassifier.*macro\(FBeta\(1\)\)"):
        sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(X, Y)
    with pytest.raises((TypeError, ValueError), match="take those of several"):
        sy.StructuralSVM(m.macro(m.FBeta(1))).fit(X, CODES == 1)
    with pytest.raises(ValueError, match="limits on one class each"):
        fitted(subject_to=m.macro(m.tpr) >= 0.5, delta=0.1, cv=0.3)
    with pytest.raises(ValueError, match="has not seen"):
        fitted(subject_to=m.of("rare", m.fnr) <= 0.5, delta=0.1)
    with pytest.raises(ValueError, match=r"of\('rare', measure\)"):
        fitted(pos_label="rare")
    with pytest.raises(ValueError, match="report is for two classes"):
        fitted().report(X, Y)
    with pytest.raises(ValueError, match="Watch looks at two classes"):
        sy.Watch(fitted(subject_to=m.of("rare", m.tpr) >= 0.1)).update(Y[:5], Y[:5])
    with pytest.raises(ValueError, match="no class 'unknown'"):
        fitted(m.of("unknown", m.FBeta(1)))
