"""The contract of a quantifier, and what `Quantifier` does when there is little to go by."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from steelyard.quantification._counting import METHODS

X, Y = make_classification(900, 6, weights=[0.7], flip_y=0.05, class_sep=0.9, random_state=0)
X3, Y3 = make_classification(1500, 8, n_informative=5, n_classes=3, class_sep=1.5, random_state=1)


def at(prevalence, X=X, y=Y, n=200, start=400):
    """Rows after `start` with that prevalence of each class, the last classes first."""
    rng = np.random.default_rng(0)
    counts = np.round(np.array(prevalence) * n).astype(int)
    rows = [start + rng.choice(np.flatnonzero(y[start:] == k), c) for k, c in enumerate(counts)]
    return X[np.concatenate(rows)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [0.0, 0.05, 0.5, 1.0])
def test_a_prevalence_is_a_prevalence(method, p):
    q = sy.Quantifier(method=method, random_state=0).fit(X[:400], Y[:400])
    rows = at([1 - p, p])
    found, (low, high) = q.predict(rows), q.predict_interval(rows)
    assert found.shape == (2,)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0.0
    assert (low >= 0).all()
    assert (low <= high).all()
    assert (high <= 1).all()
    if method not in ("cc", "pcc"):
        assert found[1] == pytest.approx(p, abs=0.2)
        assert low[1] - 0.05 <= found[1] <= high[1] + 0.05


@pytest.mark.parametrize("method", METHODS)
def test_three_classes(method):
    q = sy.Quantifier(method=method, random_state=0).fit(X3[:700], Y3[:700])
    rows = at([0.1, 0.2, 0.7], X3, Y3, 400, 700)
    found, (low, high) = q.predict(rows), q.predict_interval(rows)
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0.0
    assert np.abs(found - [0.1, 0.2, 0.7]).max() < (0.25 if method in ("cc", "pcc") else 0.12)
    assert (low <= np.add([0.1, 0.2, 0.7], 0.02)).all()
    assert (high >= np.subtract([0.1, 0.2, 0.7], 0.02)).all()
    assert (high - low < 0.35).all()


@pytest.mark.parametrize("method", METHODS)
def test_region_of_three_classes(method):
    q = sy.Quantifier(method=method, random_state=0).fit(X3[:700], Y3[:700])
    region = q.predict_region(at([0.1, 0.2, 0.7], X3, Y3, 400, 700), confidence=0.99)
    assert [0.1, 0.2, 0.7] in region
    assert [0.3, 0.2, 0.5] not in region
    assert region.centre in region
    assert 0.0 < region.share_of_simplex(2000) < 0.2


@pytest.mark.parametrize("method", METHODS)
def test_row_order_is_irrelevant(method):
    q = sy.Quantifier(method=method, random_state=0).fit(X[:400], Y[:400])
    order = np.random.default_rng(1).permutation(300)
    np.testing.assert_allclose(q.predict(X[400:700]), q.predict(X[400:700][order]), atol=1e-9)
    np.testing.assert_allclose(q.predict_interval(X[400:700]), q.predict_interval(X[400:700][order]), atol=1e-3)


@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(), LinearSVC(), GaussianNB(), RandomForestClassifier(20, random_state=0),
     sy.MeasureClassifier(m.BAKLD(weight=0.5), random_state=0), sy.StructuralSVM("kld"),
     sy.ThresholdClassifier(LogisticRegression(), m.GMean()), sy.OnlineClassifier(m.BAKLD(), random_state=0)],
    ids=lambda c: type(c).__name__,
)  # fmt: skip
def test_any_classifier_inside(classifier):
    q = sy.Quantifier(classifier, random_state=0).fit(X[:400], Y[:400])
    assert q.predict(at([0.3, 0.7]))[1] == pytest.approx(0.7, abs=0.12)


def test_a_two_class_learner_counts_three_classes_against_the_rest():
    q = sy.Quantifier(sy.StructuralSVM("kld"), random_state=0).fit(X3[:700], Y3[:700])
    found = q.predict(at([0.1, 0.2, 0.7], X3, Y3, 400, 700))
    assert np.abs(found - [0.1, 0.2, 0.7]).max() < 0.12


class Scaled(LogisticRegression):
    """Each fitted model has margins of its own size and offset, as those that choose C or a threshold have."""

    def decision_function(self, X):
        size = 1.0 + 50.0 * abs(self.intercept_[0]) % 7
        return size * super().decision_function(X) + 3.0 * size

    def predict(self, X):
        return self.classes_[(super().decision_function(X) > 0).astype(int)]


def test_the_scale_of_margins_is_irrelevant():
    plain, scaled = (sy.Quantifier(c, random_state=0).fit(X[:400], Y[:400]) for c in (LogisticRegression(), Scaled()))
    assert (
        len({round(float(np.ptp(model.classifier.decision_function(X))), 3) for model in scaled._judged.held.models})
        == 5
    )
    np.testing.assert_allclose(plain.predict(X[400:]), scaled.predict(X[400:]), atol=1e-5)


def test_margins_of_balanced_models_are_calibrated():
    """EMQ on a balanced logistic regression collapses unless its probabilities are calibrated first."""
    rows = at([0.9, 0.1], n=500)
    q = sy.Quantifier(LogisticRegression(class_weight="balanced"), method="emq", random_state=0).fit(X[:400], Y[:400])
    assert q.predict(rows)[1] == pytest.approx(0.1, abs=0.06)


@pytest.mark.parametrize("labels", [("no", "yes"), (-1, 1), (1, 2), (False, True)])
def test_any_labels(labels):
    plain = sy.Quantifier(random_state=0).fit(X[:400], Y[:400]).predict(X[400:])
    q = sy.Quantifier(random_state=0).fit(X[:400], np.array(labels)[Y[:400]])
    assert q.classes_.tolist() == list(labels)
    np.testing.assert_allclose(q.predict(X[400:]), plain, atol=1e-9)


def test_containers_agree():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    plain = sy.Quantifier(random_state=0).fit(X[:400], Y[:400]).predict(X[400:])
    for wrap in (sp.csr_matrix, pandas.DataFrame, lambda a: polars.DataFrame(a, schema=[f"c{k}" for k in range(6)])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = sy.Quantifier(random_state=0).fit(wrap(X[:400]), Y[:400]).predict(wrap(X[400:]))
        np.testing.assert_allclose(found, plain, atol=1e-4)


def test_clone_pickle_and_reproduction():
    q = sy.Quantifier(LogisticRegression(C=0.1), method="pacc", cv=3, random_state=4)
    again = clone(q)
    assert again.get_params()["classifier__C"] == 0.1
    q.fit(X[:400], Y[:400])
    np.testing.assert_array_equal(q.predict(X[400:]), again.fit(X[:400], Y[:400]).predict(X[400:]))
    np.testing.assert_array_equal(q.predict(X[400:]), pickle.loads(pickle.dumps(q)).predict(X[400:]))


@pytest.mark.parametrize("cv", [3, 0.4, KFold(4), "prefit"])
def test_ways_to_hold_rows_out(cv):
    classifier = LogisticRegression().fit(X[:200], Y[:200]) if cv == "prefit" else LogisticRegression()
    q = sy.Quantifier(classifier, cv=cv, random_state=0).fit(X[200:500], Y[200:500])
    assert len(q._judged.held.models) == {"3": 3, "0.4": 1, "prefit": 1}.get(str(cv), 4)
    assert q.predict(at([0.4, 0.6], start=500))[1] == pytest.approx(0.6, abs=0.15)


def test_one_row():
    q = sy.Quantifier(random_state=0).fit(X[:400], Y[:400])
    assert q.predict(X[:1]).sum() == pytest.approx(1.0)
    low, high = q.predict_interval(X[:1])
    assert (high - low > 0.3).all()


class Coin(ClassifierMixin, BaseEstimator):
    """Scores that say nothing."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.zeros(len(X))

    def predict(self, X):
        return np.repeat(self.classes_[1], len(X))


