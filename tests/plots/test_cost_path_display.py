"""CostPathDisplay draws what it says: the data are read back from the picture."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m

mpl.use("Agg")

X, Y = make_classification(500, 5, weights=[0.7], flip_y=0.1, random_state=0)
TRAIN, TEST = slice(0, 300), slice(300, None)


@pytest.fixture(scope="module")
def path():
    return sy.CostPath(C=0.1).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def value_at(line, tau):
    """What a step line shows at tau."""
    x, y = line.get_data()
    assert line.get_drawstyle() == "steps-post"
    return y[np.searchsorted(x, tau, side="right") - 1]


def test_rates_over_tau_are_those_of_the_classifiers(path):
    display = sy.CostPathDisplay.from_estimator(path, X[TEST], Y[TEST])
    assert list(display.lines_) == ["TPR", "TNR", "accuracy"]
    for tau in np.random.default_rng(0).uniform(0, 1, 40):
        called = path.at(tau).predict(X[TEST])
        found = m.rates(Y[TEST], called)
        assert value_at(display.lines_["TPR"], tau) == pytest.approx(found.tpr)
        assert value_at(display.lines_["TNR"], tau) == pytest.approx(found.tnr)
        assert value_at(display.lines_["accuracy"], tau) == pytest.approx((called == Y[TEST]).mean())
    assert all(line.get_xdata()[0] == 0.0 and line.get_xdata()[-1] == 1.0 for line in display.lines_.values())
    assert display.ax_.get_xlim() == (0.0, 1.0)
    display.figure_.canvas.draw()


def test_a_measure_is_one_more_line_with_its_best_tau(path):
    display = sy.CostPathDisplay.from_estimator(path, X[TEST], Y[TEST], measure=m.FBeta(1))
    best = path.best(m.FBeta(1), X[TEST], Y[TEST])
    expected = m.FBeta(1).score(Y[TEST], best.predict(X[TEST]))
    (marker,) = (line for line in display.ax_.lines if line.get_marker() == "o")
    assert (marker.get_xdata()[0], marker.get_ydata()[0]) == pytest.approx((best.tau, expected))
    assert value_at(display.lines_[repr(m.FBeta(1))], best.tau) == pytest.approx(expected)


@pytest.mark.parametrize("pos_label", [1, 0])
def test_coefficients_over_tau(pos_label):
    path = sy.CostPath(C=0.1, pos_label=pos_label).fit(X[TRAIN], Y[TRAIN])
    display = sy.CostPathDisplay.from_estimator(path, kind="coefficients", n_labels=3)
    assert set(display.lines_) == {"x0", "x1", "x2", "x3", "x4", "intercept"}
    toward = 1 if pos_label == 1 else -1  # what is drawn is the positive class, as it is for the rates
    for tau in np.random.default_rng(1).uniform(0, 1, 20):
        point = path.at(tau)
        drawn = [np.interp(tau, *display.lines_[name].get_data()) for name in ("x0", "x1", "x2", "x3", "x4")]
        np.testing.assert_allclose(drawn, toward * point.coef_[0], atol=1e-6)
        intercept = np.interp(tau, *display.lines_["intercept"].get_data())
        assert intercept == pytest.approx(toward * point.intercept_[0], abs=1e-6)
    assert f"for {pos_label}" in display.ax_.get_ylabel()
    assert len(display.ax_.get_legend().get_texts()) == 3
    largest = max(display.lines_, key=lambda name: np.abs(display.lines_[name].get_ydata()).max())
    assert display.ax_.get_legend().get_texts()[0].get_text() == largest


def test_coefficients_are_named_by_frames_and_pipelines():
    frame = pd.DataFrame(X, columns=["age", "mass", "c", "d", "e"])
    model = make_pipeline(StandardScaler(), sy.CostPath(C=0.1)).fit(frame, Y)
    display = sy.CostPathDisplay.from_estimator(model, kind="coefficients")
    assert {"age", "mass", "intercept"} <= set(display.lines_)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "pipeline", "kernel", "pos_label"])
def test_the_boundary_is_where_the_score_is_zero(kind):
    rows = X[:, :2] * [100.0, 1.0] if kind == "pipeline" else X[:, :2]
    if kind == "pandas":
        rows = pd.DataFrame(rows, columns=["a", "b"])
    elif kind == "polars":
        rows = pl.DataFrame(rows, schema=["a", "b"])
    path = sy.CostPath(C=0.1, kernel="rbf" if kind == "kernel" else "linear", pos_label=0 if kind == "pos_label" else 1)
    model = make_pipeline(StandardScaler(), path).fit(rows, Y) if kind == "pipeline" else path.fit(rows, Y)
    display = sy.CostPathDisplay.from_estimator(model, rows, Y, kind="boundary", tau=[0.3, 0.5])
    assert list(display.boundaries_) == [0.3, 0.5]
    for tau, contour in display.boundaries_.items():
        vertices = np.vstack([path_.vertices for path_ in contour.get_paths()])
        assert len(vertices) > 20
        inside = model[0].transform(vertices) if kind == "pipeline" else vertices
        if kind in ("pandas", "polars"):
            inside = type(rows)(inside, **{"columns" if kind == "pandas" else "schema": ["a", "b"]})
            assert display.ax_.get_xlabel() == "a"
        scores = path.at(tau).decision_function(inside)
        assert np.abs(scores).max() < (1e-2 if kind == "kernel" else 1e-9)
    drawn = np.vstack(
        [c.get_offsets() for c in display.ax_.collections if hasattr(c, "get_sizes") and len(c.get_sizes())]
    )
    assert len(drawn) == 500


def test_a_tau_without_a_boundary_says_so():
    rows, y = X[:200, :2], (np.arange(200) % 10 == 0).astype(int)
    display = sy.CostPathDisplay.from_estimator(sy.CostPath(C=0.01).fit(rows, y), rows, y, kind="boundary", tau=0.9)
    assert display.boundaries_ == {0.9: None}
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "tau = 0.9: all 0 here" in labels


def test_a_part_of_the_range():
    part = sy.CostPath(C=0.1, tau_range=(0.3, 0.6)).fit(X, Y)
    assert sy.CostPathDisplay.from_estimator(part, X, Y).ax_.get_xlim() == (0.3, 0.6)
    assert sy.CostPathDisplay.from_estimator(part, kind="coefficients").ax_.get_xlim() == (0.3, 0.6)


def test_own_axes_and_keywords(path):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = sy.CostPathDisplay.from_estimator(path, X, Y, ax=ax, linewidth=3.0)
    assert display.ax_ is ax
    assert {line.get_linewidth() for line in display.lines_.values()} == {3.0}


def test_mistakes_are_named(path):
    with pytest.raises(ValueError, match="kind is one of"):
        sy.CostPathDisplay.from_estimator(path, X, Y, kind="roc")
    with pytest.raises(ValueError, match="needs labelled rows"):
        sy.CostPathDisplay.from_estimator(path, kind="rates")
    with pytest.raises(ValueError, match="two features"):
        sy.CostPathDisplay.from_estimator(path, X, Y, kind="boundary")
    with pytest.raises(TypeError, match=r"a CostPath is drawn.*LogisticRegression"):
        sy.CostPathDisplay.from_estimator(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="no coefficients"):
        sy.CostPathDisplay.from_estimator(sy.CostPath(kernel="rbf").fit(X[:60], Y[:60]), kind="coefficients")
