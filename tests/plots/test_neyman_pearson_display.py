"""The ROC curve under a cap: what is drawn is what was computed, and the band covers the true curve."""

import matplotlib as mpl
import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import steelyard as sy

mpl.use("Agg")


def sample(seed, n=300):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], n)
    return y, rng.normal(size=2 * n) + 1.5 * y


def test_the_band_covers_the_whole_true_curve():
    fpr = np.linspace(0.0, 1.0, 201)
    truth = ndtr(ndtri(fpr) + 1.5)
    missed = 0
    for seed in range(200):
        low, high = sy.NeymanPearsonDisplay.from_predictions(*sample(seed), max_fpr=0.1, plot=False).band(fpr)
        missed += bool(((truth < low) | (truth > high)).any())
    assert missed <= 10 + 3 * np.sqrt(200 * 0.05 * 0.95)


def test_a_wider_band_for_fewer_rows_and_more_confidence():
    few, many = (sy.NeymanPearsonDisplay.from_predictions(*sample(0, n), max_fpr=0.1, plot=False) for n in (50, 5000))
    sure = sy.NeymanPearsonDisplay.from_predictions(*sample(0, 50), max_fpr=0.1, confidence=0.999, plot=False)
    assert many.half_widths[0] < few.half_widths[0] < sure.half_widths[0]


def test_what_is_drawn():
    y, scores = sample(1)
    display = sy.NeymanPearsonDisplay.from_predictions(y, scores, max_fpr=0.1, threshold=1.0)
    (x, t) = display.point_.get_data()
    assert x[0] == pytest.approx((scores[y == 0] > 1.0).mean())
    assert t[0] == pytest.approx((scores[y == 1] > 1.0).mean())
    assert display.cap_.get_xdata()[0] == 0.1
    assert display.ax_.get_xlim() == (0.0, 0.4)
    x, t = display.line_.get_data()
    assert (np.diff(x) >= 0).all()
    assert (t == display.frontier.tpr[::-1]).all()
    mpl.pyplot.close(display.figure_)
    beyond = sy.NeymanPearsonDisplay.from_predictions(y, scores, max_fpr=0.01, threshold=1.0)
    assert beyond.point[0] < beyond.ax_.get_xlim()[1] < 1.0
    mpl.pyplot.close(beyond.figure_)


def test_from_an_estimator():
    y, scores = sample(2)
    X = np.c_[scores, np.zeros(len(y))]
    model = sy.NeymanPearsonClassifier(0.1, kernel="linear", random_state=0).fit(X, y)
    display = sy.NeymanPearsonDisplay.from_estimator(model, X, y, plot=False)
    assert display.max_fpr == 0.1
    assert display.point[0] == pytest.approx(model.predict(X)[y == 0].mean())
    with pytest.raises(ValueError, match="say which cap"):
        sy.NeymanPearsonDisplay.from_estimator(sy.ThresholdClassifier().fit(X, y), X, y)
