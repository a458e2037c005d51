"""FrontierDisplay draws what it says."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m

mpl.use("Agg")

X, Y = make_classification(600, 6, weights=[0.8], flip_y=0.1, random_state=0)


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize("axes", ["roc", "rates"])
def test_from_estimator_marks_the_predictions_of_the_classifier(axes):
    tuned = sy.ThresholdClassifier(LogisticRegression(), m.BAKLD(), subject_to=m.fpr <= 0.2).fit(X[:300], Y[:300])
    display = sy.FrontierDisplay.from_estimator(tuned, X[300:], Y[300:], axes=axes)
    rates = m.rates(Y[300:], tuned.predict(X[300:]))
    assert display.point == pytest.approx((rates.tpr, rates.tnr))
    x, y = display.point_.get_data()
    assert (x[0], y[0]) == pytest.approx((1 - rates.tnr, rates.tpr) if axes == "roc" else (rates.tpr, rates.tnr))
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert any("outside fpr <= 0.2" in label for label in labels)
    assert display.measure == m.BAKLD()
    display.figure_.canvas.draw()


@pytest.mark.parametrize("model", [LogisticRegression(), LinearSVC()])
def test_any_classifier(model):
    model.fit(X, Y)
    display = sy.FrontierDisplay.from_estimator(model, X, Y, plot=False)
    rates = m.rates(Y, model.predict(X))
    assert display.point == pytest.approx((rates.tpr, rates.tnr))


def test_pos_label_and_weights():
    names = np.where(Y == 1, "bad", "good")
    model = LogisticRegression().fit(X, names)
    w = np.random.default_rng(0).random(len(Y))
    display = sy.FrontierDisplay.from_estimator(model, X, names, pos_label="bad", sample_weight=w, plot=False)
    rates = m.rates(names, model.predict(X), w, pos_label="bad")
    assert display.point == pytest.approx((rates.tpr, rates.tnr))


def test_bad_axes_are_named():
    display = sy.FrontierDisplay.from_predictions(Y, X[:, 0], plot=False)
    with pytest.raises(ValueError, match="axes is 'roc'"):
        display.plot(axes="polar")


def test_a_band_around_the_frontier():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.4
    display = sy.FrontierDisplay.from_predictions(y, rng.normal(size=200) + y, plot=False)
    assert display.plot().band_ is None
    for axes in ("roc", "rates"):
        assert display.plot(axes=axes, confidence=0.9).band_.get_label() == "90 % band"