@pytest.mark.parametrize("method", ["acc", "pacc", "emq", "aemq", "ms"])
def test_no_information_falls_back_to_the_training_prevalence(method):
    with pytest.warns(UserWarning, match="says nothing of its prevalence"):
        q = sy.Quantifier(Coin(), method=method).fit(X[:400], Y[:400])
    assert not q.informative_
    np.testing.assert_allclose(q.predict(X[400:]), [1 - Y[:400].mean(), Y[:400].mean()])
    np.testing.assert_array_equal(q.predict_interval(X[400:]), [[0, 0], [1, 1]])
    assert [0.0, 1.0] in q.predict_region(X[400:])


def test_two_classes_that_are_alike_do_not_hide_the_third():
    rng = np.random.default_rng(0)

    def draw(n, p):
        y = rng.choice(3, n, p=p)
        return rng.normal(size=(n, 2)) + 3.0 * (y == 2)[:, None], y

    X, y = draw(900, [0.3, 0.3, 0.4])
    with pytest.warns(UserWarning, match="the classes 0 and 1 are scored alike"):
        q = sy.Quantifier(random_state=0).fit(X, y)
    assert q.informative_
    batch = draw(500, [0.05, 0.05, 0.9])[0]
    assert q.predict(batch)[2] == pytest.approx(0.9, abs=0.05)
    width = np.diff(q.predict_interval(batch), axis=0)[0]
    assert width[2] < 0.15
    assert (width[:2] >= 0.1).all()  # of the tenth that both have, either may have it all


