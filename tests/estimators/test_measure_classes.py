"""`MeasureClassifier` for several classes, as users call it."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from steelyard.rows import Rows
from steelyard.solvers.search import classes
from steelyard.solvers.search.class_models import OF_CLASS, ClassModel, LabelledClasses, sampled
from steelyard.solvers.search.models import Effort
from steelyard.statistics.offsets import Goal

X, CODES = make_classification(
    1200, n_features=8, n_informative=5, n_classes=3, weights=[0.8, 0.14, 0.06], class_sep=0.7, random_state=0
)
Y = np.array(["common", "rare", "rarest"])[CODES]
TRAIN, TEST = slice(0, 700), slice(700, None)
RECALLS = m.macro(m.Recall())


def model(measure=RECALLS, **options):
    return sy.MeasureClassifier(measure, **{"random_state": 0, "cv": 3, "C": 1.0, "loss": "logistic", **options})


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X[TRAIN], Y[TRAIN])


@pytest.mark.slow
@pytest.mark.parametrize("measure", [m.macro(m.FBeta(1)), m.worst(m.Recall()), m.geometric(m.Recall()), m.Kappa()])
def test_it_is_better_than_logistic_regression(measure):
    ours = model(measure, C="auto", loss="auto").fit(X[TRAIN], Y[TRAIN])
    plain = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    assert measure.score(Y[TEST], ours.predict(X[TEST])) >= measure.score(Y[TEST], plain.predict(X[TEST]))


def test_what_a_fitted_model_says(fitted):
    assert fitted.coef_.shape == (3, 8)
    assert fitted.intercept_.shape == (3,)
    assert fitted.classes_.tolist() == ["common", "rare", "rarest"]
    assert fitted.class_weights_.shape == (3,)
    scores = fitted.decision_function(X[TEST])
    np.testing.assert_allclose(scores, X[TEST] @ fitted.coef_.T + fitted.intercept_)
    np.testing.assert_array_equal(fitted.predict(X[TEST]), fitted.classes_[scores.argmax(axis=1)])
    assert fitted.gap_ <= fitted.tol
    plain = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    assert RECALLS.score(Y[TEST], fitted.predict(X[TEST])) > RECALLS.score(Y[TEST], plain.predict(X[TEST])) + 0.1


def test_any_table_and_any_labels(fitted):
    expected = fitted.predict(X[TEST])
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    for table, test in ((frame[TRAIN], frame[TEST]), (sp.csr_matrix(X[TRAIN]), sp.csr_matrix(X[TEST]))):
        assert np.mean(model().fit(table, Y[TRAIN]).predict(test) == expected) > 0.98
    numbers = model().fit(X[TRAIN], CODES[TRAIN] * 10)
    np.testing.assert_array_equal(numbers.predict(X[TEST]), 10 * np.searchsorted(fitted.classes_, expected))


def test_copies_pickles_and_files(fitted, tmp_path):
    sy.save(fitted, tmp_path / "model")
    for other in (sy.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.decision_function(X), fitted.decision_function(X))
    assert not hasattr(clone(fitted), "coef_")
    np.testing.assert_array_equal(clone(fitted).fit(X[TRAIN], Y[TRAIN]).coef_, fitted.coef_)


def test_a_file_whose_parts_do_not_fit_is_refused(fitted, tmp_path):
    broken = clone(fitted)
    vars(broken).update(vars(fitted))
    broken.classes_ = broken.classes_[:2]
    broken.class_weights_ = broken.class_weights_[:2]
    with pytest.raises(ValueError, match="the classes do not fit"):
        sy.save(broken, tmp_path / "model")


def test_a_fit_that_fails_changes_nothing(fitted):
    kept = pickle.loads(pickle.dumps(fitted))
    bad = X[TRAIN].copy()
    bad[5, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        kept.fit(bad, Y[TRAIN])
    np.testing.assert_array_equal(kept.coef_, fitted.coef_)


def test_weights_count_in_fit_and_measure():
    heavy = np.where(Y[TRAIN] == "rarest", 30.0, 1.0)
    light = model(m.micro(m.Recall())).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    weighted = model(m.micro(m.Recall())).fit(X[TRAIN], Y[TRAIN], sample_weight=heavy).predict(X[TEST])
    assert (weighted == "rarest").sum() > 3 * (light == "rarest").sum()
    with pytest.raises(ValueError, match="'rarest' without weight"):
        model().fit(X[TRAIN], Y[TRAIN], sample_weight=(Y[TRAIN] != "rarest").astype(float))


def test_two_classes_are_a_case_of_several_and_leave_the_others_alone(fitted):
    two = CODES < 2
    lifted = model(m.of("rare", m.FBeta(1))).fit(X[two], Y[two])
    assert lifted.coef_.shape == (1, 8)
    assert lifted.decision_function(X).ndim == 1
    np.testing.assert_array_equal(lifted.predict(X) == "rare", lifted.decision_function(X) > 0)
    again = clone(fitted).fit(X[TRAIN], Y[TRAIN]).set_params(measure=m.FBeta(1)).fit(X[two], Y[two])
    plain = model(m.FBeta(1)).fit(X[two], Y[two])
    assert set(vars(again)) == set(vars(plain))
    back = again.set_params(measure=RECALLS).fit(X[TRAIN], Y[TRAIN])
    assert set(vars(back)) == set(vars(fitted))


COSTS = m.NegCost(table=[[0, 1, 1], [2, 0, 1], [30, 20, 0]], classes=["common", "rare", "rarest"])


def test_a_table_of_costs():
    ours, plain = model(COSTS).fit(X[TRAIN], Y[TRAIN]), LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    assert COSTS.score(Y[TEST], ours.predict(X[TEST])) > COSTS.score(Y[TEST], plain.predict(X[TEST])) + 0.1


def test_constraints_on_one_class():
    floor = m.of("rarest", m.tpr) >= 0.8
    held = model(m.macro(m.FBeta(1)), subject_to=[floor]).fit(X[TRAIN], Y[TRAIN])
    free = model(m.macro(m.FBeta(1))).fit(X[TRAIN], Y[TRAIN])
    recall = m.of("rarest", m.tpr)
    assert recall.score(Y[TEST], held.predict(X[TEST])) > recall.score(Y[TEST], free.predict(X[TEST]))
    with pytest.raises(ValueError, match="closest"):
        model(subject_to=[m.of("rarest", m.tpr) >= 1, m.of("common", m.tpr) >= 1]).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": m.GMean()}, r"3 classes.*macro\(GMean\(\)\)"),
        ({"subject_to": m.fpr <= 0.1}, r"fpr <= 0.1 is about two classes.*of\(label, fpr\)"),
        ({"measure": m.by_row(m.FBeta(1))}, "one label a row"),
        ({"delta": 0.1}, "delta promises limits on two classes"),
        ({"solver": "can"}, "solver='can'"),
        ({"pos_label": "rare"}, r"of\('rare', measure\)"),
        ({"cv": "prefit"}, "prefit"),
    ],
)
def test_refusals_say_what_to_write(options, message):
    with pytest.raises(ValueError, match=message):
        model(**options).fit(X[TRAIN], Y[TRAIN])


def test_a_held_out_share_trains_on_the_rest_only():
    held = model(cv=0.3, loss="squared_hinge").fit(X[TRAIN], Y[TRAIN])
    assert held.loss_ == "squared_hinge"
    assert held.C_ == 1.0
    assert RECALLS.score(Y[TEST], held.predict(X[TEST])) > 0.5


def test_samples_keep_small_classes_and_prevalences():
    data = LabelledClasses(Rows.of(X), CODES, (0, 1, 2))
    splits = [(np.arange(600), np.arange(600, 1200))]
    few, parts = sampled(data, splits, 500, 0)
    counts = np.bincount(few.codes)
    assert counts[2] == min((CODES == 2).sum(), OF_CLASS)
    assert counts[0] < 420
    np.testing.assert_allclose(few.prevalence, data.prevalence)
    assert few.thinning == pytest.approx(1200 / len(few.codes))
    assert sorted(np.concatenate(parts[0]).tolist()) == list(range(len(few.codes)))


def test_an_anchor_is_left_only_for_more_than_noise():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 300)
    splits = [(np.arange(150), np.arange(150, 300)), (np.arange(150, 300), np.arange(150))]
    data = LabelledClasses(Rows.of(rng.normal(size=(300, 4))), truth, (0, 1, 2))
    part = classes.ClassExploration(data, splits, Goal(m.micro(m.Recall())), Effort(0.1, 200))
    anchor = ClassModel("logistic", (1.0,) * 3, 1.0)
    part.add([anchor])
    plain = part.verdicts(part.found[anchor])[0]
    wrong = np.flatnonzero(plain.called != part.codes)

    def with_right(count):
        called = plain.called.copy()
        called[wrong[:count]] = part.codes[wrong[:count]]
        return part._verdict(part.found[anchor], False, called)

    assert plain.value == pytest.approx(1 - len(wrong) / 300)
    assert part.is_better(with_right(60), plain)
    assert not part.is_better(plain, with_right(60))
    swapped = with_right(40)
    right = np.flatnonzero(plain.called == part.codes)[:38]
    swapped.called[right] = (part.codes[right] + 1) % 3  # two rows more are right, and 78 called otherwise
    assert not part.is_better(part._verdict(part.found[anchor], False, swapped.called), plain)
