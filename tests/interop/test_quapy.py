"""Our classifiers inside QuaPy. Runs where the extra `quapy` is installed; its manual is in `test_quapy_manual`."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from steelyard.interop import quapy as ours
from steelyard.quantification.protocols import evaluate
from steelyard.statistics import matching, prevalence

qp = pytest.importorskip("quapy", reason="the extra 'quapy' is not installed")
from quapy.classification.svmperf import SVMperf as Wrapped  # noqa: E402
from quapy.method import aggregative  # noqa: E402
from quapy.method.base import newOneVsAll  # noqa: E402
from quapy.model_selection import GridSearchQ  # noqa: E402
from quapy.protocol import APP, UPP  # noqa: E402

X, Y = make_classification(1600, 8, weights=[0.7], flip_y=0.05, class_sep=1.2, random_state=0)
LABELS = np.array([1, 2])[Y]
X3, Y3 = make_classification(1500, 8, n_informative=5, n_classes=3, class_sep=1.5, random_state=1)
CLASSIFIERS = {
    "SVMperf": ours.SVMperf(loss="kld", C=1),
    "StructuralSVM": sy.StructuralSVM("kld", C=10),
    "MeasureClassifier": sy.MeasureClassifier(m.BAKLD(weight=0.5), random_state=0),
    "ThresholdClassifier": sy.ThresholdClassifier(LogisticRegression(), m.GMean()),
    "OnlineClassifier": sy.OnlineClassifier(m.BAKLD(), random_state=0),
}


@pytest.fixture(autouse=True)
def _sample_size():
    qp.environ["SAMPLE_SIZE"] = 100


# Scores are measured from a threshold of their own in each fold, and QuaPy's MS pools such scores over folds.
BLURRED = {
    ("MS", "ThresholdClassifier"): 0.1,
    ("MS2", "ThresholdClassifier"): 0.07,
    ("MS", "MeasureClassifier"): 0.07,
}


@pytest.mark.parametrize("name", list(CLASSIFIERS))
@pytest.mark.parametrize("method", ["CC", "ACC", "PACC", "EMQ", "MS", "MS2"])
def test_inside_the_methods(method, name):
    quantifier = getattr(aggregative, method)(clone(CLASSIFIERS[name])).fit(X[:800], LABELS[:800])
    found = quantifier.predict(X[800:])
    assert found[1] == pytest.approx(np.mean(LABELS[800:] == 2), abs=BLURRED.get((method, name), 0.04))


@pytest.mark.parametrize("apart", [0.8, 1.5, 3.0])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 0.9])
def test_our_median_sweep_is_their_ms2(apart, p):
    """On the same scores. Their MS keeps thresholds that tell nothing, and is another estimate."""
    rng = np.random.default_rng(0)
    y = (rng.uniform(size=600) < 0.3).astype(int)
    scores = rng.normal(size=600) + apart * y
    batch = rng.normal(size=400) + apart * (rng.uniform(size=400) < p)
    theirs = aggregative.MS2(LogisticRegression())
    theirs.classifier.classes_ = np.array([0, 1])
    theirs.aggregation_fit(scores, y)
    assert prevalence.median_sweep(scores, y == 1, batch) == pytest.approx(theirs.aggregate(batch)[1], abs=0.006)


def test_a_fitted_classifier_is_refused_whoever_made_it():
    """What to know when one classifier is given to two quantifiers: QuaPy asks scikit-learn's `check_is_fitted`."""
    for fitted in (LogisticRegression().fit(X, Y), ours.SVMperf(loss="kld").fit(X, Y)):
        with pytest.raises(RuntimeWarning, match="already fitted"):
            aggregative.CC(fitted)
        aggregative.CC(clone(fitted))


def test_one_against_all():
    train, test = qp.data.LabelledCollection(X3, Y3).split_stratified(0.5, random_state=0)
    model = newOneVsAll(ours.newSVMQ(), n_jobs=1).fit(*train.Xy)
    assert qp.error.ae(test.prevalence(), model.predict(test.X)) < 0.08


