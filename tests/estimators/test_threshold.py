"""ThresholdClassifier: what it promises beyond scikit-learn's contract."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m

X, Y = make_classification(1200, 8, weights=[0.85], flip_y=0.08, random_state=3)
TRAIN, TEST = slice(0, 800), slice(800, None)


def fitted(*args, **kwargs):
    return sy.ThresholdClassifier(*args, **kwargs).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize("measure", [m.FBeta(1), m.GMean(), m.BAKLD(), m.MCC(), m.NegCQB()], ids=repr)
def test_prefit_threshold_is_the_best_of_all(measure):
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    scores, y = model.predict_proba(X[TEST])[:, 1], Y[TEST]
    best = max(measure.score(y, (scores > t).astype(int)) for t in [-1, *scores])
    tuned = sy.ThresholdClassifier(model, measure, cv="prefit").fit(X[TEST], y)
    assert measure.score(y, tuned.predict(X[TEST])) == pytest.approx(best, abs=1e-12)
    assert tuned.best_score_ == pytest.approx(best, abs=1e-12)
    assert tuned.estimator_ is model


def test_out_of_fold_scores_are_those_of_cross_val_predict():
    tuned = fitted(LogisticRegression(), m.FBeta(1), cv=4)
    scores = cross_val_predict(LogisticRegression(), X[TRAIN], Y[TRAIN], cv=StratifiedKFold(4), method="predict_proba")[
        :, 1
    ]
    best = max(m.FBeta(1).score(Y[TRAIN], (scores > t).astype(int)) for t in scores)
    assert tuned.best_score_ == pytest.approx(best, abs=1e-12)
    np.testing.assert_array_equal(tuned.estimator_.coef_, LogisticRegression().fit(X[TRAIN], Y[TRAIN]).coef_)


def test_a_held_out_share_is_not_refitted():
    tuned = fitted(LogisticRegression(), m.FBeta(1), cv=0.25, random_state=0)
    assert tuned.frontier_.n_rows == 200
    assert not np.array_equal(tuned.estimator_.coef_, LogisticRegression().fit(X[TRAIN], Y[TRAIN]).coef_)
    again = fitted(LogisticRegression(), m.FBeta(1), cv=0.25, random_state=0)
    assert again.best_threshold_ == tuned.best_threshold_


def test_the_decision_function_agrees_with_predict_and_probabilities_are_the_models_own():
    tuned = fitted(LogisticRegression(), m.FBeta(2))
    prediction, margin, proba = tuned.predict(X[TEST]), tuned.decision_function(X[TEST]), tuned.predict_proba(X[TEST])
    np.testing.assert_array_equal(prediction, margin > 0)
    np.testing.assert_array_equal(prediction, proba[:, 1] > tuned.best_threshold_)
    np.testing.assert_array_equal(proba, tuned.estimator_.predict_proba(X[TEST]))
    np.testing.assert_array_equal(np.argsort(proba[:, 1]), np.argsort(margin))


def test_scores_without_probabilities():
    tuned = fitted(LinearSVC(), m.GMean())
    assert not hasattr(tuned, "predict_proba")
    assert m.GMean().score(Y[TEST], tuned.predict(X[TEST])) > m.GMean().score(
        Y[TEST], tuned.estimator_.predict(X[TEST])
    )
    by_score = fitted(LogisticRegression(), response_method="decision_function")
    assert not hasattr(by_score, "predict_proba")
    np.testing.assert_array_equal(by_score.predict(X[TEST]), fitted(LogisticRegression()).predict(X[TEST]))


@pytest.mark.parametrize("labels", [(0, 1), (-1, 1), (1, 2), ("ham", "spam"), (False, True)])
def test_any_two_labels(labels):
    low, high = labels
    y = np.where(Y == 1, high, low)
    tuned = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(X[TRAIN], y[TRAIN])
    reference = fitted(LogisticRegression(), m.FBeta(1))
    np.testing.assert_array_equal(tuned.predict(X[TEST]) == high, reference.predict(X[TEST]) == 1)
    assert tuned.classes_.tolist() == [low, high]


def test_pos_label_mirrors_the_problem():
    turned = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1), pos_label="a")
    y = np.where(Y == 1, "a", "b")
    turned.fit(X[TRAIN], y[TRAIN])
    straight = fitted(LogisticRegression(), m.FBeta(1))
    np.testing.assert_array_equal(turned.predict(X[TEST]) == "a", straight.predict(X[TEST]) == 1)
    np.testing.assert_array_equal(turned.decision_function(X[TEST]) > 0, turned.predict(X[TEST]) == "b")
    np.testing.assert_allclose(turned.predict_proba(X[TEST]), straight.predict_proba(X[TEST])[:, ::-1], atol=1e-6)


@pytest.mark.parametrize(
    "convert", [csr_matrix, pd.DataFrame, lambda a: pl.DataFrame(a, schema=[f"c{i}" for i in range(8)])]
)
def test_containers(convert):
    data = convert(X)
    tuned = sy.ThresholdClassifier(LogisticRegression(), m.FBeta(1)).fit(data, pd.Series(Y))
    np.testing.assert_array_equal(
        tuned.predict(data), sy.ThresholdClassifier(LogisticRegression()).fit(X, Y).predict(X)
    )
    assert tuned.n_features_in_ == 8


def test_x_is_the_estimators_business():
    words = np.array(["good news", "cheap pills now", "meeting at noon", "cheap watches now"] * 20)
    spam = np.array([0, 1, 0, 1] * 20)
    text = sy.ThresholdClassifier(make_pipeline(CountVectorizer(), LogisticRegression()), m.FBeta(1)).fit(words, spam)
    assert (text.predict(words) == spam).all()
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    trees = HistGradientBoostingClassifier(max_iter=10)
    assert sy.ThresholdClassifier(trees, m.GMean(), cv=3).fit(holes, Y).predict(holes).shape == Y.shape


# -- weights, groups, routing --------------------------------------------------------------------------------------
def test_weights_count_rows():
    """The weight test for the two expected failures: on fixed scores a weight is a repetition, and 0 is absence."""
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    w = np.random.default_rng(0).integers(0, 4, len(Y[TEST]))
    rows = np.repeat(np.arange(len(w)), w)
    for measure in (m.FBeta(1), m.GMean(), m.NSS()):
        weighted = sy.ThresholdClassifier(model, measure, cv="prefit").fit(X[TEST], Y[TEST], sample_weight=w)
        repeated = sy.ThresholdClassifier(model, measure, cv="prefit").fit(X[TEST][rows], Y[TEST][rows])
        assert weighted.best_threshold_ == repeated.best_threshold_
        assert weighted.best_score_ == pytest.approx(repeated.best_score_)


def test_weights_reach_the_model():
    w = np.where(Y == 1, 5.0, 1.0)
    tuned = sy.ThresholdClassifier(LogisticRegression()).fit(X, Y, sample_weight=w)
    np.testing.assert_array_equal(tuned.estimator_.coef_, LogisticRegression().fit(X, Y, sample_weight=w).coef_)
    with pytest.warns(UserWarning, match="KNeighborsClassifier.fit takes no sample_weight"):
        sy.ThresholdClassifier(KNeighborsClassifier()).fit(X, Y, sample_weight=w)


def test_groups_go_to_the_splitter():
    groups = np.repeat(np.arange(60), 20)
    cv = GroupKFold(3)
    tuned = sy.ThresholdClassifier(LogisticRegression(), cv=cv).fit(X, Y, groups=groups)
    same = sy.ThresholdClassifier(LogisticRegression(), cv=list(cv.split(X, Y, groups))).fit(X, Y)
    assert tuned.best_threshold_ == same.best_threshold_
    with pytest.raises(ValueError, match="GroupKFold"):
        sy.ThresholdClassifier(LogisticRegression(), cv=0.3).fit(X, Y, groups=groups)


def test_metadata_routing():
    groups, w = np.repeat(np.arange(60), 20), np.where(Y == 1, 5.0, 1.0)
    plain = sy.ThresholdClassifier(LogisticRegression(), cv=GroupKFold(3)).fit(X, Y, sample_weight=w, groups=groups)
    with config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        routed = sy.ThresholdClassifier(inner, cv=GroupKFold(3)).fit(X, Y, sample_weight=w, groups=groups)
    assert routed.best_threshold_ == plain.best_threshold_
    np.testing.assert_array_equal(routed.estimator_.coef_, plain.estimator_.coef_)


def test_inside_grid_search_and_over_pickle():
    search = GridSearchCV(
        sy.ThresholdClassifier(LogisticRegression()), {"estimator__C": [0.01, 1.0], "measure": [m.FBeta(1), m.FBeta(2)]},
        scoring=m.FBeta(1).scorer(), cv=3,
    ).fit(X, Y)  # fmt: skip
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert clone(search.best_estimator_).measure == search.best_estimator_.measure


def test_same_for_any_number_of_jobs():
    assert fitted(LogisticRegression(), n_jobs=2).best_threshold_ == fitted(LogisticRegression()).best_threshold_


# -- constraints and the promise -----------------------------------------------------------------------------------
def test_a_cap_is_met_on_the_scored_rows_with_the_most_recall():
    tuned = fitted(LogisticRegression(), m.Recall(), subject_to=m.fpr <= 0.02, rule="exact")
    frontier = tuned.frontier_
    assert tuned.best_score_ == frontier.tpr[1 - frontier.tnr <= 0.02 + 1e-12].max()


def test_few_rows_have_a_rule_and_many_are_exact():
    model = LogisticRegression()
    exact, auto = fitted(model, m.FBeta(1), rule="exact"), fitted(model, m.FBeta(1))
    f = auto.frontier_
    assert exact.best_score_ == m.FBeta(1)(f.tpr, f.tnr, prevalence=f.prevalence).max()
    assert auto.best_score_ < exact.best_score_
    assert auto.best_threshold_ == fitted(model, m.FBeta(1), rule="shrunk").best_threshold_
    capped = {"subject_to": m.fpr <= 0.02}
    steady = fitted(model, m.Recall(), **capped)
    assert steady.best_threshold_ == fitted(model, m.Recall(), **capped, rule="settled").best_threshold_
    assert steady.best_threshold_ >= fitted(model, m.Recall(), **capped, rule="exact").best_threshold_
    with pytest.raises(ValueError, match="rule='shrunk' has no margin for constraints"):
        fitted(model, m.Recall(), **capped, rule="shrunk")
    with pytest.raises(ValueError, match="rule='settled' has no say in it"):
        fitted(model, m.Recall(), **capped, rule="settled", delta=0.1, cv=0.3)


def test_precision_floor_and_several_constraints():
    tuned = fitted(LogisticRegression(), m.Recall(), subject_to=[m.Precision() >= 0.8, m.fpr <= 0.05])
    f, index = tuned.frontier_, np.flatnonzero(tuned.frontier_.thresholds == tuned.best_threshold_)[0]
    assert m.Precision()(f.tpr[index], f.tnr[index], f.prevalence) >= 0.8
    with pytest.raises(ValueError, match=r"no threshold meets tpr >= 0.99 and fpr <= 0.001 .* closest"):
        fitted(LogisticRegression(), subject_to=[m.tpr >= 0.99, m.fpr <= 0.001])


@pytest.mark.parametrize("cap", ["fpr", "fnr"])
def test_promise_is_the_order_statistic_rule(cap):
    model = LogisticRegression().fit(X[TRAIN], Y[TRAIN])
    measure, rate = (m.Recall(), m.fpr) if cap == "fpr" else (m.Specificity(), m.fnr)
    limit = 0.1 if cap == "fpr" else 0.3
    tuned = sy.ThresholdClassifier(FrozenEstimator(model), measure, subject_to=rate <= limit, delta=0.1).fit(
        X[TEST], Y[TEST]
    )
    scores, y = model.predict_proba(X[TEST])[:, 1], Y[TEST]
    side = np.sort(scores[y == 0]) if cap == "fpr" else np.sort(-scores[y == 1])
    from scipy.stats import binom

    k = next(k for k in range(1, len(side) + 1) if binom.sf(k - 1, len(side), 1 - limit) <= 0.1)
    rule = scores > side[k - 1] if cap == "fpr" else ~(-scores > side[k - 1])
    other = y == (1 if cap == "fpr" else 0)
    assert (tuned.predict(X[TEST]) == rule)[other].all()
    wrong = (tuned.predict(X[TEST]) != y)[~other]
    assert wrong.sum() <= len(side) - k


def test_a_measure_may_choose_above_the_promised_threshold():
    model = FrozenEstimator(LogisticRegression().fit(X[TRAIN], Y[TRAIN]))
    loose = sy.ThresholdClassifier(model, m.FBeta(1), subject_to=m.fpr <= 0.5, delta=0.1).fit(X[TEST], Y[TEST])
    free = sy.ThresholdClassifier(model, m.FBeta(1)).fit(X[TEST], Y[TEST])
    assert loose.best_threshold_ == free.best_threshold_


CAP = m.fpr <= 0.1


@pytest.mark.parametrize(
    ("kwargs", "weight", "message"),
    [
        ({"subject_to": CAP, "delta": 0.1}, None, r"cv=0.3 holds out a share.*got cv=5"),
        ({"subject_to": CAP, "delta": 0.1, "cv": KFold(3)}, None, "holds out a share"),
        ({"subject_to": CAP, "delta": 0.1, "cv": 0.5}, np.ones(800), "unweighted rows"),
        ({"subject_to": m.GMean() >= 0.5, "delta": 0.1, "cv": 0.5}, None, "linear over linear in the rates"),
        ({"subject_to": [CAP, m.tpr >= 0.99], "delta": 0.1, "cv": 0.5}, None, "cannot be promised together|needs"),
        ({"subject_to": m.Precision() >= 0.999, "delta": 0.1, "cv": 0.5}, None, r"0.999 cannot be promised with delta=0.1"),
        ({"subject_to": m.within("a", m.fpr) <= 0.1, "delta": 0.1, "cv": 0.5}, None, "only ThresholdClassifier.fit.slices"),
        ({"delta": 0.1, "cv": 0.5}, None, "delta promises constraints"),
        ({"subject_to": CAP, "delta": 1.5, "cv": 0.5}, None, "above 0 and below 1 .* got 1.5"),
        ({"subject_to": m.fpr <= 0.001, "delta": 0.05, "cv": 0.5}, None, r"needs 2995 held-out negatives; \d+ were given"),
        ({"subject_to": m.fpr <= 0.0, "delta": 0.05, "cv": 0.5}, None, "cap strictly between 0 and 1; got fpr <= 0"),
    ],
)  # fmt: skip
def test_promises_that_cannot_be_kept_are_refused(kwargs, weight, message):
    with pytest.raises(ValueError, match=message):
        sy.ThresholdClassifier(LogisticRegression(), m.Recall(), **kwargs).fit(X[TRAIN], Y[TRAIN], sample_weight=weight)


def test_a_promise_says_what_it_is():
    asked = [m.Precision() >= 0.4, m.fpr <= 0.3]
    tuned = fitted(LogisticRegression(), m.Recall(), subject_to=asked, delta=0.2, cv=0.5, random_state=0)
    promise = tuned.promise_
    assert promise.constraints == tuple(asked)
    assert promise.n_rows == 400
    assert len(promise.p_values) == 2
    assert promise.p_value <= 0.2
    precision, fpr = promise.attainable()
    assert float(precision.right.number) >= 0.4
    assert float(fpr.right.number) <= 0.3
    again = pickle.loads(pickle.dumps(tuned))
    assert repr(again.promise_) == repr(promise)
    assert fitted(LogisticRegression()).promise_ is None


@pytest.mark.parametrize("delta", [None, 0.2])
def test_constraints_within_groups(delta):
    groups = np.where(np.arange(len(Y)) % 3 == 0, "a", "b")
    asked = [m.within("a", m.fpr) <= 0.2, m.within("b", m.fpr) <= 0.1, m.gap(m.tpr) <= 0.6]
    tuned = sy.ThresholdClassifier(
        LogisticRegression(), m.Recall(), subject_to=asked, delta=delta, cv=0.5, random_state=0
    ).fit(X, Y, slices=groups)
    called = tuned.predict(X) == 1
    for group, cap in (("a", 0.2), ("b", 0.1)):
        assert called[(groups == group) & (Y == 0)].mean() <= cap + 0.03
    with pytest.raises(ValueError, match=r"slices has no group 'c'|need the groups of the rows"):
        sy.ThresholdClassifier(
            LogisticRegression(), subject_to=m.within("c", m.fpr) <= 0.2, delta=delta, cv=0.5, random_state=0
        ).fit(X, Y, slices=groups)
    with pytest.raises(ValueError, match="inconsistent numbers"):
        tuned.fit(X, Y, slices=groups[:5])


def test_the_report_has_intervals():
    tuned = fitted(LogisticRegression(), m.FBeta(1), subject_to=m.fpr <= 0.2)
    found = tuned.report(X[TEST], Y[TEST])
    called = tuned.predict(X[TEST]) == 1
    assert found["tpr"].value == called[Y[TEST] == 1].mean()
    assert found["FBeta(beta=1)"].value == pytest.approx(m.FBeta(1).score(Y[TEST], called.astype(int)))
    for figure in found.figures.values():
        assert figure.low <= figure.value <= figure.high
    narrow = tuned.report(X[TEST], Y[TEST], confidence=0.5)
    assert narrow["fpr"].low > found["fpr"].low
    with pytest.raises(ValueError, match="both classes"):
        tuned.report(X[:3], [0, 0, 0])
