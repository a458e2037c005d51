"""The displays of quantifiers draw what their tables say."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_classification

import steelyard as sy
from steelyard.quantification.protocols import APP

mpl.use("Agg")

X, Y = make_classification(900, 6, weights=[0.7], flip_y=0.05, class_sep=0.9, random_state=0)
PROTOCOL = APP(X[400:], Y[400:], sample_size=60, n_prevalences=6, repeats=4)
BOTH = {
    method: sy.Quantifier(method=method, random_state=0).fit(X[:400], Y[:400]) for method in ("cc", "auto")
}  # fmt: skip


@pytest.fixture(autouse=True)
def _close():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_diagonal():
    display = sy.DiagonalDisplay.from_estimator(BOTH, PROTOCOL)
    levels, mean, spread = display.curves["auto"]
    np.testing.assert_allclose(levels, np.linspace(0, 1, 6), atol=1e-9)
    assert np.abs(mean - levels).max() < np.abs(display.curves["cc"][1] - levels).max()
    assert (spread >= 0).all()
    assert [line.get_label() for line in display.ax_.lines] == ["exact", "cc", "auto"]
    np.testing.assert_allclose(display.ax_.lines[2].get_ydata(), mean)


def test_drift():
    display = sy.PriorShiftDisplay.from_estimator(BOTH, PROTOCOL, prevalence=BOTH["cc"].prevalence_, bins=5)
    drift, error = display.curves["cc"]
    assert (np.diff(drift) > 0).all()
    assert error[-1] > error[0]  # plain counting gets worse with the shift
    np.testing.assert_allclose(display.ax_.lines[0].get_ydata(), error)


def test_bias():
    display = sy.BiasDisplay.from_estimator(BOTH, PROTOCOL, bins=2)
    low, high = display.errors["cc"]
    assert len(low) + len(high) == len(PROTOCOL)
    assert np.median(high) < np.median(low)  # shrunk towards the training balance
    assert len(display.ax_.patches) == 4


def test_one_quantifier_given_axes_and_no_drawing():
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    display = sy.DiagonalDisplay.from_estimator(BOTH["auto"], PROTOCOL, ax=ax)
    assert display.ax_ is ax
    assert list(display.curves) == ["Quantifier"]
    assert not hasattr(sy.BiasDisplay.from_estimator(BOTH, PROTOCOL, plot=False), "ax_")


def test_what_is_refused():
    with pytest.raises(ValueError, match="nothing to draw"):
        sy.DiagonalDisplay({})
    with pytest.raises(ValueError, match="a row of each"):
        sy.BiasDisplay.from_predictions([[0.5, 0.5]], [[0.2, 0.3, 0.5]])