@pytest.mark.parametrize("new", ["newSVMQ", "newSVMKLD", "newSVMNKLD", "newSVMAE", "newSVMRAE"])
def test_helpers_have_quapys_names_and_parameters(new):
    theirs, mine = getattr(aggregative, new), getattr(ours, new)
    assert list(inspect.signature(theirs).parameters) == list(inspect.signature(mine).parameters)
    quantifier = mine(C=1).fit(X[:800], Y[:800])
    assert isinstance(quantifier, aggregative.CC)
    assert quantifier.predict(X[800:])[1] == pytest.approx(Y[800:].mean(), abs=0.08)


def test_constructor_and_losses_are_quapys():
    assert list(inspect.signature(Wrapped).parameters) == list(inspect.signature(ours.SVMperf).parameters)
    assert Wrapped.valid_losses == ours.SVMperf.valid_losses


def test_grid_search():
    """Over the classifier's C, judged on samples of a protocol."""
    train, val = qp.data.LabelledCollection(X[:800], Y[:800]).split_stratified(0.6, random_state=0)
    search = GridSearchQ(
        model=aggregative.ACC(ours.SVMperf(loss="kld")), param_grid={"classifier__C": [0.01, 1.0]},
        protocol=UPP(val, sample_size=50, repeats=10), error="mae", refit=False, verbose=False,
    )  # fmt: skip
    search.fit(*train.Xy)
    assert search.best_params_["classifier__C"] in (0.01, 1.0)
    assert search.best_score_ < 0.2


def test_grid_search_over_losses_one_against_all():
    train, val = qp.data.LabelledCollection(X3, Y3).split_stratified(0.5, random_state=0)
    grid = {"binary_quantifier__classifier__loss": ["q", "kld"], "binary_quantifier__classifier__C": [0.01, 1.0]}
    search = GridSearchQ(newOneVsAll(ours.newELM(), n_jobs=1), grid, UPP(val, repeats=10), refit=False)
    assert search.fit(*train.Xy).best_score_ < 0.15
    assert search.best_model().predict(val.X).shape == (3,)


def test_our_quantifier_on_their_protocol():
    pool = qp.data.LabelledCollection(X[800:], Y[800:])
    q = sy.Quantifier(random_state=0).fit(X[:800], Y[:800])
    found = qp.evaluation.evaluate(
        q, protocol=APP(pool, sample_size=100, n_prevalences=5, repeats=3), error_metric="mae"
    )
    assert found < 0.1


def test_their_quantifier_on_our_protocol():
    theirs = aggregative.EMQ(LogisticRegression()).fit(X[:800], Y[:800])
    table = evaluate(theirs, sy.quantification.protocols.APP(X[800:], Y[800:], n_prevalences=5, repeats=3))
    assert table["ae"].mean() < 0.1


class AsTheyAre(ClassifierMixin, BaseEstimator):
    """Rows that are posteriors already."""

    def __init__(self, k=2):
        self.k = k
        self.classes_ = np.arange(k)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return X


@pytest.mark.parametrize(
    ("name", "matched", "k"),
    [("KDEyML", matching.kernel, 2), ("KDEyML", matching.kernel, 4), ("DyS", matching.histogram, 2),
     ("EDy", matching.energy, 2), ("EDy", matching.energy, 4)],
)  # fmt: skip
def test_matching_of_the_same_posteriors_is_theirs(name, matched, k):
    if name == "EDy":
        pytest.importorskip("quadprog")
    rng = np.random.default_rng(0)

    def draw(n, p):
        y = rng.choice(k, n, p=p)
        logits = rng.normal(size=(n, k)) + 1.5 * np.eye(k)[y]
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), y

    t, y = draw(300, np.full(k, 1 / k))
    theirs = getattr(aggregative, name)(AsTheyAre(k), fit_classifier=False, val_split=None).fit(t, y)
    for _ in range(5):
        new = draw(200, rng.dirichlet(np.ones(k)))[0]
        found = matched(prevalence.Batch(new[None], np.full(200, 1 / 200)), prevalence.ClassMeans.of(t, y))
        np.testing.assert_allclose(found, theirs.predict(new), atol=2e-3)
