"""`OnlineClassifier` for several classes, as users call it."""

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

X, CODES = make_classification(
    3000, n_features=8, n_informative=5, n_classes=3, weights=[0.8, 0.14, 0.06], class_sep=0.9, random_state=0
)
Y = np.array(["common", "rare", "rarest"])[CODES]
TRAIN, TEST = slice(0, 2000), slice(2000, None)
ALL = ["common", "rare", "rarest"]
F1 = m.macro(m.FBeta(1))


def model(measure=F1, **options):
    return sy.OnlineClassifier(measure, random_state=0, **options)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X[TRAIN], Y[TRAIN])


COSTS = m.NegCost(table=[[0, 1, 1], [2, 0, 1], [30, 20, 0]], classes=ALL)


@pytest.mark.parametrize("measure", [F1, m.worst(m.Recall()), m.geometric(m.Recall()), m.Kappa(), COSTS])
def test_it_is_better_than_a_linear_model_that_does_not_know_the_measure(measure):
    ours = model(measure, max_iter=3).fit(X[TRAIN], Y[TRAIN])
    plain = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    assert measure.score(Y[TEST], ours.predict(X[TEST])) >= measure.score(Y[TEST], plain.predict(X[TEST]))


def test_what_a_fitted_model_says(fitted):
    assert fitted.coef_.shape == (3, 8)
    assert fitted.intercept_.shape == (3,)
    assert fitted.solver_ == "nemsis"
    scores = fitted.decision_function(X[TEST])
    np.testing.assert_allclose(scores, X[TEST] @ fitted.coef_.T + fitted.intercept_)
    np.testing.assert_array_equal(fitted.predict(X[TEST]), fitted.classes_[scores.argmax(axis=1)])
    assert fitted.history_["weights"].shape[1] == 3


def test_chunks_and_classes_that_come_late():
    whole = model().partial_fit(X[TRAIN], Y[TRAIN])
    parts = model()
    for start in range(0, 2000, 123):
        some = slice(start, min(start + 123, 2000))
        parts.partial_fit(X[some], Y[some], classes=ALL)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.intercept_, whole.intercept_)
    early = Y[TRAIN] != "rarest"
    late = model().partial_fit(X[TRAIN][early], Y[TRAIN][early], classes=ALL)
    assert "rarest" not in late.predict(X)
    late.partial_fit(X[TRAIN][~early], Y[TRAIN][~early]).partial_fit(X[TRAIN], Y[TRAIN])
    of_late, of_whole = (F1.score(Y[TEST], one.predict(X[TEST])) for one in (late, whole))
    assert of_late > of_whole - 0.05
    assert m.of("rarest", m.tpr).score(Y[TEST], late.predict(X[TEST])) > 0.2
    with pytest.raises(ValueError, match=r"'other'.*given first"):
        late.partial_fit(X[:2], ["rare", "other"])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        late.partial_fit(X[:2], Y[:2], classes=["rare", "common"])
    with pytest.raises(ValueError, match="only one class"):
        model().partial_fit(X[:3], ["rare"] * 3)


def test_a_stream_that_was_killed_goes_on_with_the_same_bits(tmp_path):
    chunks = [(X[start : start + 100], Y[start : start + 100]) for start in range(0, 2000, 100)]
    whole = model().fit_stream(chunks, classes=ALL)

    def dies():
        yield from chunks[:12]
        raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        model().fit_stream(dies(), tmp_path / "checkpoint", every=300, classes=ALL)
    again = model().fit_stream(chunks, tmp_path / "checkpoint", every=300, classes=ALL)
    np.testing.assert_array_equal(again.coef_, whole.coef_)
    np.testing.assert_array_equal(again.intercept_, whole.intercept_)
    with pytest.raises(ValueError, match="another problem"):
        model(m.Kappa()).fit_stream(chunks, tmp_path / "checkpoint", classes=ALL)


