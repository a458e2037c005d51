"""One fit for all who need it: labels that can be had by another road, and no fit done twice."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.svm import NuSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.metaestimators import available_if

import steelyard as sy
import steelyard.measures as m
from steelyard.comparison.sharing import Known, Scores, fold_numbers, joined, rounds_of


@pytest.fixture(scope="module")
def rows():
    return make_classification(400, 6, weights=[0.8], flip_y=0.1, random_state=0)


class Counting(ClassifierMixin, BaseEstimator):
    """A tree that tells which rows it was fitted on."""

    fitted: list = []  # noqa: RUF012

    def fit(self, X, y):
        Counting.fitted.append(frozenset(np.asarray(X)[:, 0].tolist()))
        self.tree_ = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X):
        return self.tree_.predict(X)

    def predict_proba(self, X):
        return self.tree_.predict_proba(X)


def test_no_model_is_fitted_twice(rows):
    X, y = rows
    Counting.fitted.clear()
    found = sy.compare(X, y, "f1", contenders={"tree": Counting()}, automatic=False)
    judging = Counting.fitted[: -6 if found.best_name_ != "tree" else -1]  # the best is fitted on all rows at the end
    assert len(judging) == len(set(judging)) == 5  # one without each fold


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()], ids=["probabilities", "scores"])
@pytest.mark.parametrize("measure", [m.FBeta(1), m.macro(m.FBeta(1))], ids=["two classes", "lifted"])
def test_a_threshold_is_set_on_the_other_folds_and_judged_on_its_own(rows, model, measure):
    """Another road to the same labels: scores by hand, and a threshold set on them as those of a fitted model."""
    X, y = rows
    if not hasattr(model, "predict_proba") and measure.is_lifted:
        pytest.skip("offsets are set on probabilities")
    folds = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, y))
    found = sy.compare(X, y, measure, contenders={"it": model}, automatic=False, cv=folds)
    whole = make_pipeline(clone(found.preparation_), model)
    fitted = [clone(whole).fit(X[train], y[train]) for train, _ in folds]
    called = {"it": np.empty_like(y), "it, our threshold": np.empty_like(y)}
    for k, (train, test) in enumerate(folds):
        called["it"][test] = fitted[k].predict(X[test])
        inner = [(np.flatnonzero(~np.isin(train, part)), np.flatnonzero(np.isin(train, part))) for _, part in folds]
        inner = [split for split in inner if len(split[1])]
        tuned = sy.ThresholdClassifier(ByRow(fitted, folds, X), measure, cv=inner)
        called["it, our threshold"][test] = tuned.fit(X[train], y[train]).predict(X[test])
    for name, labels in called.items():
        assert np.array_equal(found.predictions_[name], labels), name


class ByRow(ClassifierMixin, BaseEstimator):
    """Scores a row by the model that was fitted without its fold, found by the row's values."""

    def __init__(self, fitted, folds, X):
        self.fitted, self.folds, self.X = fitted, folds, X

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.fold_ = {tuple(self.X[i]): k for k, (_, test) in enumerate(self.folds) for i in test}
        return self

    def _by(self, response, X):
        return np.concatenate([getattr(self.fitted[self.fold_[tuple(row)]], response)(row[None]) for row in X])

    @available_if(lambda self: hasattr(self.fitted[0], "predict_proba"))
    def predict_proba(self, X):
        return self._by("predict_proba", X)

    @available_if(lambda self: not hasattr(self.fitted[0], "predict_proba"))
    def decision_function(self, X):
        return self._by("decision_function", X)


def test_folds_are_told_from_other_splits(rows):
    X, y = rows
    groups = np.repeat(np.arange(40), 10)
    for folds in (list(StratifiedKFold(5).split(X, y)), list(GroupKFold(4).split(X, y, groups))):
        fold_of = fold_numbers(folds, len(y))
        assert all((fold_of[test] == k).all() for k, (_, test) in enumerate(folds))
    for splitter in (ShuffleSplit(5, random_state=0), TimeSeriesSplit(4), StratifiedKFold(2)):
        assert fold_numbers(list(splitter.split(X, y)), len(y)) is None
    sy.compare(X, y, "f1", contenders={"it": LogisticRegression()}, automatic=False, cv=ShuffleSplit(3, random_state=0))


def test_the_order_of_rows_in_a_fold_changes_nothing(rows):
    X, y = rows
    folds = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, y))
    given = {"it": LogisticRegression()}
    one, other = (
        sy.compare(X, y, "f1", contenders=given, automatic=False, cv=cv)
        for cv in (folds, [(train, test[::-1]) for train, test in folds])
    )
    for name, labels in one.predictions_.items():
        assert np.array_equal(labels, other.predictions_[name]), name


def test_folds_that_are_drawn_again_share_their_fits_and_count_alike(rows):
    """The value of two rounds is the measure at the mean of their confusion matrices; the differences are of all folds."""
    X, y = rows
    Counting.fitted.clear()
    twice = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
    found = sy.compare(X, y, "f1", contenders={"tree": Counting()}, automatic=False, cv=twice)
    judging = Counting.fitted[: -6 if found.best_name_ != "tree" else -1]
    assert len(judging) == len(set(judging)) == 10
    assert [len(one) for one in rounds_of(list(twice.split(X, y)), len(y))] == [5, 5]
    called = np.zeros((2, len(y)), dtype=y.dtype)
    for k, (train, test) in enumerate(twice.split(X, y)):
        called[k // 5, test] = (
            DecisionTreeClassifier(max_depth=3, random_state=0).fit(X[train], y[train]).predict(X[test])
        )
    value = {one.name: one.value.value for one in found.standings_}["tree"]
    assert value == pytest.approx(m.FBeta(1).score(np.r_[y, y], called.ravel()))


def test_nobody_is_asked_about_rows_that_it_has_seen(rows):
    X, y = rows
    fold_of, numbers = np.arange(len(y)) % 4, np.arange(len(y))[:, None]
    model = LogisticRegression().fit(X, y)
    known = Known(Scores.of(model, X)).fit(numbers[fold_of > 1])
    assert known.predict_proba(numbers[fold_of == 1]).shape == (100, 2)
    assert not hasattr(known, "decision_function")
    with pytest.raises(ValueError, match="has not seen"):
        known.predict_proba(numbers[fold_of == 2])


def test_models_that_know_different_classes_are_not_joined(rows):
    X, y = rows
    both, one = (Scores.of(LogisticRegression().fit(X, labels), X[:3]) for labels in (y, np.where(y, "a", "b")))
    assert joined([(np.array([2, 0, 1]), both)], 3).values[2] == pytest.approx(both.values[0])
    with pytest.raises(ValueError, match="know different classes"):
        joined([(np.arange(3), both), (np.arange(3), one)], 6)


def test_who_cannot_be_fitted_sets_no_threshold(rows):
    found = sy.compare(*rows, "f1", contenders={"nu": NuSVC(nu=0.99), "it": LogisticRegression()}, automatic=False)
    assert set(found.failures_) == {"nu", "nu, our threshold"}
    assert len(set(found.failures_.values())) == 1


def test_seconds_are_those_of_a_contender_alone(rows):
    """Whoever comes second pays in the table what the first one paid on the clock."""
    X, y = rows
    found = sy.compare(X, y, "f1", contenders={"it": LogisticRegression()}, automatic=False)
    seconds = {one.name: one.seconds for one in found.standings_}
    assert seconds["it, our threshold"] > 2.0 * seconds["it"]
