"""One fit for all who need it: the same labels as with fits of one's own, and no fit done twice."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GroupKFold, PredefinedSplit, ShuffleSplit, StratifiedKFold, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import steelyard as sy
import steelyard.measures as m
from steelyard.comparison.sharing import Fits, Known, fold_numbers


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
    assert len(judging) == len(set(judging)) == 15  # five without a fold, ten without two


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier()], ids=["probabilities", "scores"])
@pytest.mark.parametrize("measure", [m.FBeta(1), m.macro(m.FBeta(1))], ids=["two classes", "lifted"])
def test_the_labels_are_those_of_fits_of_its_own(rows, model, measure):
    X, y = rows
    if not hasattr(model, "predict_proba") and measure.is_lifted:
        pytest.skip("offsets are set on probabilities")
    folds = list(StratifiedKFold(4, shuffle=True, random_state=3).split(X, y))
    found = sy.compare(X, y, measure, contenders={"it": model}, automatic=False, cv=folds)
    fold_of = fold_numbers(folds, len(y))
    called = {"it": np.empty_like(y), "it, our threshold": np.empty_like(y)}
    whole = make_pipeline(clone(found.preparation_), model)
    for train, test in folds:
        called["it"][test] = clone(whole).fit(X[train], y[train]).predict(X[test])
        tuned = sy.ThresholdClassifier(whole, measure, cv=PredefinedSplit(fold_of[train]), random_state=0)
        called["it, our threshold"][test] = tuned.fit(X[train], y[train]).predict(X[test])
    for name, labels in called.items():
        assert np.array_equal(found.predictions_[name], labels), name


def test_folds_are_told_from_other_splits(rows):
    X, y = rows
    groups = np.repeat(np.arange(40), 10)
    for folds in (list(StratifiedKFold(5).split(X, y)), list(GroupKFold(4).split(X, y, groups))):
        fold_of = fold_numbers(folds, len(y))
        assert all((fold_of[test] == k).all() for k, (_, test) in enumerate(folds))
    for splitter in (ShuffleSplit(5, random_state=0), TimeSeriesSplit(4), StratifiedKFold(2)):
        assert fold_numbers(list(splitter.split(X, y)), len(y)) is None
    sy.compare(X, y, "f1", contenders={"it": LogisticRegression()}, automatic=False, cv=ShuffleSplit(3, random_state=0))


def test_nobody_is_asked_about_rows_that_it_has_seen(rows):
    X, y = rows
    fold_of = np.arange(len(y)) % 4
    numbers = np.arange(len(y))[:, None]
    known = Known(Fits(LogisticRegression(), X, y, fold_of)).fit(numbers[fold_of != 1])
    assert known.predict(numbers[fold_of == 1]).shape == (100,)
    with pytest.raises(ValueError, match="has not seen"):
        known.predict(numbers[fold_of == 2])


def test_seconds_are_those_of_a_contender_alone(rows):
    """Whoever comes second pays in the table what the first one paid on the clock."""
    X, y = rows
    found = sy.compare(X, y, "f1", contenders={"it": LogisticRegression()}, automatic=False)
    seconds = {one.name: one.seconds for one in found.standings_}
    assert seconds["it, our threshold"] > 2.0 * seconds["it"]