def test_blend_goes_as_far_from_emq_as_labelled_rows_speak_against_it():
    """Where chance explains all, "emq" is left alone; classes of unlike spread make the likelihood wrong, and many rows
    tell."""
    rng = np.random.default_rng(0)

    def draw(n, p, unlike):
        y = rng.choice(3, n, p=p)
        return rng.normal(size=(n, 3)) * np.where(y == 1, unlike, 1.0)[:, None] + 2.0 * np.eye(3)[y], y

    went = []
    for n, unlike in ((4000, 4.0), (4000, 1.0), (150, 1.0)):
        X, y = draw(n, [0.3, 0.3, 0.4], unlike)
        q = sy.Quantifier(random_state=0).fit(X, y)
        assert q.method_ == "blend"
        new, ends = draw(1000, [0.1, 0.2, 0.7], unlike)[0], {}
        for method in ("emq", "aemq", "blend"):
            q.method_ = method
            ends[method] = q.predict(new)
        way, whole = (np.abs(ends[end] - ends["emq"]).sum() for end in ("blend", "aemq"))
        between = ends["emq"] + way / whole * (ends["aemq"] - ends["emq"])
        np.testing.assert_allclose(ends["blend"], between, atol=1e-9)
        went.append(way / whole)
    assert went[0] > 0.9
    assert went[1:] == [0.0, 0.0]


def test_what_is_refused():
    q = sy.Quantifier().fit(X[:400], Y[:400])
    with pytest.raises(ValueError, match="the batch is empty"):
        q.predict(X[:0])
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        q.predict_interval(X, confidence=95)
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        q.predict_region(X, confidence=1.0)
    with pytest.raises(ValueError, match="method must be one of 'auto', 'cc'"):
        sy.Quantifier(method="best").fit(X, Y)
    with pytest.raises(ValueError, match="only one class"):
        sy.Quantifier().fit(X, np.zeros(900))
    with pytest.raises(ValueError, match="only one class True row"):
        sy.Quantifier().fit(X[:20], np.arange(20) == 3)
    with pytest.raises(ValueError, match="fold 1 of 2 has no class True row to fit on"):
        sy.Quantifier(cv=KFold(2)).fit(X, np.arange(900) < 100)
    with pytest.raises(ValueError, match="the classifier knows the classes"):
        sy.Quantifier(LogisticRegression().fit(X, Y), cv="prefit").fit(X, Y + 1)
    with pytest.raises(ValueError, match="no held-out row is of class 1"):
        sy.Quantifier(cv=[(np.arange(400), np.flatnonzero(Y == 0))]).fit(X, Y)
    with pytest.raises(TypeError, match="no scores to count by"):
        sy.Quantifier(_Mute()).fit(X, Y)
    with pytest.raises(TypeError, match="Ridge has no classes_"):
        sy.Quantifier(Ridge()).fit(X, Y)
    with pytest.raises(ValueError, match="no labelled rows"):
        sy.Quantifier().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match="Are some missing"):
        sy.Quantifier().fit(X[:4], np.array(["a", "b", None, "a"], dtype=object))
    with pytest.raises(ValueError, match="holds out 1 and fits on 99"):
        sy.Quantifier(cv=0.01).fit(X[:100], Y[:100])
    with pytest.raises(NotFittedError):
        sy.Quantifier().predict(X)


class _Mute(Coin):
    decision_function = property()


def test_few_rows_of_a_class_make_fewer_folds():
    y = np.zeros(900, dtype=int)
    y[:3] = 1
    with pytest.warns(UserWarning, match="3 class 1 rows, so 3 folds are used instead of 5"):
        sy.Quantifier(method="cc").fit(X, y)