def test_copies_pickles_and_files(fitted, tmp_path):
    sy.save(fitted, tmp_path / "model")
    for other in (sy.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.decision_function(X), fitted.decision_function(X))
        other.partial_fit(X[TEST], Y[TEST])
    np.testing.assert_array_equal(clone(fitted).fit(X[TRAIN], Y[TRAIN]).coef_, fitted.coef_)
    broken = clone(fitted)
    vars(broken).update(vars(fitted))
    broken.classes_ = np.array(["common", "rare", "strange"])
    with pytest.raises(ValueError, match="the learner and the classes do not fit"):
        sy.save(broken, tmp_path / "broken")


def test_any_table_any_labels_and_weights(fitted):
    expected = fitted.predict(X[TEST])
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    for table, test in ((frame[TRAIN], frame[TEST]), (sp.csr_matrix(X[TRAIN]), sp.csr_matrix(X[TEST]))):
        assert np.mean(model().fit(table, Y[TRAIN]).predict(test) == expected) > 0.99
    numbers = model().fit(X[TRAIN], CODES[TRAIN] * 10)
    np.testing.assert_array_equal(numbers.predict(X[TEST]), 10 * np.searchsorted(fitted.classes_, expected))
    heavy = np.where(Y[TRAIN] == "rarest", 30.0, 1.0)
    accuracy = m.micro(m.Recall())
    weighted = model(accuracy).fit(X[TRAIN], Y[TRAIN], sample_weight=heavy).predict(X[TEST])
    assert (weighted == "rarest").sum() > 1.5 * (
        model(accuracy).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST]) == "rarest"
    ).sum()


def test_two_classes_are_a_case_of_several_and_leave_the_others_alone():
    two = CODES < 2
    lifted = model(m.of("rare", m.FBeta(1))).fit(X[two], Y[two])
    assert lifted.coef_.shape == (1, 8)
    assert lifted.decision_function(X).ndim == 1
    np.testing.assert_array_equal(lifted.predict(X) == "rare", lifted.decision_function(X) > 0)
    again = clone(lifted).fit(X[TRAIN], Y[TRAIN]).set_params(measure=m.FBeta(1)).fit(X[two], Y[two])
    plain = model(m.FBeta(1)).fit(X[two], Y[two])
    np.testing.assert_array_equal(again.coef_, plain.coef_)
    assert set(vars(again)) == set(vars(plain))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_columns_of_very_different_scale_are_warned_of(kind):
    with pytest.warns(UserWarning, match="differ in scale by a factor"):
        model().fit(kind(X[TRAIN] * np.r_[np.ones(7), 1e-6]), Y[TRAIN])


def test_a_call_that_fails_changes_nothing(fitted):
    kept = pickle.loads(pickle.dumps(fitted))
    bad = X[TEST].copy()
    bad[5, 2] = np.nan
    with pytest.raises(ValueError, match="row 5"):
        kept.partial_fit(bad, Y[TEST])
    np.testing.assert_array_equal(kept.coef_, fitted.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": m.GMean()}, r"3 classes.*macro\(GMean\(\)\)"),
        ({"subject_to": m.of("rare", m.fpr) <= 0.1}, "MeasureClassifier and ThresholdClassifier take constraints"),
        ({"measure": m.by_row(m.FBeta(1))}, "one label a row"),
        ({"solver": "scan"}, "one solver"),
        ({"reward": "ramp"}, "reward is one of"),
        ({"alpha": 0.1}, "alpha is for two classes"),
        ({"radius": 1.0}, "radius is for two classes"),
        ({"pos_label": "rare"}, "pos_label is for two classes"),
        ({"dual_rates": "surrogate"}, "dual_rates is for two classes"),
    ],
)
def test_refusals_say_what_to_write(options, message):
    with pytest.raises(ValueError, match=message):
        model(**options).fit(X[TRAIN], Y[TRAIN])


def test_classes_of_a_measure_of_two():
    with pytest.raises(ValueError, match=r"two labels.*macro\(FBeta\(beta=1\)\)"):
        model(m.FBeta(1)).partial_fit(X[TRAIN], Y[TRAIN], classes=ALL)
