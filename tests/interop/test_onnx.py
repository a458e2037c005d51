"""Graphs say what `predict` says, in onnxruntime: every exportable estimator, float32 and float64, any labels.

Synthetic rows here; with STEELYARD_DATA five data sets, split in two, in the slow tests.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

import steelyard as sy
import steelyard.measures as m

pytest.importorskip("skl2onnx", reason="needs the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

from steelyard.interop.onnx import NotExportableError, to_onnx  # noqa: E402

MACRO = m.macro(m.FBeta(1))
THRESHOLD = sy.ThresholdClassifier


class CostPoint(sy.CostPath):
    """`fit` gives the classifier at one tau, so that it can stand in the table."""

    def fit(self, X, y):
        return super().fit(X, y).at(0.3)


TWO = {
    "online": sy.OnlineClassifier(random_state=0),
    "measure": sy.MeasureClassifier(m.FBeta(1), random_state=0),
    "structural": sy.StructuralSVM("kld"),
    "np-linear": sy.NeymanPearsonClassifier(0.05, kernel="linear", solver="annealed", C=1.0, random_state=0),
    "np-rbf": sy.NeymanPearsonClassifier(0.05, C=1.0, gamma="scale", random_state=0),
    "np-poly": sy.NeymanPearsonClassifier(0.05, kernel="poly", degree=2, C=1.0, gamma="scale", random_state=0),
    "cost": CostPoint(method="approximate", random_state=0),
    "q-value": sy.QValueClassifier(0.05, random_state=0),
    "threshold-logistic": THRESHOLD(LogisticRegression()),
    "threshold-scores": THRESHOLD(LogisticRegression(), response_method="decision_function"),
    "threshold-svc": THRESHOLD(LinearSVC()),
    "threshold-forest": THRESHOLD(RandomForestClassifier(10, random_state=0)),
    "threshold-boosting": THRESHOLD(GradientBoostingClassifier(n_estimators=10, random_state=0)),
    "threshold-online": THRESHOLD(sy.OnlineClassifier(random_state=0)),
    "threshold-offsets": THRESHOLD(LogisticRegression(), MACRO),
    "threshold-pipeline": THRESHOLD(make_pipeline(StandardScaler(), LogisticRegression())),
    "pipeline-measure": make_pipeline(StandardScaler(), sy.MeasureClassifier(m.FBeta(1), random_state=0)),
    "pipeline-threshold": make_pipeline(StandardScaler(), THRESHOLD(LogisticRegression())),
}
SEVERAL = {
    "online": sy.OnlineClassifier(MACRO, random_state=0),
    "measure": sy.MeasureClassifier(MACRO, random_state=0),
    "threshold-logistic": THRESHOLD(LogisticRegression(), MACRO),
    "threshold-svc": THRESHOLD(LinearSVC(), MACRO),
    "threshold-forest": THRESHOLD(RandomForestClassifier(10, random_state=0), MACRO),
    "pipeline-threshold": make_pipeline(StandardScaler(), THRESHOLD(LogisticRegression(), MACRO)),
}
# What skl2onnx has in single precision only: rows of double precision are refused, or rounded in the scores.
ONLY_SINGLE = {"threshold-hist": THRESHOLD(HistGradientBoostingClassifier(max_iter=10, random_state=0))}


def said(model, X):
    graph = runtime.InferenceSession(to_onnx(model, X[:1]).SerializeToString(), providers=["CPUExecutionProvider"])
    label, scores = graph.run(["label", "scores"], {"X": X})
    return label, scores


def check(model, X, y, fresh):
    """The same labels on fresh rows, and in double precision the same scores; scikit-learn's models have those of
    single precision in it, and the logarithm of a probability near 0 there is any number."""
    model = model.fit(X, y)
    label, scores = said(model, fresh)
    expected = model.predict(fresh)
    assert label.shape == expected.shape
    assert (label == expected).all(), f"{(label != expected).sum()} of {len(label)} labels differ"
    wanted = model.decision_function(fresh)
    assert scores.shape == wanted.shape
    if fresh.dtype == np.float64:
        np.testing.assert_allclose(scores, wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


@pytest.fixture(scope="module")
def two():
    return make_classification(400, 8, n_informative=5, weights=[0.7], flip_y=0.05, random_state=0)


@pytest.fixture(scope="module")
def several():
    return make_classification(400, 8, n_informative=5, n_classes=3, random_state=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", TWO)
def test_two_classes(name, dtype, two):
    X, y = two[0].astype(dtype), two[1]
    check(TWO[name], X[:300], y[:300], X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SEVERAL)
def test_several_classes(name, dtype, several):
    X, y = several[0].astype(dtype), several[1]
    check(SEVERAL[name], X[:300], y[:300], X)


@pytest.mark.parametrize(
    "labels", [["paid", "default"], [False, True], [-1, 1], [1.0, 2.0]], ids=["words", "bool", "signs", "float"]
)
def test_any_labels(labels, two):
    X, y = two[0], np.array(labels)[two[1]]
    for positive in labels:
        check(sy.StructuralSVM("kld", pos_label=positive), X, y, X)
        check(THRESHOLD(LogisticRegression(), pos_label=positive), X, y, X)
        check(THRESHOLD(LogisticRegression(), pos_label=positive, response_method="decision_function"), X, y, X)


def test_words_of_several_classes(several):
    X, y = several[0], np.array(["b", "a", "c"])[several[1]]
    check(SEVERAL["measure"], X, y, X)


def test_a_search_and_a_frozen_model(two):
    X, y = two
    search = GridSearchCV(sy.StructuralSVM("kld"), {"C": [0.1, 1.0]}, cv=2)
    check(search, X, y, X)
    frozen = THRESHOLD(FrozenEstimator(LogisticRegression().fit(X[:200], y[:200])), cv="prefit")
    check(frozen, X[200:], y[200:], X)


def test_a_frame_has_an_input_for_each_column(two):
    pd = pytest.importorskip("pandas")
    from sklearn.compose import make_column_transformer

    frame = pd.DataFrame({"size": two[0][:, 0], "kind": np.where(two[0][:, 1] > 0, "old", "new")})
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(columns, sy.MeasureClassifier(m.FBeta(1), random_state=0)).fit(frame, two[1])
    graph = runtime.InferenceSession(to_onnx(model, frame).SerializeToString())
    assert [one.name for one in graph.get_inputs()] == ["size", "kind"]
    label, _ = graph.run(None, {name: frame[[name]].to_numpy() for name in frame.columns})
    assert (label == model.predict(frame)).all()


def test_boosting_by_histograms_in_single_precision_only(two):
    X, y = two
    check(ONLY_SINGLE["threshold-hist"], X.astype(np.float32), y, X.astype(np.float32))
    with pytest.raises(NotExportableError, match="float32 rows"):
        to_onnx(ONLY_SINGLE["threshold-hist"].fit(X, y), X)


def refused():
    logistic = LogisticRegression()
    yield "a whole path", lambda X, y: sy.CostPath(method="approximate").fit(X, y)
    yield "a batch of rows", lambda X, y: sy.ExpectedFBetaClassifier(logistic).fit(X, y)
    yield "kernel='linear'", lambda X, y: sy.QValueClassifier(0.05, kernel="rbf", random_state=0).fit(X, y)
    yield "kernel='linear'", lambda X, y: sy.CostPath(kernel="rbf").fit(X[:60], y[:60]).at(0.4)
    yield "skl2onnx.to_onnx converts", lambda X, y: logistic.fit(X, y)
    yield "each group", lambda X, y: THRESHOLD(logistic, per_group=True).fit(X, y, slices=X[:, 0] > 0)
    yield "probabilities of CostPath", lambda X, y: THRESHOLD(sy.CostPath(method="approximate")).fit(X, y)
    yield "does not convert SVC", lambda X, y: THRESHOLD(SVC(kernel=lambda a, b: a @ b.T)).fit(X, y)


@pytest.mark.parametrize(("words", "make"), list(refused()), ids=lambda value: value if isinstance(value, str) else "")
def test_what_has_no_graph_is_refused(words, make, two):
    model = make(*two)
    with pytest.raises(NotExportableError, match=words):
        to_onnx(model, two[0])


# -- real rows ------------------------------------------------------------------------------------------------------

SETS_OF_TWO = {"spambase": 1, "satimage": 4, "letter": 0, "ozone-8hr": 1, "occupancy": 1}
SETS_OF_SEVERAL = ["satimage", "letter", "shuttle", "splice", "covertype"]
ROWS = 4000  # half of them to train: kernel machines and pipelines of all kinds in minutes


def rows_of(name):
    path = Path(os.environ.get("STEELYARD_DATA", "")) / f"{name}.npz"
    if not path.is_file():
        pytest.skip("STEELYARD_DATA does not point at the data sets")
    with np.load(path) as z:
        X, y = z["X"], z["y"]
    keep = np.random.default_rng(0).permutation(len(y))[:ROWS]
    X, y = X[keep].astype(np.float64), y[keep]
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return X, y


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("data", SETS_OF_TWO)
@pytest.mark.parametrize("name", TWO)
def test_two_classes_of_real_rows(name, data, dtype):
    X, y = rows_of(data)
    X, y, half = X.astype(dtype), (y == SETS_OF_TWO[data]).astype(int), len(y) // 2
    train = 500 if name.startswith("np-") else half
    check(TWO[name], X[:train], y[:train], X[half:])


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("data", SETS_OF_SEVERAL)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_classes_of_real_rows(name, data, dtype):
    X, y = rows_of(data)
    common = np.isin(y, [label for label, count in zip(*np.unique(y, return_counts=True), strict=True) if count > 40])
    X, y = X[common].astype(dtype), y[common]
    check(SEVERAL[name], X[: len(y) // 2], y[: len(y) // 2], X[len(y) // 2 :])