# -- weights, and parameters of fit --------------------------------------------------------------------------------
# "blend" asks how many rows there are, and rows that are repeated look like more than they are; the ridge of the
# calibration of several classes counts rows too.
@pytest.mark.parametrize("method", [method for method in METHODS if method != "blend"])
@pytest.mark.parametrize(
    ("rows", "labels", "shares", "near"), [(X, Y, [0.3, 0.7], 2e-5), (X3, Y3, [0.2, 0.3, 0.5], 0.01)]
)
def test_weights_of_whole_numbers_are_repetitions(method, rows, labels, shares, near):
    """On the same held-out rows: a fitted model, judged by rows with weights or by rows that are there as often."""
    model = LogisticRegression().fit(rows[:300], labels[:300])
    w = np.random.default_rng(0).integers(0, 4, 300)
    held, often = slice(300, 600), np.repeat(np.arange(300, 600), w)
    weighted = sy.Quantifier(model, method=method, cv="prefit").fit(rows[held], labels[held], sample_weight=w)
    repeated = sy.Quantifier(model, method=method, cv="prefit").fit(rows[often], labels[often])
    np.testing.assert_allclose(weighted.prevalence_, repeated.prevalence_)
    batch = at(shares, rows, labels, 300, 600)
    np.testing.assert_allclose(weighted.predict(batch), repeated.predict(batch), atol=near)


@pytest.mark.parametrize("size", [1.0, 1 / 400, 1e6])
def test_equal_weights_of_any_size_change_nothing(size):
    plain, weighted = sy.Quantifier().fit(X[:400], Y[:400]), sy.Quantifier()
    weighted.fit(X[:400], Y[:400], sample_weight=np.full(400, size))
    if size == 1.0:
        np.testing.assert_allclose(weighted.predict(X[400:]), plain.predict(X[400:]), atol=1e-6)
    fixed = LogisticRegression().fit(X[:400], Y[:400])
    judges = [sy.Quantifier(fixed, cv="prefit").fit(X[400:], Y[400:], w) for w in (None, np.full(500, size))]
    np.testing.assert_allclose(*(q.predict_interval(X[:300]) for q in judges), atol=1e-3)
    np.testing.assert_allclose(*(q.predict(X[:300]) for q in judges), atol=1e-6)


def test_weights_reach_the_models():
    w = np.where(Y == 1, 3.0, 1.0)[:400]
    q = sy.Quantifier(cv=[(np.arange(300), np.arange(300, 400))]).fit(X[:400], Y[:400], sample_weight=w)
    expected = LogisticRegression().fit(X[:300], Y[:300], sample_weight=w[:300])
    np.testing.assert_array_equal(q._judged.held.models[0].classifier.coef_, expected.coef_)
    with pytest.warns(UserWarning, match="Coin.fit takes no sample_weight: the weights are used for the adjustment"):
        sy.Quantifier(Coin(), method="cc").fit(X[:400], Y[:400], sample_weight=w)
    with pytest.raises(ValueError, match="no row of class 1 has weight"):
        sy.Quantifier().fit(X[:400], Y[:400], sample_weight=1.0 - Y[:400])


def test_weights_repair_a_sample_in_which_one_kind_of_row_is_rare():
    """A class of two kinds of rows, of which one was labelled seldom: with weights the adjustment is right again."""
    rng = np.random.default_rng(0)

    def rows(n, p, seldom):
        y = rng.uniform(size=n) < p
        kind = y & (rng.uniform(size=n) < seldom)
        return rng.normal(size=(n, 1)) + 3.0 * y[:, None] - 2.5 * kind[:, None], y, kind

    X, y, kind = rows(8000, 0.5, 0.1)
    batch = rows(20_000, 0.2, 0.5)[0]
    w = np.where(~y, 1.0, np.where(kind, 5.0, 0.5 / 0.9))
    plain, weighted = (sy.Quantifier(method="pacc").fit(X, y, sample_weight=s).predict(batch)[1] for s in (None, w))
    assert abs(weighted - 0.2) < 0.02 < 0.04 < abs(plain - 0.2)


def test_groups_go_to_the_folds_and_other_parameters_to_the_models():
    groups = np.arange(400) // 40
    q = sy.Quantifier(cv=GroupKFold(4)).fit(X[:400], Y[:400], groups=groups)
    assert len(q._judged.held.models) == 4

    class Told(LogisticRegression):
        def fit(self, X, y, about=None):
            told.append(len(about) == len(X))
            return super().fit(X, y)

    told = []
    sy.Quantifier(Told(), cv=3).fit(X[:400], Y[:400], about=np.arange(400))
    assert told == [True] * 3


def test_columns_are_known_by_number_and_name():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    q = sy.Quantifier().fit(frame, Y)
    assert q.n_features_in_ == 6
    assert q.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names"):
        q.predict(frame[list("bacdef")])


def test_a_refit_that_fails_leaves_the_model_as_it_was():
    q = sy.Quantifier().fit(X, Y)
    before = dict(vars(q))
    with pytest.raises(ValueError, match="only one class 'a' row"):
        q.fit(X[:20], np.where(np.arange(20) == 3, "a", "b"))
    assert vars(q) == before
