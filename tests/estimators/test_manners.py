"""What scikit-learn's users expect of every estimator beyond its checks: names of columns, routed weights, skops' own
files, and a notebook's view with the formula of what is sought."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

sys.path.insert(0, str(Path(__file__).parent.parent))
from faults.saved_models import OURS, WITH_SKOPS, X
from faults.saved_models import Y as WORDS

Y = (WORDS == "yes").astype(int)
NAMES = ["a", "b", "c", "d"]
WEIGHTED = np.random.default_rng(1).integers(1, 4, len(Y)).astype(float)
LOGISTIC = LogisticRegression()
# StreamQuantifier predicts nothing of a row, takes no weights, and has its names tested in its own file.
ESTIMATORS = {
    "threshold": sy.ThresholdClassifier(LOGISTIC, cv=0.5, random_state=0),
    "threshold classes": sy.ThresholdClassifier(LOGISTIC, m.macro(m.FBeta(1)), cv=0.5, random_state=0),
    "measure": sy.MeasureClassifier(C=1.0, loss="logistic", cv=2, random_state=0),
    "online": sy.OnlineClassifier(random_state=0),
    "structural": sy.StructuralSVM("kld"),
    "neyman-pearson": sy.NeymanPearsonClassifier(0.2, C=1.0, gamma="scale", random_state=0),
    "q-value": sy.QValueClassifier(0.3, random_state=0),
    "cost path": sy.CostPath(method="approximate"),
    "quantile path": sy.QuantilePath(C=0.1),
    "expected": sy.ExpectedFBetaClassifier(LOGISTIC),
    "quantifier": sy.Quantifier(LOGISTIC, random_state=0),
}
each = pytest.mark.parametrize("name", ESTIMATORS)


def target(name):
    return X[:, 0] + 0.1 * Y if name == "quantile path" else Y


def answer(model, X):
    return np.asarray(model.predict(X), dtype=np.float64)


@each
def test_names_of_columns(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    model = clone(ESTIMATORS[name]).fit(frame, target(name))
    assert list(model.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[::-1]])
    np.testing.assert_allclose(
        answer(model, frame), answer(clone(ESTIMATORS[name]).fit(X, target(name)), X), rtol=1e-12
    )


@each
def test_frames_of_the_step_before(name):
    pytest.importorskip("pandas")
    pipe = make_pipeline(StandardScaler(), clone(ESTIMATORS[name])).set_output(transform="pandas")
    pipe.fit(X, target(name))
    assert list(pipe[-1].feature_names_in_) == ["x0", "x1", "x2", "x3"]
    plain = make_pipeline(StandardScaler(), clone(ESTIMATORS[name])).fit(X, target(name))
    np.testing.assert_allclose(answer(pipe, X), answer(plain, X), rtol=1e-12)


@each
def test_weights_are_routed(name):
    with config_context(enable_metadata_routing=True):
        model = clone(ESTIMATORS[name])
        for inner in ("estimator", "classifier"):
            if inner in model.get_params(deep=False):
                model.set_params(**{inner: LogisticRegression().set_fit_request(sample_weight=True)})
        model.set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, model).fit(X, target(name), sample_weight=WEIGHTED)
    Z = StandardScaler().fit_transform(X)
    by_hand = clone(ESTIMATORS[name]).fit(Z, target(name), sample_weight=WEIGHTED)
    np.testing.assert_allclose(answer(routed, X), answer(by_hand, Z), rtol=1e-12)


@pytest.mark.parametrize("name", [*OURS, *WITH_SKOPS])
def test_skops_on_its_own(name):
    io = pytest.importorskip("skops.io")
    model = (OURS | WITH_SKOPS)[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, WORDS)
    data = io.dumps(model)
    again = io.loads(data, trusted=io.get_untrusted_types(data=data))
    assert np.array_equal(np.asarray(again.predict(X)), np.asarray(model.predict(X)))


def test_the_view_of_a_notebook_has_the_formula():
    asked = sy.ThresholdClassifier(LOGISTIC, m.Recall(), subject_to=m.fpr <= 0.01, delta=0.05)
    view = asked._repr_html_()
    assert "Recall() = tpr" in view
    assert "fpr &lt;= 0.01" in view
    assert "with probability 0.95" in view
    assert "ThresholdClassifier" in view
    assert "fpr &lt;= 0.02" in sy.NeymanPearsonClassifier(0.02)._repr_html_()
    assert "QMeasure" in sy.StructuralSVM(m.QMeasure())._repr_html_()
    assert "steelyard-sought" not in sy.CostPath()._repr_html_()


@pytest.mark.parametrize("wrong", ["no such measure", 3, None])
def test_the_view_of_what_fit_would_refuse(wrong):
    assert "ThresholdClassifier" in sy.ThresholdClassifier(LOGISTIC, wrong, subject_to=wrong)._repr_html_()
